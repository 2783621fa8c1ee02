//! Whole models in llama-quantize's file types (`oracles/quantize_files.py`): that their sources are
//! made here as they were made there, that every weight gets its type in its place, and what the
//! files say about themselves.

use serde_json::{Value as Json, json};
use weighbridge::internals::schemes::ggml::types_of;
use weighbridge::{ImportanceMatrix, Model};

use super::asked::{Run, list, numbers, text};
use super::models::{MODELS, converted, described, expected, home};
use crate::common::tensor_bytes;

#[test]
fn sources_are_what_the_converter_makes() {
    for name in MODELS {
        let expected = expected(name);
        let found = Model::open_bytes(converted(name, &expected), "made.gguf").unwrap();
        let source = &found.sources()[0];
        let tensors: Vec<Json> = source
            .catalog()
            .tensors
            .iter()
            .map(|tensor| {
                let crc = crc32fast::hash(&tensor_bytes(source, tensor).unwrap());
                let crc = format!("{crc:08x}");
                json!([*tensor.name, tensor.shape.to_vec(), tensor.stored.name(), crc])
            })
            .collect();
        assert_eq!(Json::Array(tensors), expected["tensors"], "{name}");
    }
}

#[test]
fn every_weight_has_the_type_that_llama_quantize_wrote() {
    for name in MODELS {
        let expected = expected(name);
        for said in list(&expected["runs"]) {
            let (run, file) = (Run::of(&said["options"]), text(&said["type"]));
            let types = run.request(&described(&expected), |request| types_of(file, request));
            let types = types.unwrap();
            for (tensor, becomes) in list(&expected["tensors"]).iter().zip(types) {
                let written =
                    list(&said["written"]).iter().find(|one| one[0] == tensor[0]).unwrap();
                let becomes = becomes.unwrap_or(text(&tensor[2]));
                assert_eq!(
                    becomes,
                    text(&written[1]),
                    "{name} {file} {} {}",
                    said["options"],
                    tensor[0]
                );
            }
        }
    }
}

/// What llama-imatrix wrote: every weight of the model that is multiplied, and what files made with
/// it say.
#[test]
fn importance_matrices_know_the_weights_of_their_models() {
    for (name, form) in
        [("llama", "gguf"), ("llama", "dat"), ("qwen3moe", "gguf"), ("gemma3", "gguf")]
    {
        let (expected, file) = (expected(name), format!("imatrix.{form}"));
        let matrix = ImportanceMatrix::open(home(name).join(&file)).unwrap();
        let mut known = 0;
        for tensor in list(&expected["tensors"]).iter().filter(|tensor| list(&tensor[1]).len() > 1)
        {
            let (weight, shape) = (text(&tensor[0]), numbers(&tensor[1]));
            let matrices = shape.iter().rev().nth(2).copied().unwrap_or(1);
            if let Some(importance) = matrix.of(weight) {
                let len = usize::try_from(shape[shape.len() - 1] * matrices).unwrap();
                assert_eq!(
                    (importance.values().unwrap().len(), matrix.len_of(weight)),
                    (len, Some(len))
                );
                known += 1;
            }
        }
        assert_eq!(known, matrix.names().count(), "{name} {form}");
        let runs = list(&expected["runs"]).iter();
        let mut by_it =
            runs.filter(|said| Run::of(&said["options"]).matrix.as_ref() == Some(&file));
        let last = list(&by_it.next().unwrap()["last"]);
        let entries = matrix.entries();
        // The path is as it was given.
        assert_eq!(last[2][0], entries[0].0);
        let said: Vec<Json> = entries[1..]
            .iter()
            .map(|(key, value)| {
                json!([
                    key,
                    value.type_name().replace('u', "UINT").replace("string", "STRING"),
                    value.to_json()
                ])
            })
            .collect();
        assert_eq!(last[3..], said, "{name} {form}");
    }
}

#[test]
fn both_forms_of_a_matrix_say_the_same() {
    let open =
        |form: &str| ImportanceMatrix::open(home("llama").join(format!("imatrix.{form}"))).unwrap();
    let (one, other) = (open("gguf"), open("dat"));
    for name in one.names() {
        let values = |of: &ImportanceMatrix| of.of(name).unwrap().values().unwrap();
        for (a, b) in values(&one).iter().zip(values(&other).iter()) {
            assert!((a - b).abs() <= a.abs() * 1e-5, "{name}: {a} {b}");
        }
    }
    assert_eq!(one.names().count(), other.names().count());
}
