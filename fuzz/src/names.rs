//! Two models invented from bytes, under names of Hugging Face's and of GGUF's: how they are paired.
//!
//! ```text
//! 1 byte   the family that both sides state: of two, the one of the first side counts
//! 1 byte   what the configs say about heads
//! each     a weight: 1 byte side and dialect, 1 byte module, 1 byte layer, 2 bytes shape
//! ```

use std::collections::HashSet;

use serde_json::json;
use weighbridge::catalog::{Value, element_count};
use weighbridge::internals::names::{Named, Pair, Pairing, Rules, Side, View, pair};
use weighbridge::internals::schemes::Config;

/// Modules by both names; `#` is the layer, `@` the expert.
const MODULES: &[[&str; 2]] = &[
    ["model.embed_tokens", "token_embd"],
    ["model.norm", "output_norm"],
    ["lm_head", "output"],
    ["model.layers.#.self_attn.q_proj", "blk.#.attn_q"],
    ["model.layers.#.self_attn.k_proj", "blk.#.attn_k"],
    ["model.layers.#.self_attn.v_proj", "blk.#.attn_v"],
    ["model.layers.#.self_attn.o_proj", "blk.#.attn_output"],
    ["model.layers.#.self_attn.qkv_proj", "blk.#.attn_qkv"],
    ["model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm"],
    ["model.layers.#.mlp.gate_proj", "blk.#.ffn_gate"],
    ["model.layers.#.mlp.up_proj", "blk.#.ffn_up"],
    ["model.layers.#.mlp.down_proj", "blk.#.ffn_down"],
    ["model.layers.#.mlp.gate_up_proj", "blk.#.ffn_gate_up"],
    ["model.layers.#.input_layernorm", "blk.#.attn_norm"],
    ["model.layers.#.post_attention_layernorm", "blk.#.ffn_norm"],
    ["model.layers.#.pre_feedforward_layernorm", "blk.#.post_attention_norm"],
    ["model.layers.#.mlp.experts.@.gate_proj", "blk.#.ffn_gate_exps"],
    ["model.layers.#.mlp.experts.@.down_proj", "blk.#.ffn_down_exps"],
    ["model.layers.#.mlp.experts.gate_up_proj", "blk.#.ffn_up_exps"],
    ["model.layers.#.mlp.gate", "blk.#.ffn_gate_inp"],
    ["model.layers.#.block_sparse_moe.experts.@.w1", "rope_freqs"],
    ["model.rotary_emb.inv_freq", "token_types"],
    ["other.#", "other.#"],
    ["model.layers.#.mlp.experts.gate_up_proj_bias", "blk.#.ffn_gate_exps"],
    ["model.layers.#.mlp.experts.down_proj", "blk.#.ffn_down_exps"],
    ["model.layers.#.feed_forward.experts.gate_up_proj", "blk.#.ffn_gate_exps"],
    ["model.layers.#.self_attn.kv_b_proj", "blk.#.attn_kv_b"],
    ["model.layers.#.self_attn.kv_a_proj_with_mqa", "blk.#.attn_k_b"],
    ["model.layers.#.self_attn.q_b_proj", "blk.#.attn_v_b"],
    ["embeddings.position_embeddings", "position_embd"],
    ["embeddings.word_embeddings", "token_embd"],
];

const FAMILIES: &[&str] = &[
    "llama",
    "qwen2",
    "qwen3",
    "qwen3moe",
    "gemma",
    "gemma2",
    "gemma3",
    "mistral",
    "mixtral",
    "x",
    "phi3",
    "llama4",
    "gpt-oss",
    "deepseek2",
    "bert",
];

const SIDES: &[u64] = &[0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 48, u64::MAX, 1 << 40];

/// Weights, configs and metadata of one side.
#[derive(Default)]
struct Invented {
    weights: Vec<(String, Vec<u64>)>,
    configs: Vec<Config>,
    metadata: Vec<(String, Value)>,
}

impl Invented {
    fn side(&self) -> Side<'_> {
        Side {
            weights: self.weights.iter().map(|(name, shape)| Named { name, shape }).collect(),
            configs: &self.configs,
            metadata: self.metadata.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        }
    }
}

