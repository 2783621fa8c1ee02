//! Comparisons: against numpy's figures, against conversions of every sample, and with differences
//! that were planted one by one.

mod files;
mod planted;
mod settings;

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::path::Path;

use crate::common::fixtures::{Fixture, fixtures};
use crate::common::root;
use serde_json::Value as Json;
use weighbridge::ops::{
    ConvertOptions, DiffOptions, DiffReport, DiffTensor, FailOver, OutputType, Status, Values,
};
use weighbridge::{FileAccess, Model, OpenOptions, Select, ops};

/// A safetensors file in memory: names, types, shapes and bytes.
pub(crate) fn model(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Model {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::<u8>::new());
    for (name, dtype, shape, bytes) in tensors {
        let start = data.len();
        data.extend(bytes);
        let offsets = [start, data.len()];
        header.insert(
            (*name).to_owned(),
            serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}),
        );
    }
    let header = Json::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    Model::open_bytes(file, "memory.safetensors").unwrap()
}

pub(crate) fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// One matrix on each side.
fn compare(a: (&[usize], &[f32]), b: (&[usize], &[f32]), options: &DiffOptions) -> DiffReport {
    let side = |(shape, values): (&[usize], &[f32])| model(&[("w", "F32", shape, bytes(values))]);
    ops::diff(&side(a), &side(b), options).unwrap()
}

fn planted(change: impl Fn(&mut [f32])) -> DiffTensor {
    let a = numbers(300 * 700, 1);
    let mut b = a.clone();
    change(&mut b);
    let shape = [300, 700];
    let mut report = compare((&shape, &a), (&shape, &b), &DiffOptions::default());
    assert_eq!(report.tensors.len(), 1);
    assert_eq!(report.summary.identical, 0);
    report.tensors.remove(0)
}

#[test]
fn one_element_is_found_and_placed() {
    let found = planted(|b| b[150_001] += 0.25);
    assert_eq!(found.identical, Some(209_999));
    assert_eq!(found.max_abs_index, Some(150_001));
    assert!((found.max_abs.unwrap() - 0.25).abs() < 1e-7);
    assert_eq!(
        (found.status, found.outside, found.outside_rows),
        (Status::Changed, Some(1), Some(1))
    );
    assert_eq!(found.places[0].index, [214, 201]);
    // The least step of one number.
    let found = planted(|b| b[209_999] = f32::from_bits(b[209_999].to_bits() + 1));
    assert_eq!((found.identical, found.ulp_max), (Some(209_999), Some(1)));
    assert_eq!((found.max_abs_index, found.status), (Some(209_999), Status::Changed));
}

#[test]
fn one_row_and_one_sign_are_found() {
    let found = planted(|b| b[700 * 7..700 * 8].fill(0.0));
    assert_eq!(found.identical, Some(299 * 700));
    assert!((7 * 700..8 * 700).contains(&found.max_abs_index.unwrap()));
    assert_eq!(found.status, Status::Changed);
    let found = planted(|b| b[5] = -b[5]);
    assert_eq!((found.identical, found.max_abs_index), (Some(209_999), Some(5)));
    let found = planted(|b| b.iter_mut().for_each(|x| *x = -*x));
    assert_eq!((found.cosine, found.identical), (Some(-1.0), Some(0)));
    assert_eq!(found.status, Status::Changed);
}

#[test]
fn permuted_rows_are_a_difference() {
    let found = planted(|b| b.rotate_left(700));
    assert_eq!(found.status, Status::Changed);
    assert!(found.cosine.unwrap() < 0.1);
    let change = found.change.as_deref().unwrap();
    assert!(change.contains("the order of the values may differ"), "{change}");
}

#[test]
fn a_number_that_is_none_on_one_side_is_a_difference() {
    let found = planted(|b| b[100_003] = f32::NAN);
    assert_eq!(found.status, Status::Changed);
    assert_eq!((found.nan_a, found.nan_b, found.unlike), (Some(0), Some(1), Some(1)));
    assert!(found.message.unwrap().contains("first at [142, 603]"));
    assert_eq!((found.max_abs, found.cosine), (Some(0.0), Some(1.0)));
    // No bound lets it through.
    let rule: FailOver = "cosine<-1".parse().unwrap();
    let options = DiffOptions::default().fail_over(rule);
    let report = compare((&[2], &[1.0, 2.0]), (&[2], &[1.0, f32::INFINITY]), &options);
    assert!(!report.ok);
}

