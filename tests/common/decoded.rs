//! What a conversion must write, by decoding each weight whole.

use std::path::Path;

use weighbridge::ops::OutputType;
use weighbridge::{DType, Weight, bf16, f16};

use super::tensor_bytes;

pub const TYPES: [OutputType; 4] =
    [OutputType::Auto, OutputType::F32, OutputType::Bf16, OutputType::F16];

/// The bytes a weight must have in the output, by decoding it whole.
pub fn wanted_bytes(weight: &Weight, dtype: DType) -> Vec<u8> {
    if weight.scheme() == "plain" && weight.native() == Some(dtype) {
        let (_, source, info) = weight.parts().next().unwrap();
        return tensor_bytes(source, info).unwrap();
    }
    fn decoded<T: weighbridge::Element, const N: usize>(
        weight: &Weight,
        bytes: fn(T) -> [u8; N],
    ) -> Vec<u8> {
        let mut out = vec![T::default(); weight.len()];
        weight.decode_into(&mut out).unwrap();
        out.into_iter().flat_map(bytes).collect()
    }
    match dtype {
        DType::F32 => decoded(weight, f32::to_le_bytes),
        DType::BF16 => decoded(weight, bf16::to_le_bytes),
        DType::F16 => decoded(weight, f16::to_le_bytes),
        other => panic!("{} cannot become {other}", weight.name()),
    }
}

pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}
