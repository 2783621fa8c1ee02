//! RWKV 6, which has a state in place of attention.

use super::family::*;

pub(super) const RWKV6: Family = Family {
    architecture: "rwkv6",
    classes: &["Rwkv6ForCausalLM"],
    types: &["rwkv6"],
    prefix: "rwkv.",
    rows: &[ROWS],
    gguf: &[GGUF_STACKS],
    keys: &[KEYS],
    rules: &[RULES],
    scalings: &[],
    tokenizer: Tokenizer::World,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    differs(&["head_size_divisor"], |_, by| is_number(by, 8.0), "divides by 8"),
    free(&["attention_hidden_size", "model_version", "num_attention_heads", "use_cache"]),
];

const ROWS: &[Row] = &[
    ("embeddings", &["token_embd"], Embedding),
    ("blocks.0.pre_ln", &["token_embd_norm"], Norm),
    ("blocks.#.ln1", &["blk.#.attn_norm"], Norm),
    ("blocks.#.ln2", &["blk.#.attn_norm_2"], Norm),
    ("blocks.#.attention.time_maa_x", &["blk.#.time_mix_lerp_x"], Own(Lay(squeezed))),
    ("blocks.#.attention.time_maa_w", FUSED, Own(Lay(blend::<0>))),
    ("blocks.#.attention.time_maa_k", FUSED, Own(Lay(blend::<1>))),
    ("blocks.#.attention.time_maa_v", FUSED, Own(Lay(blend::<2>))),
    ("blocks.#.attention.time_maa_r", FUSED, Own(Lay(blend::<3>))),
    ("blocks.#.attention.time_maa_g", FUSED, Own(Lay(blend::<4>))),
    ("blocks.#.attention.time_maa_w1", &["blk.#.time_mix_w1"], Transposed),
    ("blocks.#.attention.time_maa_w2", &["blk.#.time_mix_w2"], Own(Lay(each_transposed))),
    ("blocks.#.attention.time_decay", &["blk.#.time_mix_decay"], Own(Lay(squeezed))),
    ("blocks.#.attention.time_decay_w1", &["blk.#.time_mix_decay_w1"], Transposed),
    ("blocks.#.attention.time_decay_w2", &["blk.#.time_mix_decay_w2"], Transposed),
    ("blocks.#.attention.time_faaaa", &["blk.#.time_mix_first"], Plain),
    ("blocks.#.attention.receptance", &["blk.#.time_mix_receptance"], Plain),
    ("blocks.#.attention.key", &["blk.#.time_mix_key"], Plain),
    ("blocks.#.attention.value", &["blk.#.time_mix_value"], Plain),
    ("blocks.#.attention.gate", &["blk.#.time_mix_gate"], Plain),
    ("blocks.#.attention.output", &["blk.#.time_mix_output"], Halved),
    ("blocks.#.attention.ln_x", &["blk.#.time_mix_ln"], Norm),
    ("blocks.#.feed_forward.time_maa_k", &["blk.#.channel_mix_lerp_k"], Own(Lay(squeezed))),
    ("blocks.#.feed_forward.time_maa_r", &["blk.#.channel_mix_lerp_r"], Own(Lay(squeezed))),
    ("blocks.#.feed_forward.key", &["blk.#.channel_mix_key"], Plain),
    ("blocks.#.feed_forward.receptance", &["blk.#.channel_mix_receptance"], Plain),
    ("blocks.#.feed_forward.value", &["blk.#.channel_mix_value"], Halved),
    ("ln_out", &["output_norm"], Norm),
    ("/head", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    UNLIMITED,
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    ("rescale_every_n_layers", Count, Needed(&["rescale_every"])),
    ("wkv.head_size", Count, Needed(&["head_size"])),
    ("time_mix_extra_dim", Count, MadeOf("hidden_size", |all| wide(all, 64, 32))),
    ("time_decay_extra_dim", Count, MadeOf("hidden_size", |all| wide(all, 128, 64))),
    ("feed_forward_length", Count, MadeOf("hidden_size", inner)),
    FILE_TYPE,
    NO_HEADS,
];

/// What the widest model has, and what all others have.
fn wide(settings: &Settings, wide: u64, other: u64) -> Option<Json> {
    let is_wide = settings.count("hidden_size")? == 4096;
    Some(if is_wide { wide } else { other }.into())
}

/// The inner size: 3.5 times the width, in steps of 32, unless a config says otherwise.
fn inner(settings: &Settings) -> Option<Json> {
    if let Some(stated) = settings.find(&["intermediate_size"]) {
        return Some(stated.clone());
    }
    Some((settings.count("hidden_size")?.checked_mul(7)? / 2 / 32 * 32).into())
}
