//! Every file of blocks against its own library: values at f32, their one rounding to bf16 and f16,
//! and ranges of rows. `NAME.expected.safetensors` lies beside such a file; one in the other byte
//! order has the same values.

use std::path::PathBuf;

use libtest_mimic::Trial;
use weighbridge::{Element, Model, Weight, bf16, f16};

use crate::common::Sample;
use crate::{SAMPLES, trial};

pub fn trials() -> Vec<Trial> {
    let known = SAMPLES.iter().filter_map(|sample| Some((sample, expected(sample)?)));
    let named = |sample: &Sample| format!("{}::blocks", sample.name());
    known.map(|(sample, golden)| trial(named(sample), move || check_file(sample, golden))).collect()
}

/// The expected values of a sample, where there is a file of them.
fn expected(sample: &Sample) -> Option<PathBuf> {
    let stem = sample.path.with_extension("").display().to_string().replace("-big-endian", "");
    Some(PathBuf::from(format!("{stem}.expected.safetensors"))).filter(|path| path.exists())
}

fn check_file(sample: &Sample, golden: PathBuf) -> Result<(), String> {
    let open = |path| Model::open(path).map_err(|error| error.to_string());
    let (model, expected) = (open(sample.path.clone())?, open(golden)?);
    let names = |model: &Model| {
        let mut names: Vec<_> = model.weights().map(|w| w.name().to_owned()).collect();
        names.sort();
        names
    };
    if names(&model) != names(&expected) {
        return Err(format!("weights {:?}", names(&model)));
    }
    let failed = |weight: Weight| {
        let failure = check_weight(&weight, &expected).err()?;
        Some(format!("{}: {failure}", weight.name()))
    };
    let failures: Vec<String> = model.weights().filter_map(failed).collect();
    match failures.len() {
        0 => Ok(()),
        count => Err(format!("{count} weights differ:\n{}", failures.join("\n"))),
    }
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
