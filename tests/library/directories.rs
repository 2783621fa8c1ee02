//! Directories: shards with their index, repositories that stay whole, and work that goes on where
//! it was interrupted.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::root;
use serde_json::Value;
use weighbridge::ops::{self, ConvertOptions, OutputType, Progress};
use weighbridge::{Model, Remedy, f16, output};

fn sample() -> Model {
    Model::open(root().join("samples/tiny-llama-gptq")).unwrap()
}

/// Every file in a folder with its contents, but for the marker.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .filter(|entry| entry.path().is_file() && entry.file_name() != ".weigh.json")
        .map(|entry| {
            (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// What is in a folder, directories too.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// In the type that the sample's quantized weights are converted to.
fn values(model: &Model) -> BTreeMap<String, Vec<f16>> {
    let decoded = |weight: weighbridge::Weight| {
        let mut out = vec![f16::ZERO; weight.len()];
        weight.decode_into(&mut out).unwrap();
        (weight.name().to_owned(), out)
    };
    model.weights().map(decoded).collect()
}

#[test]
fn shards_are_a_model_with_an_index() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    let target = place.path().join("out");
    let options = ConvertOptions::new(&target).max_shard_size(60_000);
    let report = ops::convert(&model, &options).unwrap();
    assert_eq!(report.files.len(), 5);
    for file in &report.files {
        assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file.bytes);
    }
    let index: Value = serde_json::from_slice(
        &std::fs::read(target.join("model.safetensors.index.json")).unwrap(),
    )
    .unwrap();
    assert_eq!(index["metadata"]["total_parameters"], 107_840);
    assert_eq!(index["metadata"]["total_size"], 2 * 107_840);
    assert_eq!(index["weight_map"].as_object().unwrap().len(), 21);
    let written = Model::open(&target).unwrap();
    assert!(written.findings().is_empty(), "{:?}", written.findings());
    assert!(values(&written) == values(&model));
    assert_eq!(names_in(place.path()), ["out"]);
}

#[test]
fn files_in_memory_are_those_of_a_directory() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    let options = |name: &str| ConvertOptions::new(place.path().join(name)).max_shard_size(60_000);
    ops::convert(&model, &options("out")).unwrap();
    let files = output::Memory::default();
    // What is there already does not count: it is not written to.
    let conversion = ops::Conversion::plan_for(&model, &options("out"), &files).unwrap();
    assert_eq!(conversion.report().files.len(), 5);
    conversion.run_into(&files).unwrap();
    assert!(files.into_files() == contents(&place.path().join("out")));

    ops::dequantize(&model, &options("whole")).unwrap();
    let files = output::Memory::default();
    let conversion = ops::Conversion::plan_dequantized(&model, &options("other")).unwrap();
    conversion.run_into(&files).unwrap();
    let files = files.into_files();
    assert!(files.contains_key("config.json"));
    assert!(files == contents(&place.path().join("whole")));

    let single = place.path().join("single.npz");
    ops::convert(&model, &ConvertOptions::new(&single).dtype(OutputType::F32)).unwrap();
    let files = output::Memory::default();
    let options = ConvertOptions::new("single.npz").dtype(OutputType::F32);
    ops::Conversion::plan_for(&model, &options, &files).unwrap().run_into(&files).unwrap();
    let expected = ("single.npz".to_owned(), std::fs::read(&single).unwrap());
    assert!(files.into_files().into_iter().eq([expected]));
}

#[test]
fn a_repository_stays_whole() {
    let (place, from) = (tempfile::tempdir().unwrap(), root().join("samples/tiny-llama-gptq"));
    let source = place.path().join("in");
    std::fs::create_dir_all(source.join("extra")).unwrap();
    for (name, bytes) in contents(&from) {
        std::fs::write(source.join(name), bytes).unwrap();
    }
    std::fs::write(source.join("extra/notes.txt"), "kept").unwrap();
    std::fs::write(source.join("pytorch_model.bin"), "not these weights").unwrap();
    std::fs::write(source.join(".hidden"), "left").unwrap();
    let model = Model::open(&source).unwrap();
    let target = place.path().join("out");
    ops::dequantize(&model, &ConvertOptions::new(&target)).unwrap();
    let (before, after) = (contents(&source), contents(&target));
    let names: Vec<&str> = after.keys().map(String::as_str).collect();
    let expected = [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ];
    assert_eq!(names, expected);
    assert_eq!(before["tokenizer.json"], after["tokenizer.json"]);
    assert_eq!(std::fs::read(target.join("extra/notes.txt")).unwrap(), b"kept");
    let [old, new]: [Value; 2] =
        [&before, &after].map(|files| serde_json::from_slice(&files["config.json"]).unwrap());
    assert!(old["quantization_config"].is_object() && new.get("quantization_config").is_none());
    let keys = |config: &Value| -> Vec<String> {
        config
            .as_object()
            .unwrap()
            .keys()
            .filter(|k| *k != "quantization_config")
            .cloned()
            .collect()
    };
    assert_eq!(keys(&old), keys(&new), "the order of the keys");
    assert_eq!(new["dtype"], "bfloat16");
    // A named type is for what was quantized.
    let target = place.path().join("single");
    let options = ConvertOptions::new(&target).dtype(OutputType::F32);
    let report = ops::dequantize(&model, &options).unwrap();
    let types: Vec<_> = report.conversions.iter().map(|row| (row.scheme, &*row.dtype)).collect();
    assert_eq!(types, [("gptq", "F32"), ("plain", "BF16")]);
    let config: Value = serde_json::from_slice(&contents(&target)["config.json"]).unwrap();
    assert_eq!(config["dtype"], "float32");
    assert_eq!(names_in(place.path()), ["in", "out", "single"]);
    assert!(contents(&source) == before, "the source was changed");
}

