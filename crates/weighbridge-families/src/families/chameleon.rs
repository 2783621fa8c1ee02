//! Chameleon, whose images are tokens.

use super::family::*;

pub(super) const CHAMELEON: Family = Family {
    architecture: "chameleon",
    classes: &["ChameleonForConditionalGeneration", "ChameleonForCausalLM"],
    types: &["chameleon"],
    rows: &[TRUNK, ATTENTION, ROWS, MLP, TWO_NORMS],
    gguf: &[GGUF, GGUF_FUSED, GGUF_NORMS],
    pairs: true,
    left_out: &[("model.vqmodel.", "part of the vision model, which llama.cpp does not have")],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [65536, 4096, 11008, 32, 32, 4096],
        key_heads: KeyHeads::Of(32),
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
    fails(
        &["num_key_value_heads"],
        |case, keys| keys.is_null() || *keys == case.value("num_attention_heads"),
        "this family has a key head for each query head",
    ),
    free(&["vq_config", "vocabulary_map", "model_parallel_size", "qk_layernorm"]),
];

const KEYS: &[KeyRow] = &[("swin_norm", Flag, Made(is_swin))];

/// Whether norms stand behind attention and feed-forward.
fn is_swin(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["swin_norm"]).cloned().unwrap_or(false.into()))
}

const ROWS: &[Row] = &[
    ("layers.#.self_attn.q_norm", &["blk.#.attn_q_norm"], How::Own(Lay(first_head))),
    ("layers.#.self_attn.k_norm", &["blk.#.attn_k_norm"], How::Own(Lay(first_head))),
];

/// The norms of all heads of a file, one after the other.
const GGUF_NORMS: &[Row] = &[
    ("blk.#.attn_q_norm", &["blk.#.attn_q_norm"], How::Own(Lay(every_head))),
    ("blk.#.attn_k_norm", &["blk.#.attn_k_norm"], How::Own(Lay(every_head))),
];

/// The norm of the first head, for every head: training had one for each of several devices. Its
/// numbers are in the order of the rows of queries.
fn first_head(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let turned = |_, head_rows| Rows::Heads { start: 0, heads: 1, head_rows, to_halves: false };
    by_heads(shape, "first head, permute heads=1", turned)
}

fn every_head(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    by_heads(shape, "", |head, width| Rows::From(head * width))
}

fn by_heads(shape: &[u64], words: &str, order: impl Fn(u64, u64) -> Rows) -> Option<Vec<Laid>> {
    let &[heads, width] = shape else { return None };
    let of = |head: u64| Laid {
        tensor: 0,
        place: Place::Stacked(head),
        view: View { rows: order(head, width), ..View::whole(&[width, 1]) },
        words: words.to_owned(),
    };
    (heads <= 1 << 16 && width.is_multiple_of(2)).then(|| (0..heads).map(of).collect())
}
