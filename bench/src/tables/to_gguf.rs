//! A Hugging Face repository into a GGUF file that llama.cpp runs, against the least that must be
//! done (reading and writing as many bytes) and llama.cpp's own converter.
//!
//! The repository is a Llama of 4 GB in BF16 with a vocabulary of 151,936 tokens, on a memory file
//! system; every file is written there too, and removed after each turn.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::copy_loop::Copy;
use crate::cost::Cost;
use crate::harness::{Contestant, Rounds, contest};
use crate::table::{Line, Table, seconds};
use crate::{Setting, child, program};

const OURS: &str = "weigh convert";
const LIMIT: &str = "copy loop";
const PEER: &str = "convert_hf_to_gguf.py";
/// How many times the copy loop ours may take, and the converter at least must.
const BOUND: f64 = 1.3;
const FASTER: f64 = 3.0;
/// MiB that ours may take besides headers and vocabulary, and what is allowed for those two.
const MEMORY: f64 = 64.0;
const VOCABULARY: f64 = 32.0;
/// A model that is nothing but a vocabulary: MiB for 151,936 tokens, seconds on one core for 256,000.
const ALONE: f64 = 48.0;
const LONG: f64 = 0.3;

pub(super) const TOKENS: usize = 151_936;
const MANY_TOKENS: usize = 256_000;
const HIDDEN: u64 = 2048;
const INNER: u64 = 8192;
const KEYS: u64 = 512;
/// A part of a quick run's layers has as much vocabulary.
const LAYERS: (u64, u64) = (28, 4);

/// What `--only` may name.
pub fn names() -> Vec<&'static str> {
    vec!["bf16", "vocabulary", "vocabulary-256k"]
}

pub fn measure(setting: &Setting) -> Table {
    let mut table = Table::new("to-gguf", "a repository in BF16 into a GGUF file, files in memory");
    table.matrix.head = ["model", "contestant", "best", "median", "x ours", "peak, MiB"]
        .map(str::to_owned)
        .to_vec();
    let weigh = program::release("weigh", None).expect("weigh can be built");
    for name in names().into_iter().filter(|name| setting.wants(name)) {
        eprintln!("  {name}");
        let layers = match (name, setting.quick) {
            ("vocabulary" | "vocabulary-256k", _) => 0,
            (_, true) => LAYERS.1,
            _ => LAYERS.0,
        };
        let folder = setting.memory_data.join("to-gguf");
        let tokens = if name == "vocabulary-256k" { MANY_TOKENS } else { TOKENS };
        match repository(&folder, layers, tokens, &between_half_and_two()) {
            Ok(bytes) => run(name, &folder, bytes, &weigh, setting, &mut table),
            Err(error) => table.notes.push(format!("{name} is not measured: {error}")),
        }
        drop(fs::remove_dir_all(folder));
    }
    table
}

