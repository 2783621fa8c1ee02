//! GLM-4.

use super::family::*;

pub(super) const GLM4: Family = Family {
    architecture: "glm4",
    classes: &["Glm4ForCausalLM"],
    types: &["glm4"],
    rows: &[TRUNK, ATTENTION, FUSED_MLP, NORMS],
    keys: &[BASE, &[("rope.dimension_count", Count, Made(rotated_width))]],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151552, 4096, 13696, 40, 32, 131072],
        key_heads: KeyHeads::Of(2),
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1.5625e-7),
        rotated: Some(0.5),
        ..DEFAULTS
    }),
    // No file calls them special.
    tokenizer: Tokenizer::BytePairs(&[
        ("eos", "<|endoftext|>"),
        ("eot", "<|user|>"),
        ("unk", "<|endoftext|>"),
        ("bos", "<|endoftext|>"),
    ]),
    back: Some(Back {
        rotated: Some("partial_rotary_factor"),
        flags: &[("attention_bias", &[Q, K, V])],
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[SILU, free(&["attention_bias"])];

pub(super) const NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_self_attn_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_mlp_layernorm", &["blk.#.post_ffw_norm"], Norm),
];
