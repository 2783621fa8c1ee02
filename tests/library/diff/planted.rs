//! Single changes planted in weights that both sides store alike: each is found at every size, and
//! named by where it is and what it looks like.

use half::{bf16, f16};
use weighbridge::Model;
use weighbridge::ops::{self, DiffOptions, DiffReport, DiffTensor, Status};

use super::{model, numbers};

/// Sides of the matrices: the share of a change in the whole must not matter.
const SIZES: [usize; 4] = [16, 64, 250, 1024];

const TYPES: [&str; 3] = ["F32", "BF16", "F16"];

/// Numbers as a type stores them.
fn stored(dtype: &str, values: &[f32]) -> Vec<u8> {
    match dtype {
        "BF16" => values.iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect(),
        "F16" => values.iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect(),
        _ => super::bytes(values),
    }
}

/// What a type makes of numbers.
fn rounded(dtype: &str, values: &[f32]) -> Vec<f32> {
    let round = |x: &f32| match dtype {
        "BF16" => bf16::from_f32(*x).to_f32(),
        "F16" => f16::from_f32(*x).to_f32(),
        _ => *x,
    };
    values.iter().map(round).collect()
}

/// Many weights that are the same on both sides, and the one that may not be.
fn side(dtype: &str, shape: &[usize], values: &[f32]) -> Model {
    let same = stored("F32", &numbers(4096, 99));
    model(&[("w", dtype, shape, stored(dtype, values)), ("same", "F32", &[64, 64], same)])
}

fn compare(dtypes: [&str; 2], shape: &[usize], a: &[f32], b: &[f32]) -> DiffReport {
    let (a, b) = (side(dtypes[0], shape, a), side(dtypes[1], shape, b));
    let report = ops::diff(&a, &b, &DiffOptions::default()).unwrap();
    assert_eq!(
        report.tensors.iter().find(|t| t.name_a == "same").unwrap().status,
        Status::Identical
    );
    report
}

/// The changed weight of a report, after checking that every field says so.
fn changed(report: &DiffReport) -> &DiffTensor {
    assert!(!report.ok, "{report:?}");
    let summary = &report.summary;
    assert_eq!((summary.changed, summary.failed, summary.within_precision), (1, 1, 0));
    let found = report.tensors.iter().find(|tensor| tensor.name_a == "w").unwrap();
    assert_eq!((found.status, found.failed, found.bound), (Status::Changed, true, Some("equal")));
    found
}

/// Plants a change in a matrix of each size and type.
fn planted(
    change: impl Fn(&mut [f32], usize),
    check: impl Fn(&DiffTensor, usize, &str, [&[f32]; 2]),
) {
    for size in SIZES {
        for dtype in TYPES {
            let a = rounded(dtype, &numbers(size * size, 7));
            let mut b = a.clone();
            change(&mut b, size);
            let b = rounded(dtype, &b);
            let report = compare([dtype; 2], &[size, size], &a, &b);
            check(changed(&report), size, dtype, [&a, &b]);
        }
    }
}

/// Whether the first places are where they should be, with the numbers that are there.
fn check_places(found: &DiffTensor, size: usize, [a, b]: [&[f32]; 2]) {
    assert!(!found.places.is_empty());
    for place in &found.places {
        let at = usize::try_from(place.index[0]).unwrap() * size
            + usize::try_from(place.index[1]).unwrap();
        assert_eq!((place.a, place.b), (Some(f64::from(a[at])), Some(f64::from(b[at]))));
        assert_ne!(place.a, place.b);
    }
    let differ = a.iter().zip(b).filter(|(a, b)| a != b).count() as u64;
    assert_eq!(found.outside, Some(differ));
}

#[test]
fn a_row_that_is_negated_is_found_at_every_size() {
    planted(
        |b, size| b[3 * size..4 * size].iter_mut().for_each(|x| *x = -*x),
        |found, size, dtype, sides| {
            check_places(found, size, sides);
            assert_eq!(found.outside_rows, Some(1));
            assert_eq!(found.places[0].index[0], 3);
            let change = found.change.as_deref();
            assert_eq!(change, Some("row 3 is negated"), "{size} {dtype}");
        },
    );
}

#[test]
fn a_row_that_is_zero_is_found_at_every_size() {
    planted(
        |b, size| b[(size - 1) * size..].fill(0.0),
        |found, size, dtype, sides| {
            check_places(found, size, sides);
            assert_eq!(found.outside_rows, Some(1));
            let words = format!("row {} is zero in B", size - 1);
            assert_eq!(found.change, Some(words), "{size} {dtype}");
        },
    );
}

