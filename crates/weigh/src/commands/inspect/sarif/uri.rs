//! Paths as URIs: relative to the working directory, with `/`, everything else percent-encoded.

use std::path::{Component, Path};

use serde_json::{Value as Json, json};

/// What code hosts call the root of a repository. Scans start there.
const ROOT: &str = "%SRCROOT%";

/// The location of a file.
pub(super) fn location(path: &Path) -> Json {
    let uri = of(path);
    if uri.contains(':') { json!({ "uri": uri }) } else { json!({ "uri": uri, "uriBaseId": ROOT }) }
}

/// The URI of a path or an address.
pub(super) fn of(path: &Path) -> String {
    match path.to_str().and_then(|text| text.split_once("://")) {
        Some((scheme, rest)) if is_scheme(scheme) => {
            format!("{scheme}://{}", encoded(rest.as_bytes(), b"/:@?&=#%+~"))
        }
        _ => of_file(path, std::env::current_dir().ok().as_deref()),
    }
}

fn is_scheme(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(allowed)
}

fn of_file(path: &Path, here: Option<&Path>) -> String {
    let below = here.and_then(|here| path.strip_prefix(here).ok());
    let path = below.unwrap_or(path);
    let parts: Vec<String> = path.components().filter_map(part).collect();
    match (path.is_absolute(), parts.is_empty()) {
        (true, _) => format!("file:///{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// One part of a path; `None` for what an URI says otherwise.
fn part(component: Component<'_>) -> Option<String> {
    match component {
        Component::Normal(name) => Some(encoded(name.as_encoded_bytes(), b"")),
        Component::ParentDir => Some("..".to_owned()),
        Component::Prefix(prefix) => {
            let prefix = prefix.as_os_str().to_string_lossy().replace('\\', "/");
            Some(encoded(prefix.trim_matches('/').as_bytes(), b"/:"))
        }
        Component::CurDir | Component::RootDir => None,
    }
}

/// Bytes as they may be in a part of an URI; those in `kept` stay.
fn encoded(bytes: &[u8], kept: &[u8]) -> String {
    let encode = |&byte: &u8| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    bytes.iter().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(path: &str) -> String {
        of_file(Path::new(path), Some(Path::new("/here")))
    }

    #[test]
    #[cfg(unix)]
    fn paths_are_relative_and_encoded() {
        for (path, expected) in [
            ("model.bin", "model.bin"),
            ("./a/./b.bin", "a/b.bin"),
            ("../b.bin", "../b.bin"),
            ("/here/a/b.bin", "a/b.bin"),
            ("/here", "."),
            (".", "."),
            ("/elsewhere/b.bin", "file:///elsewhere/b.bin"),
            ("a b/%41#?:\n", "a%20b/%2541%23%3F%3A%0A"),
            ("ä\\", "%C3%A4%5C"),
            ("a:b", "a%3Ab"),
        ] {
            assert_eq!(uri(path), expected, "{path}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn names_that_are_no_text_keep_their_bytes() {
        use std::os::unix::ffi::OsStrExt as _;
        let name = std::ffi::OsStr::from_bytes(b"a\xff.bin");
        assert_eq!(of_file(Path::new(name), None), "a%FF.bin");
    }

    #[test]
    fn addresses_stay_addresses() {
        assert_eq!(of(Path::new("hf://a/b@c/d e.bin")), "hf://a/b@c/d%20e.bin");
        assert_eq!(location(Path::new("hf://a/b")), json!({ "uri": "hf://a/b" }));
        assert_eq!(location(Path::new("b"))["uriBaseId"], "%SRCROOT%");
    }
}
