//! The figures of weights: what numpy says of the same numbers (`oracles/numpy_stats.py`), at any
//! number of threads, and what looks wrong in them.

use std::num::NonZeroUsize;

use serde::Deserialize;
use serde_json::{Value, json};
use weighbridge::ops::{self, ShowOptions, StatsOptions, StatsReport, Window, Work};
use weighbridge::{DType, Model};

#[derive(Deserialize)]
struct Case {
    name: String,
    dtype: String,
    shape: Vec<u64>,
    bytes: String,
    figures: Value,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../oracles/numpy_stats.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..][..2], 16).unwrap()).collect()
}

/// A safetensors file in memory.
fn model(tensors: &[(&str, &str, Vec<u64>, Vec<u8>)]) -> Model {
    let (mut header, mut at) = (serde_json::Map::new(), 0);
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [at, at + bytes.len()];
        header.insert(
            (*name).to_owned(),
            json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets }),
        );
        at += bytes.len();
    }
    let header = Value::from(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.bytes());
    file.extend(tensors.iter().flat_map(|(.., bytes)| bytes));
    Model::open_bytes(file, "test.safetensors").unwrap()
}

fn stats(model: &Model, threads: usize) -> StatsReport {
    let options = StatsOptions::default().threads(NonZeroUsize::new(threads).unwrap());
    ops::stats(model, &options).unwrap()
}

/// The figures of the one weight of a model.
fn figures(model: &Model) -> Value {
    serde_json::to_value(&stats(model, 1).tensors[0]).unwrap()
}

fn close(found: &Value, wanted: &Value, within: f64, what: &str) {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => {
            assert!((found - wanted).abs() <= wanted.abs() * within, "{what}: {found} {wanted}");
        }
        _ => assert_eq!(found, wanted, "{what}"),
    }
}

#[test]
fn figures_are_those_of_numpy() {
    for case in cases() {
        let bytes = unhex(&case.bytes);
        let model = model(&[("w", &case.dtype, case.shape.clone(), bytes)]);
        let found = figures(&model);
        let wanted = case.figures.as_object().unwrap();
        for (key, wanted) in wanted {
            let what = format!("{} {key}", case.name);
            match key.as_str() {
                "mean" => {
                    // A mean near zero is as exact as the numbers are large.
                    let (found, wanted) = (found[key].as_f64(), wanted.as_f64());
                    let scale = case.figures["max"].as_f64().unwrap().abs();
                    let apart = (found.unwrap() - wanted.unwrap()).abs();
                    assert!(apart <= scale * 1e-12, "{what}: {found:?} {wanted:?}");
                }
                "deviation" => close(&found[key], wanted, 1e-9, &what),
                "quantiles" => {
                    for (percent, wanted) in wanted.as_object().unwrap() {
                        close(&found[key][percent], wanted, 1.0 / 31.0, &what);
                    }
                }
                "dead_rows" => assert_eq!(&found["rows"]["dead"], wanted, "{what}"),
                "dead_columns" => assert_eq!(&found["rows"]["dead_columns"], wanted, "{what}"),
                _ => assert_eq!(&found[key], wanted, "{what}"),
            }
        }
    }
}

#[test]
fn what_looks_wrong_is_named() {
    let kinds = |name: &str| {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        let model = model(&[("w", &case.dtype, case.shape.clone(), unhex(&case.bytes))]);
        let report = stats(&model, 1);
        let kinds: Vec<&str> = report.tensors[0].findings.iter().map(|one| one.kind).collect();
        kinds.join(" ")
    };
    assert_eq!(kinds("plain"), "");
    assert_eq!(kinds("not-finite"), "nan infinite");
    assert_eq!(kinds("dead"), "dead-rows dead-columns");
    assert_eq!(kinds("exploded"), "exploded-rows outliers");
    assert_eq!(kinds("outlier"), "outliers");
    assert_eq!(kinds("saturated"), "saturated");
    assert_eq!(kinds("constant"), "constant");
    assert_eq!(kinds("zero"), "all-zero");
    for fine in ["half", "filters", "vector", "double", "long", "bytes", "flags", "scalar", "empty"]
    {
        assert_eq!(kinds(fine), "", "{fine}");
    }
}

