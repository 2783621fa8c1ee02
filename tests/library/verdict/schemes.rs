//! What the libraries themselves write of real matrices, GPTQ and AWQ included.

use weighbridge::ops::{DiffReport, DiffTensor, Status};
use weighbridge::{DType, Model, OpenOptions, Stores};

use super::changes::CHANGES;
use super::matrices::{in_memory, matrix};
use super::{compare, is_fine};
use crate::common::root;

/// Their quantizers move factors from one layer to the next before they round.
const FOLDED: [&str; 3] = ["awq-f16", "ct-awq-bf16", "ct-smooth-bf16"];

/// Changes that are found in every type: they come first.
const ALWAYS: usize = 5;

fn open(name: &str) -> Model {
    let folder = root().join("tests/files/verdict-schemes").join(name);
    OpenOptions::new().stores(Stores::none()).open(folder).unwrap()
}

/// Every folder that a quantizer has written.
fn samples() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("tests/files/verdict-schemes")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_sample = |name: &String| !name.starts_with("original") && !name.ends_with(".md");
    let mut names: Vec<String> = names.filter(is_sample).collect();
    names.sort();
    assert!(names.len() > 20);
    names
}

/// The type that the model was loaded in.
fn loaded_in(sample: &str) -> &str {
    sample.rsplit('-').next().unwrap()
}

fn alarms(sample: &str, report: &DiffReport) -> Vec<String> {
    let wrong = report.tensors.iter().filter(|tensor| !is_fine(tensor));
    wrong.map(|t| format!("{sample} {}: {:?} {:?}", t.name_a, t.status, t.places.first())).collect()
}

#[test]
fn what_a_library_made_of_a_model_is_the_same_model() {
    let mut wrong = Vec::new();
    for sample in samples().iter().filter(|sample| !FOLDED.contains(&sample.as_str())) {
        let original = open(&format!("original-{}", loaded_in(sample)));
        for is_reversed in [false, true] {
            let report = compare(&original, &open(sample), is_reversed);
            wrong.extend(alarms(sample, &report));
            // A bias of zeros that only one side has is none.
            assert!(report.ok || !wrong.is_empty(), "{sample}: {:?}", report.only_b);
        }
    }
    assert!(wrong.is_empty(), "{} false alarms:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn folded_factors_are_found_and_named() {
    for sample in FOLDED {
        let original = open(&format!("original-{}", loaded_in(sample)));
        let report = compare(&original, &open(sample), false);
        assert!(!report.ok);
        let is_smooth = sample == "ct-smooth-bf16";
        for tensor in &report.tensors {
            let name = tensor.name_a.as_str();
            let is_spared = is_smooth && (name.contains("o_proj") || name.contains("down_proj"));
            let is_right = match tensor.status {
                Status::Changed if name.contains("norm") => true,
                Status::Changed if !is_spared => is_rescaled(tensor),
                Status::WithinPrecision => is_spared,
                _ => false,
            };
            assert!(is_right, "{sample} {tensor:?}");
        }
    }
}

fn is_rescaled(tensor: &DiffTensor) -> bool {
    tensor
        .change
        .as_deref()
        .is_some_and(|change| change.contains("column is rescaled by its own factor"))
        && tensor.outside_rows == Some(tensor.shape_a[0])
}

/// Rows and heads that were changed are found in every type.
#[test]
fn changed_rows_are_found_whatever_the_library() {
    let mut missed = Vec::new();
    for sample in samples().iter().filter(|sample| !FOLDED.contains(&sample.as_str())) {
        let (stored, short) = (open(sample), loaded_in(sample));
        let dtype = [DType::BF16, DType::F16][usize::from(short == "f16")];
        let dtype = if short == "f32" { DType::F32 } else { dtype };
        for (change, trial) in CHANGES[..ALWAYS].iter().zip(0..) {
            let altered = changed(&open(&format!("original-{short}")), &stored, dtype, |m, w| {
                change.apply(m, "plain", w, trial);
            });
            let report = compare(&altered, &stored, trial % 2 == 1);
            let layers = report.tensors.iter().filter(|t| t.name_a.ends_with("_proj.weight"));
            for tensor in layers.filter(|tensor| tensor.status != Status::Changed) {
                missed.push(format!("{sample} {}: {}", change.name, tensor.name_a));
            }
        }
    }
    assert!(missed.is_empty(), "{} missed:\n{}", missed.len(), missed.join("\n"));
}

/// The layers of a model, changed.
fn changed(
    original: &Model,
    stored: &Model,
    dtype: DType,
    change: impl Fn(&mut super::matrices::Matrix, &weighbridge::Weight),
) -> Model {
    let layers = original.weights().filter(|weight| weight.name().ends_with("_proj.weight"));
    let made = layers.map(|weight| {
        let mut values = matrix(&weight);
        change(&mut values, &stored.weight(weight.name()).unwrap());
        (weight.name().to_owned(), values)
    });
    in_memory(made, dtype)
}

/// The everyday route: a float32 model is copied to BF16, and the copy is quantized.
#[test]
fn a_file_made_from_a_copy_of_16_bits_is_the_same_model() {
    let original = open("original-f32");
    let (mut wrong, mut noted) = (Vec::new(), 0);
    let is_from_copy =
        |sample: &&String| sample.ends_with("-bf16") && !FOLDED.contains(&&***sample);
    for sample in samples().iter().filter(is_from_copy) {
        for is_reversed in [false, true] {
            let report = compare(&original, &open(sample), is_reversed);
            wrong.extend(alarms(sample, &report));
            noted += usize::from(report.notes.iter().any(|note| note.contains("a BF16 copy of")));
        }
    }
    assert!(wrong.is_empty(), "{} false alarms:\n{}", wrong.len(), wrong.join("\n"));
    assert!(noted >= 4, "{noted}");
}

/// That a copy may lie between excuses nothing else.
#[test]
fn changes_are_found_behind_a_copy_of_16_bits() {
    let original = open("original-f32");
    for sample in ["ct-w8a16-bf16", "ct-int8-channel-bf16", "ct-fp8-channel-bf16", "mo-fp8-bf16"] {
        let stored = open(sample);
        for (change, trial) in
            CHANGES.iter().zip(0..).filter(|(one, _)| !one.name.ends_with("steps"))
        {
            let altered = changed(&original, &stored, DType::F32, |matrix, weight| {
                // Rows of 64 have no block of 256.
                if !change.name.starts_with("256") {
                    change.apply(matrix, "plain", weight, trial);
                }
            });
            let report = compare(&altered, &stored, trial % 2 == 1);
            for tensor in report.tensors.iter().filter(|t| t.name_a.ends_with("_proj.weight")) {
                let is_planted = !change.name.starts_with("256");
                let is_found = tensor.status == Status::Changed;
                assert_eq!(is_found, is_planted, "{sample} {}: {tensor:?}", change.name);
            }
        }
    }
}
