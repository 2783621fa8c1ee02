//! The JSON documents beside the weights.
//!
//! Several of them coexist: a converter leaves its own file next to `config.json`, and which one
//! is to be believed is for the schemes to say. What cannot be read is a finding, because a
//! scheme that misses its config would see another model.

use std::io::Read;
use std::path::Path;

use super::{Located, shown_name};
use crate::catalog::{Finding, TensorInfo};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::source::Source;

/// What a scheme may want to see, in the order they are listed.
const NAMES: &[&str] = &[
    "config.json",
    "quantize_config.json",
    "quant_config.json",
    "hf_quant_config.json",
    "quantization_config.json",
    "quanto_qmap.json",
    "params.json",
    "adapter_config.json",
];

/// Real configs stay far below; those that list every tensor come to some megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// What a parsed document takes for each byte of its text, at worst (`[[],[],..`).
const PARSED_BYTES: u64 = 12;

/// Reads the configs in a folder.
pub(super) fn beside(folder: &Path, located: &mut Located, budget: &Budget) -> Result<()> {
    for name in NAMES {
        read(&folder.join(name), name, located, budget)?;
    }
    Ok(())
}

/// Reads the configs of a file that was given by name.
///
/// Training frameworks write `.pt`, `.pth` and `.ckpt` files by the thousand and put no config
/// beside them, as is true of most `.npz` files, so for those the question is left until their
/// tensors are known.
pub(super) fn beside_file(
    path: &Path,
    folder: &Path,
    located: &mut Located,
    budget: &Budget,
) -> Result<()> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    match extension.as_deref() {
        Some("gguf" | "apr" | "npy") => Ok(()),
        Some("pt" | "pth" | "ckpt" | "npz") => {
            located.late_configs = Some(folder.to_owned());
            Ok(())
        }
        _ => beside(folder, located, budget),
    }
}

/// Reads the configs that were left for later, if a tensor could need one: a matrix of whole
/// numbers or of 8-bit floats may be the packed form of something else.
pub(in crate::model) fn beside_late(
    sources: &[Source],
    located: &mut Located,
    budget: &Budget,
) -> Result<()> {
    let Some(folder) = located.late_configs.take() else { return Ok(()) };
    let packed = |tensor: &TensorInfo| {
        let dtype = tensor.stored.element();
        tensor.shape.len() > 1 && !dtype.is_some_and(|d| d.is_float() && d.bits() >= 16)
    };
    match sources.iter().any(|source| source.catalog().tensors.iter().any(packed)) {
        true => beside(&folder, located, budget),
        false => Ok(()),
    }
}

/// Reads a config that is stored under another name, if a scheme may want it.
pub(super) fn read_wanted(
    path: &Path,
    name: &str,
    located: &mut Located,
    budget: &Budget,
) -> Result<()> {
    match NAMES.contains(&name) {
        true => read(path, name, located, budget),
        false => Ok(()),
    }
}

/// Whether a file by that name says all about itself, so that a config beside it belongs to
/// something else.
pub(super) fn needs_none(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    matches!(extension.as_deref(), Some("gguf" | "apr" | "npy"))
}

/// Reads one config, if it is there.
fn read(path: &Path, name: &str, located: &mut Located, budget: &Budget) -> Result<()> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    let problem = match document(path, budget) {
        Ok(json) if json.is_object() => {
            located.configs.push(Config { name: name.to_owned(), json });
            return Ok(());
        }
        Ok(_) => "it is not a JSON object".to_owned(),
        Err(error) if error.kind() == crate::ErrorKind::Limit => return Err(error),
        Err(error) => error.message().to_owned(),
    };
    let message = format!("{} is of no use: {problem}; fetch it again", shown_name(path));
    located.findings.push(Finding::general("bad-config", message));
    Ok(())
}

/// A JSON document, whatever it holds.
pub(super) fn document(path: &Path, budget: &Budget) -> Result<serde_json::Value> {
    let text = text(path, MAX_BYTES, budget)?;
    budget
        .charge((text.len() as u64).saturating_mul(PARSED_BYTES), "a JSON document")
        .map_err(|e| e.in_file(path))?;
    parse(&text).map_err(|e| e.in_file(path))
}

/// The bytes of a small file; charged, and capped at `most`.
pub(super) fn text(path: &Path, most: u64, budget: &Budget) -> Result<Vec<u8>> {
    let failed = |e| Error::io(e, "cannot read").in_file(path);
    let file = crate::sys::open_without_waiting(path).map_err(failed)?;
    let about = file.metadata().map_err(failed)?;
    if !about.is_file() {
        return Err(Error::usage("it is not a file").in_file(path));
    }
    if about.len() > most {
        let message = format!("it has {} bytes, which no honest file of its kind has", about.len());
        return Err(Error::malformed(message).in_file(path));
    }
    budget.charge(about.len(), "a JSON document").map_err(|e| e.in_file(path))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn parse(text: &[u8]) -> Result<serde_json::Value> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.starts_with(b"version https://git-lfs") {
        return Err(Error::malformed("it is a Git LFS pointer"));
    }
    serde_json::from_slice(text)
        .or_else(|error| match without_infinities(text) {
            Some(plain) => serde_json::from_slice(&plain),
            None => Err(error),
        })
        .map_err(|error| Error::malformed(format!("it is not valid JSON ({error})")))
}

/// Python writes `NaN` and `Infinity` into JSON and reads them back; they become `null` here.
fn without_infinities(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let (mut rest, mut quoted, mut changed) = (text, false, false);
    while let Some((&byte, after)) = rest.split_first() {
        let word =
            [&b"-Infinity"[..], b"Infinity", b"NaN"].into_iter().find(|w| rest.starts_with(w));
        match (byte, word) {
            (b'\\', _) if quoted => {
                let pair = rest.len().min(2);
                out.extend_from_slice(&rest[..pair]);
                rest = &rest[pair..];
            }
            (_, Some(word)) if !quoted => {
                out.extend_from_slice(b"null");
                rest = &rest[word.len()..];
                changed = true;
            }
            _ => {
                quoted ^= byte == b'"';
                out.push(byte);
                rest = after;
            }
        }
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_numbers_are_read() {
        let json =
            parse(br#"{"a": [0.0, Infinity, -Infinity, NaN], "NaN": "NaN \" Infinity"}"#).unwrap();
        assert_eq!(json["a"], serde_json::json!([0.0, null, null, null]));
        assert_eq!(json["NaN"], "NaN \" Infinity");
        assert!(parse(b"{\"a\": Infinity").is_err());
        assert!(parse(b"\xef\xbb\xbf{}").is_ok());
        assert!(parse(b"\"\\").is_err());
    }
}
