//! Inputs in the real layouts, built once and kept in the data folder.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Setting, child};

/// Builds `name` in the data folder unless it is there already.
pub fn once(
    setting: &Setting,
    name: &str,
    build: impl FnOnce(&Path) -> std::io::Result<()>,
) -> PathBuf {
    let path = setting.data.join(name);
    if !path.exists() {
        let partial = setting.data.join(format!("{name}.partial"));
        let _ = std::fs::remove_file(&partial).or_else(|_| std::fs::remove_dir_all(&partial));
        build(&partial).expect("the input can be built");
        std::fs::rename(&partial, &path).expect("the input can be named");
    }
    path
}

/// Lets one of our scripts build a file; `None` when its library is missing.
pub fn by_python(
    setting: &Setting,
    name: &str,
    module: &str,
    script: &str,
    args: &[&str],
) -> Option<PathBuf> {
    let path = setting.data.join(name);
    if path.exists() {
        return Some(path);
    }
    let python = child::python_with(module)?;
    let cost =
        child::run(Command::new(python).arg(child::script(script)).arg(&path).args(args)).ok()?;
    (cost.ok && path.exists()).then_some(path)
}

/// Lets one of our scripts (its library, its name, what it makes the file of) build a file. If the
/// library is missing, builds the file here, under another name and with a note.
pub fn by_python_or(
    setting: &Setting,
    name: &str,
    (module, script, of): (&str, &str, String),
    notes: &mut Vec<String>,
    build: impl FnOnce(&Path) -> std::io::Result<()>,
) -> PathBuf {
    by_python(setting, name, module, script, &[&of]).unwrap_or_else(|| {
        notes.push(format!("{module}, which writes {name}, is missing: ours has the same layout"));
        once(setting, &format!("ours-{name}"), build)
    })
}

/// Writes `len` bytes that are not zero.
pub fn fill(out: &mut impl Write, mut len: u64) -> std::io::Result<()> {
    let block: Vec<u8> =
        (0..1u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    while len > 0 {
        let step = len.min(block.len() as u64) as usize;
        out.write_all(&block[..step])?;
        len -= step as u64;
    }
    Ok(())
}

/// A safetensors file of `count` F16 matrices, `bytes` each, with names as in a language model.
pub fn safetensors(path: &Path, count: u64, bytes: u64) -> std::io::Result<()> {
    let tensors: Vec<_> = (0..count)
        .map(|i| (layer_name(i), weighbridge::DType::F16, vec![bytes / 128, 64]))
        .collect();
    let layout = safetensors_layout(&tensors, "pt")?;
    let header = &layout.fixed[0].bytes;
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(header)?;
    fill(&mut out, layout.len - header.len() as u64)?;
    out.flush()
}

/// Where tensors of these names, types and shapes go in a safetensors file.
pub fn safetensors_layout(
    tensors: &[(String, weighbridge::DType, Vec<u64>)],
    format: &str,
) -> std::io::Result<weighbridge::internals::containers::writing::Layout> {
    use weighbridge::catalog::{Value, element_count};
    use weighbridge::internals::containers::safetensors::Safetensors;
    use weighbridge::internals::containers::writing::{
        FileContext, MetadataValue, Planned, Writer as _,
    };
    use weighbridge::internals::dtype::StoredType;
    let stored: Vec<_> = tensors.iter().map(|tensor| StoredType::Element(tensor.1)).collect();
    let planned: Vec<_> = tensors
        .iter()
        .zip(&stored)
        .map(|((name, dtype, shape), stored)| Planned {
            name,
            stored,
            shape,
            bytes: element_count(shape).and_then(|n| dtype.bytes_for(n)).unwrap_or(0),
        })
        .collect();
    let metadata = [("format".to_owned(), MetadataValue::Value(Value::text(format)))];
    let about =
        FileContext { metadata: &metadata, part: (0, 1), tensors: tensors.len(), streamed: false };
    Safetensors.lay_out(&planned, &about).map_err(std::io::Error::other)
}

/// A tensor's name as in a language model.
pub fn layer_name(i: u64) -> String {
    let parts = [
        "self_attn.q_proj",
        "self_attn.k_proj",
        "self_attn.v_proj",
        "self_attn.o_proj",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
        "input_layernorm",
        "post_attention_layernorm",
    ];
    format!("model.layers.{}.{}.weight", i / 9, parts[(i % 9) as usize])
}

/// A GGUF file with a vocabulary of `tokens`, its merges, and `count` F16 tensors of `bytes` each.
pub fn gguf(path: &Path, tokens: u64, count: u64, bytes: u64) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    let mut head = Vec::new();
    head.extend_from_slice(b"GGUF");
    head.extend_from_slice(&3u32.to_le_bytes());
    head.extend_from_slice(&count.to_le_bytes());
    head.extend_from_slice(&6u64.to_le_bytes());
    let text = |head: &mut Vec<u8>, text: &str| {
        head.extend_from_slice(&(text.len() as u64).to_le_bytes());
        head.extend_from_slice(text.as_bytes());
    };
    for (key, value) in [("general.architecture", "llama"), ("tokenizer.ggml.model", "gpt2")] {
        text(&mut head, key);
        head.extend_from_slice(&8u32.to_le_bytes());
        text(&mut head, value);
    }
    let array = |head: &mut Vec<u8>, key: &str, kind: u32, len: u64| {
        text(head, key);
        head.extend_from_slice(&9u32.to_le_bytes());
        head.extend_from_slice(&kind.to_le_bytes());
        head.extend_from_slice(&len.to_le_bytes());
    };
    array(&mut head, "tokenizer.ggml.tokens", 8, tokens);
    for i in 0..tokens {
        text(&mut head, &token(i));
    }
    array(&mut head, "tokenizer.ggml.scores", 6, tokens);
    (0..tokens).for_each(|i| head.extend_from_slice(&(-(i as f32)).to_le_bytes()));
    array(&mut head, "tokenizer.ggml.token_type", 5, tokens);
    (0..tokens).for_each(|_| head.extend_from_slice(&1i32.to_le_bytes()));
    array(&mut head, "tokenizer.ggml.merges", 8, tokens - 257);
    (0..tokens - 257).for_each(|i| {
        text(&mut head, &format!("{} {}", token(i), token(i * 7 % tokens)));
    });
    for i in 0..count {
        text(&mut head, &format!("blk.{i}.ffn_up.weight"));
        head.extend_from_slice(&2u32.to_le_bytes());
        head.extend_from_slice(&64u64.to_le_bytes());
        head.extend_from_slice(&(bytes / 128).to_le_bytes());
        head.extend_from_slice(&1u32.to_le_bytes());
        head.extend_from_slice(&(i * bytes).to_le_bytes());
    }
    head.resize(head.len().next_multiple_of(32), 0);
    out.write_all(&head)?;
    fill(&mut out, count * bytes)?;
    out.flush()
}

