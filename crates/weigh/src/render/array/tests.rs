//! What numpy prints, byte for byte (`oracles/numpy_print.py`).

use serde::Deserialize;
use weighbridge::DType;
use weighbridge::ops::Numbers;

use super::{EDGE, is_summarized, text};

#[derive(Deserialize)]
struct Case {
    dtype: String,
    shape: Vec<u64>,
    bytes: String,
    texts: std::collections::BTreeMap<String, String>,
}

#[test]
fn arrays_are_printed_as_numpy_prints_them() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../oracles/numpy_print.json");
    let cases: Vec<Case> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(cases.len() > 150, "{}", cases.len());
    for case in cases {
        let dtype = DType::all().find(|dtype| dtype.to_string() == case.dtype).unwrap();
        let width = dtype.bits() as usize / 8;
        let all: Vec<u8> = (0..case.bytes.len() / 2)
            .map(|at| u8::from_str_radix(&case.bytes[2 * at..][..2], 16).unwrap())
            .collect();
        let bytes: Vec<u8> = shown(&case.shape)
            .iter()
            .flat_map(|&at| &all[at * width..][..width])
            .copied()
            .collect();
        let numbers = Numbers::of_bytes(dtype, &bytes).unwrap();
        for (width, wanted) in &case.texts {
            let found = text(&case.shape, &numbers, width.parse().unwrap());
            assert_eq!(&found, wanted, "{} {:?}\n{found}\n{wanted}", case.dtype, case.shape);
        }
    }
}

/// Where the elements are that are shown.
fn shown(shape: &[u64]) -> Vec<usize> {
    let is_cut = is_summarized(shape);
    shape.iter().fold(vec![0], |places, &len| {
        let along =
            (0..len).filter(|&at| !is_cut || len <= 2 * EDGE || at < EDGE || at + EDGE >= len);
        let along: Vec<usize> = along.map(|at| usize::try_from(at).unwrap()).collect();
        let len = usize::try_from(len).unwrap();
        places.iter().flat_map(|place| along.iter().map(move |at| place * len + at)).collect()
    })
}
