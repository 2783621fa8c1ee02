//! Hashes of models: equal where they must be, different where they must be, and equal to those of an
//! implementation that shares nothing with ours (`goldens.json`, by `oracles/hash_goldens.py`).

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use weighbridge::ops::{self, ConvertOptions, HashOptions, HashReport, OutputType};
use weighbridge::{FileAccess, Model, OpenOptions};

use crate::common::root;

fn stored() -> HashOptions {
    HashOptions::default().tensors(true)
}

fn values() -> HashOptions {
    stored().values(true)
}

fn hash(path: &Path, options: &HashOptions) -> HashReport {
    let model = OpenOptions::new().access(FileAccess::Read).open(path).unwrap();
    ops::hash(&model, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The hash of each weight.
fn by_name(report: &HashReport) -> BTreeMap<String, String> {
    let tensors = report.tensors.as_ref().unwrap();
    tensors.iter().map(|one| (one.name.clone(), one.hash.clone())).collect()
}

#[test]
fn hashes_are_those_of_another_implementation() {
    let goldens: Json = serde_json::from_str(include_str!("goldens.json")).unwrap();
    let mut whole = 0;
    for golden in goldens.as_array().unwrap() {
        let path = golden["path"].as_str().unwrap();
        let options = if golden["of"] == "values" { values() } else { stored() };
        let report = hash(&root().join(path), &options);
        assert_eq!((report.of, report.encoding), (golden["of"].as_str().unwrap(), 1));
        let (found, wanted) = (by_name(&report), golden["tensors"].as_object().unwrap());
        for (name, wanted) in wanted {
            assert_eq!(found[name], wanted.as_str().unwrap(), "{path}: {name}");
        }
        // Some libraries decode only what is quantized.
        if found.len() == wanted.len() {
            assert_eq!(report.hash, golden["hash"].as_str().unwrap(), "{path}");
            whole += 1;
        }
    }
    assert!(whole >= 8, "{whole}");
}

/// A safetensors file: names with types, shapes and bytes, and metadata.
fn safetensors(tensors: &[(&str, &str, &[u64], &[u8])], metadata: &str) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".to_owned(), serde_json::json!({ "note": metadata }));
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        data.extend_from_slice(bytes);
        let entry = serde_json::json!({"dtype": dtype, "shape": shape, "data_offsets": offsets});
        header.insert((*name).to_owned(), entry);
    }
    let header = Json::Object(header).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// Bytes of `count` finite f32 that are all different.
fn numbers(count: u32) -> Vec<u8> {
    #[allow(clippy::cast_possible_truncation)] // Rounded on purpose.
    let number = |at: u32| (f64::from(at) * 0.37 - 1000.0) as f32;
    (0..count).flat_map(|at| number(at).to_le_bytes()).collect()
}

/// The same model in every format that is written, from `path`.
fn in_every_format(path: &Path, folder: &Path) -> Vec<PathBuf> {
    let model = Model::open(path).unwrap();
    let outputs = ["a.safetensors", "b.gguf", "c.npz", "shards"].map(|name| folder.join(name));
    for output in &outputs {
        let options = ConvertOptions::new(output).dtype(OutputType::Keep).to(output
            .extension()
            .and_then(|extension| extension.to_str())
            .unwrap_or("safetensors"));
        ops::convert(
            &model,
            &options.max_shard_size(if output.ends_with("shards") { 16 } else { u64::MAX }),
        )
        .unwrap_or_else(|error| panic!("{}: {error}", output.display()));
    }
    assert!(std::fs::read_dir(&outputs[3]).unwrap().count() > 3, "several shards and an index");
    outputs.to_vec()
}

/// Weights that torch wrote, scalars among them, in all formats.
#[test]
fn values_are_the_same_in_every_container() {
    let files = root().join("tests/files/pth");
    for sample in ["containers.pth", "aligned_512.pth", "bool_and_tuple_keys.pth"] {
        let folder = tempfile::tempdir().unwrap();
        let path = files.join(sample);
        let original = hash(&path, &values());
        assert!(original.weights > 1);
        for output in in_every_format(&path, folder.path()) {
            let report = hash(&output, &values());
            assert_eq!(by_name(&report), by_name(&original), "{}", output.display());
            assert_eq!(report.hash, original.hash, "{}", output.display());
        }
    }
}

/// Weights of several tiles, in all formats, by any number of workers.
#[test]
fn large_weights_hash_the_same_in_every_container_and_by_any_number_of_workers() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (numbers(777 * 1001), numbers(300_000));
    let file = safetensors(&[("a", "F32", &[777, 1001], &a), ("b", "F32", &[300_000], &b)], "");
    let path = written(folder.path(), "large.safetensors", &file);
    let of_bytes = hash(&path, &stored());
    let tensors = of_bytes.tensors.as_ref().unwrap();
    for (tensor, bytes) in tensors.iter().zip([&a, &b]) {
        let part = &tensor.parts.as_ref().unwrap()[0];
        assert_eq!(part.hash, blake3::hash(bytes).to_string());
    }
    let of_values = hash(&path, &values());
    let others = in_every_format(&path, folder.path());
    for path in others.iter().chain([&path]) {
        for threads in [1, 2, 5] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let found = hash(path, &values().threads(threads));
            assert_eq!(found.hash, of_values.hash, "{} by {threads}", path.display());
            // Plain numbers are stored the same way everywhere.
            let found = hash(path, &stored().threads(threads).max_memory(1 << 20));
            assert_eq!(found.hash, of_bytes.hash, "{} by {threads}", path.display());
        }
    }
}

