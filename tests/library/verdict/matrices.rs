//! The samples of `tests/files/verdict`: matrices and what was made of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Map, Value as Json, json};
use weighbridge::{DType, Model, OpenOptions, Stores, Weight, bf16, f16};

use crate::common::root;

/// Rows of numbers.
#[derive(Clone)]
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub values: Vec<f32>,
}

impl Matrix {
    pub fn row(&mut self, row: usize) -> &mut [f32] {
        &mut self.values[row * self.columns..(row + 1) * self.columns]
    }
}

pub fn folder() -> PathBuf {
    root().join("tests/files/verdict")
}

fn open(name: &str) -> Model {
    OpenOptions::new().stores(Stores::none()).open(folder().join(name)).unwrap()
}

/// The matrices before anything was made of them.
pub fn originals() -> BTreeMap<String, Matrix> {
    let model = open("original.safetensors");
    model.weights().map(|weight| (weight.name().to_owned(), matrix(&weight))).collect()
}

/// The numbers of a weight.
pub fn matrix(weight: &Weight) -> Matrix {
    let (rows, columns) = weight.rows_and_columns();
    let [rows, columns] = [rows, columns].map(|count| usize::try_from(count).unwrap());
    Matrix { rows, columns, values: weight.decode_to_vec().unwrap() }
}

/// Every file or folder that holds what a quantizer made of all matrices.
pub fn stored() -> Vec<(String, Model)> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".gguf") || folder().join(name).is_dir()).collect();
    names.sort();
    names.into_iter().map(|name| (name.trim_end_matches(".gguf").to_owned(), open(&name))).collect()
}

/// The originals of all weights of a model, under their names.
pub fn model_of(stored: &Model, originals: &BTreeMap<String, Matrix>, dtype: DType) -> Model {
    let all: Vec<&str> = originals.keys().map(String::as_str).collect();
    changed_model(stored, &all, dtype, |name, _| {
        originals[name.split_once('.').map_or(name, |(matrix, _)| matrix)].clone()
    })
}

/// A model in memory with a matrix for each weight of `stored` that was made from one of the
/// originals `of`; `make` gives the matrix, from the weight's name and the weight.
pub fn changed_model(
    stored: &Model,
    of: &[&str],
    dtype: DType,
    mut make: impl FnMut(&str, &Weight) -> Matrix,
) -> Model {
    let is_of = |name: &str| of.contains(&name.split_once('.').map_or(name, |(matrix, _)| matrix));
    let weights = stored.weights().filter(|weight| is_of(weight.name()));
    in_memory(weights.map(|weight| (weight.name().to_owned(), make(weight.name(), &weight))), dtype)
}

/// A model in memory.
pub fn in_memory(all: impl Iterator<Item = (String, Matrix)>, dtype: DType) -> Model {
    let (mut header, mut data) = (Map::new(), Vec::<u8>::new());
    for (name, Matrix { rows, columns, values }) in all {
        let start = data.len();
        match dtype {
            DType::BF16 => {
                data.extend(values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()));
            }
            DType::F16 => data.extend(values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes())),
            _ => data.extend(values.iter().flat_map(|x| x.to_le_bytes())),
        }
        let entry = json!({
            "dtype": dtype.name(), "shape": [rows, columns], "data_offsets": [start, data.len()]
        });
        header.insert(name, entry);
    }
    let header = Json::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    Model::open_bytes(file, "original.safetensors").unwrap()
}
