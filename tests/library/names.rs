//! Names across Hugging Face and GGUF: by which transforms the weights of each family are paired.
//! (That all are paired and have the same numbers is a check of every folder in `tests/samples`.)

use weighbridge::internals::names::{Pair, Pairing, Rows, Rules, Side, View, Which, pair};

use crate::common::pairing::{Opened, agree, both_ways, check, folder, seen};

/// How many pairs there are of each transform.
fn transforms(found: &Pairing) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for pair in &found.pairs {
        *counts.entry(pair.transform.clone().unwrap_or_default()).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

fn assert_transforms(name: &str, expected: &[(&str, usize)]) -> (Opened, Opened, Pairing) {
    let all = both_ways(name);
    let expected: Vec<(String, usize)> =
        expected.iter().map(|&(words, count)| (words.to_owned(), count)).collect();
    assert_eq!(transforms(&all.2), expected, "{name}");
    all
}

#[test]
fn llama_heads_are_permuted_and_rotary_factors_explained() {
    let expected = [("", 21), ("permute heads=2", 4), ("permute heads=4", 4)];
    let (_, gguf, found) = assert_transforms("llama", &expected);
    let [(Which::B, index, words)] = &found.explained[..] else { panic!("{:?}", found.explained) };
    assert_eq!(gguf.shapes[*index].0, "rope_freqs.weight");
    assert!(words.contains("rotary"), "{words}");
    assert_eq!(found.notes, ["names of A are Hugging Face's, of B GGUF's (family llama)"]);
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
fn mistral_is_llama_with_its_own_head_size() {
    assert_transforms("mistral", &[("", 10), ("permute heads=2", 1), ("permute heads=4", 1)]);
}

#[test]
fn mixtral_experts_are_stacked() {
    let expected = [("", 8), ("expert 0 of 3", 3), ("expert 1 of 3", 3), ("expert 2 of 3", 3)];
    let rest = [("permute heads=2", 1), ("permute heads=4", 1)];
    assert_transforms("mixtral", &[&expected[..], &rest[..]].concat());
}

#[test]
fn qwen_is_as_it_is() {
    assert_transforms("qwen2", &[("", 14)]);
    assert_transforms("qwen3", &[("", 25)]);
    assert_transforms("qwen3-q8", &[("", 13)]);
}

#[test]
fn qwen3moe_experts_are_stacked_or_fused() {
    let expert = |n: u64| (format!("expert {n} of 4"), 3);
    let (hf, gguf, found) = both_ways("qwen3moe");
    for n in 0..4 {
        assert!(transforms(&found).contains(&expert(n)));
    }
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
fn gemma_norms_are_one_more() {
    assert_transforms("gemma", &[("", 8), ("norm + 1", 3)]);
    let (hf, gguf, found) = assert_transforms("gemma2", &[("", 15), ("norm + 1", 9)]);
    // The converter adds to an f16 checkpoint's norms in f16, which shows in the f32 it writes.
    let exact = |pair: &&Pair| {
        let ours = seen(&pair.view_a, &hf.values(pair.a), "f32");
        pair.view_a.add != 0.0 && ours == gguf.values(pair.b)
    };
    assert_eq!(found.pairs.iter().filter(exact).count(), 0);
    assert_transforms("gemma3", &[("", 7), ("norm + 1", 7), ("rows 0..24 of 32", 1)]);
}

#[test]
fn the_part_that_reads_images_is_explained() {
    let (hf, _, found) = assert_transforms("gemma3-vision", &[("", 8), ("norm + 1", 7)]);
    assert!(found.explained.len() > 10);
    for (which, index, words) in &found.explained {
        assert!(*which == Which::A && words.contains("vision model"), "{}", hf.shapes[*index].0);
    }
}

/// A copy in the order Hugging Face has, and one permuted twice, must not pass.
#[test]
fn a_wrong_order_is_seen() {
    let (hf, gguf, found) = both_ways("llama");
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
            assert!(!agree(&Pair { view_a, ..pair.clone() }, &hf, &gguf), "{rows:?}");
            seen_wrong += 1;
        }
    }
    assert_eq!(seen_wrong, 8 * 3);
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
