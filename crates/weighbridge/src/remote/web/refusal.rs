//! What a server's refusals mean, where it says no more than a number.

use std::io;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use crate::remote::web::fault::Fault;
use crate::remote::web::retry::passing;

/// What a server's refusal means.
pub(crate) fn refusal(status: StatusCode, headers: &HeaderMap) -> Fault {
    let said = said(status);
    match status.as_u16() {
        404 | 410 => {
            Fault::refused(io::ErrorKind::NotFound, format!("the server has no such file ({said})"))
        }
        401 | 403 | 407 => {
            let message = format!("the server refuses access ({said})");
            Fault::refused(io::ErrorKind::PermissionDenied, message)
                .hint("the address may need a login, or may have expired: get a new one")
        }
        _ => Fault::network(io::ErrorKind::Other, format!("the server answered {said}"))
            .again(passing(status, headers)),
    }
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
    Fault::unsupported("the server sent more bytes than were asked for")
        .hint("the server, or a proxy on the way, is broken; download the file instead")
}

/// All of a long file, where a part was asked for.
pub(crate) fn no_parts() -> Fault {
    Fault::unsupported("the server sends this file only as a whole, and parts of it are needed")
        .hint("download the file, then open it")
}
