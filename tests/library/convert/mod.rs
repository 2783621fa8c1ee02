//! Whole conversions through the library, and what they share: small inputs, and what must come out.

mod kept;
mod refusals;
mod tiles;

use weighbridge::ops::{ConvertOptions, OutputType};
use weighbridge::{Model, ops};

/// A safetensors file of one tensor, in memory.
fn one(dtype: &str, shape: &[u64], data: &[u8], metadata: &str) -> Vec<u8> {
    let header = format!(
        r#"{{{metadata}"t":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[0,{}]}}}}"#,
        data.len()
    );
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(data);
    file
}

fn convert_one(file: Vec<u8>, output_type: OutputType) -> (ops::ConvertReport, Vec<u8>) {
    let model = Model::open_bytes(file, "one.safetensors").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let report = ops::convert(&model, &ConvertOptions::new(&target).dtype(output_type)).unwrap();
    let written = Model::open(&target).unwrap();
    let bytes = written.weight("t").unwrap().bytes().unwrap().to_vec();
    (report, bytes)
}

/// Type, dimensions as GGUF has them (innermost first), bytes.
type Tensor = (u32, Vec<u64>, Vec<u8>);

/// A GGUF file in memory.
fn gguf(tensors: &[(&str, Tensor)]) -> Vec<u8> {
    let (mut header, mut data) = (b"GGUF".to_vec(), Vec::new());
    header.extend(3u32.to_le_bytes());
    header.extend([tensors.len() as u64, 0].map(u64::to_le_bytes).concat());
    for (name, (kind, dimensions, bytes)) in tensors {
        header.extend((name.len() as u64).to_le_bytes());
        header.extend(name.as_bytes());
        header.extend(u32::try_from(dimensions.len()).unwrap().to_le_bytes());
        header.extend(dimensions.iter().flat_map(|dimension| dimension.to_le_bytes()));
        header.extend(kind.to_le_bytes());
        data.resize(data.len().next_multiple_of(32), 0);
        header.extend((data.len() as u64).to_le_bytes());
        data.extend(bytes);
    }
    header.resize(header.len().next_multiple_of(32), 0);
    [header, data].concat()
}

/// The number of ggml's type Q8_0: one half-precision scale, 32 codes.
const Q8_0: u32 = 8;
