//! OpenAI's models with experts.

use super::family::*;

pub(super) const GPT_OSS: Family = Family {
    architecture: "gpt-oss",
    classes: &["GptOssForCausalLM"],
    types: &["gpt_oss"],
    rows: &[TRUNK, ATTENTION, NORMS_BETWEEN, ROWS],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [201088, 2880, 2880, 36, 64, 131072],
        key_heads: KeyHeads::Of(8),
        head: Head::Of(64),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 150000.0,
        scaling: Some((
            "yarn",
            &[
                ("factor", 32.0),
                ("beta_fast", 32.0),
                ("beta_slow", 1.0),
                ("original_max_position_embeddings", 4096.0),
            ],
        )),
        more: &[
            ("num_local_experts", 128.0),
            ("num_experts_per_tok", 4.0),
            ("sliding_window", 128.0),
        ],
        ..DEFAULTS
    }),
    // Every second layer has a window, for llama.cpp and for the class.
    back: Some(Back {
        made: &[("attention.sliding_window", "sliding_window")],
        flags: &[
            ("attention_bias", &[Q, K, V, O]),
            ("", &["blk.#.ffn_gate_inp.bias"]),
            ("", &["blk.#.ffn_gate_exps.bias", "blk.#.ffn_up_exps.bias"]),
            ("", &["blk.#.ffn_down_exps.bias"]),
        ],
        fixed: &[("layer_types", layers_with_windows), ("rope_scaling", not_truncated)],
        untold: &[
            ("layer_types", "full_attention in every 2nd layer, sliding_attention in the others"),
            ("swiglu_limit", "7.0"),
            ("swiglu_alpha", "1.702"),
        ],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    // Where no layer has a window, the context is written.
    free(&["sliding_window"]),
    // The second and third are OpenAI's own names.
    free(&["hidden_act", "experts_per_token", "initial_context_length"]),
    NEEDS_HEAD,
    fails(
        &["attention_bias"],
        |case, _| case.has(".attn_output.bias") || !case.has(".attn_output.weight"),
        "this family has biases of attention",
    ),
    differs(&["swiglu_limit"], |_, limit| is_number(limit, 7.0), "uses 7"),
    differs(&["swiglu_alpha"], |_, alpha| is_number(alpha, 1.702), "uses 1.702"),
];

const GATE_UP_BIASES: &[&str] = &["blk.#.ffn_gate_exps.bias", "blk.#.ffn_up_exps.bias"];

const ROWS: &[Row] = &[
    ("layers.#.self_attn.sinks", &["blk.#.attn_sinks"], Plain),
    ("layers.#.mlp.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.gate_up_proj", GATE_UP_EXPERTS, InTurn),
    ("layers.#.mlp.experts.gate_up_proj_bias", GATE_UP_BIASES, InTurn),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Across),
    ("layers.#.mlp.experts.down_proj_bias", &["blk.#.ffn_down_exps.bias"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("attention.sliding_window", Count, Made(window_or_context)),
    ("attention.sliding_window_pattern", FlagList, Made(unusual_windows::<2>)),
    ("expert_feed_forward_length", Count, Needed(&["intermediate_size"])),
];

/// Of the models with experts that OpenAI published, YaRN's bounds are not rounded.
fn not_truncated(_: &Told<'_>, config: &Config) -> Option<Json> {
    let mut scaling = config.get("rope_scaling")?.clone();
    scaling["truncate"] = false.into();
    Some(scaling)
}
