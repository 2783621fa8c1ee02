//! GPT-NeoX and Pythia.

use super::family::*;

pub(super) const GPTNEOX: Family = Family {
    architecture: "gptneox",
    classes: &["GPTNeoXForCausalLM"],
    types: &["gpt_neox"],
    prefix: "gpt_neox.",
    rows: &[ROWS, TWO_NORMS],
    left_out: &[("layers.#.attention.bias", "attention mask, the same in all models")],
    keys: &[KEYS, UNUSUAL_ROPE, BASE_OF_PUBLISHED],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [50432, 6144, 24576, 44, 64, 2048],
        key_heads: KeyHeads::Unsaid,
        epsilon: ("layer_norm_eps", 1e-5),
        flags: &[("use_parallel_residual", true), ("attention_bias", true)],
        ..DEFAULTS
    }),
    back: Some(Back {
        rotated: Some("rotary_pct"),
        flags: &[
            ("attention_bias", &["blk.#.attn_qkv.bias", O]),
            ("", &["blk.#.attn_norm.bias", "blk.#.ffn_norm.bias", "output_norm.bias"]),
            ("", &[UP, DOWN]),
        ],
        fixed: &[("rotary_emb_base", |_, config| config.get("rope_theta").cloned())],
        untold: &[("is_decoder", "false")],
        activation: ("hidden_act", "gelu"),
        ..BACK
    }),
    ..DECODER
};

const RULES: &[Rule] = &[
    GELU,
    NEEDS_HEAD,
    fails(
        &["attention_bias"],
        |case, _| case.has(".attn_qkv.bias") || !case.has(".attn_qkv.weight"),
        "this family has biases of attention",
    ),
    free(&["rotary_pct", "rotary_emb_base"]),
];

const ROWS: &[Row] = &[
    ("embed_in", &["token_embd"], Embedding),
    ("final_layer_norm", &["output_norm"], Norm),
    ("/embed_out", &["output"], Embedding),
    ("lm_head", &["output"], Embedding),
    ("layers.#.attention.query_key_value", QKV, Grouped),
    ("layers.#.attention.dense", &["blk.#.attn_output"], Plain),
    ("layers.#.mlp.dense_h_to_4h", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.dense_4h_to_h", &["blk.#.ffn_down"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("context_length", Count, Needed(&["max_position_embeddings"])),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("rope.dimension_count", Count, Made(rotated)),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("use_parallel_residual", Flag, Needed(&["use_parallel_residual"])),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_eps"])),
];

/// Published configs have names of their own for rotary parameters.
fn rotated(settings: &Settings) -> Option<Json> {
    let stated = settings.rope(&["partial_rotary_factor"]);
    let stated = stated.or_else(|| settings.find(&["rotary_pct"])).cloned();
    part(&stated.unwrap_or_else(|| 0.25.into()), settings.head_share()?).map(Json::from)
}

const BASE_OF_PUBLISHED: &[KeyRow] = &[("rope.freq_base", Number, Made(unusual_own_base))];

/// Another base than the usual one, by that name.
fn unusual_own_base(settings: &Settings) -> Option<Json> {
    let own = settings.find(&["rotary_emb_base"]).filter(|base| base.as_f64() != Some(10000.0));
    unusual_base(settings).or_else(|| own.cloned())
}