#[test]
fn what_is_worst_comes_first() {
    let of = |name: &str| {
        let case = cases().into_iter().find(|case| case.name == name).unwrap();
        (unhex(&case.bytes), case.shape, case.dtype)
    };
    let names = ["plain", "zero", "outlier", "not-finite"];
    let tensors: Vec<_> = names
        .iter()
        .map(|name| {
            let (bytes, shape, _) = of(name);
            (*name, "F32", shape, bytes)
        })
        .collect();
    let report = stats(&model(&tensors), 2);
    let order: Vec<&str> = report.tensors.iter().map(|one| &*one.name).collect();
    assert_eq!(order, ["not-finite", "zero", "outlier", "plain"]);
    assert_eq!((report.nan, report.infinite, report.odd), (1, 2, 3));
}

/// Weights of several tiles, of rows that are longer than what is decoded at once, and of one row.
#[test]
fn no_number_of_threads_changes_a_digit() {
    let mut state = 7u64;
    let mut number = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        let part = f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1u32 << 31);
        #[allow(clippy::cast_possible_truncation)]
        let value = (part - 0.5) as f32;
        value
    };
    let shapes: [&[u64]; 4] = [&[1500, 777], &[4, 150_001], &[1_100_001], &[4, 1, 280_000]];
    let tensors: Vec<_> = shapes
        .iter()
        .map(|shape| {
            let count = shape.iter().product::<u64>();
            let bytes = (0..count).flat_map(|_| number().to_le_bytes()).collect();
            (shape.to_vec(), bytes)
        })
        .zip(["a", "b", "c", "d"])
        .map(|((shape, bytes), name)| (name, "F32", shape, bytes))
        .collect();
    let model = model(&tensors);
    let text = |threads| serde_json::to_string(&stats(&model, threads)).unwrap();
    let one = text(1);
    assert_eq!(one, text(2));
    assert_eq!(one, text(5));
    let report = stats(&model, 2);
    for (name, _, _, bytes) in &tensors {
        let numbers: Vec<f64> =
            bytes.as_chunks().0.iter().map(|x| f64::from(f32::from_le_bytes(*x))).collect();
        #[allow(clippy::cast_precision_loss)]
        let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
        let found = report.tensors.iter().find(|one| one.name == *name).unwrap();
        assert!((found.figures.mean.unwrap() - mean).abs() < 1e-12);
        let max = numbers.iter().copied().fold(f64::MIN, f64::max);
        assert_eq!(found.figures.max, Some(max));
        assert_eq!(found.figures.elements, numbers.len() as u64);
    }
}

#[test]
fn a_window_has_figures_of_its_own() {
    let case = cases().into_iter().find(|case| case.name == "not-finite").unwrap();
    let model = model(&[("w", "F32", case.shape.clone(), unhex(&case.bytes))]);
    let weight = model.weight("w").unwrap();
    let figures = |rows: &str| {
        let options = ShowOptions::default().rows(rows.parse().unwrap()).dtype(DType::F16);
        Window::of(&weight, &options).unwrap().figures(&Work::new()).unwrap()
    };
    let (whole, upper) = (figures(":"), figures(":7"));
    assert_eq!((whole.nan, whole.infinite, whole.elements), (1, 2, 1920));
    assert_eq!((upper.nan, upper.infinite, upper.elements), (1, 0, 336));
    assert_eq!(upper.first_nan, Some(vec![3, 5]));
    assert_eq!(upper.rows.unwrap().count, 7);
}

/// Numbers like those of a weight: most are small, some columns and rows larger than others.
#[allow(clippy::cast_possible_truncation)]
fn spread(rows: u64, columns: u64) -> Vec<f32> {
    let mut state = 11u64;
    let mut part = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        f64::from(u32::try_from(state >> 33).unwrap()) / f64::from(1u32 << 31)
    };
    let mut number = |at: u64| {
        let column = if (at % columns).is_multiple_of(16) { 3.0 } else { 1.0 };
        let row = if at / columns < rows / 8 { 0.25 } else { 1.0 };
        ((part() + part() + part() - 1.6) * column * row) as f32
    };
    (0..rows * columns).map(&mut number).collect()
}

