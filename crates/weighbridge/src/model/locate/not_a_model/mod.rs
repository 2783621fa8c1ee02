//! Files that are not models, named for what they are.

use std::path::Path;

use super::listing::extension;
use super::search::Search;
use super::sets::UNFINISHED;
use crate::containers::{self, PROBE_BYTES};
use crate::error::{Error, Result};
use crate::input::Input;

mod downloads;
mod guesses;
mod signatures;

/// What a file is, if its first bytes rule out that it is a model, whatever its name promises.
/// Asked unless a container is certain that the file is its own.
pub(in crate::model) fn explain_certain(input: &Input) -> Result<Option<Error>> {
    let head = input.head(PROBE_BYTES)?;
    Ok(certain(&head, input).map(|error| with_hint_of_name(error, input.name())))
}

/// What a file is that no container knows.
pub(in crate::model) fn explain(input: &Input) -> Error {
    let head = match input.head(PROBE_BYTES) {
        Ok(head) => head,
        Err(error) => return error,
    };
    let error = certain(&head, input)
        .or_else(|| guesses::explain(&head, input.name()))
        .unwrap_or_else(|| guesses::unknown(&head, input.name()));
    with_hint_of_name(error, input.name())
}

fn certain(head: &[u8], input: &Input) -> Option<Error> {
    downloads::explain(head, input.len()).or_else(|| signatures::certain(head))
}

/// Whether a file that could hold anything holds weights by its first bytes, or stands where
/// weights should be: worth opening, if only to say what it is.
pub(super) fn is_worth_opening(path: &Path, search: &Search<'_>) -> bool {
    let Some(head) = search.head(path, PROBE_BYTES) else { return false };
    containers::CONTAINERS.iter().any(|format| format.conventions().can_begin(&head))
        || containers::look_alikes().any(|signature| signature.magic.fits(&head))
        || downloads::stands_for_weights(&head)
}

/// The name of an unfinished download says more than a guess at its bytes.
fn with_hint_of_name(error: Error, name: &Path) -> Error {
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
        let error = explain(&Input::from_bytes(bytes.to_vec(), name));
        assert!(error.hint_text().is_some() || !error.remedies().is_empty(), "{error}");
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
            (b"{\"weight_map\": {}}", "index.json", "a shard index"),
            (
                b"\x02\0\0\0\x13\0\0\0blk.0.attn_q.weight\x01\0\0\0",
                "imatrix.dat",
                "an importance matrix for quantization (legacy llama-imatrix format)",
            ),
            (
                b"\x01\x02\x03\xff",
                "model.gguf",
                "says a GGUF file, which begins with `GGUF`, but its first bytes are 01 02 03 ff",
            ),
            (b"\x01\x02\x03\xff", "thing", "unknown file format"),
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
    fn what_begins_like_weights_is_not_called_something_else() {
        for head in [&b"\x40\0\0\0\0\0\0\0{\"a\":"[..], b"GGUF\x03\0\0\0"] {
            let input = Input::from_bytes(head.to_vec(), "a");
            assert!(explain_certain(&input).unwrap().is_none());
        }
    }
}