#[test]
fn a_number_that_is_none_on_both_sides_is_the_same_and_counted() {
    let a = [1.0, f32::NAN, 2.0];
    let b = [1.0, -f32::NAN, 2.0];
    let report = compare((&[3], &a), (&[3], &b), &DiffOptions::default());
    let found = &report.tensors[0];
    assert_eq!((found.status, found.identical), (Status::Identical, Some(3)));
    assert_eq!((found.nan_a, found.nan_b), (Some(1), Some(1)));
    // Equal bytes are not decoded unless that is asked for, but what is not finite is counted.
    let report = compare((&[3], &a), (&[3], &a), &DiffOptions::default());
    let found = &report.tensors[0];
    assert_eq!((found.nan_a, found.nan_b, found.inf_a), (Some(1), Some(1), Some(0)));
    assert_eq!(found.mean_a, None);
    let all = DiffOptions::default().values(Values::All);
    let report = compare((&[3], &a), (&[3], &a), &all);
    assert_eq!((report.tensors[0].nan_a, report.tensors[0].status), (Some(1), Status::Identical));
    assert_eq!(report.tensors[0].mean_a, Some(1.5));
    // A side that is all NaN is like nothing.
    let report = compare((&[2], &[f32::NAN; 2]), (&[2], &[1.0; 2]), &DiffOptions::default());
    assert_eq!((report.tensors[0].status, report.tensors[0].cosine), (Status::Changed, None));
}

fn turned(values: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|c| (0..rows).map(move |r| values[r * columns + c])).collect()
}

#[test]
fn a_transposed_matrix_is_named_and_can_be_compared() {
    let (rows, columns) = (700, 1100);
    let a = numbers(rows * columns, 2);
    let mut b = turned(&a, rows, columns);
    let shapes = ([rows, columns], [columns, rows]);
    let report = compare((&shapes.0, &a), (&shapes.1, &b), &DiffOptions::default());
    assert_eq!((report.tensors[0].status, report.ok), (Status::Shape, false));
    let message = report.tensors[0].message.as_deref();
    assert_eq!(message, Some("the values are equal once B is transposed"));
    let options = DiffOptions::default().transpose(|name| name == "w");
    let report = compare((&shapes.0, &a), (&shapes.1, &b), &options);
    assert_eq!((report.tensors[0].status, report.ok), (Status::Identical, true));
    // A difference is placed where A has it.
    b[7 * rows + 650] += 1.0;
    let report = compare((&shapes.0, &a), (&shapes.1, &b), &options);
    assert_eq!(report.tensors[0].max_abs_index, Some((650 * columns + 7) as u64));
    assert_eq!(report.tensors[0].identical, Some((rows * columns - 1) as u64));
    // A matrix of another shape that is not a transposition is only that: another shape.
    let report = compare((&shapes.0, &a), (&shapes.1, &a), &DiffOptions::default());
    assert_eq!((report.tensors[0].status, &report.tensors[0].message), (Status::Shape, &None));
}

#[test]
fn a_transposed_square_is_named() {
    let a = numbers(600 * 600, 8);
    let b = turned(&a, 600, 600);
    let report = compare((&[600, 600], &a), (&[600, 600], &b), &DiffOptions::default());
    let found = &report.tensors[0];
    assert_eq!((found.status, report.ok), (Status::Changed, false));
    assert_eq!(found.change.as_deref(), Some("the values are equal once B is transposed"));
}

