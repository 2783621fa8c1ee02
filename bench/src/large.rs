//! Models of gigabytes in the real layouts, for whole conversions.
//!
//! A model is one layer many times: the random bytes of a layer are made once and written for
//! every layer under its own name. With [`Payload::Zeros`] only the data that controls decoding
//! is written (shapes, quantization states, orders of groups); the rest of the file is a hole,
//! which takes no room and reads as zeros.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weighbridge::DType;
use weighbridge::internals::blocks::{BLOCKS, Block};

use crate::decoding::{COLUMNS, ROWS};
use crate::random_blocks::{BlockFile, Random, Scales};
use crate::tables::scheme_decode::cases::{CASES, Case};
use crate::tables::scheme_decode::stored::{Fill, Stored, stored};
use crate::{child, fixtures};

/// Random bytes that are made for a tensor; a larger one repeats them.
const PATTERN: usize = 48 << 20;
const SEED: u64 = 20_261_116;

/// What is in the tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Random codes and sane scales.
    Random,
    /// A hole.
    Zeros,
}

/// How a model is stored.
#[derive(Clone, Copy)]
pub enum Layout {
    /// Layers of a scheme, by its name in the table `scheme-decode`.
    Scheme(&'static str),
    /// Plain matrices in a safetensors file.
    Plain(DType),
    /// FP8 with block scales, all in one tensor.
    OneTensor,
    /// Blocks in a GGUF file.
    Gguf(&'static str),
    /// Written by one of our scripts with the format's own library: the module, the kind of
    /// file, its extension.
    Python(&'static str, &'static str, &'static str),
}

/// A model in a folder of its own, which is removed when this is dropped.
pub struct Large {
    folder: PathBuf,
    /// What to open.
    pub model: PathBuf,
    /// Its one file.
    pub file: PathBuf,
    /// Bytes of that file.
    pub bytes: u64,
}

impl Large {
    /// Writes a model that holds about `numbers` numbers; `Err` says what is missing.
    pub fn make(
        data: &Path,
        layout: Layout,
        numbers: u64,
        payload: Payload,
    ) -> Result<Self, String> {
        let folder = data.join("source");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let file = folder.join(match layout {
            Layout::Gguf(_) => "model.gguf".to_owned(),
            Layout::Python(.., ending) => format!("model.{ending}"),
            _ => "model.safetensors".to_owned(),
        });
        let model = match layout {
            Layout::Scheme(_) | Layout::OneTensor => folder.clone(),
            _ => file.clone(),
        };
        let mut large = Self { folder, model, file, bytes: 0 };
        large.write(layout, numbers, payload)?;
        large.bytes = fs::metadata(&large.file).map_err(|error| error.to_string())?.len();
        Ok(large)
    }

    fn write(&self, layout: Layout, numbers: u64, payload: Payload) -> Result<(), String> {
        let layers = numbers.div_ceil(ROWS * COLUMNS);
        let written = match layout {
            Layout::Scheme(name) => {
                let case = CASES.iter().find(|case| case.name == name).expect("it is a line there");
                self.scheme(case, &layered(&(case.tensors)(), layers), payload)
            }
            Layout::OneTensor => {
                let case = CASES.iter().find(|case| case.name == "fp8-block").expect("it is there");
                self.scheme(case, &one_tensor(layers * ROWS), payload)
            }
            Layout::Plain(dtype) => {
                let name = "model.layers.0.mlp.up_proj.weight";
                let layer = [stored(name, dtype, &[ROWS, COLUMNS], Fill::Biases)];
                safetensors(&self.file, &layered(&layer, layers), "pt", payload)
            }
            Layout::Gguf(name) => {
                let block = BLOCKS.iter().find(|block| block.name == name).expect("it is a type");
                gguf(&self.file, block, layers, payload)
            }
            Layout::Python(module, kind, _) => return self.by_python(module, kind, layers),
        };
        written.map_err(|error| format!("the source cannot be written: {error}"))
    }

    fn scheme(&self, case: &Case, tensors: &[Stored], payload: Payload) -> std::io::Result<()> {
        for (name, json) in (case.config)() {
            let json: Value = json;
            fs::write(self.folder.join(name), json.to_string())?;
        }
        let format = if case.kind.starts_with("mlx/") { "mlx" } else { "pt" };
        safetensors(&self.file, tensors, format, payload)
    }

    fn by_python(&self, module: &str, kind: &str, layers: u64) -> Result<(), String> {
        let python = child::python_with(module).ok_or_else(|| child::missing(module))?;
        let mut command = Command::new(python);
        command.arg(child::script("large.py")).arg(kind).arg(&self.file);
        command.args([layers, ROWS, COLUMNS].map(|number| number.to_string()));
        let cost = child::run(&mut command).map_err(|error| error.to_string())?;
        if cost.ok { Ok(()) } else { Err(format!("large.py {kind} failed")) }
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The tensors of a layer, repeated for every layer; those without a layer number appear once.
fn layered(layer: &[Stored], layers: u64) -> Vec<Stored> {
    let mut all = Vec::new();
    for index in 0..layers {
        for tensor in layer {
            let name = tensor.name.replacen(".0.", &format!(".{index}."), 1);
            if index == 0 || name != tensor.name {
                all.push(Stored { name, ..tensor.clone() });
            }
        }
    }
    all
}

fn one_tensor(rows: u64) -> Vec<Stored> {
    let name = "model.layers.0.mlp.up_proj.weight";
    let scales = [rows.div_ceil(128), COLUMNS / 128];
    vec![
        stored(name, DType::F8_E4M3, &[rows, COLUMNS], Fill::Floats),
        stored(&format!("{name}_scale_inv"), DType::F32, &scales, Fill::Scales),
    ]
}

fn safetensors(
    path: &Path,
    tensors: &[Stored],
    format: &str,
    payload: Payload,
) -> std::io::Result<()> {
    let planned: Vec<_> = tensors
        .iter()
        .map(|tensor| (tensor.name.clone(), tensor.dtype, tensor.shape.clone()))
        .collect();
    let layout = fixtures::safetensors_layout(&planned, format)?;
    let file = File::create(path)?;
    file.set_len(layout.len)?;
    file.write_all_at(&layout.fixed[0].bytes, 0)?;
    // Layers are alike: the first layer's bytes serve all.
    let mut made: Vec<(&Stored, Vec<u8>)> = Vec::new();
    for (tensor, &at) in tensors.iter().zip(&layout.places) {
        let len = tensor.dtype.bytes_for(tensor.shape.iter().product()).unwrap_or(0);
        if payload == Payload::Zeros && !matches!(tensor.fill, Fill::Bytes(_)) {
            continue;
        }
        let known = made.iter().position(|(known, _)| known.is_filled_as(tensor));
        let index = known.unwrap_or_else(|| {
            let mut pattern = vec![0; (len as usize).min(PATTERN)];
            tensor.fill(&mut pattern, &mut Random(SEED));
            made.push((tensor, pattern));
            made.len() - 1
        });
        repeat(&file, &made[index].1, at, len)?;
    }
    Ok(())
}

/// Writes a pattern again and again.
fn repeat(file: &File, pattern: &[u8], at: u64, len: u64) -> std::io::Result<()> {
    let mut done = 0;
    while done < len {
        let step = (len - done).min(pattern.len() as u64);
        file.write_all_at(&pattern[..step as usize], at + done)?;
        done += step;
    }
    Ok(())
}

fn gguf(path: &Path, block: &'static Block, layers: u64, payload: Payload) -> std::io::Result<()> {
    let bytes = block.bytes_for(ROWS, COLUMNS).expect("rows are whole blocks");
    let mut head = b"GGUF".to_vec();
    let text = |head: &mut Vec<u8>, text: &str| {
        head.extend_from_slice(&(text.len() as u64).to_le_bytes());
        head.extend_from_slice(text.as_bytes());
    };
    head.extend_from_slice(&3u32.to_le_bytes());
    head.extend_from_slice(&layers.to_le_bytes());
    head.extend_from_slice(&1u64.to_le_bytes());
    text(&mut head, "general.architecture");
    head.extend_from_slice(&8u32.to_le_bytes());
    text(&mut head, "llama");
    let step = bytes.next_multiple_of(32);
    for layer in 0..layers {
        text(&mut head, &format!("blk.{layer}.ffn_up.weight"));
        head.extend_from_slice(&2u32.to_le_bytes());
        head.extend_from_slice(&COLUMNS.to_le_bytes());
        head.extend_from_slice(&ROWS.to_le_bytes());
        head.extend_from_slice(&block.id.to_le_bytes());
        head.extend_from_slice(&(layer * step).to_le_bytes());
    }
    head.resize(head.len().next_multiple_of(32), 0);
    let mut file = File::create(path)?;
    file.write_all(&head)?;
    file.set_len(head.len() as u64 + layers * step)?;
    if payload == Payload::Random {
        let blocks = BlockFile::new(block, ROWS, COLUMNS, Scales::Sane, SEED);
        for layer in 0..layers {
            file.write_all_at(blocks.blocks(), head.len() as u64 + layer * step)?;
        }
    }
    Ok(())
}