/// Every quantized sample of a scheme is cut in its own way.
#[test]
fn quantized_weights_hash_as_their_decoded_copies_by_any_number_of_workers() {
    let files = root().join("tests/files");
    for sample in
        ["gptq/desc-act", "awq/gemm-g32", "compressed/experts", "mx/gpt-oss", "bnb/nf4-nested"]
    {
        let path = files.join(sample);
        let model = Model::open(&path).unwrap();
        let mut bytes = Vec::new();
        let options = ConvertOptions::new("-").to("safetensors").dtype(OutputType::F32);
        ops::convert_to(&model, &options, &mut bytes).unwrap();
        let plain = ops::hash(&Model::open_bytes(bytes, "plain").unwrap(), &values()).unwrap();
        for threads in [1, 3] {
            let threads = NonZeroUsize::new(threads).unwrap();
            let found = hash(&path, &values().threads(threads));
            assert_eq!(by_name(&found), by_name(&plain), "{sample}");
            assert_ne!(found.hash, hash(&path, &stored()).hash, "{sample}");
        }
    }
}

#[test]
fn shards_their_order_and_their_metadata_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let of = |at: u8| vec![at; 8];
    let (a, b, c) = (of(1), of(2), of(3));
    let [a, b, c]: [(&str, &str, &[u64], &[u8]); 3] =
        [("a", "F16", &[4], &a), ("b", "I32", &[2], &b), ("c", "F32", &[1, 2], &c)];
    let one = written(folder.path(), "one.safetensors", &safetensors(&[a, b, c], "x"));
    let other = written(folder.path(), "other.safetensors", &safetensors(&[c, a, b], "yy"));
    let shards = folder.path().join("shards");
    std::fs::create_dir(&shards).unwrap();
    written(&shards, "model-00001-of-00002.safetensors", &safetensors(&[b], "z"));
    written(&shards, "model-00002-of-00002.safetensors", &safetensors(&[c, a], ""));
    for options in [stored(), values()] {
        let wanted = hash(&one, &options).hash;
        assert_eq!(hash(&other, &options).hash, wanted);
        assert_eq!(hash(&shards, &options).hash, wanted);
    }
    // Names, types and shapes do.
    let first = hash(&one, &stored()).hash;
    let changed = |at: (&'static str, &'static str, &'static [u64])| {
        let tensor = (at.0, at.1, at.2, b.3);
        let path =
            written(folder.path(), "changed.safetensors", &safetensors(&[a, tensor, c], "x"));
        hash(&path, &stored()).hash
    };
    assert_eq!(changed(("b", "I32", &[2])), first);
    for other in [("d", "I32", &[2][..]), ("b", "U32", &[2]), ("b", "I32", &[2, 1])] {
        assert_ne!(changed(other), first, "{other:?}");
    }
}

