//! The whole way once: a GPTQ model through bids, `needs`, `fetch` and `decode`, mapped and
//! read, against values decoded by the canonical library; then written tile by tile and read back.
#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use weighbridge::ops::{ConvertOptions, OutputType};
use weighbridge::{FileAccess, Model, OpenOptions, f16, ops};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn golden() -> Vec<(String, Vec<u8>)> {
    let folder = root().join("tests/files/gptq");
    let list: Json =
        serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
    let entries = list.as_array().unwrap();
    assert!(entries.len() >= 14);
    entries
        .iter()
        .map(|entry| {
            let bytes = std::fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap();
            (entry["name"].as_str().unwrap().to_owned(), bytes)
        })
        .collect()
}

fn decoded(model: &Model, name: &str) -> Vec<u8> {
    let weight = model.weight(name).unwrap();
    let mut out = vec![f16::ZERO; weight.len()];
    weight.decode_into(&mut out).unwrap();
    out.iter().flat_map(|value| value.to_le_bytes()).collect()
}

#[test]
fn gptq_decodes_to_the_canonical_values_mapped_and_read() {
    for access in [FileAccess::Map, FileAccess::Read] {
        let model =
            OpenOptions::new().access(access).open(root().join("samples/tiny-llama-gptq")).unwrap();
        for (name, expected) in golden() {
            assert_eq!(model.weight(&name).unwrap().scheme(), "gptq");
            assert!(decoded(&model, &name) == expected, "{name} {access:?}");
        }
    }
}

#[test]
fn any_rows_are_the_same_rows() {
    let model = Model::open(root().join("samples/tiny-llama-gptq")).unwrap();
    for (name, _) in golden().iter().take(3) {
        let weight = model.weight(name).unwrap();
        let (rows, columns) = weight.rows_and_columns();
        let mut all = vec![0f32; weight.len()];
        weight.decode_into(&mut all).unwrap();
        for range in [0..1, 3..17, rows - 5..rows, 7..7, 0..rows] {
            let mut some = vec![0f32; ((range.end - range.start) * columns) as usize];
            weight.decode_rows(range.clone(), &mut some).unwrap();
            let from = (range.start * columns) as usize;
            assert_eq!(some, all[from..from + some.len()], "{name} {range:?}");
        }
    }
}

#[test]
fn written_tile_by_tile_and_read_back() {
    let model = Model::open(root().join("samples/tiny-llama-gptq")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let options = ConvertOptions::new(&target).dtype(OutputType::F16);
    ops::convert(&model, &options).unwrap();
    let written = Model::open(&target).unwrap();
    assert_eq!(written.weights().len(), model.weights().len());
    for weight in model.weights() {
        assert!(decoded(&written, weight.name()) == decoded(&model, weight.name()));
    }
    for (name, expected) in golden() {
        assert_eq!(written.weight(&name).unwrap().bytes(), Some(&expected[..]));
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "no partial file stays behind");
}
