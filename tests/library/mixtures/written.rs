//! Every byte of the tensors that llama-quantize wrote, from the repository in one pass; whole files
//! for a small model.

use std::path::Path;

use serde_json::{Value as Json, json};
use weighbridge::Model;
use weighbridge::ops::{self, ConvertOptions, QuantizeOptions};

use super::asked::{Run, list, text};
use super::files::{expected, home, repository};
use crate::common::tensor_bytes;
use crate::to_gguf::open;

/// The same options for our own verb.
fn options(said: &Json, model: &str) -> QuantizeOptions {
    let run = Run::of(&said["options"]);
    let mut options = QuantizeOptions::new(text(&said["type"])).pure(run.wishes.pure);
    if let Some(name) = run.wishes.output_type {
        options = options.output_type(name);
    }
    if let Some(name) = run.wishes.embedding_type {
        options = options.embedding_type(name);
    }
    for (pattern, name) in run.asked {
        options = options.tensor_type(move |weight| pattern.is_match(weight), name);
    }
    if run.keeps_output {
        options = options.keep(|weight| weight == "output.weight");
    }
    match run.matrix.as_deref() {
        // An importance of one for everything is what a longer search means.
        Some("ones.dat") => options.thorough(true),
        Some(file) => options.importance(home(model).join(file)),
        None => options,
    }
}

fn quantized(source: &Path, out: &Path, how: &QuantizeOptions) -> Vec<u8> {
    ops::quantize(&open(source), &ConvertOptions::new(out), how).unwrap();
    std::fs::read(out).unwrap()
}

/// Checks one file against what llama-quantize wrote.
fn check(model: &str, said: &Json, bytes: Vec<u8>) {
    let what = format!("{model} {} {}", said["type"], said["options"]);
    let found = Model::open_bytes(bytes, "made.gguf").unwrap();
    let source = &found.sources()[0];
    let tensors: Vec<Json> = source
        .catalog()
        .tensors
        .iter()
        .map(|tensor| {
            let crc = crc32fast::hash(&tensor_bytes(source, tensor).unwrap());
            json!([*tensor.name, tensor.stored.name(), format!("{crc:08x}")])
        })
        .collect();
    for (found, wanted) in tensors.iter().zip(list(&said["written"])) {
        assert_eq!(found, wanted, "{what}");
    }
    assert_eq!(tensors.len(), list(&said["written"]).len(), "{what}");
    let (last, entries) = (list(&said["last"]), source.catalog().metadata.iter());
    let entries: Vec<_> = entries.collect();
    // An importance of one is not told by a file.
    let last = if text_of(&said["options"]).contains("ones.dat") { &last[..2] } else { last };
    for (entry, wanted) in entries[entries.len() - last.len()..].iter().zip(last) {
        assert_eq!(entry.0, text(&wanted[0]), "{what}");
        if entry.0 != "quantize.imatrix.file" {
            assert_eq!(entry.1.to_json(), wanted[2], "{what} {}", entry.0);
        }
    }
}

fn text_of(json: &Json) -> String {
    json.to_string()
}

/// Every run of a model.
fn check_all(model: &str) {
    let (expected, folder) = (expected(model), tempfile::tempdir().unwrap());
    let (source, out) = (folder.path().join("hf"), folder.path().join("out.gguf"));
    std::fs::create_dir(&source).unwrap();
    repository(model, &expected, &source);
    for said in list(&expected["runs"]) {
        check(model, said, quantized(&source, &out, &options(said, model)));
        std::fs::remove_file(&out).unwrap();
    }
}

#[test]
fn a_llama_has_the_bytes_of_llama_quantize() {
    check_all("llama");
}

#[test]
fn a_mixture_of_experts_has_the_bytes_of_llama_quantize() {
    check_all("qwen3moe");
}

#[test]
fn a_gemma_has_the_bytes_of_llama_quantize() {
    check_all("gemma3");
}

#[test]
fn whole_files_are_those_of_llama_quantize() {
    let (expected, folder) = (expected("tiny"), tempfile::tempdir().unwrap());
    let source = folder.path().join("hf");
    std::fs::create_dir(&source).unwrap();
    repository("tiny", &expected, &source);
    for file in ["Q4_0", "Q4_K_M"] {
        let out = folder.path().join(format!("{file}.gguf"));
        let found = quantized(&source, &out, &QuantizeOptions::new(file));
        let wanted = std::fs::read(home("tiny").join(format!("whole/{file}.gguf"))).unwrap();
        assert!(found == wanted, "{file}");
    }
}

/// Another number of threads, smaller tiles, a stream: the same bytes; and what was written is
/// verified.
#[test]
fn bytes_do_not_depend_on_threads_or_tiles() {
    let (expected, folder) = (expected("llama"), tempfile::tempdir().unwrap());
    repository("llama", &expected, folder.path());
    let (model, how) = (open(folder.path()), QuantizeOptions::new("Q4_K_M"));
    let out = folder.path().join("../out-of-threads.gguf");
    let wanted = quantized(folder.path(), &out, &how);
    let report = ops::verify_quantized(
        &Model::open(&out).unwrap(),
        &model,
        &ConvertOptions::new(&out),
        &how,
    );
    assert!(report.unwrap().ok);
    std::fs::remove_file(&out).unwrap();
    for (threads, memory) in [(1, 1 << 20), (3, 1 << 30)] {
        let mut found = Vec::new();
        let options = ConvertOptions::new("-")
            .to("gguf")
            .threads(threads.try_into().unwrap())
            .max_memory(memory);
        ops::quantize_to(&model, &options, &how, &mut found).unwrap();
        assert!(found == wanted, "{threads}");
    }
}
