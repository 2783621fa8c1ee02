//! Llama 4.

use super::family::*;
use super::smollm3::every_fourth_is_not_rotated;

pub(super) const LLAMA4: Family = Family {
    architecture: "llama4",
    classes: &["Llama4ForCausalLM", "Llama4ForConditionalGeneration"],
    types: &["llama4_text", "llama4"],
    rows: &[TRUNK, ATTENTION, TWO_NORMS, ROWS],
    keys: &[BASE, ROTARY, KEYS],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
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
            ("attention_chunk_size", 8192.0),
        ],
        ..DEFAULTS
    }),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    fails(
        &["num_local_experts", "interleave_moe_layer_step"],
        |case, _| case.has("_exps.weight") || !case.has(".attn_q.weight"),
        "a model of this family has experts",
    ),
    free(&["layer_types", "for_llm_compressor", "attn_scale", "num_local_experts"]),
    differs(
        &["no_rope_layers", "no_rope_layer_interval"],
        every_fourth_is_not_rotated,
        "gives every fourth layer no rotary positions, and no other",
    ),
    fails(
        &["moe_layers"],
        follows_the_step,
        "layers with experts follow interleave_moe_layer_step",
    ),
    differs(&["attention_chunk_size"], chunks_by_8192, "attends to chunks of 8192 tokens"),
    differs(&["attn_temperature_tuning"], tunes_long_texts, "tunes attention beyond 8192 tokens"),
    differs(&["floor_scale"], tunes_long_texts, "tunes attention by steps of 8192 tokens"),
    differs(
        &["use_qk_norm"],
        has_norms_by_experts,
        "norms queries and keys unless there are 128 experts",
    ),
];

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
    ("attention.sliding_window_pattern", FlagList, Made(unusual_chunks)),
];

/// Nothing: llama.cpp's chunks are of 8192 tokens. Where all layers see everything, the converter
/// writes a zero, at which llama.cpp stops.
fn unusual_chunks(settings: &Settings) -> Option<Json> {
    let chunked: Vec<bool> =
        listed_layers(settings)?.iter().map(|kind| kind == "chunked_attention").collect();
    let is_usual = (1..).zip(&chunked).all(|(layer, has)| (layer % 4 != 0) == *has);
    (!is_usual && chunked.contains(&true)).then(|| chunked.into())
}

fn follows_the_step(case: &Case<'_>, layers: &Json) -> bool {
    let Some(layers) = layers.as_array() else { return true };
    let step = case.settings.count("interleave_moe_layer_step").unwrap_or(1);
    let has_experts = |layer: u64| layers.iter().any(|one| one.as_u64() == Some(layer));
    (0..case.layers()).all(|at| has_experts(at) == (step > 0 && (at + 1) % step == 0))
}

/// Shorter contexts than a chunk are all alike.
fn chunks_by_8192(case: &Case<'_>, size: &Json) -> bool {
    let kinds = case.kinds().unwrap_or_default();
    let is_full = !kinds.is_empty() && kinds.iter().all(|kind| kind == "full_attention");
    let is_whole = size.is_null() || is_full;
    let longest = case.settings.count("max_position_embeddings").unwrap_or(u64::MAX);
    let reaches = if is_whole { u64::MAX } else { size.as_u64().unwrap_or(8192) };
    reaches.min(longest) == longest.min(8192)
}

fn tunes_long_texts(case: &Case<'_>, stated: &Json) -> bool {
    let is_short = case.settings.count("max_position_embeddings").is_some_and(|n| n <= 8191);
    let scale = stated.as_f64();
    stated.is_null()
        || *stated == true
        || is_number(stated, 8192.0) && scale.is_some()
        || is_short && scale.is_none_or(|scale| scale >= 8192.0)
}

fn has_norms_by_experts(case: &Case<'_>, has: &Json) -> bool {
    has.as_bool().unwrap_or(true) == (case.settings.count("num_local_experts") != Some(128))
}
