//! What a download that failed leaves behind under the name of the weights.

use crate::error::Error;
use crate::text::shortened;

/// What was saved instead of weights, if that is certain.
pub(super) fn explain(head: &[u8], len: Option<u64>) -> Option<Error> {
    if head.is_empty() {
        return Some(Error::malformed("the file is empty (0 bytes)").hint("fetch it again"));
    }
    lfs_pointer(head)
        .or_else(|| zeros(head, len))
        .or_else(|| page(head))
        .or_else(|| server_message(head))
}

/// Whether a file stands where weights should be: a pointer, or an error page.
pub(super) fn stands_for_weights(head: &[u8]) -> bool {
    head.starts_with(b"version https://git-lfs") || head.trim_ascii_start().starts_with(b"<")
}

/// ```text
/// version https://git-lfs.github.com/spec/v1
/// oid sha256:4d7a21..
/// size 4976698672
/// ```
fn lfs_pointer(head: &[u8]) -> Option<Error> {
    if !head.starts_with(b"version https://git-lfs.github.com/spec/") {
        return None;
    }
    let text = String::from_utf8_lossy(head);
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        line.map_or_else(|| "unknown".to_owned(), |value| shortened(value, 80))
    };
    let message = format!(
        "this is a Git LFS pointer, not the weights: it stands for {} bytes, {}",
        value("size "),
        value("oid ")
    );
    Some(Error::malformed(message).hint("`git lfs pull` in the repository fetches the file itself"))
}

/// A downloader reserves the space first and fills it later. Only the start is looked at: any
/// format would have put its header there.
fn zeros(head: &[u8], len: Option<u64>) -> Option<Error> {
    if head.iter().any(|&byte| byte != 0) {
        return None;
    }
    let size = len.map_or_else(String::new, |len| format!(" of {len}"));
    let message = format!(
        "the first {}{size} bytes are all zero: the download has not written them yet",
        head.len()
    );
    Some(
        Error::malformed(message)
            .hint("the download allocated the file but did not finish; fetch the file again"),
    )
}

/// An HTML page, or the XML a storage service answers with.
fn page(head: &[u8]) -> Option<Error> {
    let marked = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start().first()
        == Some(&b'<');
    if !marked {
        return None;
    }
    let text = String::from_utf8_lossy(head);
    let start = text.trim_start_matches('\u{feff}').trim_start();
    let lower = start.to_ascii_lowercase();
    if lower.starts_with("<!doctype html")
        || lower.starts_with("<html")
        || lower.starts_with("<head")
    {
        let title = between(start, &lower, "<title", "</title>")
            .and_then(|title| title.split_once('>'))
            .map_or_else(String::new, |(_, title)| {
                format!(", titled \"{}\"", shortened(title.trim(), 80))
            });
        let message = format!("this is an HTML page saved as weights{title}");
        return Some(Error::malformed(message).hint(
            "the download link led to a web page, often a login or error page; fetch the file itself",
        ));
    }
    if lower.starts_with("<?xml") || lower.starts_with("<error>") {
        let code = between(start, &lower, "<code>", "</code>");
        let says =
            code.map_or_else(String::new, |code| format!(" that says {}", shortened(code, 80)));
        let message = format!("this is an XML response from a server{says}, not weights");
        return Some(
            Error::malformed(message)
                .hint("the download was denied or the link has expired; fetch it again"),
        );
    }
    None
}

/// What lies between two marks that are found in the lower-case copy of a text.
fn between<'a>(text: &'a str, lower: &str, from: &str, to: &str) -> Option<&'a str> {
    let start = lower.find(from)? + from.len();
    let end = start + lower.get(start..)?.find(to)?;
    text.get(start..end)
}

/// The text a server sent instead of the file.
fn server_message(head: &[u8]) -> Option<Error> {
    if head.get(..4.min(head.len())).is_some_and(|start| !start.is_ascii()) {
        return None;
    }
    const SAID: &[&str] = &[
        "entry not found",
        "repository not found",
        "invalid username or password",
        "invalid credentials",
        "access to model",
        "not found",
        "forbidden",
        "unauthorized",
        "404",
        "403",
        "401",
        "429",
        "too many requests",
    ];
    let text = std::str::from_utf8(head).ok()?.trim();
    let lower = text.to_ascii_lowercase();
    let json = lower.starts_with('{')
        && ["\"error\"", "\"message\"", "\"detail\""].iter().any(|key| {
            // The first key of the object, not any word in a long document.
            lower[1..].trim_start().starts_with(key)
        });
    if !json && !SAID.iter().any(|said| lower.starts_with(said)) {
        return None;
    }
    let message = format!("this is a server's message saved as weights: {}", shortened(text, 120));
    Some(
        Error::malformed(message).hint(
            "the download failed; check the address and the access token, then fetch it again",
        ),
    )
}
