//! Files that are not models, named for what they are.

use std::io::Read;
use std::path::Path;

use super::listing::extension;
use super::sets::UNFINISHED;
use super::signatures;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::text::{escaped, shortened};

/// How much of a file's start is looked at.
const HEAD: usize = 4096;

/// How much of it is looked at first.
const GLANCE: usize = 16;

/// What a file is, if its first bytes rule out every format we read. Asked on every open, so a
/// few bytes must do unless they are suspicious.
pub(in crate::model) fn certain_stranger(input: &Input) -> Result<Option<Error>> {
    let start = &*input.head(GLANCE)?;
    let text =
        start.iter().take(4).all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let blank = start.iter().all(|&byte| byte == 0);
    if !text
        && !blank
        && !start.starts_with(b"\xef\xbb\xbf")
        && signatures::certain(start).is_none()
    {
        return Ok(None);
    }
    let head = input.head(HEAD)?;
    Ok(certain(&head, input).map(|error| hint_of_name(error, input.name())))
}

/// What a file is that no container knows.
pub(in crate::model) fn name_stranger(input: &Input) -> Error {
    let head = match input.head(HEAD) {
        Ok(head) => head,
        Err(error) => return error,
    };
    let error = certain(&head, input).or_else(|| guessed(&head, input.name()));
    hint_of_name(error.unwrap_or_else(|| unknown(&head, input.name())), input.name())
}

/// The first bytes of a file on disk.
pub(super) fn head_of(path: &Path) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    crate::sys::open_without_waiting(path).ok()?.take(HEAD as u64).read_to_end(&mut head).ok()?;
    Some(head)
}

fn certain(head: &[u8], input: &Input) -> Option<Error> {
    if head.is_empty() {
        return Some(Error::malformed("the file is empty (0 bytes)").hint("fetch it again"));
    }
    lfs_pointer(head)
        .or_else(|| zeros(head, input.len()))
        .or_else(|| page(head))
        .or_else(|| download_error(head))
        .or_else(|| signatures::certain(head).map(named))
}