/// Pairs two invented models in both directions and holds the outcome to what it promises.
pub fn pair_names(bytes: &[u8]) {
    let [a, b] = invent(bytes);
    let rules = Rules::default();
    let there = pair(&a.side(), &b.side(), &rules);
    check(&there, &a, &b);
    let back = pair(&b.side(), &a.side(), &rules);
    check(&back, &b, &a);
    assert_eq!(there.pairs.len(), back.pairs.len(), "{there:?} {back:?}");
    assert_eq!((&there.only_a, &there.only_b), (&back.only_b, &back.only_a));
    for one in &there.pairs {
        let mirrored = |other: &&Pair| (other.a, other.b) == (one.b, one.a);
        assert!(back.pairs.iter().any(|other| mirrored(&other)), "{one:?} {back:?}");
    }
}

fn invent(bytes: &[u8]) -> [Invented; 2] {
    let mut bytes = bytes.iter().copied();
    let mut next = || bytes.next().map(usize::from);
    let (family, heads) = (next().unwrap_or(0), next().unwrap_or(0));
    let mut sides = [Invented::default(), Invented::default()];
    for (index, side) in sides.iter_mut().enumerate() {
        let family = FAMILIES[family % FAMILIES.len()];
        let (own, key) = (heads % 9, heads / 9 % 9);
        let json = json!({
            "model_type": family, "num_attention_heads": own, "num_key_value_heads": key,
            "qk_nope_head_dim": key,
        });
        match heads / 81 % 2 == index {
            true => side.configs.push(Config { name: "config.json".into(), json }),
            false => {
                let text = |value: &str| Value::text(value.to_owned());
                let count = |value: usize| Value::Unsigned(32, value as u64);
                side.metadata.push(("general.architecture".into(), text(family)));
                side.metadata.push((format!("{family}.attention.head_count"), count(own)));
                side.metadata.push((format!("{family}.attention.head_count_kv"), count(key)));
            }
        }
    }
    let mut names: [HashSet<String>; 2] = Default::default();
    while let (Some(place), Some(module)) = (next(), next()) {
        let (layer, first, second) =
            (next().unwrap_or(0), next().unwrap_or(0), next().unwrap_or(0));
        let name = MODULES[module % MODULES.len()][place / 2 % 2]
            .replace('#', &(layer % 3).to_string())
            .replace('@', &(layer / 3 % 4).to_string());
        let ending = ["weight", "bias"][place / 4 % 2];
        let name = format!("{}{name}.{ending}", ["", "language_model."][place / 8 % 2]);
        let sides_of = [first, second, first / 16, second / 16].map(|at| SIDES[at % SIDES.len()]);
        let shape = sides_of[..place / 16 % 4].to_vec();
        // Containers refuse what cannot be counted; names are unique within a model.
        if element_count(&shape).is_some() && names[place % 2].insert(name.clone()) {
            sides[place % 2].weights.push((name, shape));
        }
    }
    sides
}

fn check(found: &Pairing, a: &Invented, b: &Invented) {
    for pair in &found.pairs {
        let (ours, theirs) = (&a.weights[pair.a], &b.weights[pair.b]);
        // Shapes may differ: that is what a comparison says. Views of equal shape are read.
        if pair.view_a.shape == pair.view_b.shape {
            lies_inside(&pair.view_a, ours);
            lies_inside(&pair.view_b, theirs);
        }
    }
    assert!(found.only_a.iter().all(|&index| index < a.weights.len()), "{found:?}");
    assert!(found.only_b.iter().all(|&index| index < b.weights.len()), "{found:?}");
}

/// Every number of a view is one of its weight.
fn lies_inside(view: &View, (name, shape): &(String, Vec<u64>)) {
    let (rows, length) = (view.row_count(), view.row_len());
    let all = element_count(shape).unwrap_or(0);
    for row in (0..rows.min(64)).chain(rows.checked_sub(1)).filter(|_| length > 0) {
        assert!(view.element(row, length - 1) < all, "{name} {shape:?}: {view:?}");
    }
}
