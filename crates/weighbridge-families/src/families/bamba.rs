//! Bamba, which GGUF calls a Granite with state spaces.

use super::family::*;

pub(super) const BAMBA: Family = Family {
    architecture: "granitehybrid",
    shown: Some("bamba"),
    classes: &["BambaForCausalLM"],
    types: &["bamba"],
    rows: &[ROWS, ATTENTION, MIXED_STATE_HEADS],
    pairs: true,
    ignored: &["head_dim"],
    keys: &[BASE, ROTARY, GRANITE_SCALES, SHARED_LENGTH, MIXED_KEYS, &[WITH_ROPE]],
    refuse: check_mixed,
    rules: &[RULES, MIXED_RULES, STATE_HEAD_RULES, ROPE],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    HEADS_SHARE,
    differs(
        &["attn_rotary_emb"],
        |case, rotated| {
            rotated.as_u64().is_some_and(|width| Some(width) == case.settings.head_share())
        },
        "rotates the halves of whole heads",
    ),
    free(&["num_logits_to_keep", "z_loss_coefficient", "mlp_bias", "partial_rotary_factor"]),
];

const ROWS: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("final_layernorm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.pre_ff_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.feed_forward.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.down_proj", &["blk.#.ffn_down"], Plain),
];
