//! Names across Hugging Face and GGUF, against what llama.cpp's own converter makes of a model:
//! every weight has its counterpart, and seen as its pair says it has the same numbers.
#![allow(clippy::cast_possible_truncation)]

use std::path::{Path, PathBuf};

use weighbridge::internals::names::{Named, Pair, Pairing, Rows, Rules, Side, View, Which, pair};
use weighbridge::{Model, bf16, f16};

fn folder(name: &str) -> PathBuf {
    crate::common::root().join("tests/files/names").join(name)
}

/// A model with the shapes of its weights, which a side borrows.
struct Opened {
    model: Model,
    shapes: Vec<(String, Vec<u64>)>,
}

impl Opened {
    fn new(path: &Path) -> Self {
        let model = Model::open(path).unwrap();
        let shapes = model.weights().map(|w| (w.name().to_owned(), w.shape().to_vec())).collect();
        Self { model, shapes }
    }

    fn side(&self) -> Side<'_> {
        Side {
            weights: self.shapes.iter().map(|(name, shape)| Named { name, shape }).collect(),
            configs: self.model.configs(),
            metadata: self.model.metadata().into_iter().map(|(k, v, _)| (k, v)).collect(),
        }
    }

    fn values(&self, index: usize) -> Vec<f32> {
        let weight = self.model.weight(&self.shapes[index].0).unwrap();
        let mut out = vec![0f32; weight.len()];
        weight.decode_into(&mut out).unwrap();
        out
    }

    fn dtype(&self, index: usize) -> String {
        let weight = self.model.weight(&self.shapes[index].0).unwrap();
        let (_, _, info) = weight.parts().next().unwrap();
        info.stored.name().to_lowercase()
    }
}

/// The numbers of a view, row by row; `add` is in f16 where the weight is.
fn seen(view: &View, values: &[f32], dtype: &str) -> Vec<f32> {
    let length = view.row_len() as usize;
    let rows = (0..view.row_count()).map(|row| view.row(row) as usize * length);
    let numbers = rows.flat_map(|start| values[start..start + length].to_vec());
    let add = |value: f32| match view.add {
        0.0 => value,
        more if dtype == "f16" => f16::from_f32(value + more).to_f32(),
        more => value + more,
    };
    numbers.map(add).collect()
}

/// Whether B holds what A holds, rounded to the type it has there.
fn agree(pair: &Pair, a: &Opened, b: &Opened) -> bool {
    let ours = seen(&pair.view_a, &a.values(pair.a), &a.dtype(pair.a));
    let theirs = seen(&pair.view_b, &b.values(pair.b), &b.dtype(pair.b));
    assert_eq!(pair.view_a.shape, pair.view_b.shape, "{}", a.shapes[pair.a].0);
    let dtype = b.dtype(pair.b);
    let rounded = |value: f32| match dtype.as_str() {
        "f32" => value,
        "f16" => f16::from_f32(value).to_f32(),
        "bf16" => bf16::from_f32(value).to_f32(),
        other => panic!("no rule for {other}"),
    };
    if dtype == "q8_0" {
        // Steps of a block are its largest number over 127; its scale is an f16.
        let blocks = ours.chunks(32).zip(theirs.chunks(32));
        return blocks.into_iter().all(|(ours, theirs)| {
            let step = ours.iter().fold(0f32, |most, value| most.max(value.abs())) / 127.0;
            ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= step * 0.57)
        });
    }
    let same = |(a, b): (&f32, &f32)| rounded(*a).to_bits() == b.to_bits();
    ours.len() == theirs.len() && !ours.is_empty() && ours.iter().zip(&theirs).all(same)
}

/// Pairs the two and checks that nothing is left and every value agrees.
fn check(a: &Opened, b: &Opened) -> Pairing {
    let found = pair(&a.side(), &b.side(), &Rules::default());
    let names = |side: &Opened, indexes: &[usize]| -> Vec<String> {
        indexes.iter().map(|&index| side.shapes[index].0.clone()).collect()
    };
    assert_eq!(names(a, &found.only_a), [""; 0], "{:?}", found.notes);
    assert_eq!(names(b, &found.only_b), [""; 0], "{:?}", found.notes);
    for pair in &found.pairs {
        let (ours, theirs) = (&a.shapes[pair.a].0, &b.shapes[pair.b].0);
        assert!(agree(pair, a, b), "{ours} and {theirs} differ: {:?}", pair.transform);
    }
    // Every number of either side has been looked at, or is explained.
    for (which, side) in [(Which::A, a), (Which::B, b)] {
        for (index, (name, shape)) in side.shapes.iter().enumerate() {
            let explained = found.explained.iter().any(|e| (e.0, e.1) == (which, index));
            let views = found.pairs.iter().filter_map(|pair| match which {
                Which::A => (pair.a == index).then_some(&pair.view_a),
                Which::B => (pair.b == index).then_some(&pair.view_b),
            });
            let looked: u64 = views.map(|view| view.shape.iter().product::<u64>()).sum();
            let cut = name.ends_with("embed_tokens.weight") && looked > 0;
            assert!(explained || cut || looked >= shape.iter().product(), "{name} {looked}");
        }
    }
    found
}

fn both_ways(name: &str) -> (Opened, Opened, Pairing) {
    let (hf, gguf) =
        (Opened::new(&folder(name).join("hf")), Opened::new(&folder(name).join("model.gguf")));
    let found = check(&hf, &gguf);
    let back = pair(&gguf.side(), &hf.side(), &Rules::default());
    assert_eq!(back.pairs.len(), found.pairs.len(), "{name}");
    assert!(back.only_a.is_empty() && back.only_b.is_empty(), "{name}");
    for pair in &found.pairs {
        let mirrored = |other: &&Pair| {
            (other.a, other.b) == (pair.b, pair.a)
                && (&other.view_a, &other.view_b) == (&pair.view_b, &pair.view_a)
        };
        assert!(back.pairs.iter().any(|other| mirrored(&other)), "{name}: {pair:?}");
    }
    (hf, gguf, found)
}

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
    // An f16 checkpoint's norms are added to in f16, which is seen in the f32 that are written.
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
        assert!(*which == Which::A && words.contains("images"), "{}", hf.shapes[*index].0);
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
