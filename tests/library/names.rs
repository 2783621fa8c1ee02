//! Names across Hugging Face and GGUF: by which transforms the weights of each family are paired, as
//! `tests/files/transforms` lists them. (That all are paired and have the same numbers is a check of
//! every folder in `tests/samples`.)

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value as Json, json};
use weighbridge::internals::names::{Pair, Pairing, Rows, Rules, Side, View, Which, pair};
use weighbridge::ops::{DiffOptions, Status};
use weighbridge::{Model, ops};

use crate::common::pairing::{Opened, agree, both_ways, check, folder, seen};
use crate::common::root;
use crate::to_gguf::every;

/// How many pairs there are of each transform.
fn transforms(found: &Pairing) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for pair in &found.pairs {
        *counts.entry(pair.transform.clone().unwrap_or_default()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// What is listed about a model: how many pairs there are of each transform, and which weights need no
/// counterpart.
fn listed(hf: &Opened, gguf: &Opened, found: &Pairing) -> Json {
    let name = |(which, index, _): &(Which, usize, String)| match which {
        Which::A => hf.shapes[*index].0.clone(),
        Which::B => gguf.shapes[*index].0.clone(),
    };
    let pairs: BTreeMap<String, usize> = transforms(found).into_iter().collect();
    let explained: Vec<String> = found.explained.iter().map(name).collect();
    json!({ "explained": explained, "pairs": pairs })
}

/// With `BLESS` set, lists are written instead.
#[test]
fn transforms_are_those_that_are_listed() {
    let folders = fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap());
    let folders = folders.filter(|entry| entry.path().join("model.gguf").exists());
    let mut names: Vec<String> =
        folders.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 30);
    every(&names, |name| {
        let (hf, gguf, found) = both_ways(name);
        let list = root().join(format!("tests/files/transforms/{name}.json"));
        if std::env::var_os("BLESS").is_some() {
            let text = serde_json::to_string_pretty(&listed(&hf, &gguf, &found)).unwrap();
            fs::write(&list, text + "\n").unwrap();
        }
        let expected = fs::read(&list).unwrap_or_else(|_| panic!("{name} is not listed"));
        let expected: Json = serde_json::from_slice(&expected).unwrap();
        assert_eq!(listed(&hf, &gguf, &found), expected, "{name}");
        // Other orders of heads and other experts are not the same.
        let is = |start: &str| {
            let words = found.pairs.iter().filter_map(|pair| pair.transform.as_deref());
            words.filter(|words| words.contains(start)).count()
        };
        assert_eq!(wrong_orders(&found, &hf, &gguf), 3 * is("permute "), "{name}");
        assert_eq!(exchanged_experts(&found, &hf, &gguf), is("expert "), "{name}");
    });
}

#[test]
fn llama_heads_are_permuted_and_rotary_factors_explained() {
    let (_, gguf, found) = both_ways("llama");
    let [(Which::B, index, words)] = &found.explained[..] else { panic!("{:?}", found.explained) };
    assert_eq!(gguf.shapes[*index].0, "rope_freqs.weight");
    assert!(words.contains("rotary"), "{words}");
    assert_eq!(found.notes, ["A has Hugging Face names, B has GGUF names (family llama)"]);
}

#[test]
fn fused_query_key_value_is_taken_apart() {
    let (hf, gguf, found) = both_ways("llama-qkv");
    let words = |name: &str| {
        let index = hf.shapes.iter().position(|(own, _)| own == name).unwrap();
        found.pairs.iter().find(|pair| pair.a == index).unwrap().transform.clone().unwrap()
    };
    assert_eq!(
        words("model.layers.0.self_attn.q_proj.weight"),
        "permute heads=4, rows 0..24 of 48"
    );
    assert_eq!(words("model.layers.0.self_attn.k_proj.bias"), "permute heads=2, rows 24..36 of 48");
    assert_eq!(words("model.layers.0.self_attn.v_proj.bias"), "rows 36..48 of 48");
    // The same model with and without fusion, both by the converter.
    assert!(gguf.shapes.iter().any(|(name, _)| name == "blk.0.attn_qkv.bias"));
}

#[test]
fn qwen3moe_experts_are_stacked_or_fused() {
    let (hf, gguf, _) = both_ways("qwen3moe");
    let fused = Opened::new(&folder("qwen3moe").join("fused"));
    let stacked = check(&fused, &gguf);
    assert!(transforms(&stacked).contains(&("expert 3 of 4, rows 16..32 of 32".into(), 1)));
    // What is stacked on both sides is one pair.
    let down = |pair: &&Pair| gguf.shapes[pair.b].0.contains("ffn_down_exps");
    assert_eq!(stacked.pairs.iter().filter(down).count(), 1);
    check(&hf, &fused);
    check(&fused, &hf);
}