#[test]
fn a_matrix_that_is_scaled_is_found_at_every_size() {
    planted(
        |b, _| b.iter_mut().for_each(|x| *x *= 1.04),
        |found, size, dtype, sides| {
            check_places(found, size, sides);
            assert_eq!(found.outside_rows, Some(size as u64));
            let change = found.change.as_deref().unwrap_or_default();
            // Rounding moves the factor a little.
            assert!(change.starts_with("B is about 1.0"), "{size} {dtype}: {change}");
        },
    );
}

#[test]
fn rows_that_are_exchanged_are_found_at_every_size() {
    planted(
        |b, size| {
            let (first, second) = b.split_at_mut(9 * size);
            first[2 * size..3 * size].swap_with_slice(&mut second[..size]);
        },
        |found, size, dtype, sides| {
            check_places(found, size, sides);
            assert_eq!(found.outside_rows, Some(2));
            let change = found.change.as_deref();
            assert_eq!(change, Some("rows 2 and 9 are swapped"), "{size} {dtype}");
        },
    );
}

#[test]
fn one_sign_is_found_at_every_size() {
    planted(
        |b, size| b[5 * size + 11] = -b[5 * size + 11],
        |found, size, _, sides| {
            check_places(found, size, sides);
            assert_eq!((found.outside, found.outside_rows), (Some(1), Some(1)));
            assert_eq!(found.places[0].index, [5, 11]);
        },
    );
}

#[test]
fn the_least_step_of_one_number_is_found_at_every_size() {
    for size in SIZES {
        let a = numbers(size * size, 3);
        let mut b = a.clone();
        let at = size * size - 1;
        b[at] = f32::from_bits(b[at].to_bits() + 1);
        let report = compare(["F32"; 2], &[size, size], &a, &b);
        let found = changed(&report);
        let last = size as u64 - 1;
        assert_eq!((found.ulp_max, &found.places[0].index[..]), (Some(1), &[last, last][..]));
    }
}

#[test]
fn one_value_of_a_norm_is_found_at_every_size() {
    for size in SIZES.into_iter().chain([8192]) {
        for dtype in TYPES {
            let a = vec![1.0; size];
            let mut b = a.clone();
            b[size / 2] = 1.5;
            let report = compare([dtype; 2], &[size], &a, &b);
            let found = changed(&report);
            let place = &found.places[0];
            assert_eq!(found.places.len(), 1);
            assert_eq!(place.index, [size as u64 / 2]);
            assert_eq!((place.a, place.b), (Some(1.0), Some(1.5)));
        }
    }
}

/// A side that holds the numbers of the other exactly, or rounded, may do nothing else to them.
#[test]
fn rounding_is_told_from_a_change() {
    for size in SIZES {
        let a = numbers(size * size, 5);
        let shape = [size, size];
        for dtype in ["BF16", "F16"] {
            let report = compare(["F32", dtype], &shape, &a, &a);
            assert!(report.ok);
            assert_eq!(report.summary.equal_after_rounding, 1);
            let mut b = rounded(dtype, &a);
            // The next number of the type.
            let step = if dtype == "BF16" { 1 << 16 } else { 1 << 13 };
            b[7 * size + 1] = f32::from_bits(0.5f32.to_bits() + step);
            let report = compare(["F32", dtype], &shape, &a, &b);
            assert_eq!(changed(&report).places[0].index, [7, 1], "{size} {dtype}");
            let turned = compare([dtype, "F32"], &shape, &b, &a);
            assert_eq!(changed(&turned).places[0].index, [7, 1], "{size} {dtype}");
        }
    }
}

/// Neither of two 16-bit types holds the other: what rounds to both may lie between them.
#[test]
fn two_roundings_of_the_same_numbers_are_within_precision() {
    for size in SIZES {
        let a = numbers(size * size, 6);
        let shape = [size, size];
        let report = compare(["BF16", "F16"], &shape, &a, &a);
        assert!(report.ok, "{report:?}");
        assert_eq!(report.summary.within_precision, 1);
        let mut b = a.clone();
        b[4 * size + 4] = -b[4 * size + 4];
        let report = compare(["BF16", "F16"], &shape, &a, &b);
        let found = report.tensors.iter().find(|tensor| tensor.name_a == "w").unwrap();
        assert_eq!((found.status, found.outside, report.ok), (Status::Changed, Some(1), false));
        assert_eq!(found.places[0].index, [4, 4]);
        assert!(found.places[0].half_gaps.unwrap() > 1.0);
    }
}

