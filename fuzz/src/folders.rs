//! Folders invented from bytes: indexes, configs, shards and stores, in any state.
//!
//! ```text
//! 1 byte   what is opened: the folder, or one of its files
//! each     a file: 1 byte name, 1 byte kind of contents, then a byte or two about it
//! rest     a JSON document, which files of that kind hold
//! ```

use std::sync::Arc;

use serde_json::{Map, json};
use weighbridge::ops::{InspectOptions, inspect};
use weighbridge::{MemoryFolder, OpenOptions, Result};

use crate::limits;

const NAMES: &[&str] = &[
    "model.safetensors",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model-00002-of-00003.safetensors",
    "model.fp16-00001-of-00002.safetensors",
    "model.safetensors.index.json",
    "model.fp16.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model-00001-of-00002.bin",
    "pytorch_model.bin.index.json",
    "adapter_model.safetensors",
    "consolidated.00.pth",
    "config.json",
    "params.json",
    "quantize_config.json",
    "hf_quant_config.json",
    "adapter_config.json",
    "model_index.json",
    "x.gguf",
    "x-00001-of-00002.gguf",
    "x-00002-of-00002.gguf",
    "unet/config.json",
    "unet/diffusion_pytorch_model.safetensors",
    "text_encoder/model.safetensors",
    "refs/main",
    "snapshots/0123456789abcdef/model.safetensors",
    "snapshots/0123456789abcdef/config.json",
    "blobs/sha256-00",
    "manifests/registry.ollama.ai/library/x/latest",
    "mmproj.gguf",
];

/// What a document may say where a file's name belongs.
const TARGETS: &[&str] = &["", "..", "../x", "/etc/passwd", "nowhere.safetensors", "unet", "."];

/// Opens an invented folder twice: an error or the same answer, and nothing else.
pub fn locate(bytes: &[u8]) {
    let mut rest = bytes.iter().copied();
    let mut next = || usize::from(rest.next().unwrap_or(0));
    let (asked, count) = (next(), next() % 12);
    let files: Vec<[usize; 4]> = (0..count).map(|_| [next(), next(), next(), next()]).collect();
    let text: Vec<u8> = rest.collect();
    let folder = files.iter().fold(MemoryFolder::new(), |folder, file| {
        folder.with(NAMES[file[0] % NAMES.len()], contents(*file, &text))
    });
    let path = match asked % 3 {
        0 => "",
        1 => files.first().map_or("", |file| NAMES[file[0] % NAMES.len()]),
        _ => {
            ["unet", "snapshots/0123456789abcdef", "nowhere", "model-00001-of-00002"][asked / 3 % 4]
        }
    };
    let folder = Arc::new(folder);
    assert_eq!(answer(folder.clone(), path), answer(folder, path), "two answers");
}

fn answer(folder: Arc<MemoryFolder>, path: &str) -> String {
    let opened = OpenOptions::new().limits(limits()).open_all_in(folder, path);
    let reports = opened.and_then(|models| {
        let options = InspectOptions { tensors: true, ..InspectOptions::default() };
        models.iter().map(|model| inspect(model, &options)).collect::<Result<Vec<_>>>()
    });
    match reports {
        Ok(reports) => serde_json::to_string(&reports).expect("a report is always JSON"),
        Err(error) => error.to_string(),
    }
}

fn contents([_, kind, a, b]: [usize; 4], text: &[u8]) -> Vec<u8> {
    match kind % 8 {
        0 => tensors(a, b),
        1 => gguf(a, b),
        2 => index(a, b),
        3 => text.to_vec(),
        4 => {
            json!({ "unet": ["diffusers", "X"], "text_encoder": [null, null], "_class_name": "P" })
                .to_string()
                .into_bytes()
        }
        5 => {
            let method = ["gptq", "fp8", "x"][a % 3];
            json!({ "quantization_config": { "quant_method": method, "bits": b } })
                .to_string()
                .into_bytes()
        }
        6 => b"0123456789abcdef".to_vec(),
        _ => text.get(..a.min(text.len())).unwrap_or_default().to_vec(),
    }
}

/// A safetensors file of a few tensors of one byte.
fn tensors(first: usize, count: usize) -> Vec<u8> {
    let count = count % 4;
    let entries = (0..count).map(|index| {
        let entry = json!({ "dtype": "U8", "shape": [1], "data_offsets": [index, index + 1] });
        (format!("t{}", (first + index) % 6), entry)
    });
    let header = serde_json::Value::from(entries.collect::<Map<_, _>>()).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &vec![7; count]].concat()
}

/// A GGUF file that says which part of how many it is.
fn gguf(number: usize, count: usize) -> Vec<u8> {
    let mut out = b"GGUF\x03\0\0\0".to_vec();
    out.extend(0u64.to_le_bytes());
    out.extend(2u64.to_le_bytes());
    for (key, value) in [("split.no", number), ("split.count", count)] {
        out.extend((key.len() as u64).to_le_bytes());
        out.extend(key.as_bytes());
        out.extend(2u32.to_le_bytes());
        out.extend((value as u16).to_le_bytes());
    }
    out
}

/// An index that leads to files of the list above, or to where none may lead.
fn index(a: usize, b: usize) -> Vec<u8> {
    let target = |index: usize| match index % 16 {
        at if at < TARGETS.len() => TARGETS[at],
        _ => NAMES[index % NAMES.len()],
    };
    let map: Map<_, _> =
        (0..4).map(|tensor| (format!("t{tensor}"), target(a + b * tensor).into())).collect();
    json!({ "metadata": { "total_size": b }, "weight_map": map }).to_string().into_bytes()
}