#[test]
fn one_bit_of_any_part_changes_the_hash_of_its_weight_alone() {
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(root().join("samples/tiny-llama-gptq")).unwrap() {
        let file = file.unwrap().path();
        std::fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    let before = by_name(&hash(folder.path(), &stored()));
    let model = Model::open(folder.path()).unwrap();
    let weight = model.weight("model.layers.1.mlp.up_proj.weight").unwrap();
    let mut roles = Vec::new();
    for (role, source, info) in weight.parts() {
        let path = source.input().name().to_owned();
        let bytes = std::fs::read(&path).unwrap();
        for at in [0, info.bytes - 1] {
            let mut changed = bytes.clone();
            changed[usize::try_from(info.file_offset().unwrap() + at).unwrap()] ^= 0x10;
            std::fs::write(&path, changed).unwrap();
            let after = by_name(&hash(folder.path(), &stored()));
            let others: Vec<_> =
                before.keys().filter(|name| before[*name] != after[*name]).collect();
            assert_eq!(others, ["model.layers.1.mlp.up_proj.weight"], "{role}");
        }
        std::fs::write(&path, bytes).unwrap();
        roles.push(role);
    }
    assert_eq!(roles, ["qweight", "qzeros", "scales", "g_idx"]);
    assert_eq!(by_name(&hash(folder.path(), &stored())), before);
}

#[test]
fn all_nan_are_one_value_and_both_zeros_are_two() {
    let of = |bits: [u32; 2], options: &HashOptions| {
        let bytes: Vec<u8> = bits.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let file = safetensors(&[("t", "F32", &[2], &bytes)], "");
        ops::hash(&Model::open_bytes(file, "t").unwrap(), options).unwrap().hash
    };
    let (one, other) = ([0x7fc0_0000, 0], [0xff80_0001, 0]);
    assert_eq!(of(one, &values()), of(other, &values()));
    assert_ne!(of(one, &stored()), of(other, &stored()));
    assert_ne!(of(one, &values()), of([0x7fc0_0000, 0x8000_0000], &values()));
    assert_ne!(of(one, &values()), of([0x7f80_0000, 0], &values()));
}

#[test]
fn what_cannot_be_decoded_has_a_hash_as_it_is_stored_and_is_refused_by_name_otherwise() {
    let path = root().join("tests/files/pth/conj_neg.pth");
    assert_eq!(hash(&path, &stored()).weights, 5);
    let model = Model::open(&path).unwrap();
    let message = ops::hash(&model, &values()).unwrap_err().to_string();
    assert!(message.contains("3 weights cannot be hashed: plain, conj, conj_t"), "{message}");
    let report = hash(&path, &values().skip_unreadable(true));
    assert_eq!((report.weights, report.skipped.len()), (2, 3));
    let message =
        ops::hash(&model, &values().skip_unreadable(true)).unwrap().skipped[0].reason.clone();
    assert!(!message.is_empty());
    // Bytes of an unknown length cannot be read at all.
    let model = Model::open(root().join("tests/files/gguf/unknown-type.gguf")).unwrap();
    let message = ops::hash(&model, &stored()).unwrap_err().to_string();
    assert!(message.contains("tensor `unknown`: unsupported type 9999"), "{message}");
}

#[test]
fn notes_say_what_a_hash_leaves_open() {
    let file = safetensors(&[("t", "F64", &[1], &[0; 8]), ("u", "I32", &[1], &[0; 4])], "");
    let model = Model::open_bytes(file, "t").unwrap();
    let notes = |options: &HashOptions| ops::hash(&model, options).unwrap().notes;
    assert!(notes(&stored()).is_empty());
    assert!(notes(&values())[0].starts_with("2 weights are stored in types wider than f32"));
    let some = weighbridge::Select::new().include(|name| name == "t");
    assert_eq!(notes(&stored().select(some)), ["1 of 2 weights are selected and hashed"]);
}
