//! What a conversion keeps beside the values: metadata, stored forms, tied names.

use super::one;
use crate::common::root;
use weighbridge::ops::{ConvertOptions, Names, OutputType};
use weighbridge::{Model, ops};

#[test]
fn metadata_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let entries = |model: &Model| -> Vec<(String, String)> {
        let text = |value: &weighbridge::catalog::Value| value.as_str().unwrap().to_owned();
        model.metadata().iter().map(|(key, value, _)| ((*key).to_owned(), text(value))).collect()
    };
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let file = one("F32", &[1], &[0; 4], r#""__metadata__":{"b":"2","format":"mlx"},"#);
    let model = Model::open_bytes(file, "one").unwrap();
    ops::convert(&model, &ConvertOptions::new(&target)).unwrap();
    let kept = entries(&Model::open(&target).unwrap());
    assert_eq!(kept, [pair("b", "2"), pair("format", "mlx")]);
    let gguf = Model::open(root().join("tests/files/gguf/vocabulary.gguf")).unwrap();
    let options = ConvertOptions::new(&target).force(true);
    let report = ops::convert(&gguf, &options).unwrap();
    assert!(report.metadata_left_out.contains(&"gguf.tokenizer.ggml.tokens".to_owned()));
    let kept = entries(&Model::open(&target).unwrap());
    assert_eq!(kept[0], pair("format", "pt"));
    assert!(kept.iter().any(|(key, _)| key == "gguf.general.architecture"), "{kept:?}");
    assert!(!kept.iter().any(|(key, _)| key == "gguf.tokenizer.ggml.tokens"));
}

#[test]
fn what_is_kept_is_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut same = 0;
    for name in
        ["alignment-64", "bf16", "key-values", "nested-arrays", "tensor-types", "vocabulary"]
    {
        let source = root().join(format!("tests/files/gguf/{name}.gguf"));
        let target = folder.path().join(format!("{name}.gguf"));
        let options = ConvertOptions::new(&target).dtype(OutputType::Keep);
        ops::convert(&Model::open(&source).unwrap(), &options).unwrap();
        assert!(std::fs::read(&source).unwrap() == std::fs::read(&target).unwrap(), "{name}");
        same += 1;
    }
    assert_eq!(same, 6);
}

/// What was opened from bytes and written to bytes never touches a disk.
#[test]
fn a_small_model_is_converted_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::open(root().join("tests/files/pth/old_1_10_shared.pt")).unwrap();
    for format in ["safetensors", "gguf", "npz"] {
        let options = ConvertOptions::new("-").to(format).names(Names::Keep);
        let mut bytes = Vec::new();
        let report = ops::convert_to(&model, &options, &mut bytes).unwrap();
        assert_eq!(report.write_bytes, bytes.len() as u64, "{format}");
        let target = folder.path().join(format!("out.{format}"));
        ops::convert(&model, &ConvertOptions::new(&target).names(Names::Keep)).unwrap();
        // An archive that is written front to back has its checksums in other places.
        assert!(format == "npz" || bytes == std::fs::read(&target).unwrap(), "{format}");
        for written in [Model::open_bytes(bytes, "bytes").unwrap(), Model::open(&target).unwrap()] {
            let report = ops::verify(&written, &model, &options).unwrap();
            assert!(report.ok && written.findings().is_empty(), "{format}: {report:?}");
            assert_eq!(report.tied > 0, format == "safetensors");
        }
    }
}

/// A name that another one stands for must be noted; without the note it is missing.
#[test]
fn verifying_knows_tied_weights() {
    let folder = tempfile::tempdir().unwrap();
    let model = Model::open(root().join("tests/files/pth/old_1_10_shared.pt")).unwrap();
    let target = folder.path().join("out.safetensors");
    let options = ConvertOptions::new(&target);
    let report = ops::convert(&model, &options).unwrap();
    assert!(!report.tied.is_empty());
    let text = std::fs::read(&target).unwrap();
    let note = format!("\"{}\":\"{}\"", report.tied[0].name, report.tied[0].to);
    let at = text.windows(note.len()).position(|part| part == note.as_bytes()).unwrap();
    let mut without = text;
    without[at + 1] ^= 1;
    std::fs::write(&target, without).unwrap();
    let report = ops::verify(&Model::open(&target).unwrap(), &model, &options).unwrap();
    assert_eq!((report.ok, report.missing.len()), (false, 1));
}

#[test]
fn what_said_how_weights_were_stored_goes_with_it() {
    let source = root().join("tests/files/fp8/comfy-metadata/qwen-image-fp8.safetensors");
    let model = Model::open(source).unwrap();
    for (dtype, is_kept) in [(OutputType::Auto, false), (OutputType::Keep, true)] {
        let mut bytes = Vec::new();
        ops::convert_to(&model, &ConvertOptions::new("-").dtype(dtype), &mut bytes).unwrap();
        let written = Model::open_bytes(bytes, "out").unwrap();
        let said = written.metadata().iter().any(|(key, ..)| *key == "_quantization_metadata");
        assert_eq!(said, is_kept);
        assert_eq!(written.findings(), []);
    }
}