#[test]
fn phi3_stays_fused() {
    let (_, gguf, found) = both_ways("phi3");
    let explained: Vec<&str> =
        found.explained.iter().map(|(_, index, _)| &*gguf.shapes[*index].0).collect();
    assert_eq!(explained, ["rope_factors_long.weight", "rope_factors_short.weight"]);
}

#[test]
fn glm4moe_keeps_the_layer_that_predicts_further() {
    let (_, gguf, found) = both_ways("glm4moe");
    assert!(gguf.shapes.iter().any(|(name, _)| name == "blk.1.nextn.eh_proj.weight"));
    assert_eq!(found.explained, []);
}

#[test]
fn llama4_experts_are_transposed() {
    let (hf, gguf, found) = both_ways("llama4");
    let gate = "expert 2 of 3, columns 0..16 of 32, transpose";
    let up = "expert 2 of 3, columns 16..32 of 32, transpose";
    for words in [gate, up, "expert 2 of 3, transpose"] {
        assert!(transforms(&found).contains(&(words.to_owned(), 1)), "{:?}", transforms(&found));
    }
    assert_eq!(exchanged_experts(&found, &hf, &gguf), 9);
    // Gate and up have the same shape, too.
    for pair in found.pairs.iter().filter(|pair| pair.transform.as_deref() == Some(gate)) {
        let view_a = View { rows: Rows::From(16), ..pair.view_a.clone() };
        assert!(!agree(&Pair { view_a, ..pair.clone() }, &hf, &gguf));
    }
}

#[test]
fn gpt_oss_gate_and_up_take_turns() {
    for name in ["gpt-oss", "gpt-oss-mxfp4"] {
        let (hf, gguf, found) = both_ways(name);
        let words = ["expert 0 of 3, columns 1, 3, .., transpose", "numbers 0, 2, .."];
        for words in words {
            assert!(transforms(&found).contains(&(words.to_owned(), 1)), "{name}");
        }
        assert_eq!(exchanged_experts(&found, &hf, &gguf), 9);
        let mut wrong = 0;
        for pair in &found.pairs {
            let Rows::Runs { start, run, period } = pair.view_a.rows else { continue };
            let rows = Rows::Runs { start: 1 - start, run, period };
            let view_a = View { rows, ..pair.view_a.clone() };
            assert!(!agree(&Pair { view_a, ..pair.clone() }, &hf, &gguf), "{name}");
            wrong += 1;
        }
        assert_eq!(wrong, 2 * 3 + 2);
    }
}

#[test]
fn deepseek_keys_and_values_are_told_apart() {
    let (_, _, found) = both_ways("deepseek2");
    let key = "head 3 of 4, rows 0..6 of 14, transpose";
    for words in [key, "rows 6..14 of each head's 14"] {
        assert!(transforms(&found).contains(&(words.to_owned(), 2)), "{:?}", transforms(&found));
    }
    let (hf, gguf, found) = both_ways("deepseek3");
    for (which, index, words) in &found.explained {
        let is_last = hf.shapes[*index].0.starts_with("model.layers.2.");
        assert!(*which == Which::A && is_last && words.contains("multi-token prediction"));
    }
    assert!(found.explained.len() > 20);
    // Heads that are exchanged, and the same without a transposition.
    let heads: Vec<&Pair> = found.pairs.iter().filter(|p| p.view_a.transposed.is_some()).collect();
    for (pair, other) in heads.iter().zip(heads.iter().cycle().skip(1)) {
        let view_b = other.view_b.clone();
        assert_eq!(agree(&Pair { view_b, ..(*pair).clone() }, &hf, &gguf), pair == other);
        let mut view_a = View { transposed: None, ..pair.view_a.clone() };
        view_a.rows = Rows::From(0);
        assert!(!agree(&Pair { view_a, ..(*pair).clone() }, &hf, &gguf));
    }
    assert_eq!(heads.len(), 8);
}

#[test]
fn bert_has_names_of_its_own() {
    let (hf, _, found) = both_ways("bert");
    let explained: Vec<&str> =
        found.explained.iter().map(|(_, index, _)| &*hf.shapes[*index].0).collect();
    assert_eq!(explained, ["pooler.dense.bias", "pooler.dense.weight"]);
}

#[test]
fn gemma_norms_are_one_more() {
    let (hf, gguf, found) = both_ways("gemma2");
    // The converter adds to an f16 checkpoint's norms in f16, which shows in the f32 it writes.
    let exact = |pair: &&Pair| {
        let ours = seen(&pair.view_a, &hf.values(pair.a), "f32");
        pair.view_a.changes_values() && ours == gguf.values(pair.b)
    };
    assert_eq!(found.pairs.iter().filter(exact).count(), 0);
}

#[test]
fn the_part_that_reads_images_is_explained() {
    let (hf, _, found) = both_ways("gemma3-vision");
    assert!(found.explained.len() > 10);
    for (which, index, words) in &found.explained {
        assert!(*which == Which::A && words.contains("vision model"), "{}", hf.shapes[*index].0);
    }
}