#[test]
fn weights_that_are_decoded_by_rows_can_be_compared_transposed() {
    let gptq = Model::open(root().join("samples/tiny-llama-gptq")).unwrap();
    let name = "model.layers.0.mlp.up_proj.weight";
    let weight = gptq.weight(name).unwrap();
    let (rows, columns) = weight.rows_and_columns();
    let mut values = vec![0f32; weight.len()];
    weight.decode_into(&mut values).unwrap();
    let [rows, columns] = [rows, columns].map(|count| usize::try_from(count).unwrap());
    let shape = [columns, rows];
    let other = model(&[(name, "F32", &shape, bytes(&turned(&values, rows, columns)))]);
    let only = |options: DiffOptions| options.select(Select::new().include(move |n| n == name));
    let options = only(DiffOptions::default().transpose(|_| true));
    for (a, b) in [(&gptq, &other), (&other, &gptq)] {
        let report = ops::diff(a, b, &options).unwrap();
        assert_eq!(report.tensors[0].status, Status::Identical, "{:?}", report.tensors[0]);
    }
}

#[test]
fn rules_replace_what_counts() {
    let a = numbers(1000, 3);
    let b: Vec<f32> = a.iter().map(|x| x * 1.5).collect();
    let ok = |rule: &str| {
        let options = DiffOptions::default().fail_over(rule.parse().unwrap());
        compare((&[1000], &a), (&[1000], &b), &options).ok
    };
    assert!(!compare((&[1000], &a), (&[1000], &b), &DiffOptions::default()).ok);
    assert!(ok("cosine<0.999"));
    assert!(!ok("cosine<0.999,max_abs>0.01"));
    assert!(ok("relative>0.5001"));
    assert!(!ok("relative>0.4999"));
    assert!(!ok("snr_db<10"));
    // A norm of zero makes the relative error infinite.
    let options = DiffOptions::default().fail_over("relative>1e300".parse().unwrap());
    assert!(!compare((&[1], &[0.0]), (&[1], &[1.0]), &options).ok);
}

#[test]
fn structure_alone_reads_no_values() {
    let options = DiffOptions::default().values(Values::None);
    let report = compare((&[2], &[1.0, 2.0]), (&[2], &[1.0, 3.0]), &options);
    assert_eq!((report.ok, report.tensors[0].status), (true, Status::Uncompared));
    assert_eq!(report.summary.compared, 0);
    let a = model(&[("x", "F32", &[1], bytes(&[1.0])), ("y", "F32", &[2], bytes(&[1.0; 2]))]);
    let b = model(&[("y", "F32", &[1], bytes(&[1.0])), ("z", "F32", &[1], bytes(&[1.0]))]);
    let report = ops::diff(&a, &b, &options).unwrap();
    assert_eq!(
        (&report.only_a[..], &report.only_b[..]),
        (&["x".to_owned()][..], &["z".to_owned()][..])
    );
    assert_eq!((report.summary.missing, report.summary.shape_mismatch), (2, 1));
    let some = options.select(Select::new().exclude(|name| name != "nothing"));
    let report = ops::diff(&a, &b, &some).unwrap();
    assert!(report.ok && report.tensors.is_empty());
}

#[test]
fn what_cannot_be_decoded_is_listed_and_the_rest_compared() {
    let side = |byte: u8| {
        model(&[
            ("complex", "C64", &[1], vec![byte; 8]),
            ("plain", "F32", &[1], bytes(&[f32::from(byte)])),
        ])
    };
    let report = ops::diff(&side(1), &side(2), &DiffOptions::default()).unwrap();
    assert_eq!((report.summary.undecoded, report.summary.changed), (1, 1));
    let found = &report.tensors[0];
    assert_eq!(found.status, Status::Undecoded);
    assert!(found.message.as_ref().unwrap().contains("C64 is not supported"), "{found:?}");
    // The same bytes are the same, whatever they mean.
    let report = ops::diff(&side(1), &side(1), &DiffOptions::default()).unwrap();
    assert_eq!((report.summary.identical, report.ok), (2, true));
}

fn opened(path: &Path) -> Model {
    OpenOptions::new().access(FileAccess::Read).open(path).unwrap()
}

