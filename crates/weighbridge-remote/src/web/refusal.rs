//! Errors for HTTP status codes.

use std::io;

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};

use crate::web::fault::{Fault, server};
use crate::web::retry::passing;

/// What a server's refusal means.
pub(crate) fn refusal(status: StatusCode, headers: &HeaderMap) -> Fault {
    let said = said(status);
    match status.as_u16() {
        404 | 410 => Fault::missing(format!("file not found ({said})"))
            .hint("check the address, for example in a browser"),
        401 => Fault::denied(format!("the server requires a login ({said})"))
            .hint("logins are not supported: use a signed address, or download the file"),
        403 => Fault::denied(format!("the server denied access ({said})"))
            .hint("the file may be private, or the address may have expired; get a new address"),
        407 => Fault::proxy_login(),
        429 => answered(status, headers).hint("run it again later"),
        500.. => answered(status, headers).hint("server error; run it again later"),
        _ => answered(status, headers),
    }
}

/// Any other answer, and whether it may pass.
pub(crate) fn answered(status: StatusCode, headers: &HeaderMap) -> Fault {
    let message = format!("the server responded {}", said(status));
    Fault::network(io::ErrorKind::Other, message).again(passing(status, headers))
}

/// "404 Not Found".
pub(crate) fn said(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

/// A body that is too long.
pub(crate) fn too_much() -> Fault {
    Fault::unsupported("the server sent more bytes than requested")
        .hint("the server or a proxy misbehaves; download the file instead")
}

/// All of a long file, where a part was asked for.
pub(crate) fn no_parts() -> Fault {
    Fault::unsupported("the server does not support range requests for this file")
        .hint("download the file, then open it")
}

/// What may keep this machine from reaching a server.
pub(crate) fn what_to_check(url: &Url) -> String {
    let names: &[&str] = match url.scheme() {
        "https" => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let server = server(url);
    match names.iter().find(is_set) {
        Some(name) => {
            format!("check the address, the connection to {server} and the proxy in {name}")
        }
        None => format!("check the address and the connection to {server}"),
    }
}
