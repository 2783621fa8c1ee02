//! Llama 4.

use super::family::*;

pub(super) const LLAMA4: Family = Family {
    architecture: "llama4",
    classes: &["Llama4ForCausalLM", "Llama4ForConditionalGeneration"],
    types: &["llama4_text", "llama4"],
    rows: &[TRUNK, ATTENTION, TWO_NORMS, ROWS],
    keys: &[BASE, ROTARY, KEYS],
    computed: llama3_factors,
    defaults: Some(Defaults {
        sizes: [202048, 5120, 8192, 48, 40, 131072],
        key_heads: KeyHeads::Of(8),
        head: Head::Of(128),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 500000.0,
        more: &[
            ("intermediate_size_mlp", 16384.0),
            ("num_experts_per_tok", 1.0),
            ("num_local_experts", 16.0),
            ("interleave_moe_layer_step", 1.0),
        ],
        ..DEFAULTS
    }),
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.feed_forward.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.feed_forward.router", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.feed_forward.experts.gate_up_proj", GATE_UP_EXPERTS, Across),
    ("layers.#.feed_forward.experts.down_proj", &["blk.#.ffn_down_exps"], Across),
    ("layers.#.feed_forward.shared_expert.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.feed_forward.shared_expert.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.feed_forward.shared_expert.down_proj", &["blk.#.ffn_down_shexp"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("feed_forward_length", Count, Needed(&["intermediate_size_mlp"])),
    ("interleave_moe_layer_step", Count, Needed(&["interleave_moe_layer_step"])),
    ("expert_feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.sliding_window", Count, Made(no_window)),
];

/// Zero where every layer sees everything.
fn no_window(settings: &Settings) -> Option<Json> {
    let rotated = settings.find(&["no_rope_layers"]).and_then(Json::as_array);
    let is_full = match (listed_layers(settings), rotated) {
        (Some(kinds), _) => kinds.iter().all(|kind| kind == "full_attention"),
        (None, Some(rotated)) if !rotated.is_empty() => rotated.iter().all(|layer| layer == 0),
        (None, _) => settings.count("no_rope_layer_interval") == Some(1),
    };
    is_full.then(|| 0.into())
}
