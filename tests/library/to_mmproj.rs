//! Projectors of multimodal models as GGUF files, against what llama.cpp's own converter makes of them: the
//! same tensors in the same order, to the byte, and the same metadata in type and value.

use std::fs;
use std::path::{Path, PathBuf};

use weighbridge::Model;
use weighbridge::OpenOptions;
use weighbridge::internals::projectors::{PROJECTORS, of_config};
use weighbridge::ops::{self, ConvertOptions, Mmproj, OutputType};

use crate::common::root;
use crate::to_gguf::{compare, copy_files, every, open};

const TYPES: [(&str, OutputType); 3] =
    [("f32", OutputType::F32), ("f16", OutputType::F16), ("bf16", OutputType::Bf16)];

fn folder(name: &str) -> PathBuf {
    root().join("tests/files/to-mmproj").join(name)
}

fn names() -> Vec<String> {
    let folders = fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<String> = folders
        .filter(|path| path.join("hf").is_dir())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

fn made(model: &Model, options: &ConvertOptions) -> Model {
    let mut bytes = Vec::new();
    let report = ops::convert_to(model, options, &mut bytes).unwrap();
    assert!(report.skipped.is_empty());
    OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap()
}

fn only() -> ConvertOptions {
    ConvertOptions::new("-").to("gguf").mmproj(Mmproj::Only)
}

fn check(name: &str) {
    let model = open(&folder(name).join("hf"));
    let mut compared = 0;
    for (dtype, asked) in TYPES {
        let golden = folder(name).join(format!("mmproj-{dtype}.gguf"));
        if golden.exists() {
            let made = made(&model, &only().dtype(asked));
            compare(&made, &open(&golden), &format!("{name} {dtype}"));
            compared += 1;
        }
    }
    assert!(compared > 0, "{name} has no file of the converter's");
}

#[test]
fn projectors_become_the_files_of_the_converter() {
    every(&names(), check);
}

#[test]
fn every_class_has_a_file_of_the_converter() {
    let config = |name: &String| {
        serde_json::from_slice(&fs::read(folder(name).join("hf/config.json")).unwrap()).unwrap()
    };
    let known = |name: &String| of_config(&config(name)).unwrap().shown();
    let found: std::collections::BTreeSet<&str> = names().iter().map(known).collect();
    let all = PROJECTORS.iter().map(weighbridge::internals::projectors::Projector::shown).collect();
    assert_eq!(found, all);
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// In one command, the model as without a projector, and the projector as by itself.
#[test]
fn a_projector_is_written_beside_its_model() {
    let model = open(&folder("gemma3").join("hf"));
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("tiny.gguf");
    let options = ConvertOptions::new(&out).dtype(OutputType::F16);
    let both = options.clone().mmproj(Mmproj::Beside).verify(true);
    let report = ops::convert(&model, &both).unwrap();
    assert!(report.verified.unwrap().ok);
    assert_eq!(report.files.len(), 2);
    assert_eq!(files(place.path()), ["mmproj-tiny.gguf", "tiny.gguf"]);
    let projector = open(&place.path().join("mmproj-tiny.gguf"));
    compare(&projector, &open(&folder("gemma3").join("mmproj-f16.gguf")), "beside");
    compare(&open(&out), &made(&model, &options.clone().to("gguf")), "the model");
    let only = options.mmproj(Mmproj::Only);
    assert!(ops::verify(&projector, &model, &only).unwrap().ok);
}

#[test]
fn a_projector_is_written_into_a_directory() {
    let model = open(&folder("gemma3").join("hf"));
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("tiny");
    let both = ConvertOptions::new(&out).to("gguf").mmproj(Mmproj::Beside).verify(true);
    assert!(ops::convert(&model, &both.dtype(OutputType::F16)).unwrap().verified.unwrap().ok);
    let own: Vec<String> = files(&out).into_iter().filter(|name| name.ends_with(".gguf")).collect();
    assert_eq!(own, ["mmproj-tiny.gguf", "tiny.gguf"]);
    let projector = open(&out.join("mmproj-tiny.gguf"));
    compare(&projector, &open(&folder("gemma3").join("mmproj-f16.gguf")), "inside");
}

#[test]
fn what_exists_is_kept_without_force() {
    let model = open(&folder("gemma3").join("hf"));
    let place = tempfile::tempdir().unwrap();
    let (out, other) = (place.path().join("tiny.gguf"), place.path().join("mmproj-tiny.gguf"));
    fs::write(&other, "mine").unwrap();
    let options = ConvertOptions::new(&out).mmproj(Mmproj::Beside);
    let error = ops::convert(&model, &options).unwrap_err().to_string();
    assert!(error.contains("mmproj-tiny.gguf"), "{error}");
    assert_eq!(files(place.path()), ["mmproj-tiny.gguf"]);
    assert_eq!(fs::read(&other).unwrap(), b"mine");
    ops::convert(&model, &options.force(true)).unwrap();
    assert_eq!(files(place.path()), ["mmproj-tiny.gguf", "tiny.gguf"]);
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let refused =
        |home: &Path| ops::convert_to(&open(home), &only(), Vec::new()).unwrap_err().to_string();
    let text = root().join("tests/files/to-gguf/llama/hf");
    assert!(refused(&text).contains("LlamaForCausalLM has no vision or audio encoder"));
    let copy = tempfile::tempdir().unwrap();
    copy_files(&folder("gemma3").join("hf"), copy.path());
    let path = copy.path().join("config.json");
    let config = fs::read_to_string(&path).unwrap();
    let layers = config.replace("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3");
    assert_ne!(layers, config);
    fs::write(&path, layers).unwrap();
    let error = refused(copy.path());
    assert!(error.contains("3 vision layers, but layer 2 has no weights"), "{error}");
    let width = config.replace(
        "\"hidden_size\": 16,\n    \"image_size\"",
        "\"hidden_size\": 32,\n    \"image_size\"",
    );
    assert_ne!(width, config);
    fs::write(&path, width).unwrap();
    let error = refused(copy.path());
    assert!(error.contains("a width of 32, but layers have 16"), "{error}");
    fs::write(&path, config.replace("Gemma3ForConditionalGeneration", "OtherModel")).unwrap();
    let error = refused(copy.path());
    assert!(error.contains("the projector of OtherModel is not supported"), "{error}");
}

#[test]
fn what_llama_cpp_takes_for_granted_is_warned_about() {
    let warned = |name: &str| -> Vec<String> {
        let model = open(&folder(name).join("hf"));
        let report = ops::convert_to(&model, &only(), Vec::new()).unwrap();
        report.warnings.into_iter().map(|warning| warning.key).collect()
    };
    assert_eq!(warned("qwen2_5_vl"), ["vision.window_size"]);
    assert_eq!(warned("gemma4"), ["vision.pooling_kernel_size"]);
    for name in ["gemma3", "qwen2_vl", "qwen3_vl", "qwen3_omni_moe", "glm4v", "exaone4_5", "llama4"]
    {
        assert_eq!(warned(name), [""; 0], "{name}");
    }
}
