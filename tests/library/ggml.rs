//! Every type of ggml against ggml's own C: values at f32, their one rounding to bf16 and f16, and
//! every range of rows, from files of both byte orders.

use crate::common::root;
use weighbridge::Element;
use weighbridge::internals::blocks::{BLOCKS, Standing};
use weighbridge::{Model, Weight, bf16, f16};

const FILES: [(&str, &str); 3] = [
    ("blocks.gguf", "blocks.expected.safetensors"),
    ("blocks-big-endian.gguf", "blocks.expected.safetensors"),
    ("nvfp4-scale.gguf", "nvfp4-scale.expected.safetensors"),
];

fn open(name: &str) -> Model {
    Model::open(root().join("tests/files/ggml").join(name)).unwrap()
}

/// The same bits, or both not a number.
fn same<T: Element + Into<f32>>(a: T, b: T) -> bool {
    let (a, b): (f32, f32) = (a.into(), b.into());
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// All of a weight, then each of its rows and a range from its middle, against `expected`.
fn check<T: Element + Into<f32> + Copy>(weight: &Weight, expected: &[T]) -> Result<(), String> {
    let (rows, columns) = weight.rows_and_columns();
    // Whatever decoding leaves alone must not pass for a value.
    let mut whole: Vec<T> = expected.iter().rev().copied().collect();
    weight.decode_into(&mut whole).map_err(|error| error.to_string())?;
    if let Some(at) = (0..whole.len()).find(|&at| !same(whole[at], expected[at])) {
        let (found, wanted): (f32, f32) = (whole[at].into(), expected[at].into());
        return Err(format!("element {at}: {found:e} instead of {wanted:e}"));
    }
    let last = (rows - 1).max(1);
    let ranges = std::iter::once(last.min(1)..last).chain((0..rows).map(|row| row..row + 1));
    for range in ranges {
        let at = |row: u64| usize::try_from(row * columns).unwrap();
        let wanted = &expected[at(range.start)..at(range.end)];
        let mut found: Vec<T> = wanted.iter().rev().copied().collect();
        weight.decode_rows(range.clone(), &mut found).map_err(|error| error.to_string())?;
        if let Some(at) = (0..found.len()).find(|&at| !same(found[at], wanted[at])) {
            let (found, wanted): (f32, f32) = (found[at].into(), wanted[at].into());
            return Err(format!("rows {range:?}, element {at}: {found:e} instead of {wanted:e}"));
        }
    }
    Ok(())
}

fn check_weight(weight: &Weight, expected: &Model) -> Result<(), String> {
    let golden = expected.weight(weight.name()).map_err(|error| error.to_string())?;
    if golden.shape() != weight.shape() {
        return Err(format!("shape {:?} instead of {:?}", weight.shape(), golden.shape()));
    }
    let values: Vec<f32> = golden
        .bytes()
        .ok_or("expected values are not plain")?
        .as_chunks()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect();
    check::<f32>(weight, &values)?;
    if weight.variant() == "F64" {
        // Its golden is rounded to f32 already; `plain` is tested for rounding f64 once.
        return Ok(());
    }
    let brain: Vec<bf16> = values.iter().map(|&value| bf16::from_f32(value)).collect();
    check::<bf16>(weight, &brain).map_err(|failure| format!("bf16: {failure}"))?;
    let half: Vec<f16> = values.iter().map(|&value| f16::from_f32(value)).collect();
    check::<f16>(weight, &half).map_err(|failure| format!("f16: {failure}"))
}

#[test]
fn every_weight_is_what_ggml_makes_of_it() {
    let mut failures = Vec::new();
    for (file, expected) in FILES {
        let (model, expected) = (open(file), open(expected));
        let names = |model: &Model| {
            let mut names: Vec<_> = model.weights().map(|w| w.name().to_owned()).collect();
            names.sort();
            names
        };
        if names(&model) != names(&expected) {
            failures.push(format!("{file}: weights {:?}", names(&model)));
        }
        for weight in model.weights() {
            if let Err(failure) = check_weight(&weight, &expected) {
                failures.push(format!("{file}: {}: {failure}", weight.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{} weights differ:\n{}", failures.len(), failures.join("\n"));
}

/// A type that nobody put into the file would pass every test here.
#[test]
fn every_current_type_is_in_the_file() {
    for file in ["blocks.gguf", "blocks-big-endian.gguf"] {
        let model = open(file);
        for block in BLOCKS.iter().filter(|block| block.standing == Standing::Current) {
            for kind in ["real", "raw"] {
                let weight = model.weight(&format!("{}.{kind}", block.name)).unwrap();
                assert_eq!(weight.variant(), block.name, "{file}");
            }
        }
    }
}