/// How many wrong orders of heads were tried; none of them may pass.
fn wrong_orders(found: &Pairing, hf: &Opened, gguf: &Opened) -> usize {
    let mut seen_wrong = 0;
    for pair in &found.pairs {
        let Rows::Heads { start, heads, head_rows, .. } = pair.view_a.rows else { continue };
        let others = [
            Rows::From(start),
            Rows::Heads { start, heads, head_rows, to_halves: true },
            Rows::Heads { start, heads: heads / 2, head_rows: head_rows * 2, to_halves: false },
        ];
        for rows in others {
            let view_a = View { rows, ..pair.view_a.clone() };
            assert!(!agree(&Pair { view_a, ..pair.clone() }, hf, gguf), "{rows:?}");
            seen_wrong += 1;
        }
    }
    seen_wrong
}

/// How many pairs of experts were compared with the expert before; none of them may pass.
fn exchanged_experts(found: &Pairing, hf: &Opened, gguf: &Opened) -> usize {
    let is_expert =
        |pair: &&Pair| pair.transform.as_ref().is_some_and(|words| words.starts_with("expert "));
    let experts: Vec<&Pair> = found.pairs.iter().filter(is_expert).collect();
    for pair in &experts {
        let others = experts.iter().filter(|other| {
            other.b == pair.b && other.view_b.shape == pair.view_b.shape && other != &pair
        });
        for other in others {
            let exchanged = Pair { view_b: other.view_b.clone(), ..(*pair).clone() };
            assert!(!agree(&exchanged, hf, gguf), "{:?}", pair.transform);
        }
    }
    experts.len()
}

/// The GGUF knows its family and its heads: a bare file of weights is enough.
#[test]
fn a_checkpoint_without_its_config_is_translated_too() {
    let hf = Opened::new(&folder("llama").join("hf"));
    let gguf = Opened::new(&folder("llama").join("model.gguf"));
    let bare = Side { configs: &[], ..hf.side() };
    let found = pair(&bare, &gguf.side(), &Rules::default());
    assert_eq!(found, pair(&hf.side(), &gguf.side(), &Rules::default()));
}

/// A file in memory of single-precision tensors: names, shapes and numbers.
fn in_memory(family: &str, tensors: &[(&str, &[usize], Vec<f32>)]) -> Model {
    let mut header = serde_json::json!({"__metadata__": {"model_type": family}});
    let mut data = Vec::<u8>::new();
    for (name, shape, values) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header[name] = serde_json::json!({
            "dtype": "F32", "shape": shape, "data_offsets": [start, data.len()],
        });
    }
    let header = header.to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(data);
    Model::open_bytes(file, "memory.safetensors").unwrap()
}

/// Experts of more than one block, side by side and taking turns.
#[test]
fn large_experts_are_transposed_block_by_block() {
    let (experts, rows, each) = (2, 300, 260);
    let columns = 2 * each;
    let values: Vec<f32> = (0..experts * rows * columns).map(|n| n as f32).collect();
    for (family, modules, in_turn) in
        [("llama4_text", "feed_forward", false), ("gpt_oss", "mlp", true)]
    {
        let taken = |at: usize| -> Vec<f32> {
            let place = |n: usize| {
                let (expert, row, column) = (n / rows / each, n % rows, n / rows % each);
                let column = if in_turn { 2 * column + at } else { at * each + column };
                values[(expert * rows + row) * columns + column]
            };
            (0..experts * rows * each).map(place).collect()
        };
        let name = format!("model.layers.0.{modules}.experts.gate_up_proj");
        let embedding = |name: &'static str| (name, &[2, 2][..], vec![1.0; 4]);
        let fused = (&*name, &[experts, rows, columns][..], values.clone());
        let a = in_memory(family, &[embedding("model.embed_tokens.weight"), fused]);
        let shape: &[usize] = &[experts, each, rows];
        for changed in [None, Some(each * rows + 7)] {
            let mut up = taken(1);
            if let Some(place) = changed {
                up[place] += 1.0;
            }
            let tensors = [
                embedding("token_embd.weight"),
                ("blk.0.ffn_gate_exps.weight", shape, taken(0)),
                ("blk.0.ffn_up_exps.weight", shape, up),
            ];
            let report = ops::diff(&a, &in_memory(family, &tensors), &DiffOptions::default());
            let report = report.unwrap();
            let not_same: Vec<_> =
                report.tensors.iter().filter(|t| t.status != Status::Identical).collect();
            assert_eq!((report.tensors.len(), not_same.len()), (5, usize::from(changed.is_some())));
            for tensor in not_same {
                let words = tensor.transform.as_deref().unwrap_or_default();
                assert!(words.starts_with("expert 1 of 2, columns "), "{words}");
                assert_eq!((tensor.outside, &tensor.places[0].index[..]), (Some(1), &[0, 7][..]));
            }
        }
    }
}
