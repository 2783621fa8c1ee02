//! APR's blocks against the project's own crates and gguf-py: values at f32, their one rounding to
//! bf16 and f16, and every range of rows.

use crate::common::root;
use weighbridge::Element;
use weighbridge::{Model, Weight, bf16, f16};

fn open(name: &str) -> Model {
    Model::open(root().join("tests/files/apr").join(name)).unwrap()
}

/// Every range of rows of a weight, against that part of `expected`.
fn check<T: Element + Into<f32>>(weight: &Weight, expected: &[f32], round: fn(f32) -> T) {
    let (rows, columns) = weight.rows_and_columns();
    let columns = usize::try_from(columns).unwrap();
    let bits = |value: T| match value.into() {
        nan if nan.is_nan() => f32::NAN.to_bits(),
        number => number.to_bits(),
    };
    // A vector has many rows: of those only ranges that begin or end near a block's end.
    let near = |row: u64| rows < 20 || row % 32 < 2 || row == rows;
    for start in (0..=rows).filter(|&row| near(row)) {
        for end in (start..=rows).filter(|&row| near(row)) {
            let [from, to] = [start, end].map(|row| usize::try_from(row).unwrap() * columns);
            let wanted: Vec<u32> = expected[from..to].iter().map(|&v| bits(round(v))).collect();
            let mut found = vec![round(-77.0); wanted.len()];
            weight.decode_rows(start..end, &mut found).unwrap();
            let found: Vec<u32> = found.into_iter().map(bits).collect();
            assert_eq!(found, wanted, "{} rows {start}..{end} as {}", weight.name(), T::DTYPE);
        }
    }
}

#[test]
fn every_weight_is_what_the_oracles_read() {
    let (model, expected) = (open("blocks.apr"), open("blocks.expected.safetensors"));
    assert_eq!(model.weights().count(), expected.weights().count());
    for golden in expected.weights() {
        let weight = model.weight(golden.name()).unwrap();
        assert_eq!(weight.shape(), golden.shape(), "{}", golden.name());
        let bytes = golden.bytes().unwrap().as_chunks().0;
        let values: Vec<f32> = bytes.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        check(&weight, &values, |value| value);
        check(&weight, &values, bf16::from_f32);
        check(&weight, &values, f16::from_f32);
    }
}

/// The numbers lie between -1/8 and 1/8; none is further off than half a step of its type.
#[test]
fn quantized_samples_are_near_their_source() {
    let model = open("all_dtypes.apr");
    let source = |name: &str| -> Vec<f32> {
        let path = format!("tests/files/apr/sources/all_dtypes.{name}_f32.bin");
        let bytes = std::fs::read(root().join(path)).unwrap();
        bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
    };
    for (name, source, off) in [
        ("t.aprq4", source("source"), 0.009),
        ("t.aprq4_partial", source("q4partial_source"), 0.009),
        ("t.aprq8", source("source"), 0.0005),
        ("t.q4k", source("source"), 0.009),
        ("t.q4k_rowpad", source("rowpad_source"), 0.009),
        ("t.q6k", source("source"), 0.0025),
    ] {
        let weight = model.weight(name).unwrap();
        let mut values = vec![0f32; weight.len()];
        weight.decode_into(&mut values).unwrap();
        assert_eq!(values.len(), source.len(), "{name}");
        let most = values.iter().zip(&source).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(most < off, "{name} is {most} off");
    }
}