/// A token of two to eleven bytes.
fn token(i: u64) -> String {
    let mut text = String::from(if i.is_multiple_of(3) { "\u{120}" } else { "" });
    let mut rest = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    for _ in 0..2 + i % 8 {
        text.push(char::from(b'a' + (rest % 26) as u8));
        rest /= 26;
    }
    text
}

/// An APR v2 file of `count` F16 tensors of `bytes` each.
pub fn apr(path: &Path, count: u64, bytes: u64) -> std::io::Result<()> {
    let meta = br#"{"model_type":"llama","name":"bench"}"#;
    let mut index = Vec::new();
    for i in 0..count {
        let name = format!("layers.{i:06}.weight");
        index.extend_from_slice(&(name.len() as u16).to_le_bytes());
        index.extend_from_slice(name.as_bytes());
        index.extend_from_slice(&[1, 2]);
        index.extend_from_slice(&(bytes / 128).to_le_bytes());
        index.extend_from_slice(&64u64.to_le_bytes());
        index.extend_from_slice(&(i * bytes).to_le_bytes());
        index.extend_from_slice(&bytes.to_le_bytes());
    }
    let index_offset = 64 + meta.len().next_multiple_of(64);
    let data_offset = index_offset + index.len().next_multiple_of(64);
    let mut head = b"APR\0\x02\x00\x00\x04".to_vec();
    head.extend_from_slice(&(count as u32).to_le_bytes());
    head.extend_from_slice(&64u64.to_le_bytes());
    head.extend_from_slice(&(meta.len() as u32).to_le_bytes());
    head.extend_from_slice(&(index_offset as u64).to_le_bytes());
    head.extend_from_slice(&(data_offset as u64).to_le_bytes());
    let mut sum = crc32fast::Hasher::new();
    sum.update(&head);
    sum.update(&[0; 20]);
    head.extend_from_slice(&sum.finalize().to_le_bytes());
    head.resize(64, 0);
    head.extend_from_slice(meta);
    head.resize(index_offset, 0);
    head.extend_from_slice(&index);
    head.resize(data_offset, 0);
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(&head)?;
    fill(&mut out, count * bytes)?;
    out.write_all(&[0; 4])?;
    out.flush()
}

/// An NPY file of one F32 array of `bytes` bytes.
pub fn npy(path: &Path, bytes: u64) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    out.write_all(&npy_head(bytes))?;
    fill(&mut out, bytes)?;
    out.flush()
}

fn npy_head(bytes: u64) -> Vec<u8> {
    let mut header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, 64), }}", bytes / 256);
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes()].concat()
}

/// A stored NPZ of `count` F32 arrays of `bytes` bytes each.
pub fn stored_npz(path: &Path, count: u64, bytes: u64) -> std::io::Result<()> {
    let mut array = npy_head(bytes);
    fill(&mut array, bytes)?;
    let sum = crc32fast::hash(&array);
    let mut out = BufWriter::new(File::create(path)?);
    let (mut directory, mut at) = (Vec::new(), 0u32);
    for i in 0..count {
        let name = format!("layer_{i}.npy");
        // The fields common to both headers of a member: version, flags, method, time, sum, sizes,
        // lengths.
        let mut about = vec![20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0];
        about.extend_from_slice(&sum.to_le_bytes());
        (0..2).for_each(|_| about.extend_from_slice(&(array.len() as u32).to_le_bytes()));
        about.extend_from_slice(&[name.len() as u8, 0, 0, 0]);
        let local = [b"PK\x03\x04", &about[..], name.as_bytes()].concat();
        out.write_all(&local)?;
        out.write_all(&array)?;
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend_from_slice(&about);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        at += (local.len() + array.len()) as u32;
    }
    out.write_all(&directory)?;
    out.write_all(b"PK\x05\x06\0\0\0\0")?;
    (0..2).try_for_each(|_| out.write_all(&(count as u16).to_le_bytes()))?;
    out.write_all(&(directory.len() as u32).to_le_bytes())?;
    out.write_all(&at.to_le_bytes())?;
    out.write_all(&[0; 2])?;
    out.flush()
}