fn bytes_of(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The shares of sorted numbers below a number, and up to it, after widening it by a share of itself.
#[allow(clippy::cast_precision_loss)]
fn shares_around(sorted: &[f32], value: f64, within: f64) -> (f64, f64) {
    let (low, high) = (value - value.abs() * within, value + value.abs() * within);
    let below = sorted.partition_point(|x| f64::from(*x) < low);
    let up_to = sorted.partition_point(|x| f64::from(*x) <= high);
    (below as f64 / sorted.len() as f64, up_to as f64 / sorted.len() as f64)
}

#[test]
fn quantiles_of_a_large_weight_are_within_the_stated_errors() {
    // Rows that do and do not end where the sixteen neighbours do.
    for (rows, columns) in [(1100, 1024), (1099, 1001)] {
        let numbers = spread(rows, columns);
        let model = model(&[("w", "F32", vec![rows, columns], bytes_of(&numbers))]);
        let report = stats(&model, 2);
        let figures = &report.tensors[0].figures;
        let (all, counted) = (rows * columns, figures.counted);
        assert!(counted.abs_diff(all / 16) <= 1, "{counted} of {all}");
        assert!(figures.rank_error > 0.005 && figures.rank_error < 0.008);
        let mut sorted = numbers;
        sorted.sort_by(f32::total_cmp);
        for percent in [1, 5, 25, 50, 75, 95, 99] {
            let value = figures.quantiles.percent(percent).unwrap();
            // The middle of a bin is within its half width of the quantile of what was counted.
            let (below, up_to) = shares_around(&sorted, value, report.quantile_error * 1.04);
            let wanted = f64::from(percent) / 100.0;
            assert!(below - figures.rank_error <= wanted, "{percent}%: {value} {below}");
            assert!(up_to + figures.rank_error >= wanted, "{percent}%: {value} {up_to}");
        }
        let shares = &figures.histogram.as_ref().unwrap().shares;
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

#[test]
fn a_weight_up_to_the_bound_is_counted_whole() {
    let numbers = spread(1024, 1024);
    let last = numbers.len() as u64;
    let bytes = bytes_of(&numbers);
    let mut longer = bytes.clone();
    longer.extend(0.5f32.to_le_bytes());
    let report = stats(
        &model(&[("a", "F32", vec![1024, 1024], bytes), ("b", "F32", vec![last + 1], longer)]),
        2,
    );
    let [a, b] = [&report.tensors[0].figures, &report.tensors[1].figures];
    assert_eq!((a.counted, a.rank_error), (last, 0.0));
    assert_eq!(b.counted, last / 16 + u64::from(b.counted > last / 16));
    assert!(b.rank_error > 0.0);
    assert_eq!(b.elements, last + 1);
}

#[test]
fn what_is_exact_stays_so_in_a_large_weight() {
    let (rows, columns) = (1200u64, 1000u64);
    let mut numbers = spread(rows, columns);
    let at = |row: u64, column: u64| usize::try_from(row * columns + column).unwrap();
    numbers[at(17, 0)..at(18, 0)].fill(0.0);
    (0..rows).for_each(|row| numbers[at(row, 33)] = -0.0);
    numbers[at(700, 5)] = 1000.0;
    numbers[at(900, 999)] = -900.0;
    numbers[at(901, 1)] = f32::NAN;
    numbers[at(902, 2)] = f32::INFINITY;
    let model = model(&[("w", "F32", vec![rows, columns], bytes_of(&numbers))]);
    let report = stats(&model, 3);
    let figures = &report.tensors[0].figures;
    assert_eq!(figures.max_index, Some(vec![700, 5]));
    assert_eq!(figures.min_index, Some(vec![900, 999]));
    assert_eq!((figures.nan, figures.infinite), (1, 1));
    let zeros = numbers.iter().filter(|x| **x == 0.0).count() as u64;
    assert_eq!(figures.zeros, zeros);
    let found = figures.rows.as_ref().unwrap();
    assert_eq!((found.dead, &found.first_dead[..]), (1, &[17][..]));
    assert_eq!((found.dead_columns, &found.first_dead_columns[..]), (Some(1), &[33][..]));
    assert_eq!(figures.outliers, 2);
    assert!(report.tensors[0].findings.iter().any(|one| one.message.starts_with("at least 2")));
    let finite: Vec<f64> =
        numbers.iter().filter(|x| x.is_finite()).map(|x| f64::from(*x)).collect();
    #[allow(clippy::cast_precision_loss)]
    let count = finite.len() as f64;
    let mean = finite.iter().sum::<f64>() / count;
    let squares = finite.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
    let deviation = (squares / count).sqrt();
    assert!((figures.mean.unwrap() - mean).abs() < 1e-9);
    assert!((figures.deviation.unwrap() / deviation - 1.0).abs() < 1e-9);
}
