//! Qwen 3 Next, most of whose layers have linear attention, with experts.

use super::family::*;
use super::qwen3_5::{LINEAR_KEYS, LINEAR_RULES, QWEN3_5};

pub(super) const QWEN3_NEXT: Family = Family {
    architecture: "qwen3next",
    classes: &["Qwen3NextForCausalLM"],
    types: &["qwen3_next"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, ROWS, MLP, NORMS_BETWEEN, EXPERTS, SHARED_EXPERT, NEXTN],
    gguf: &[GGUF, GGUF_MIXED],
    has_sections: false,
    keys: &[BASE, EXPERT_LENGTHS, LINEAR_KEYS],
    rules: &[RULES, LINEAR_RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 2048, 5632, 48, 16, 32768],
        key_heads: KeyHeads::Of(2),
        head: Head::OfOrShare(256),
        rotated: Some(0.25),
        more: &[
            ("linear_conv_kernel_dim", 4.0),
            ("linear_key_head_dim", 128.0),
            ("linear_value_head_dim", 128.0),
            ("linear_num_key_heads", 16.0),
            ("linear_num_value_heads", 32.0),
            ("moe_intermediate_size", 512.0),
            ("shared_expert_intermediate_size", 512.0),
            ("num_experts_per_tok", 10.0),
            ("num_experts", 512.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    ..QWEN3_5
};

const RULES: &[Rule] = &[
    differs(&["norm_topk_prob"], stated_on, "normalizes the weights of experts"),
    fails(&["mlp_only_layers"], off, "every layer of this family has experts"),
    EVERY_STEP,
    free(&["num_experts"]),
];

const ROWS: &[Row] = &[
    ("layers.#.linear_attn.in_proj_qkvz", MIXED, How::Own(Lay(mixed))),
    ("layers.#.linear_attn.in_proj_ba", &["blk.#.ssm_ba"], Plain),
    ("layers.#.linear_attn.conv1d", &["blk.#.ssm_conv1d"], How::Own(Lay(kernels))),
    ("layers.#.linear_attn.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.#.linear_attn.A_log", &["blk.#.ssm_a"], How::Own(Lay(rates))),
    ("layers.#.linear_attn.norm", &["blk.#.ssm_norm"], Plain),
    ("layers.#.linear_attn.out_proj", &["blk.#.ssm_out"], Plain),
];

/// Taken apart as the weights of the other naming are.
const GGUF_MIXED: &[Row] = &[("blk.#.attn_qkv", &["blk.#.attn_qkv"], How::Own(Lay(apart)))];

const MIXED: &[&str] = &["blk.#.attn_qkv", "blk.#.attn_gate"];

/// Key heads, and the rows of keys and of values that belong to one.
fn heads(settings: &Settings) -> Option<[u64; 3]> {
    let count = |key: &str| settings.count(key).filter(|count| (1..1 << 20).contains(count));
    let (heads, keys) = (count("linear_num_key_heads")?, count("linear_key_head_dim")?);
    let all_values = count("linear_num_value_heads")? * count("linear_value_head_dim")?;
    all_values.is_multiple_of(heads).then_some([heads, keys, all_values / heads])
}

fn rows_of(rows: Rows, shape: [u64; 2], (tensor, place): (usize, Place), words: &str) -> Laid {
    Laid { tensor, place, view: View { rows, ..View::whole(&shape) }, words: words.to_owned() }
}

/// Queries, keys, values and gates, of one key head after the other; files have all queries first.
fn mixed(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let (&[rows, columns], [heads, keys, values]) = (shape, heads(settings)?) else { return None };
    let period = 2 * (keys + values);
    let part = |(start, run), to, words| {
        rows_of(Rows::Runs { start, run, period }, [heads * run, columns], to, words)
    };
    (period * heads == rows).then(|| {
        vec![
            part((0, keys), (0, Place::Joined(0)), "queries of all key heads"),
            part((keys, keys), (0, Place::Joined(1)), "keys of all key heads"),
            part((2 * keys, values), (0, Place::Joined(2)), "values of all key heads"),
            part((2 * keys + values, values), (1, Place::Whole), "gates of all key heads"),
        ]
    })
}

/// Queries, keys and values in a file.
fn apart(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let (&[rows, columns], [heads, keys, values]) = (shape, heads(settings)?) else { return None };
    let part = |number, start, run| {
        let to = (0, Place::Joined(number));
        rows_of(Rows::From(heads * start), [heads * run, columns], to, "")
    };
    (heads * (2 * keys + values) == rows)
        .then(|| vec![part(0, 0, keys), part(1, keys, keys), part(2, 2 * keys, values)])
}

/// One kernel a channel.
fn kernels(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    match *shape {
        [channels, 1, width] | [channels, width] => {
            Some(Laid::whole(View::whole(&[channels, width]), ""))
        }
        _ => None,
    }
}

/// Decay rates, stored as logarithms; files have them negated.
fn rates(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let view = View { change: Change::MinusExp, ..View::whole(shape) };
    (shape.len() == 1).then(|| Laid::whole(view, "-exp"))
}