fn run(name: &str, folder: &Path, bytes: u64, weigh: &Path, setting: &Setting, table: &mut Table) {
    let all_cores = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = if name == "vocabulary-256k" { 1 } else { all_cores };
    let out = folder.join("out.gguf");
    let mut ours = Command::new(weigh);
    ours.arg("convert").arg(folder.join("model")).arg("-o").arg(&out);
    ours.args(["--dtype", "bf16", "-q", "--no-mmap", "-j", &workers.to_string()]);
    let input = folder.join("model/model.safetensors");
    let limit = Copy { input: &input, output: &out, bytes, threads: workers, sync: false };
    let mut all = vec![(OURS, ours), (LIMIT, limit.command())];
    match converter(folder, &out) {
        Ok(command) => all.push((PEER, command)),
        Err(missing) => table.notes.push(missing),
    }
    let mut peaks = Vec::new();
    for (contestant, command) in &all {
        let cost = turn(command, &out);
        if !cost.ok {
            table.notes.push(format!("{contestant} failed: {}", cost.output.trim_end()));
        }
        peaks.push(cost.peak as f64 / f64::from(1 << 20));
    }
    let timed = |command| {
        let cost = turn(command, &out);
        if cost.ok { cost.wall } else { f64::INFINITY }
    };
    let contestants =
        all.iter().map(|(name, command)| Contestant::reporting(name, || timed(command))).collect();
    let rounds = Rounds { warm_up: 0, timed: if setting.quick { 3 } else { 5 } };
    let rows = contest(contestants, rounds);
    for (row, peak) in rows.iter().zip(&peaks) {
        let cells = vec![
            name.into(),
            row.contestant.clone(),
            seconds(row.best),
            seconds(row.median),
            format!("{:.2}", row.median_ratio),
            format!("{peak:.0}"),
        ];
        eprintln!("  {}", cells.join(" | "));
        table.matrix.lines.push(Line { cells, rows: vec![row.clone()] });
    }
    if name == "vocabulary" {
        table.bounded("a vocabulary of 151,936 tokens, MiB", peaks[0], ALONE);
        return;
    }
    if name == "vocabulary-256k" {
        table.bounded("a vocabulary of 256,000 tokens, seconds", rows[0].median, LONG);
        return;
    }
    table.bounded("times the copy loop", 1.0 / rows[1].median_ratio, BOUND);
    if let Some(peer) = rows.get(2) {
        table.reaches("times as fast as the converter", peer.median_ratio, FASTER);
    }
    table.bounded("MiB at the most, with the vocabulary", peaks[0], MEMORY + VOCABULARY);
}

/// One conversion, whose output is removed.
fn turn(command: &Command, out: &Path) -> Cost {
    let cost = child::run_apart(command).expect("the child can be measured");
    drop(fs::remove_file(out));
    cost
}

/// llama.cpp's converter on the same repository, or how to get it.
fn converter(folder: &Path, out: &Path) -> Result<Command, String> {
    let how = "llama.cpp's converter is missing: run `oracles/ggml_build.sh DIR`, install \
               oracles/requirements-gguf-models.txt, and set BENCH_LLAMA_CPP to \
               DIR/src/vendor/llama.cpp and BENCH_PYTHON_TRANSFORMERS to that python";
    let tree = std::env::var_os("BENCH_LLAMA_CPP").map(PathBuf::from).ok_or(how)?;
    let python = child::python_with("transformers").ok_or(how)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/to_gguf.py");
    let mut command = Command::new(python);
    command.arg(script).arg(tree).arg(folder.join("model")).arg(out);
    Ok(command)
}

/// BF16 numbers between a half and two.
fn between_half_and_two() -> Vec<u8> {
    let number = |i: u32| [(i.wrapping_mul(2_654_435_761) >> 13) as u8, 0x3f];
    (0..1 << 20).flat_map(number).collect()
}

/// Writes a repository whose weights repeat the bytes of `numbers`, and returns how many they have.
pub(super) fn repository(
    folder: &Path,
    layers: u64,
    tokens: usize,
    numbers: &[u8],
) -> std::io::Result<u64> {
    drop(fs::remove_dir_all(folder));
    let model = folder.join("model");
    fs::create_dir_all(&model)?;
    // Without layers it is as small as a model can be that has all tokens.
    let hidden = if layers == 0 { 32 } else { HIDDEN };
    let (layers, inner, keys) = match layers {
        0 => (1, 64, 32),
        _ => (layers, INNER, KEYS),
    };
    let config = json!({
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": hidden,
        "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": hidden / 32,
        "num_key_value_heads": keys / 32, "vocab_size": tokens, "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-6, "rope_theta": 1e6, "tie_word_embeddings": true,
        "torch_dtype": "bfloat16",
    });
    fs::write(model.join("config.json"), config.to_string())?;
    fs::write(model.join("tokenizer.json"), tokenizer(tokens).to_string())?;
    let said = json!({ "eos_token": "<|endoftext|>", "tokenizer_class": "Qwen2Tokenizer" });
    fs::write(model.join("tokenizer_config.json"), said.to_string())?;
    let tensors = tensors(tokens, hidden, inner, keys, layers);
    weights(&model.join("model.safetensors"), &tensors, numbers)
}

