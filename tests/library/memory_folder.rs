//! A repository in memory opens, and is dequantized, exactly as a directory is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::common::root;
use weighbridge::ops::{Conversion, ConvertOptions, InspectOptions, inspect};
use weighbridge::output::Memory;
use weighbridge::{Folder, MemoryFolder, Model, OpenOptions, Result, Stores};

/// Every folder below the samples, themselves included.
fn folders() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for place in ["tests/files", "samples"] {
        collect(&root().join(place), &mut found, &mut Vec::new());
    }
    assert!(found.len() > 50, "the samples are missing");
    found
}

fn collect(folder: &Path, folders: &mut Vec<PathBuf>, files: &mut Vec<PathBuf>) {
    folders.push(folder.to_owned());
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, folders, files),
            false => files.push(path),
        }
    }
}

/// A copy of a folder, under the same paths.
fn copied(folder: &Path) -> Arc<dyn Folder> {
    let mut files = Vec::new();
    collect(folder, &mut Vec::new(), &mut files);
    let add = |copy: MemoryFolder, path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        copy.with(path, bytes)
    };
    Arc::new(files.into_iter().fold(MemoryFolder::new(), add))
}

/// Models as text: reports and values, or the error.
fn described(models: Result<Vec<Model>>) -> Vec<String> {
    match models {
        Ok(models) => models.iter().flat_map(described_model).collect(),
        Err(error) => vec![format!("{error} {:?}", error.hint_text())],
    }
}

fn described_model(model: &Model) -> Vec<String> {
    let options =
        InspectOptions { tensors: true, full_metadata: true, ..InspectOptions::default() };
    let report = inspect(model, &options).unwrap();
    let mut said = vec![serde_json::to_string(&report).unwrap(), format!("{:?}", model.notes())];
    for weight in model.weights() {
        let mut out = vec![0f32; weight.len()];
        let bits = weight
            .decode_into(&mut out)
            .map(|()| out.iter().map(|value| value.to_bits()).collect::<Vec<_>>());
        said.push(match bits {
            Ok(bits) => format!("{} {bits:?}", weight.name()),
            Err(error) => format!("{} {error}", weight.name()),
        });
    }
    said
}

#[test]
fn every_sample_directory_opens_from_memory_as_from_disk() {
    let options = OpenOptions::new().stores(Stores::none());
    let mut opened = 0;
    for folder in folders() {
        let on_disk = options.open_all(&folder);
        opened += usize::from(on_disk.is_ok());
        let in_memory = options.open_all_in(copied(&folder), &folder);
        assert_eq!(described(in_memory), described(on_disk), "{}", folder.display());
    }
    assert!(opened > 50, "{opened}");
}

/// The files that dequantizing a model gives, by name.
fn dequantized(model: &Model) -> BTreeMap<String, Vec<u8>> {
    let memory = Memory::default();
    let options = ConvertOptions::new("out");
    Conversion::plan_dequantized(model, &options).unwrap().run_into(&memory).unwrap();
    memory.into_files()
}

#[test]
fn a_repository_in_memory_is_dequantized_as_a_directory_is() {
    let place = root().join("samples/tiny-llama-gptq");
    let options = OpenOptions::new().stores(Stores::none());
    let on_disk = options.open(&place).unwrap();
    let in_memory = options.open_in(copied(&place), &place).unwrap();
    let files = dequantized(&on_disk);
    assert!(files.contains_key("config.json"), "{:?}", files.keys());
    assert!(files.keys().any(|name| name.ends_with(".safetensors")), "{:?}", files.keys());
    assert!(dequantized(&in_memory) == files);
}

#[test]
fn a_file_an_index_and_the_root_open_from_memory() {
    let place = root().join("tests/files/safetensors/sharded");
    let mut folder = MemoryFolder::new();
    for entry in std::fs::read_dir(&place).unwrap() {
        let entry = entry.unwrap();
        folder = folder.with(entry.file_name(), std::fs::read(entry.path()).unwrap());
    }
    let folder: Arc<dyn Folder> = Arc::new(folder);
    let options = OpenOptions::new();
    let count = |path: &str| options.open_in(folder.clone(), path).unwrap().weights().count();
    assert_eq!(count(""), count("model.safetensors.index.json"));
    assert!(count("model-00001-of-00003.safetensors") < count(""));
    let error = options.open_in(folder.clone(), "modle.safetensors.index.json").err().unwrap();
    assert_eq!(error.hint_text(), Some("did you mean model.safetensors.index.json?"), "{error}");
}
