//! OpenELM, whose layers have different numbers of heads and inner sizes.

use super::family::*;

pub(super) const OPENELM: Family = Family {
    architecture: "openelm",
    classes: &["OpenELMForCausalLM"],
    types: &["openelm"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[],
    tied: true,
    keys: &[KEYS],
    rules: &[RULES],
    scalings: &[],
    tokenizer: Tokenizer::PiecesWith(&[]),
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("token_embeddings", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("layers.#.attn_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.attn.qkv_proj", &["blk.#.attn_qkv"], Plain),
    ("layers.#.attn.q_norm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.attn.k_norm", &["blk.#.attn_k_norm"], Norm),
    ("layers.#.attn.out_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.ffn_norm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.ffn.proj_1", &["blk.#.ffn_gate", "blk.#.ffn_up"], Plain),
    ("layers.#.ffn.proj_2", &["blk.#.ffn_down"], Plain),
];

const RULES: &[Rule] = &[
    differs(&["activation_fn_name"], silu, "uses silu"),
    differs(&["ffn_with_glu"], stated_on, "gates feed-forward layers"),
    differs(&["normalization_layer_name"], |_, kind| kind == "rms_norm", "uses RMS norms"),
    fails(&["normalize_qk_projections"], stated_on, "it norms queries and keys"),
    fails(&["share_input_output_layers"], stated_on, "this family has no output head of its own"),
    free(&["num_gqa_groups", "qkv_multipliers", "rope_max_length"]),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Needed(&["num_transformer_layers"])),
    ("context_length", Count, Needed(&["max_context_length"])),
    ("embedding_length", Count, Needed(&["model_dim"])),
    ("feed_forward_length", Counts, MadeOf("ffn_multipliers", inner_sizes)),
    ("attention.head_count", Counts, Needed(&["num_query_heads"])),
    ("attention.head_count_kv", Counts, Needed(&["num_kv_heads"])),
    ("rope.freq_base", Number, Needed(&["rope_freq_constant"])),
    ("attention.layer_norm_rms_epsilon", Number, Made(|_| Some(1e-6.into()))),
    ("rope.dimension_count", Count, Needed(&["head_dim"])),
    ("attention.key_length", Count, Needed(&["head_dim"])),
    ("attention.value_length", Count, Needed(&["head_dim"])),
    FILE_TYPE,
];

/// The inner size of each layer: what its multiplier makes of the width, rounded to a multiple.
fn inner_sizes(settings: &Settings) -> Option<Json> {
    let (width, divisor) = (settings.count("model_dim")?, settings.count("ffn_dim_divisor")?);
    let multipliers = settings.find(&["ffn_multipliers"])?.as_array()?;
    multipliers.iter().map(|factor| rounded(factor.as_f64()? * width as f64, divisor)).collect()
}

/// Rounded to the nearest multiple, or to the one above if that takes off more than a tenth.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rounded down, as Python does.
fn rounded(size: f64, divisor: u64) -> Option<Json> {
    let near = (size + divisor as f64 / 2.0) as u64;
    let near = near.checked_div(divisor)?.checked_mul(divisor)?.max(divisor);
    let is_short = (near as f64) < 0.9 * size;
    near.checked_add(if is_short { divisor } else { 0 }).map(Json::from)
}
