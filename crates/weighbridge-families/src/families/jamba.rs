//! Jamba: attention and experts every few layers, state spaces elsewhere.

use super::family::*;

pub(super) const JAMBA: Family = Family {
    architecture: "jamba",
    classes: &["JambaForCausalLM"],
    types: &["jamba"],
    rows: &[ROWS, ATTENTION, STATE_ROWS, FEED_FORWARD],
    keys: &[KEYS],
    refuse: needs_period,
    rules: &[RULES],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [65536, 4096, 14336, 32, 32, 262_144],
        key_heads: KeyHeads::Of(8),
        more: &[
            ("num_experts_per_tok", 2.0),
            ("num_experts", 16.0),
            ("expert_layer_period", 2.0),
            ("expert_layer_offset", 1.0),
            ("attn_layer_period", 8.0),
            ("attn_layer_offset", 4.0),
            ("mamba_d_state", 16.0),
            ("mamba_d_conv", 4.0),
            ("mamba_expand", 2.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesOrBareLlama,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    fails(
        &["mamba_conv_bias"],
        |case, _| case.has(".ssm_conv1d.bias") || !case.has(".ssm_conv1d.weight"),
        "its convolutions have a bias",
    ),
    fails(
        &["mamba_proj_bias"],
        |case, _| !case.has(".ssm_in.bias"),
        "its projections of state spaces have no bias",
    ),
    fails(
        &["mamba_expand"],
        |_, expand| is_number(expand, 2.0),
        "state spaces of this family are twice as wide as the hidden size",
    ),
    // Where experts are is told by the weights.
    free(&["expert_layer_offset", "expert_layer_period", "calc_logits_for_entire_prompt"]),
    free(&["use_mamba_kernels", "use_mambapy", "use_associative_scan", "mamba_inner_layernorms"]),
    free(&["n_ctx", "num_logits_to_keep", "sliding_window", "rope_theta", "rope_scaling"]),
    free(&["rope_scaling.rope_theta", "rope_scaling.rope_type"]),
];

const ROWS: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("final_layernorm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.pre_ff_layernorm", &["blk.#.ffn_norm"], Norm),
];

const STATE_ROWS: &[Row] = &[
    ("layers.#.mamba.in_proj", &["blk.#.ssm_in"], Plain),
    ("layers.#.mamba.conv1d", &["blk.#.ssm_conv1d"], SQUEEZED),
    ("layers.#.mamba.x_proj", &["blk.#.ssm_x"], Plain),
    ("layers.#.mamba.dt_proj", &["blk.#.ssm_dt"], Plain),
    ("layers.#.mamba.dt_layernorm", &["blk.#.ssm_dt_norm"], Norm),
    ("layers.#.mamba.b_layernorm", &["blk.#.ssm_b_norm"], Norm),
    ("layers.#.mamba.c_layernorm", &["blk.#.ssm_c_norm"], Norm),
    ("layers.#.mamba.A_log", &["blk.#.ssm_a"], RATES),
    ("layers.#.mamba.D", &["blk.#.ssm_d"], Plain),
    ("layers.#.mamba.out_proj", &["blk.#.ssm_out"], Plain),
];

const FEED_FORWARD: &[Row] = &[
    ("layers.#.feed_forward.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.feed_forward.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.feed_forward.experts.#.gate_proj", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.feed_forward.experts.#.up_proj", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.feed_forward.experts.#.down_proj", &["blk.#.ffn_down_exps"], Expert),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Needed(LAYERS)),
    ("context_length", Count, Needed(&["max_position_embeddings", "n_ctx"])),
    ("embedding_length", Count, Needed(&["hidden_size", "mamba_d_model"])),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("attention.head_count_kv", Counts, Made(key_heads)),
    ("ssm.conv_kernel", Count, Made(|settings| either(settings, &["mamba_d_conv"], 4))),
    ("ssm.inner_size", Count, Made(inner)),
    ("ssm.state_size", Count, Made(|settings| either(settings, &["mamba_d_state"], 16))),
    ("ssm.time_step_rank", Count, Made(rank)),
    ("attention.layer_norm_rms_epsilon", Number, Any(&["layer_norm_epsilon", "rms_norm_eps"])),
    ("expert_count", Count, Needed(&["num_local_experts", "num_experts"])),
    ("expert_used_count", Count, Needed(&["num_experts_per_tok", "num_experts_per_token"])),
    FILE_TYPE,
];

fn inner(settings: &Settings) -> Option<Json> {
    settings.count("mamba_expand")?.checked_mul(settings.count("hidden_size")?).map(Json::from)
}

fn rank(settings: &Settings) -> Option<Json> {
    let stated = settings.find(&["mamba_dt_rank"]).filter(|rank| *rank != "auto");
    Some(stated.cloned().unwrap_or(settings.count("hidden_size")?.div_ceil(16).into()))
}

/// Key heads of each layer: none in state spaces.
fn key_heads(settings: &Settings) -> Option<Json> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let (period, offset) = period(settings)?;
    let heads = settings.count("num_key_value_heads")?;
    let attends = |layer: u64| layer >= offset && (layer - offset).is_multiple_of(period);
    Some((0..layers).map(|layer| if attends(layer) { heads } else { 0 }).collect())
}

fn period(settings: &Settings) -> Option<(u64, u64)> {
    let period = settings.count("attn_layer_period").filter(|period| *period > 0)?;
    Some((period, settings.count("attn_layer_offset")?))
}

fn needs_period(settings: &Settings, _: &About<'_>) -> Result<()> {
    match period(settings) {
        Some(_) => Ok(()),
        None => Err(Error::malformed("config.json does not tell which layers attend")
            .hint("state `attn_layer_period` and `attn_layer_offset`")),
    }
}
