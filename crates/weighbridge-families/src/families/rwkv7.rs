//! RWKV 7, in the names of fla and in its own.

use super::family::*;

pub(super) const RWKV7: Family = Family {
    architecture: "rwkv7",
    classes: &["RWKV7ForCausalLM", "Rwkv7ForCausalLM"],
    types: &["rwkv7"],
    rows: &[FLA, OWN],
    gguf: &[GGUF_STACKS],
    left_out: &[
        ("model.layers.0.attn.v_lora.", UNUSED_VALUES),
        ("model.blocks.0.attention.v0", UNUSED_VALUES),
        ("model.blocks.0.attention.v1", UNUSED_VALUES),
        ("model.blocks.0.attention.v2", UNUSED_VALUES),
    ],
    keys: &[KEYS],
    rules: &[RULES],
    scalings: &[],
    tokenizer: Tokenizer::World,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["attn"], |_, layers| layers.is_null(), "has no layers with attention"),
    differs(
        &["hidden_act"],
        |_, name| name.is_null() || name == "sqrelu",
        "uses the square of relu",
    ),
    // How the same numbers are computed, and sizes that follow from others.
    free(&[
        "attn_mode",
        "attention_hidden_size",
        "fuse_cross_entropy",
        "fuse_norm",
        "hidden_ratio",
    ]),
    free(&[
        "norm_bias",
        "norm_first",
        "num_heads",
        "value_dim",
        "use_l2warp",
        "fuse_linear_cross_entropy",
    ]),
];