#[test]
fn exact_counts_what_is_only_rounded() {
    let a = numbers(256, 8);
    let (a, b) = (side("F32", &[16, 16], &a), side("BF16", &[16, 16], &a));
    assert!(ops::diff(&a, &b, &DiffOptions::default()).unwrap().ok);
    let report = ops::diff(&a, &b, &DiffOptions::default().exact(true)).unwrap();
    assert_eq!((report.ok, report.summary.failed), (false, 1));
    assert!(ops::diff(&a, &a, &DiffOptions::default().exact(true)).unwrap().ok);
}

/// Codes that were chosen together are judged by rows, and still have coordinates.
#[test]
fn a_row_of_a_calibrated_weight_is_named_with_a_place() {
    let name = "model.layers.0.mlp.up_proj.weight";
    let gptq = Model::open(crate::common::root().join("samples/tiny-llama-gptq")).unwrap();
    let weight = gptq.weight(name).unwrap();
    let (rows, columns) = weight.rows_and_columns();
    let mut values = vec![0f32; weight.len()];
    weight.decode_into(&mut values).unwrap();
    let [rows, columns] = [rows, columns].map(|count| usize::try_from(count).unwrap());
    // As an original may have been: near, and not the same.
    values.iter_mut().zip(numbers(rows * columns, 9)).for_each(|(x, noise)| *x += 1e-3 * noise);
    let compare = |values: &[f32]| {
        let other = model(&[(name, "F32", &[rows, columns], super::bytes(values))]);
        let only = weighbridge::Select::new().include(move |found| found == name);
        let mut report = ops::diff(&other, &gptq, &DiffOptions::default().select(only)).unwrap();
        report.tensors.remove(0)
    };
    assert_eq!(compare(&values).status, Status::WithinPrecision);
    values[5 * columns..6 * columns].iter_mut().for_each(|x| *x = -*x);
    let found = compare(&values);
    assert_eq!((found.status, found.bound), (Status::Changed, Some("rows")));
    assert_eq!(found.change.as_deref(), Some("row 5 is negated"));
    assert_eq!((found.outside_rows, found.places[0].index[0]), (Some(1), 5));
    assert!(found.places[0].a.unwrap() * found.places[0].b.unwrap() < 0.0);
}

/// Numbers of eight bits as E4M3 has them: four bits of exponent, three digits after the point.
fn e4m3(code: u8) -> f32 {
    let (exponent, digits) = (i32::from(code >> 3 & 15), f32::from(code & 7) / 8.0);
    let size = match exponent {
        0 => digits * (-6f32).exp2(),
        _ => (1.0 + digits) * ((exponent - 7) as f32).exp2(),
    };
    if code < 128 { size } else { -size }
}

/// A cast to eight bits without a scale is the nearest of its numbers, and no change.
#[test]
fn a_cast_to_eight_bits_is_within_precision() {
    let a: Vec<f32> = numbers(4096, 10);
    let codes: Vec<u8> = (0..=255).filter(|code| code & 127 != 127).collect();
    let nearest = |x: &f32| {
        let apart = |code: &&u8| (e4m3(**code) - x).abs();
        *codes.iter().min_by(|i, j| apart(i).total_cmp(&apart(j))).unwrap()
    };
    let mut cast: Vec<u8> = a.iter().map(nearest).collect();
    let status = |a: &Model, cast: &[u8]| {
        let b = model(&[("x", "F8_E4M3", &[64, 64], cast.to_vec())]);
        let [there, back] = [[a, &b], [&b, a]]
            .map(|[a, b]| ops::diff(a, b, &DiffOptions::default()).unwrap().tensors[0].status);
        assert_eq!(there, back);
        there
    };
    for dtype in ["F32", "BF16"] {
        let a = model(&[("x", dtype, &[64, 64], stored(dtype, &a))]);
        assert_eq!(status(&a, &cast), Status::WithinPrecision, "{dtype}");
    }
    let a = model(&[("x", "F32", &[64, 64], stored("F32", &a))]);
    // The next number but one: the nearest is never so far.
    let at = cast.iter().position(|code| (0x20..0x70).contains(code)).unwrap();
    cast[at] += 2;
    assert_eq!(status(&a, &cast), Status::Changed);
}