/// Compares a figure: counts exactly, numbers to one part in a thousand million.
fn check(name: &str, key: &str, wanted: &Json, found: &Json) {
    let is_close = |wanted: f64, found: f64| {
        // The decibels of a ratio of one are nothing but rounding.
        let least = if key == "snr_db" { 1e-14 } else { 0.0 };
        (wanted - found).abs() <= (1e-9 * wanted.abs()).max(least)
    };
    let is_right = match (wanted.as_f64(), found.as_f64()) {
        (Some(wanted), Some(found)) => is_close(wanted, found),
        _ => wanted == found,
    };
    assert!(
        is_right && (!wanted.is_u64() || wanted == found),
        "{name} {key}: {wanted}, not {found}"
    );
}

#[test]
fn figures_are_those_of_numpy() {
    let folder = root().join("tests/files");
    let text = std::fs::read(folder.join("diff/expected.json")).unwrap();
    let pairs: Vec<Json> = serde_json::from_slice(&text).unwrap();
    assert!(pairs.len() > 10);
    let fixtures: HashMap<String, _> =
        fixtures().into_iter().map(|fixture| (fixture.name.clone(), fixture)).collect();
    for pair in &pairs {
        let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
        let copy = fixtures.get(a).map(Fixture::model);
        let path = copy.as_ref().map_or(folder.join(a), |copy| copy.path().to_owned());
        let options = DiffOptions::default().values(Values::All);
        // Away from the config of the model it lies beside.
        let alone = tempfile::tempdir().unwrap();
        let other = alone.path().join("b.safetensors");
        std::fs::copy(folder.join(b), &other).unwrap();
        let report = ops::diff(&opened(&path), &opened(&other), &options).unwrap();
        let found: HashMap<&str, Json> = report
            .tensors
            .iter()
            .map(|tensor| (tensor.name_a.as_str(), serde_json::to_value(tensor).unwrap()))
            .collect();
        for (name, figures) in pair["tensors"].as_object().unwrap() {
            let found = found.get(&**name).unwrap_or_else(|| panic!("{a}: {name} is not there"));
            for (key, wanted) in figures.as_object().unwrap() {
                check(&format!("{a} {name}"), key, wanted, &found[key]);
            }
        }
    }
}

#[test]
fn awkward_pairs_are_judged_rightly() {
    let folder = root().join("tests/files/diff");
    let (a, b) = (opened(&folder.join("a.safetensors")), opened(&folder.join("b.safetensors")));
    let report = ops::diff(&a, &b, &DiffOptions::default()).unwrap();
    let status =
        |name: &str| report.tensors.iter().find(|tensor| tensor.name_a == name).unwrap().status;
    for name in ["rounded.bf16", "rounded.f16", "double.f32"] {
        assert_eq!(status(name), Status::EqualAfterRounding, "{name}");
    }
    for name in [
        "noisy",
        "noisy.bf16",
        "one.row.negated",
        "permuted",
        "not.finite",
        "nothing.finite",
        "zero.a",
        "one.element",
        "far.from.zero",
        "zero.signs",
        "double",
        "long",
    ] {
        assert_eq!(status(name), Status::Changed, "{name}");
    }
    assert_eq!(status("empty"), Status::Identical);
}

#[test]
fn the_number_of_workers_changes_nothing() {
    let folder = root().join("tests/files");
    let gptq = opened(&root().join("samples/tiny-llama-gptq"));
    let out = tempfile::tempdir().unwrap();
    let target = out.path().join("bf16.gguf");
    ops::convert(&gptq, &ConvertOptions::new(&target).dtype(OutputType::Bf16)).unwrap();
    let big = |seed| {
        let mut values = numbers(900_000, 4);
        values.iter_mut().zip(numbers(900_000, seed)).for_each(|(x, y)| *x += 0.01 * y);
        model(&[("w", "F32", &[900, 1000], bytes(&values))])
    };
    let pairs = [
        (gptq, opened(&target)),
        (big(5), big(6)),
        (opened(&folder.join("diff/a.safetensors")), opened(&folder.join("diff/b.safetensors"))),
    ];
    for (a, b) in &pairs {
        let report = |threads| {
            let options = DiffOptions::default().threads(NonZeroUsize::new(threads).unwrap());
            serde_json::to_string(&ops::diff(a, b, &options).unwrap()).unwrap()
        };
        let one = report(1);
        for threads in [2, 3, 7] {
            assert_eq!(report(threads), one);
        }
    }
}