fn named(signature: &signatures::Signature) -> Error {
    Error::unsupported(format!("this is {}", signature.what)).hint(signature.hint)
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
        "the first {}{size} bytes are all zero: nothing has been written there yet",
        head.len()
    );
    Some(
        Error::malformed(message)
            .hint("the download reserved its space and did not get far; fetch the file again"),
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
        let message = format!("this is an XML answer of a server{says}, not weights");
        return Some(
            Error::malformed(message)
                .hint("the download was refused or the link has expired; fetch it again"),
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
fn download_error(head: &[u8]) -> Option<Error> {
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

/// What no signature tells, but the name and the look of the bytes do.
fn guessed(head: &[u8], name: &Path) -> Option<Error> {
    let file = name.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let unread = |what: &str, hint: &str| {
        Some(
            Error::unsupported(format!("this is {what}, which this version does not read"))
                .hint(hint),
        )
    };
    const OTHER: &str = "fetch the safetensors or GGUF files of the same model, or export them from its own framework";
    match &*extension(&file) {
        "onnx" | "ort" => return unread("an ONNX model", OTHER),
        "tflite" => return unread("a TensorFlow Lite model", OTHER),
        "h5" | "keras" => return unread("a Keras model", OTHER),
        "msgpack" => return unread("a Flax checkpoint (msgpack)", OTHER),
        "mlmodel" | "mlpackage" | "mlmodelc" => return unread("a Core ML model", OTHER),
        "pb" => return unread("a TensorFlow graph", OTHER),
        "engine" | "plan" => return unread("a TensorRT engine", OTHER),
        "index" if file.contains("ckpt") => {
            return unread("the index of a TensorFlow checkpoint", OTHER);
        }
        ending if ending.starts_with("data-") => {
            return unread("a part of a TensorFlow checkpoint", OTHER);
        }
        _ => {}
    }
    if looks_like_onnx(head) {
        return unread("an ONNX model", OTHER);
    }
    if let Some(signature) = signatures::unclaimed(head) {
        return Some(named(signature));
    }
    text_kind(head, &file)
        .map(|(what, hint)| Error::unsupported(format!("this is {what}, not weights")).hint(hint))
}

/// The first fields of a serialized `ModelProto`: `ir_version` (1 to 20), then its producer.
fn looks_like_onnx(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=20, 0x12, length, text, ..] if *length < 64 && text.is_ascii_lowercase())
}

/// Readable text, by kind.
fn text_kind(head: &[u8], file: &str) -> Option<(&'static str, &'static str)> {
    let valid = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The head may have been cut inside a character.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&head[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    if valid.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        return None;
    }
    let start = valid.trim_start();
    let kind = match &*extension(file) {
        "json" => ("a JSON document", "open the folder it lies in, or the weights beside it"),
        "py" => ("Python source code", "open the weights that it loads"),
        "md" | "txt" => ("a text document", "open the folder it lies in, or the weights beside it"),
        _ if start.starts_with(['{', '[']) => {
            ("a JSON document", "open the folder it lies in, or the weights beside it")
        }
        _ if start.starts_with("import ") || start.starts_with("from ") => {
            ("Python source code", "open the weights that it loads")
        }
        _ => ("readable text", "look at it: it may be the message of a failed download"),
    };
    Some(kind)
}

/// Nothing fits: what the name promises, and what is there instead.
fn unknown(head: &[u8], name: &Path) -> Error {
    let first: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let promise = match &*extension(&name.to_string_lossy()) {
        "gguf" => Some("a GGUF file, which begins with `GGUF`"),
        "safetensors" => {
            Some("a safetensors file, which begins with the length of its JSON header")
        }
        "npz" => Some("an NPZ archive, which begins with `PK`"),
        "npy" => Some("a NumPy array, which begins with `\\x93NUMPY`"),
        "pt" | "pth" | "ckpt" | "bin" => {
            Some("a PyTorch checkpoint, which begins with `PK` or is a pickle")
        }
        "apr" => Some("an APR file, which begins with `APR`"),
        _ => None,
    };
    let text: String = head
        .iter()
        .take(8)
        .map(|&b| if b.is_ascii_graphic() || b == b' ' { b as char } else { '.' })
        .collect();
    let bytes = format!("{} ({})", first.join(" "), escaped(&text));
    match promise {
        Some(promise) => {
            Error::malformed(format!("its name promises {promise}; its first bytes are {bytes}"))
                .hint("the file is damaged or misnamed; fetch it again")
        }
        None => Error::unsupported(format!(
            "no weight format begins like this; its first bytes are {bytes}"
        ))
        .hint("this version reads safetensors, GGUF, NPZ, NPY, PyTorch and APR files"),
    }
}

/// A name that says what is wrong is worth more than any guess.
fn hint_of_name(error: Error, name: &Path) -> Error {
    let ending = extension(&name.to_string_lossy());
    if !UNFINISHED.contains(&&*ending) {
        return error;
    }
    let message = format!("this is an unfinished download (.{ending}); {}", error.message());
    Error::malformed(message).hint("let the download finish, or start it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8], name: &str) -> String {
        let error = name_stranger(&Input::from_bytes(bytes.to_vec(), name));
        assert!(error.hint_text().is_some(), "{error}");
        error.message().to_owned()
    }

    #[test]
    fn everything_has_a_name() {
        let lfs = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n";
        let mut tar = vec![b'a'; 257];
        tar.extend(b"ustar");
        let cases: &[(&[u8], &str, &str)] = &[
            (lfs, "model.safetensors", "stands for 4976698672 bytes, sha256:4d7a"),
            (b"", "model.gguf", "empty (0 bytes)"),
            (&[0; 64], "model.gguf", "the first 64 of 64 bytes are all zero"),
            (
                b"<!DOCTYPE html><html><title>Sign in</title>",
                "m.bin",
                "HTML page saved as weights, titled \"Sign in\"",
            ),
            (b"\n<html><head>", "m.bin", "HTML page"),
            (
                b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code>",
                "m.bin",
                "says AccessDenied",
            ),
            (b"{\"error\":\"Repository not found\"}", "m.bin", "a server's message"),
            (
                b"Entry not found",
                "m.safetensors",
                "a server's message saved as weights: Entry not found",
            ),
            (b"Invalid username or password.", "m.safetensors", "a server's message"),
            (b"\x89HDF\r\n\x1a\n....", "model.h5", "HDF5"),
            (b"\x1f\x8b\x08....", "m.tgz", "gzip"),
            (&tar, "m.tar", "tar archive"),
            (b"tjgg\x03\0\0\0", "ggml-model.bin", "ggjt"),
            (b"MZqFpD='\n", "x.llamafile", "llamafile"),
            (b"\x1c\0\0\0TFL3", "x.tflite", "TensorFlow Lite"),
            (b"\x08\x07\x12\x07pytorch", "model.bin", "ONNX"),
            (b"\x81\xa6params", "flax_model.msgpack", "Flax"),
            (b"\x80\x04\x95", "x.pkl", "pickle"),
            (b"PK\x03\x04", "x.zip", "zip archive"),
            (b"import torch\n", "model.py", "Python"),
            (b"{\"a\": 1}", "config.json", "a JSON document"),
            (
                b"\x01\x02\x03\xff",
                "model.gguf",
                "promises a GGUF file, which begins with `GGUF`; its first bytes are 01 02 03 ff",
            ),
            (b"\x01\x02\x03\xff", "thing", "no weight format begins like this"),
            (b"\x01\x02\x03\xff", "m.safetensors.incomplete", "unfinished download (.incomplete)"),
        ];
        for (bytes, name, expected) in cases {
            assert!(message(bytes, name).contains(expected), "{name}: {}", message(bytes, name));
        }
    }

    #[test]
    fn text_from_files_is_made_harmless() {
        assert!(!message(b"<html><title>\x1b[2J</title>", "m.bin").contains('\x1b'));
        assert!(!message(b"Entry not found \x1b[2J", "m.bin").contains('\x1b'));
    }

    #[test]
    fn samples_are_no_strangers() {
        let header = b"\x40\0\0\0\0\0\0\0{\"a\":";
        assert!(certain_stranger(&Input::from_bytes(header.to_vec(), "a")).unwrap().is_none());
        assert!(
            certain_stranger(&Input::from_bytes(b"GGUF\x03\0\0\0".to_vec(), "a"))
                .unwrap()
                .is_none()
        );
    }
}
