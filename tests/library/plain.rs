//! Plain elements against numpy and ml_dtypes: every code of the 8-bit floats, and every number
//! type of the format, widened to f32; half precisions against that value rounded once.

use crate::common::root;
use serde_json::Value as Json;
use weighbridge::{ErrorKind, Model, bf16, f16};

fn list() -> Json {
    let text = std::fs::read(root().join("tests/files/plain/list.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

fn expected(name: &str) -> Vec<f32> {
    let bytes = std::fs::read(root().join(format!("tests/files/plain/{name}.f32.bin"))).unwrap();
    bytes.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect()
}

/// The same bits, or both not a number.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn check(model: &Model, name: &str, expected: &[f32]) {
    let weight = model.weight(name).unwrap();
    let mut wide = vec![0f32; weight.len()];
    weight.decode_into(&mut wide).unwrap();
    assert_eq!(wide.len(), expected.len(), "{name}");
    for (index, (&found, &wanted)) in wide.iter().zip(expected).enumerate() {
        assert!(same(found, wanted), "{name}[{index}]: {found} instead of {wanted}");
    }
    let mut half = vec![f16::ZERO; weight.len()];
    let mut brain = vec![bf16::ZERO; weight.len()];
    weight.decode_into(&mut half).unwrap();
    weight.decode_into(&mut brain).unwrap();
    for (index, &wanted) in expected.iter().enumerate() {
        assert!(same(half[index].to_f32(), f16::from_f32(wanted).to_f32()), "{name}[{index}]");
        assert!(same(brain[index].to_f32(), bf16::from_f32(wanted).to_f32()), "{name}[{index}]");
    }
}

#[test]
fn every_code_of_the_eight_bit_floats() {
    let codes: Vec<u8> = (0..=255).collect();
    let list = list();
    let names = list["codes"].as_array().unwrap();
    assert_eq!(names.len(), 5);
    for name in names.iter().map(|name| name.as_str().unwrap()) {
        let header =
            format!(r#"{{"t":{{"dtype":"{name}","shape":[256],"data_offsets":[0,256]}}}}"#);
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header.as_bytes());
        file.extend_from_slice(&codes);
        let model = Model::open_bytes(file, "codes.safetensors").unwrap();
        check(&model, "t", &expected(&format!("codes_{name}")));
    }
}

#[test]
fn every_number_type() {
    let list = list();
    let model =
        Model::open(root().join("tests/files").join(list["sample"].as_str().unwrap())).unwrap();
    let names = list["tensors"].as_array().unwrap();
    assert!(names.len() >= 15);
    for name in names.iter().map(|name| name.as_str().unwrap()) {
        check(&model, name, &expected(name));
    }
}

/// Bytes that are not there are an error, also where counting them in bits goes past 2^64. (An
/// array of numpy says its shape alone, so that nothing else stands in the way.)
#[test]
fn a_shape_without_its_bytes_is_refused() {
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({},), }}", 1u64 << 58);
    let header = format!("{text:<117}\n");
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend(header.as_bytes());
    let model = Model::open_bytes(file, "cut.npy").unwrap();
    let weight = model.weights().next().unwrap();
    let last = (1 << 58) - 1..1 << 58;
    let error = weight.decode_rows(last, &mut [0f32]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    assert!(error.hint_text().unwrap().contains("is truncated"), "{error}");
}
