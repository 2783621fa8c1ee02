//! Files without a known signature: guesses from their names and their first bytes.

use std::path::Path;

use super::super::listing::extension;
use super::signatures::{self, other_formats};
use crate::containers;
use crate::error::Error;
use crate::text::escaped;

/// What the name or the first bytes suggest.
pub(super) fn explain(head: &[u8], name: &Path) -> Option<Error> {
    let file = name.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let onnx = || looks_like_onnx(head).then_some("an ONNX model");
    if let Some(what) = other_framework(&file).or_else(onnx) {
        let message = format!("this is {what}, which is not a supported format");
        return Some(Error::unsupported(message).hint(other_formats()));
    }
    if looks_like_importance(head) {
        let what = "this is an importance matrix for quantization (legacy llama-imatrix format)";
        return Some(Error::unsupported(what).hint("pass it to quantize as the importance matrix"));
    }
    if let Some(error) = signatures::unclaimed(head) {
        return Some(error);
    }
    text_kind(head, &file)
        .map(|(what, hint)| Error::unsupported(format!("this is {what}, not weights")).hint(hint))
}

/// The files of other frameworks, by their names.
fn other_framework(file: &str) -> Option<&'static str> {
    Some(match &*extension(file) {
        "onnx" | "ort" => "an ONNX model",
        "tflite" => "a TensorFlow Lite model",
        "h5" | "keras" => "a Keras model",
        "msgpack" => "a Flax checkpoint (msgpack)",
        "mlmodel" | "mlpackage" | "mlmodelc" => "a Core ML model",
        "pb" => "a TensorFlow graph",
        "engine" | "plan" => "a TensorRT engine",
        "index" if file.contains("ckpt") => "the index of a TensorFlow checkpoint",
        ending if ending.starts_with("data-") => "a part of a TensorFlow checkpoint",
        _ => return None,
    })
}

/// The first fields of a serialized `ModelProto`: `ir_version` (1 to 20), then its producer.
fn looks_like_onnx(head: &[u8]) -> bool {
    matches!(head, [0x08, 1..=20, 0x12, length, text, ..] if *length < 64 && text.is_ascii_lowercase())
}

/// The first entry of an older importance matrix: how many entries there are, then the length of a
/// name and the name of a weight. Numbers are 32-bit, little-endian.
fn looks_like_importance(head: &[u8]) -> bool {
    const MOST_ENTRIES: u32 = 1 << 20;
    const NAMES: [&[u8]; 3] = [b"blk.", b"output.", b"token_embd."];
    let number = |at: usize| {
        let bytes = head.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let (Some(1..MOST_ENTRIES), Some(len @ 1..256)) = (number(0), number(4)) else { return false };
    let name = head[8..].get(..len as usize).unwrap_or_default();
    NAMES.iter().any(|start| name.starts_with(start)) && name.ends_with(b".weight")
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
    const BESIDE: &str = "open its directory or the weights next to it";
    if file.ends_with(".json") && valid.contains("\"weight_map\"") {
        return Some((
            "a shard index",
            "rename it to NAME.safetensors.index.json, next to its shards",
        ));
    }
    let (json, python) =
        (("a JSON document", BESIDE), ("Python source code", "open the weights that it loads"));
    let start = valid.trim_start();
    let kind = match &*extension(file) {
        "json" => json,
        "py" => python,
        "md" | "txt" => ("a text document", BESIDE),
        _ if start.starts_with(['{', '[']) => json,
        _ if start.starts_with("import ") || start.starts_with("from ") => python,
        _ => ("readable text", "read it: it may be the error message of a failed download"),
    };
    Some(kind)
}

/// For a file that nothing fits: what its name promises, and what is there instead.
pub(super) fn unknown(head: &[u8], name: &Path) -> Error {
    let first: Vec<String> = head.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let extension = extension(&name.to_string_lossy());
    let promise = containers::by_extension(&extension)
        .filter(|(_, extension)| extension.listed)
        .map(|(format, _)| format.conventions().promise);
    let text: String = head
        .iter()
        .take(8)
        .map(|&b| if b.is_ascii_graphic() || b == b' ' { b as char } else { '.' })
        .collect();
    let bytes = format!("{} ({})", first.join(" "), escaped(&text));
    match promise {
        Some(promise) => Error::malformed(format!(
            "the file name says {promise}, but its first bytes are {bytes}"
        ))
        .hint("the file is damaged or misnamed; fetch it again"),
        None => Error::unsupported(format!("unknown file format; the first bytes are {bytes}"))
            .hint(format!("supported formats: {}", containers::labels().join(", "))),
    }
}