#[test]
fn apr_compares_with_what_it_was_made_from() {
    let folder = root().join("tests/files/apr");
    for (a, b) in [
        ("cli_f32.apr", "sources/src_tiny.safetensors"),
        ("sources/src_tiny.gguf", "cli_from_gguf.apr"),
    ] {
        let (a, b) = (opened(&folder.join(a)), opened(&folder.join(b)));
        let report = ops::diff(&a, &b, &DiffOptions::default()).unwrap();
        assert!(report.summary.compared >= 9, "{:?}", report.summary);
        assert_eq!(report.summary.identical, report.summary.compared, "{:?}", report.tensors);
    }
}

/// Their GGUF has the rows of Hugging Face, which no converter would give it.
#[test]
fn rows_that_were_not_permuted_are_named() {
    let folder = root().join("tests/files/apr/sources");
    let (a, b) = (folder.join("src_tiny.safetensors"), folder.join("src_tiny.gguf"));
    let report = ops::diff(&opened(&a), &opened(&b), &DiffOptions::default()).unwrap();
    assert_eq!((report.summary.identical, report.summary.changed), (10, 2));
    for found in report.tensors.iter().filter(|found| found.status == Status::Changed) {
        assert!(found.name_b.contains("attn_q") || found.name_b.contains("attn_k"), "{found:?}");
        let change = found.change.as_deref().unwrap();
        assert!(
            change.contains("equal once the converter's permutation of heads is undone"),
            "{change}"
        );
    }
}

#[test]
fn metadata_is_compared_but_does_not_count() {
    let with = |metadata: &str| {
        let header = format!(
            "{{\"__metadata__\":{metadata},\"w\":{{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}}}"
        );
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header.as_bytes());
        file.push(1);
        Model::open_bytes(file, "memory.safetensors").unwrap()
    };
    let (a, b) = (with(r#"{"x":"1","y":"2","z":"3"}"#), with(r#"{"v":"0","y":"2","z":"4"}"#));
    let report = ops::diff(&a, &b, &DiffOptions::default()).unwrap();
    assert!(report.ok);
    assert_eq!(report.metadata.only_a, ["x"]);
    assert_eq!(report.metadata.only_b, ["v"]);
    let changed = &report.metadata.changed;
    assert_eq!((changed.len(), &*changed[0].key), (1, "z"));
    assert_eq!((&changed[0].a, &changed[0].b), (&Json::from("3"), &Json::from("4")));
}

#[test]
fn a_cancelled_comparison_is_an_error() {
    let cancel = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let a = model(&[("w", "F32", &[1], bytes(&[1.0]))]);
    let error = ops::diff(&a, &a, &DiffOptions::default().cancel(cancel)).unwrap_err();
    assert!(error.to_string().contains("stopped"), "{error}");
}

/// What llama.cpp's converter made of models of each family.
#[test]
fn converted_families_raise_no_false_alarm() {
    let folder = root().join("tests/files/names");
    let mut families = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let family = entry.unwrap().path();
        let (hf, gguf) = (family.join("hf"), family.join("model.gguf"));
        if !hf.exists() || !gguf.exists() {
            continue;
        }
        families += 1;
        let (a, b) = (opened(&hf), opened(&gguf));
        for report in [
            ops::diff(&a, &b, &DiffOptions::default()).unwrap(),
            ops::diff(&b, &a, &DiffOptions::default()).unwrap(),
        ] {
            for tensor in &report.tensors {
                let is_equal =
                    matches!(tensor.status, Status::Identical | Status::EqualAfterRounding);
                let is_quantized = [tensor.scheme_a, tensor.scheme_b].contains(&"ggml");
                let is_within = matches!(tensor.status, Status::WithinPrecision | Status::Unjudged);
                assert!(is_equal || is_within && is_quantized, "{}: {tensor:?}", family.display());
            }
            assert!(report.ok, "{}: {:?} {:?}", family.display(), report.only_a, report.only_b);
        }
    }
    assert!(families >= 3);
}
