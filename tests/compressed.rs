//! Whole compressed-tensors models against the values that the library decodes.

use std::path::{Path, PathBuf};

use weighbridge::{DType, Model, bf16, f16};

fn folder(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/compressed").join(case)
}

/// The model of a case, without the expectations that lie beside it.
fn model(case: &str) -> Model {
    let folder = folder(case);
    let index = folder.join("model.safetensors.index.json");
    let path = if index.exists() { index } else { folder.join("model.safetensors") };
    Model::open(path).unwrap()
}

/// Names, types and bytes of what the library decoded.
fn expected(case: &str, file: &str) -> Vec<(String, DType, Vec<u8>)> {
    let model = Model::open(folder(case).join(file)).unwrap();
    let weights = model.weights();
    weights
        .map(|weight| {
            let native = weight.native().unwrap();
            (weight.name().to_owned(), native, decoded(&model, weight.name(), native))
        })
        .collect()
}

fn decoded(model: &Model, name: &str, dtype: DType) -> Vec<u8> {
    let weight = model.weight(name).unwrap();
    match dtype {
        DType::F32 => {
            let mut out = vec![0f32; weight.len()];
            weight.decode_into(&mut out).unwrap();
            out.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        DType::BF16 => {
            let mut out = vec![bf16::ZERO; weight.len()];
            weight.decode_into(&mut out).unwrap();
            out.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        DType::F16 => {
            let mut out = vec![f16::ZERO; weight.len()];
            weight.decode_into(&mut out).unwrap();
            out.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// Each case with the variants that must be found in it, sorted.
const CASES: &[(&str, &[&str])] = &[
    ("experts", &["int4-g16-asym"]),
    ("fp8-block", &["fp8-block16x16"]),
    ("fp8-dynamic", &["fp8-channel"]),
    ("fp8-static", &["fp8-tensor"]),
    ("int3-channel-asym-odd", &["int3-channel-asym"]),
    ("int4-g16-asym", &["int4-g16-asym"]),
    ("int4-g32-f16", &["int4-channel"]),
    ("int8-channel-asym-f32", &["int8-channel-asym"]),
    ("mixed", &["fp8-channel", "int4-g16", "nvfp4"]),
    ("mxfp4", &["mxfp4"]),
    ("mxfp6", &["mxfp6"]),
    ("mxfp8", &["mxfp8"]),
    ("naive-int8", &["int8-bytes-tensor"]),
    ("nvfp4", &["nvfp4"]),
    ("old-actorder", &["int4-g16-actorder", "int4-g16-asym", "int4-g16-asym-actorder"]),
    (
        "old-widths",
        &[
            "int2-g16-asym",
            "int3-words-channel",
            "int3-words-g32-asym",
            "int5-words-channel-asym",
            "int6-words-g16-asym",
            "int7-words-g16-asym",
            "int8-channel-asym",
        ],
    ),
    ("w8a8", &["int8-bytes-channel", "int8-bytes-channel-asym"]),
    (
        "widths",
        &[
            "int1-g16",
            "int2-g16-asym",
            "int3-channel-asym",
            "int5-tensor",
            "int6-channel-asym",
            "int7-channel-asym",
        ],
    ),
    (
        "words-widths",
        &[
            "int2-g16-asym",
            "int3-words-channel",
            "int3-words-g32-asym",
            "int5-words-channel-asym",
            "int6-words-g16-asym",
            "int7-words-g16-asym",
            "int8-channel-asym",
        ],
    ),
];

#[test]
fn every_case_decodes_to_the_librarys_values() {
    let mut failures = Vec::new();
    for (case, variants) in CASES {
        let model = model(case);
        failures.extend(model.findings().iter().map(|f| format!("{case}: {f:?}")));
        let weights = || model.weights().filter(|weight| weight.scheme() == "compressed");
        let mut found: Vec<String> = weights().map(|weight| weight.variant().to_owned()).collect();
        found.sort();
        found.dedup();
        if found != *variants {
            failures.push(format!("{case}: variants {found:?}"));
        }
        let native = expected(case, "expected.safetensors");
        if weights().count() != native.len() {
            failures.push(format!("{case}: {} weights are expected", native.len()));
        }
        for (name, dtype, bytes) in native {
            if model.weight(&name).unwrap().native() != Some(dtype) {
                failures.push(format!("{case}: {name} is not natively {dtype:?}"));
            }
            if decoded(&model, &name, dtype) != bytes {
                failures.push(format!("{case}: {name} differs as {dtype:?}"));
            }
        }
        for (name, dtype, bytes) in expected(case, "expected-f32.safetensors") {
            assert_eq!(dtype, DType::F32);
            if decoded(&model, &name, dtype) != bytes {
                failures.push(format!("{case}: {name} differs at f32"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Any rows, without those before them, are the same numbers.
#[test]
fn rows_can_be_decoded_alone() {
    for (case, _) in CASES {
        let model = model(case);
        for weight in model.weights().filter(|weight| weight.scheme() == "compressed") {
            let mut whole = vec![0f32; weight.len()];
            weight.decode_into(&mut whole).unwrap();
            let rows = weight.shape()[0];
            let columns = whole.len() / usize::try_from(rows).unwrap();
            for (start, end) in (0..rows).flat_map(|row| [(row, row + 1), (row, rows)]) {
                let at = usize::try_from(start).unwrap() * columns;
                let mut part = vec![0f32; usize::try_from(end - start).unwrap() * columns];
                weight.decode_rows(start..end, &mut part).unwrap();
                assert!(
                    part == whole[at..at + part.len()],
                    "{case} {} {start}..{end}",
                    weight.name()
                );
            }
        }
    }
}

/// No case is forgotten in the list above.
#[test]
fn every_folder_is_a_case() {
    let folders = std::fs::read_dir(folder("")).unwrap();
    let mut names: Vec<String> =
        folders.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, CASES.iter().map(|(case, _)| *case).collect::<Vec<_>>());
}

/// Scales of activations and of the KV cache are no weights.
#[test]
fn what_belongs_to_activations_is_dropped() {
    let model = model("fp8-static");
    let dropped =
        |suffix: &str| model.dropped().filter(|(info, _)| info.name.ends_with(suffix)).count();
    assert_eq!([dropped(".input_scale"), dropped(".k_scale"), dropped(".v_scale")], [3, 1, 1]);
}