/// In the names of fla.
const FLA: &[Row] = &[
    ("embeddings", &["token_embd"], Embedding),
    ("layers.0.pre_norm", &["token_embd_norm"], Norm),
    ("layers.#.attn_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.ffn_norm", &["blk.#.attn_norm_2"], Norm),
    ("layers.#.attn.x_r", FUSED, Own(Lay(blend::<0>))),
    ("layers.#.attn.x_w", FUSED, Own(Lay(blend::<1>))),
    ("layers.#.attn.x_k", FUSED, Own(Lay(blend::<2>))),
    ("layers.#.attn.x_v", FUSED, Own(Lay(blend::<3>))),
    ("layers.#.attn.x_a", FUSED, Own(Lay(blend::<4>))),
    ("layers.#.attn.x_g", FUSED, Own(Lay(blend::<5>))),
    ("layers.#.attn.k_k", &["blk.#.time_mix_k_k"], Own(Lay(squeezed))),
    ("layers.#.attn.k_a", &["blk.#.time_mix_k_a"], Own(Lay(squeezed))),
    ("layers.#.attn.r_k", &["blk.#.time_mix_r_k"], Own(Lay(flat))),
    ("layers.#.attn.w_lora.lora.0", &["blk.#.time_mix_w1"], Plain),
    ("layers.#.attn.w_lora.lora.2", &["blk.#.time_mix_w2"], Plain),
    ("layers.#.attn.w_lora.lora.2.bias", &["blk.#.time_mix_w0.weight"], Plain),
    ("layers.0.attn.a_lora.lora.0", &["blk.0.time_mix_v1", "blk.0.time_mix_a1"], Own(Lay(twice))),
    ("layers.0.attn.a_lora.lora.2", &["blk.0.time_mix_v2", "blk.0.time_mix_a2"], Own(Lay(twice))),
    (
        "layers.0.attn.a_lora.lora.2.bias",
        &["blk.0.time_mix_v0.weight", "blk.0.time_mix_a0.weight"],
        Own(Lay(twice)),
    ),
    ("layers.#.attn.a_lora.lora.0", &["blk.#.time_mix_a1"], Plain),
    ("layers.#.attn.a_lora.lora.2", &["blk.#.time_mix_a2"], Plain),
    ("layers.#.attn.a_lora.lora.2.bias", &["blk.#.time_mix_a0.weight"], Plain),
    ("layers.#.attn.v_lora.lora.0", &["blk.#.time_mix_v1"], Plain),
    ("layers.#.attn.v_lora.lora.2", &["blk.#.time_mix_v2"], Plain),
    ("layers.#.attn.v_lora.lora.2.bias", &["blk.#.time_mix_v0.weight"], Plain),
    ("layers.#.attn.g_lora.lora.0", &["blk.#.time_mix_g1"], Plain),
    ("layers.#.attn.g_lora.lora.2", &["blk.#.time_mix_g2"], Plain),
    ("layers.#.attn.r_proj", &["blk.#.time_mix_receptance"], Plain),
    ("layers.#.attn.k_proj", &["blk.#.time_mix_key"], Plain),
    ("layers.#.attn.v_proj", &["blk.#.time_mix_value"], Plain),
    ("layers.#.attn.o_proj", &["blk.#.time_mix_output"], Plain),
    ("layers.#.attn.g_norm", &["blk.#.time_mix_ln"], Norm),
    ("layers.#.ffn.x_k", &["blk.#.channel_mix_lerp_k"], Own(Lay(squeezed))),
    ("layers.#.ffn.key", &["blk.#.channel_mix_key"], Plain),
    ("layers.#.ffn.value", &["blk.#.channel_mix_value"], Plain),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

/// In its own names.
const OWN: &[Row] = &[
    ("pre_ln", &["token_embd_norm"], Norm),
    ("blocks.#.ln1", &["blk.#.attn_norm"], Norm),
    ("blocks.#.ln2", &["blk.#.attn_norm_2"], Norm),
    ("blocks.#.attention.x_r", FUSED, Own(Lay(blend::<0>))),
    ("blocks.#.attention.x_w", FUSED, Own(Lay(blend::<1>))),
    ("blocks.#.attention.x_k", FUSED, Own(Lay(blend::<2>))),
    ("blocks.#.attention.x_v", FUSED, Own(Lay(blend::<3>))),
    ("blocks.#.attention.x_a", FUSED, Own(Lay(blend::<4>))),
    ("blocks.#.attention.x_g", FUSED, Own(Lay(blend::<5>))),
    ("blocks.#.attention.k_k", &["blk.#.time_mix_k_k"], Own(Lay(squeezed))),
    ("blocks.#.attention.k_a", &["blk.#.time_mix_k_a"], Own(Lay(squeezed))),
    ("blocks.#.attention.r_k", &["blk.#.time_mix_r_k"], Own(Lay(flat))),
    ("blocks.#.attention.w0", &["blk.#.time_mix_w0"], Own(Lay(squeezed))),
    ("blocks.#.attention.w1", &["blk.#.time_mix_w1"], Transposed),
    ("blocks.#.attention.w2", &["blk.#.time_mix_w2"], Transposed),
    (
        "blocks.0.attention.a0",
        &["blk.0.time_mix_v0", "blk.0.time_mix_a0"],
        Own(Lay(squeezed_twice)),
    ),
    (
        "blocks.0.attention.a1",
        &["blk.0.time_mix_v1", "blk.0.time_mix_a1"],
        Own(Lay(transposed_twice)),
    ),
    (
        "blocks.0.attention.a2",
        &["blk.0.time_mix_v2", "blk.0.time_mix_a2"],
        Own(Lay(transposed_twice)),
    ),
    ("blocks.#.attention.a0", &["blk.#.time_mix_a0"], Own(Lay(squeezed))),
    ("blocks.#.attention.a1", &["blk.#.time_mix_a1"], Transposed),
    ("blocks.#.attention.a2", &["blk.#.time_mix_a2"], Transposed),
    ("blocks.#.attention.v0", &["blk.#.time_mix_v0"], Own(Lay(squeezed))),
    ("blocks.#.attention.v1", &["blk.#.time_mix_v1"], Transposed),
    ("blocks.#.attention.v2", &["blk.#.time_mix_v2"], Transposed),
    ("blocks.#.attention.g1", &["blk.#.time_mix_g1"], Transposed),
    ("blocks.#.attention.g2", &["blk.#.time_mix_g2"], Transposed),
    ("blocks.#.attention.receptance", &["blk.#.time_mix_receptance"], Plain),
    ("blocks.#.attention.key", &["blk.#.time_mix_key"], Plain),
    ("blocks.#.attention.value", &["blk.#.time_mix_value"], Plain),
    ("blocks.#.attention.output", &["blk.#.time_mix_output"], Plain),
    ("blocks.#.attention.ln_x", &["blk.#.time_mix_ln"], Norm),
    ("blocks.#.ffn.x_k", &["blk.#.channel_mix_lerp_k"], Own(Lay(squeezed))),
    ("blocks.#.ffn.key", &["blk.#.channel_mix_key"], Plain),
    ("blocks.#.ffn.value", &["blk.#.channel_mix_value"], Plain),
    ("ln_out", &["output_norm"], Norm),
    ("/head", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    UNLIMITED,
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon", "norm_eps"])),
    ("wkv.head_size", Count, Needed(&["head_size", "head_dim"])),
    ("attention.decay_lora_rank", Count, MadeOf("hidden_size", |all| rank(all, DECAY, 0.5, 1.8))),
    ("attention.iclr_lora_rank", Count, MadeOf("hidden_size", |all| rank(all, RATE, 0.5, 1.8))),
    (
        "attention.value_residual_mix_lora_rank",
        Count,
        MadeOf("hidden_size", |all| rank(all, VALUE, 0.5, 1.3)),
    ),
    ("attention.gate_lora_rank", Count, MadeOf("hidden_size", |all| rank(all, GATES, 0.8, 0.6))),
    ("feed_forward_length", Count, MadeOf("hidden_size", inner)),
    FILE_TYPE,
    NO_HEADS,
];

const DECAY: &[&str] = &["lora_rank_decay", "decay_low_rank_dim"];
const RATE: &[&str] = &["lora_rank_iclr", "a_low_rank_dim"];
const VALUE: &[&str] = &["lora_rank_value_residual_mix", "v_low_rank_dim"];
const GATES: &[&str] = &["lora_rank_gate", "gate_low_rank_dim"];

/// A rank: what the config says, or what the model's makers take for a width, in steps of 32.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rounded, and small.
fn rank(settings: &Settings, keys: &[&str], exponent: f64, factor: f64) -> Option<Json> {
    if let Some(stated) = settings.find(keys) {
        return Some(stated.clone());
    }
    let width = settings.count("hidden_size").filter(|width| *width < 1 << 32)? as f64;
    let steps = (width.powf(exponent) * factor / 32.0).round_ties_even().max(1.0);
    Some((steps as u64 * 32).into())
}

/// The inner size: four times the width, unless a config says otherwise.
fn inner(settings: &Settings) -> Option<Json> {
    if let Some(stated) = settings.find(&["intermediate_size"]) {
        return Some(stated.clone());
    }
    settings.count("hidden_size")?.checked_mul(4).map(Json::from)
}
