//! The stored tensors of a fixture, read without the library.

use std::collections::HashMap;

use half::{bf16, f16};

use super::codes::{e4m3, e8m0};
use crate::common::fixtures::Fixture;

/// Every stored tensor of a fixture: type, shape, bytes.
pub struct Raw(pub HashMap<String, (String, Vec<usize>, Vec<u8>)>);

impl Raw {
    pub fn of(fixture: &Fixture) -> Self {
        let mut all = HashMap::new();
        for entry in std::fs::read_dir(fixture.model().path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "safetensors") {
                let bytes = std::fs::read(path).unwrap();
                let size = usize::try_from(u64::from_le_bytes(bytes[..8].try_into().unwrap()));
                let (header, data) = bytes[8..].split_at(size.unwrap());
                let header: serde_json::Value = serde_json::from_slice(header).unwrap();
                for (name, info) in header.as_object().unwrap() {
                    let numbers = |key: &str| -> Vec<usize> {
                        serde_json::from_value(info[key].clone()).unwrap_or_default()
                    };
                    let &[start, end] = &numbers("data_offsets")[..] else { continue };
                    let kind = info["dtype"].as_str().unwrap().to_owned();
                    let tensor = (kind, numbers("shape"), data[start..end].to_vec());
                    all.insert(name.clone(), tensor);
                }
            }
        }
        Self(all)
    }

    pub fn bytes(&self, name: &str) -> &[u8] {
        &self.0.get(name).unwrap_or_else(|| panic!("there is no {name}")).2
    }

    pub fn shape(&self, name: &str) -> &[usize] {
        &self.0[name].1
    }

    pub fn words(&self, name: &str) -> Vec<u32> {
        let words = self.bytes(name).chunks_exact(4);
        words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    }

    /// A tensor's numbers, of any type that scales have.
    pub fn floats(&self, name: &str) -> Vec<f32> {
        let (bytes, kind) = (self.bytes(name), &*self.0[name].0);
        let pairs = || bytes.chunks_exact(2).map(|two| [two[0], two[1]]);
        match kind {
            "F32" => self.words(name).into_iter().map(f32::from_bits).collect(),
            "BF16" => pairs().map(|two| bf16::from_le_bytes(two).to_f32()).collect(),
            "F16" => pairs().map(|two| f16::from_le_bytes(two).to_f32()).collect(),
            "F8_E4M3" => bytes.iter().map(|&code| e4m3(code)).collect(),
            "U8" | "F8_E8M0" => bytes.iter().map(|&code| e8m0(code)).collect(),
            other => panic!("{name} is {other}"),
        }
    }
}