/// Converts, and stops after so many bytes of data.
fn interrupt(model: &Model, options: &ConvertOptions, after: u64) {
    let stop = Arc::new(AtomicBool::new(false));
    let heard = {
        let stop = stop.clone();
        Arc::new(move |at: Progress| stop.store(at.done >= after, Ordering::Relaxed))
    };
    let options = options.clone().progress(heard).cancel(stop).threads(1.try_into().unwrap());
    let error = ops::convert(model, &options).unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
}

#[test]
fn what_was_interrupted_goes_on() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    let options = |name: &str| ConvertOptions::new(place.path().join(name)).max_shard_size(60_000);
    ops::convert(&model, &options("whole")).unwrap();
    let whole = contents(&place.path().join("whole"));
    let partial = place.path().join("out.weigh-partial");
    for after in [1, 40_000, 100_000, 160_000, 190_000] {
        interrupt(&model, &options("out"), after);
        assert!(!place.path().join("out").exists());
        let finished = if partial.exists() { contents(&partial).len() - 1 } else { 0 };
        assert_eq!(finished > 0, after >= 40_000, "{after}: {finished} files are finished");
        if finished > 0 {
            let error = ops::convert(&model, &options("out")).unwrap_err();
            assert!(error.remedies().contains(&Remedy::Resume), "{error}");
            let other = options("out").dtype(OutputType::F32).resume(true);
            let error = ops::convert(&model, &other).unwrap_err();
            assert!(error.to_string().contains("another conversion"), "{error}");
        }
        ops::convert(&model, &options("out").resume(true)).unwrap();
        assert!(contents(&place.path().join("out")) == whole, "{after}");
        std::fs::remove_dir_all(place.path().join("out")).unwrap();
    }
    assert_eq!(names_in(place.path()), ["whole"]);
}

#[test]
fn a_directory_is_replaced_only_by_force_and_only_when_complete() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    let target = place.path().join("out");
    let options = ConvertOptions::new(&target).max_shard_size(60_000);
    ops::convert(&model, &options.clone().dtype(OutputType::F32)).unwrap();
    let before = contents(&target);
    assert!(ops::convert(&model, &options).unwrap_err().to_string().contains("already exists"));
    interrupt(&model, &options.clone().force(true), 100_000);
    assert_eq!(names_in(place.path()), ["out", "out.weigh-partial"]);
    assert!(contents(&target) == before, "what was there is still there");
    ops::convert(&model, &options.force(true)).unwrap();
    assert!(contents(&target) != before);
    assert!(values(&Model::open(&target).unwrap()) == values(&model));
    assert_eq!(names_in(place.path()), ["out"]);
}

#[test]
fn nothing_is_written_over_the_model_or_into_a_cache() {
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("models--a--b/snapshots/1");
    std::fs::create_dir_all(&source).unwrap();
    for (name, bytes) in contents(&root().join("samples/tiny-llama-gptq")) {
        std::fs::write(source.join(name), bytes).unwrap();
    }
    let model = Model::open(&source).unwrap();
    let before = contents(&source);
    for target in [source.clone(), place.path().join("models--a--b")] {
        let options = ConvertOptions::new(&target).force(true);
        let error = ops::dequantize(&model, &options).unwrap_err().to_string();
        assert!(error.contains("never overwritten"), "{error}");
    }
    let inside = ConvertOptions::new(source.join("out"));
    let error = ops::convert(&model, &inside).unwrap_err().to_string();
    assert!(error.contains("Hugging Face cache"), "{error}");
    assert!(contents(&source) == before && names_in(&source).len() == before.len());
    assert_eq!(names_in(place.path()), ["models--a--b"]);
}

/// What is wrong with the set of files stops a conversion, whether anything is decoded or not.
#[test]
fn a_set_that_is_not_whole_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("in");
    std::fs::create_dir(&source).unwrap();
    for (name, bytes) in contents(&root().join("samples/tiny-llama-gptq")) {
        std::fs::write(source.join(name), bytes).unwrap();
    }
    let [first, second] =
        [1, 2].map(|n| source.join(format!("model-0000{n}-of-00002.safetensors")));
    let refused = |problem: &str| {
        let model = Model::open(&source).unwrap();
        for dtype in [OutputType::Auto, OutputType::Keep] {
            let options = ConvertOptions::new(place.path().join("out")).dtype(dtype);
            let error = ops::convert(&model, &options).unwrap_err().to_string();
            assert!(error.contains(problem), "{dtype:?}: {error}");
            assert_eq!(names_in(place.path()), ["in"]);
        }
    };
    std::fs::remove_file(&second).unwrap();
    refused("model-00002-of-00002.safetensors is missing");
    std::fs::copy(&first, &second).unwrap();
    refused(
        "the index places it in model-00002-of-00002.safetensors, but that file does not have it",
    );
}
