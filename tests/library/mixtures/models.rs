//! The models that llama-quantize was run on (`oracles/quantize_files.py`), and what it made of them.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};

use super::asked::{Described, Tensor, list, numbers, text};
use crate::common::{made, root};
use crate::to_gguf::open;

pub const MODELS: [&str; 4] = ["llama", "qwen3moe", "gemma3", "tiny"];

pub fn home(model: &str) -> PathBuf {
    root().join("tests/files/quantize").join(model)
}

pub fn expected(model: &str) -> Json {
    serde_json::from_slice(&std::fs::read(home(model).join("expected.json")).unwrap()).unwrap()
}

/// The repository of a model, with its weights, below a folder. Its name, from which the model gets
/// one, is that which the converter saw.
pub fn repository(model: &str, expected: &Json, folder: &Path) -> PathBuf {
    let folder = folder.join("hf");
    std::fs::create_dir(&folder).unwrap();
    for entry in std::fs::read_dir(home(model).join("hf")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".into(), json!({ "format": "pt" }));
    for weight in list(&expected["weights"]) {
        let (name, start) = (text(&weight[0]), data.len());
        let count = usize::try_from(numbers(&weight[1]).iter().product::<u64>()).unwrap();
        data.extend(made::weights(name, count).into_iter().flat_map(u16::to_le_bytes));
        let place =
            json!({ "dtype": "BF16", "shape": weight[1], "data_offsets": [start, data.len()] });
        header.insert(name.to_owned(), place);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
    folder
}

pub fn described(expected: &Json) -> Described {
    let entry = |entry: &Json| (text(&entry[0]).to_owned(), Value::from_json(&entry[2]));
    Described {
        entries: list(&expected["entries"]).iter().map(entry).collect(),
        tensors: list(&expected["tensors"]).iter().map(Tensor::of).collect(),
    }
}

/// A model in BF16, as it was given to llama-quantize.
pub fn converted(model: &str, expected: &Json) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let repository = repository(model, expected, folder.path());
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(OutputType::Bf16);
    let mut bytes = Vec::new();
    ops::convert_to(&open(&repository), &options, &mut bytes).unwrap();
    bytes
}

/// An importance matrix of the older form in which every column of a model is as important as
/// every other.
pub fn ones(expected: &Json) -> Vec<u8> {
    let model = described(expected);
    let tensors: Vec<&Tensor> = model.tensors.iter().filter(|one| one.shape.len() > 1).collect();
    let number = |number: usize| i32::try_from(number).unwrap().to_le_bytes();
    let mut file = number(tensors.len()).to_vec();
    for Tensor { name, shape, .. } in tensors {
        let matrices = shape.iter().rev().nth(2).copied().unwrap_or(1);
        let columns = usize::try_from(shape[shape.len() - 1] * matrices).unwrap();
        file.extend([&number(name.len()), name.as_bytes(), &number(1), &number(columns)].concat());
        file.extend(1f32.to_le_bytes().repeat(columns));
    }
    file
}
