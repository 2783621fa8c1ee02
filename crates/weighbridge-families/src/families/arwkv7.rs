//! RWKV 7 in place of Qwen 2's attention.

use super::family::*;

pub(super) const ARWKV7: Family = Family {
    architecture: "arwkv7",
    classes: &["RwkvHybridForCausalLM"],
    types: &["rwkv_hybrid"],
    rows: &[TRUNK, ROWS, MLP, TWO_NORMS],
    gguf: &[GGUF_STACKS],
    left_out: &[
        ("model.layers.0.self_attn.time_mixer.v0", UNUSED_VALUES),
        ("model.layers.0.self_attn.time_mixer.v1", UNUSED_VALUES),
        ("model.layers.0.self_attn.time_mixer.v2", UNUSED_VALUES),
    ],
    keys: &[KEYS],
    refuse: check,
    rules: &[RULES, WITHOUT_POSITIONS],
    scalings: &[],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.self_attn.time_mixer.x_r", FUSED, Own(Lay(blend::<0>))),
    ("layers.#.self_attn.time_mixer.x_w", FUSED, Own(Lay(blend::<1>))),
    ("layers.#.self_attn.time_mixer.x_k", FUSED, Own(Lay(blend::<2>))),
    ("layers.#.self_attn.time_mixer.x_v", FUSED, Own(Lay(blend::<3>))),
    ("layers.#.self_attn.time_mixer.x_a", FUSED, Own(Lay(blend::<4>))),
    ("layers.#.self_attn.time_mixer.x_g", FUSED, Own(Lay(gate))),
    ("layers.#.self_attn.time_mixer.k_k", &["blk.#.time_mix_k_k"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_mixer.k_a", &["blk.#.time_mix_k_a"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_mixer.r_k", &["blk.#.time_mix_r_k"], Own(Lay(flat))),
    ("layers.#.self_attn.time_mixer.w0", &["blk.#.time_mix_w0"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_mixer.w1", &["blk.#.time_mix_w1"], Transposed),
    ("layers.#.self_attn.time_mixer.w2", &["blk.#.time_mix_w2"], Transposed),
    (
        "layers.0.self_attn.time_mixer.a0",
        &["blk.0.time_mix_v0", "blk.0.time_mix_a0"],
        Own(Lay(squeezed_twice)),
    ),
    (
        "layers.0.self_attn.time_mixer.a1",
        &["blk.0.time_mix_v1", "blk.0.time_mix_a1"],
        Own(Lay(transposed_twice)),
    ),
    (
        "layers.0.self_attn.time_mixer.a2",
        &["blk.0.time_mix_v2", "blk.0.time_mix_a2"],
        Own(Lay(transposed_twice)),
    ),
    ("layers.#.self_attn.time_mixer.a0", &["blk.#.time_mix_a0"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_mixer.a1", &["blk.#.time_mix_a1"], Transposed),
    ("layers.#.self_attn.time_mixer.a2", &["blk.#.time_mix_a2"], Transposed),
    ("layers.#.self_attn.time_mixer.v0", &["blk.#.time_mix_v0"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_mixer.v1", &["blk.#.time_mix_v1"], Transposed),
    ("layers.#.self_attn.time_mixer.v2", &["blk.#.time_mix_v2"], Transposed),
    ("layers.#.self_attn.time_mixer.g1", &["blk.#.time_mix_g1"], Transposed),
    ("layers.#.self_attn.time_mixer.g2", &["blk.#.time_mix_g2"], Transposed),
    ("layers.#.self_attn.time_mixer.receptance", &["blk.#.time_mix_receptance"], Plain),
    ("layers.#.self_attn.time_mixer.key", &["blk.#.time_mix_key"], Plain),
    ("layers.#.self_attn.time_mixer.value", &["blk.#.time_mix_value"], Plain),
    ("layers.#.self_attn.time_mixer.output", &["blk.#.time_mix_output"], Plain),
    ("layers.#.self_attn.time_mixer.ln_x", &["blk.#.time_mix_ln"], Norm),
];

const KEYS: &[KeyRow] = &[
    UNLIMITED,
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    ("wkv.head_size", Count, Needed(&["head_size"])),
    ("attention.decay_lora_rank", Count, Made(|_| Some(64.into()))),
    ("attention.iclr_lora_rank", Count, Made(|_| Some(64.into()))),
    ("attention.value_residual_mix_lora_rank", Count, Made(|_| Some(32.into()))),
    ("attention.gate_lora_rank", Count, MadeOf("wkv_has_gate", gate_rank)),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    FILE_TYPE,
    ("token_shift_count", Count, Made(|_| Some(1.into()))),
    NO_HEADS,
];

const RULES: &[Rule] = &[
    differs(
        &["wkv_layers"],
        |_, layers| layers.is_null() || layers == "full",
        "has no layers with attention",
    ),
    differs(&["wkv_use_vfirst"], on, "mixes values with those of the first layer"),
    free(&["head_size_divisor", "num_wkv_heads", "wkv_has_group_norm", "wkv_version"]),
];

fn has_gate(settings: &Settings) -> bool {
    settings.find(&["wkv_has_gate"]).and_then(Json::as_bool).unwrap_or(true)
}

#[allow(clippy::unnecessary_wraps)] // Entries may be none.
fn gate_rank(settings: &Settings) -> Option<Json> {
    Some(if has_gate(settings) { 128 } else { 0 }.into())
}

/// The vector of the gate, where there is one.
fn gate(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    if has_gate(settings) { blend::<5>(settings, shape) } else { None }
}

fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    match settings.count("wkv_version") {
        Some(7) => Ok(()),
        _ => Err(not_yet("models of this class whose `wkv_version` is not 7")),
    }
}