type Tensor = (String, Vec<u64>);

fn tensors(tokens: usize, hidden: u64, inner: u64, keys: u64, layers: u64) -> Vec<Tensor> {
    let mut all = vec![
        ("model.embed_tokens.weight".to_owned(), vec![tokens as u64, hidden]),
        ("model.norm.weight".to_owned(), vec![hidden]),
    ];
    for layer in 0..layers {
        let of =
            |name: &str, shape: &[u64]| (format!("model.layers.{layer}.{name}"), shape.to_vec());
        all.extend([
            of("input_layernorm.weight", &[hidden]),
            of("post_attention_layernorm.weight", &[hidden]),
            of("self_attn.q_proj.weight", &[hidden, hidden]),
            of("self_attn.q_proj.bias", &[hidden]),
            of("self_attn.k_proj.weight", &[keys, hidden]),
            of("self_attn.k_proj.bias", &[keys]),
            of("self_attn.v_proj.weight", &[keys, hidden]),
            of("self_attn.v_proj.bias", &[keys]),
            of("self_attn.o_proj.weight", &[hidden, hidden]),
            of("mlp.gate_proj.weight", &[inner, hidden]),
            of("mlp.up_proj.weight", &[inner, hidden]),
            of("mlp.down_proj.weight", &[hidden, inner]),
        ]);
    }
    all
}

/// Writes a safetensors file of BF16 numbers, as often as need be.
fn weights(path: &Path, tensors: &[Tensor], numbers: &[u8]) -> std::io::Result<u64> {
    let (mut header, mut at) = (Map::new(), 0);
    for (name, shape) in tensors {
        let end = at + shape.iter().product::<u64>() * 2;
        let entry = json!({ "dtype": "BF16", "shape": shape, "data_offsets": [at, end] });
        header.insert(name.clone(), entry);
        at = end;
    }
    let header = Value::Object(header).to_string();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut rest = at;
    while rest > 0 {
        let len = rest.min(numbers.len() as u64);
        out.write_all(&numbers[..usize::try_from(len).expect("it is a part of them")])?;
        rest -= len;
    }
    out.flush()?;
    Ok(at)
}

/// A byte-level tokenizer: all bytes, then pairs of tokens that came before.
fn tokenizer(tokens: usize) -> Value {
    let symbols = symbols();
    let (mut vocabulary, mut merges) = (Map::new(), Vec::new());
    let mut texts: Vec<String> = symbols.clone();
    let (mut first, mut second) = (0, 0);
    while texts.len() < tokens - 1 {
        merges.push(format!("{} {}", texts[first], symbols[second]));
        texts.push(format!("{}{}", texts[first], symbols[second]));
        second += 1;
        if second == symbols.len() {
            (first, second) = (first + 1, 0);
        }
    }
    for (id, text) in texts.into_iter().enumerate() {
        vocabulary.insert(text, id.into());
    }
    let regex = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| \
                 ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
    let bytes = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false });
    let cut = json!({ "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": false });
    json!({
        "version": "1.0", "truncation": null, "padding": null, "normalizer": { "type": "NFC" },
        "added_tokens": [{ "id": tokens - 1, "content": "<|endoftext|>", "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false, "special": true }],
        "pre_tokenizer": { "type": "Sequence", "pretokenizers": [cut, bytes] },
        "post_processor": bytes, "decoder": bytes,
        "model": { "type": "BPE", "dropout": null, "unk_token": null,
            "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": false,
            "byte_fallback": false, "vocab": vocabulary, "merges": merges },
    })
}

/// The characters that stand for bytes in such a tokenizer.
fn symbols() -> Vec<String> {
    let is_shown = |byte: u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let shown = (0..256).filter(|byte| is_shown(*byte));
    let others = (0..256).filter(|byte| !is_shown(*byte)).count() as u32;
    let all = shown.chain(256..256 + others).filter_map(char::from_u32);
    all.map(String::from).collect()
}
