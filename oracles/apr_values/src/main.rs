//! Quantizes seeded numbers with the APR project's own crates, writes them with its writer, reads
//! them back with its reader.
//!
//!     cargo run -- ../../tests/files/apr/blocks.apr READ.safetensors
//!
//! `apr_values.py` goes on from there. Each row of a padded matrix is read by itself: the reader
//! takes such a matrix for a flat one, which is not what the quantizer wrote.

use apr_format::v2::{AprV2Metadata, AprV2ReaderRef, AprV2Writer, TensorDType};
use aprender::format::AprV2DequantExt;
use trueno_quant::{
    dequantize_q4_k_to_f32, dequantize_q6_k_to_f32, quantize_q4_k_matrix, quantize_q6_k_matrix,
};

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }

    /// A number around zero, as weights are.
    fn weight(&mut self) -> f32 {
        let sum: u64 = (0..4).map(|_| self.next() & 0xffff).sum();
        (sum as f32 / 65536.0 - 2.0) * 0.05
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| (self.next() >> 11) as u8).collect()
    }
}

const SHAPES: [&[usize]; 7] =
    [&[3, 100], &[2, 30], &[2, 300], &[4, 256], &[70], &[300], &[2, 3, 50]];

fn main() {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let mut noise = Noise(20);
    let mut writer = AprV2Writer::new(AprV2Metadata::new("blocks"));
    let mut rows: Vec<(String, Vec<usize>, Vec<f32>)> = Vec::new();
    for shape in SHAPES {
        let count = shape.iter().product();
        let data: Vec<f32> = (0..count).map(|_| noise.weight()).collect();
        let name = shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
        writer.add_q4_tensor(format!("q4.{name}"), shape.to_vec(), &data);
        writer.add_q8_tensor(format!("q8.{name}"), shape.to_vec(), &data);
        let (q4_k, q6_k) = (quantize_q4_k_matrix(&data, shape), quantize_q6_k_matrix(&data, shape));
        if let [count, columns] = *shape && columns % 256 != 0 {
            let each = |bytes: &[u8], decode: fn(&[u8], usize) -> Vec<f32>| {
                let rows = bytes.chunks_exact(bytes.len() / count);
                rows.flat_map(|row| decode(row, columns)).collect()
            };
            let q4_k = each(&q4_k, dequantize_q4_k_to_f32);
            let q6_k = each(&q6_k, dequantize_q6_k_to_f32);
            rows.push((format!("q4_k.{name}"), shape.to_vec(), q4_k));
            rows.push((format!("q6_k.{name}"), shape.to_vec(), q6_k));
        }
        writer.add_q4k_raw_tensor(format!("q4_k.{name}"), shape.to_vec(), q4_k);
        writer.add_q6k_raw_tensor(format!("q6_k.{name}"), shape.to_vec(), q6_k);
    }
    // Every bit pattern is a block; here the project's decoders do not agree with each other.
    let raw: [(&str, TensorDType, usize, &[usize]); 3] = [
        ("raw.q4", TensorDType::AprQ4, 18 * 32, &[8, 125]),
        ("raw.q4_k", TensorDType::Q4K, 144 * 8, &[4, 500]),
        ("raw.q6_k", TensorDType::Q6K, 210 * 8, &[4, 500]),
    ];
    for (name, dtype, bytes, shape) in raw {
        let mut bytes = noise.bytes(bytes);
        for (block, scale) in [0x7c00u16, 0xfc00, 0x7e01, 0x0001, 0x83ff, 0x0000, 0x8000, 0x7bff]
            .into_iter()
            .enumerate()
        {
            let at = match dtype {
                TensorDType::AprQ4 => 18 * block,
                TensorDType::Q4K => 144 * block,
                _ => 210 * block + 208,
            };
            bytes[at..at + 2].copy_from_slice(&scale.to_le_bytes());
        }
        writer.add_tensor(name, dtype, shape.to_vec(), bytes);
    }
    let file = writer.write().unwrap();
    std::fs::write(&paths[0], &file).unwrap();
    let reader = AprV2ReaderRef::from_bytes(&file).unwrap();
    for entry in reader.tensor_index() {
        if !entry.name.starts_with("raw.") && !rows.iter().any(|row| row.0 == entry.name) {
            let values = reader.get_tensor_as_f32(&entry.name).unwrap();
            rows.push((entry.name.clone(), entry.shape.clone(), values));
        }
    }
    std::fs::write(&paths[1], safetensors(&rows)).unwrap();
}

fn safetensors(tensors: &[(String, Vec<usize>, Vec<f32>)]) -> Vec<u8> {
    let (mut header, mut data) = (Vec::new(), Vec::new());
    for (name, shape, values) in tensors {
        let start = data.len();
        values.iter().for_each(|value| data.extend(value.to_le_bytes()));
        let end = data.len();
        header.push(format!(
            r#""{name}":{{"dtype":"F32","shape":{shape:?},"data_offsets":[{start},{end}]}}"#
        ));
    }
    let header = format!("{{{}}}", header.join(","));
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}
