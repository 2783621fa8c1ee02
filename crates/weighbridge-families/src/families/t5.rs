//! T5, of an encoder and a decoder.

use super::family::*;

pub(super) const T5: Family = Family {
    architecture: "t5",
    classes: &["T5ForConditionalGeneration", "T5WithLMHeadModel"],
    types: &["t5"],
    prefix: "",
    rows: &[TRUNK, ENCODER_ROWS, DECODER_ROWS],
    gguf: &[],
    tied: true,
    keys: &[KEYS, DECODER_KEYS],
    refuse: check,
    rules: &[DECODER_RULES, ENCODER_RULES],
    scalings: &[],
    defaults: Some(Defaults {
        names: NAMES,
        sizes: [32128, 512, 2048, 6, 8, 0],
        epsilon: ("layer_norm_epsilon", 1e-6),
        learns_positions: true,
        more: &[("d_kv", 64.0), ("relative_attention_num_buckets", 32.0)],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::UnigramPieces),
    mlx: false,
    ..DECODER
};

pub(super) const NAMES: [&str; 6] =
    ["vocab_size", "d_model", "d_ff", "num_layers", "num_heads", "n_positions"];

pub(super) const TRUNK: &[Row] = &[
    ("shared", &["token_embd"], EmbeddingCopy),
    ("/shared", &["token_embd"], EmbeddingCopy),
    ("/encoder.embed_tokens", &["token_embd"], EmbeddingCopy),
    ("/decoder.embed_tokens", &["token_embd"], EmbeddingCopy),
    ("lm_head", &["output"], Embedding),
];

pub(super) const ENCODER_ROWS: &[Row] = &[
    ("/encoder.block.#.layer.0.layer_norm", &["enc.blk.#.attn_norm"], Norm),
    ("/encoder.block.#.layer.0.SelfAttention.q", &["enc.blk.#.attn_q"], Plain),
    ("/encoder.block.#.layer.0.SelfAttention.k", &["enc.blk.#.attn_k"], Plain),
    ("/encoder.block.#.layer.0.SelfAttention.v", &["enc.blk.#.attn_v"], Plain),
    ("/encoder.block.#.layer.0.SelfAttention.o", &["enc.blk.#.attn_o"], Plain),
    (
        "/encoder.block.#.layer.0.SelfAttention.relative_attention_bias",
        &["enc.blk.#.attn_rel_b"],
        Plain,
    ),
    ("/encoder.block.#.layer.1.layer_norm", &["enc.blk.#.ffn_norm"], Norm),
    ("/encoder.block.#.layer.1.DenseReluDense.wi", &["enc.blk.#.ffn_up"], Plain),
    ("/encoder.block.#.layer.1.DenseReluDense.wi_0", &["enc.blk.#.ffn_gate"], Plain),
    ("/encoder.block.#.layer.1.DenseReluDense.wi_1", &["enc.blk.#.ffn_up"], Plain),
    ("/encoder.block.#.layer.1.DenseReluDense.wo", &["enc.blk.#.ffn_down"], Plain),
    ("/encoder.final_layer_norm", &["enc.output_norm"], Norm),
];

const DECODER_ROWS: &[Row] = &[
    ("/decoder.block.#.layer.0.layer_norm", &["dec.blk.#.attn_norm"], Norm),
    ("/decoder.block.#.layer.0.SelfAttention.q", &["dec.blk.#.attn_q"], Plain),
    ("/decoder.block.#.layer.0.SelfAttention.k", &["dec.blk.#.attn_k"], Plain),
    ("/decoder.block.#.layer.0.SelfAttention.v", &["dec.blk.#.attn_v"], Plain),
    ("/decoder.block.#.layer.0.SelfAttention.o", &["dec.blk.#.attn_o"], Plain),
    (
        "/decoder.block.#.layer.0.SelfAttention.relative_attention_bias",
        &["dec.blk.#.attn_rel_b"],
        Plain,
    ),
    ("/decoder.block.#.layer.1.layer_norm", &["dec.blk.#.cross_attn_norm"], Norm),
    ("/decoder.block.#.layer.1.EncDecAttention.q", &["dec.blk.#.cross_attn_q"], Plain),
    ("/decoder.block.#.layer.1.EncDecAttention.k", &["dec.blk.#.cross_attn_k"], Plain),
    ("/decoder.block.#.layer.1.EncDecAttention.v", &["dec.blk.#.cross_attn_v"], Plain),
    ("/decoder.block.#.layer.1.EncDecAttention.o", &["dec.blk.#.cross_attn_o"], Plain),
    (
        "/decoder.block.#.layer.1.EncDecAttention.relative_attention_bias",
        &["dec.blk.#.cross_attn_rel_b"],
        Plain,
    ),
    ("/decoder.block.#.layer.2.layer_norm", &["dec.blk.#.ffn_norm"], Norm),
    ("/decoder.block.#.layer.2.DenseReluDense.wi", &["dec.blk.#.ffn_up"], Plain),
    ("/decoder.block.#.layer.2.DenseReluDense.wi_0", &["dec.blk.#.ffn_gate"], Plain),
    ("/decoder.block.#.layer.2.DenseReluDense.wi_1", &["dec.blk.#.ffn_up"], Plain),
    ("/decoder.block.#.layer.2.DenseReluDense.wo", &["dec.blk.#.ffn_down"], Plain),
    ("/decoder.final_layer_norm", &["dec.output_norm"], Norm),
];

/// Without those of a decoder, which stand in their places.
pub(super) const KEYS: &[KeyRow] = &[
    ("context_length", Count, Made(context)),
    ("embedding_length", Count, Needed(&["d_model"])),
    ("feed_forward_length", Count, Needed(&["d_ff"])),
    ("block_count", Count, Needed(LAYERS)),
    ("decoder_block_count", Count, Made(decoder_layers)),
    ("attention.head_count", Count, Needed(&["num_heads"])),
    ("attention.key_length", Count, Needed(&["d_kv"])),
    ("attention.value_length", Count, Needed(&["d_kv"])),
    ("attention.layer_norm_epsilon", Number, Needed(&["layer_norm_epsilon"])),
    ("attention.relative_buckets_count", Count, Needed(&["relative_attention_num_buckets"])),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["layer_norm_epsilon"])),
];

const DECODER_KEYS: &[KeyRow] =
    &[("decoder_start_token_id", Count, Needed(&["decoder_start_token_id"])), FILE_TYPE];

/// What texts were cut to in training. Positions are relative, so that longer ones work.
fn context(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["n_positions"]).cloned().unwrap_or(512.into()))
}

/// The layers of the decoder: as many as the encoder has, unless a config says otherwise.
fn decoder_layers(settings: &Settings) -> Option<Json> {
    let is_encoder = |class: &Json| class.as_str().is_some_and(|name| name.contains("Encoder"));
    if settings.find(&["architectures"]).is_some_and(|classes| is_encoder(&classes[0])) {
        return None;
    }
    settings.find(&["num_decoder_layers"]).or_else(|| settings.find(LAYERS)).cloned()
}

pub(super) const ENCODER_RULES: &[Rule] = &[
    differs(
        &["feed_forward_proj"],
        |_, kind| kind.as_str().is_none_or(|kind| matches!(kind, "relu" | "gated-gelu")),
        "uses relu, or gelu with a gate",
    ),
    differs(
        &["dense_act_fn"],
        |_, name| name.as_str().is_none_or(|name| name == "relu" || name.starts_with("gelu")),
        "uses relu, or gelu with a gate",
    ),
    differs(
        &["relative_attention_max_distance"],
        |_, far| is_number(far, 128.0),
        "tells distances apart up to 128",
    ),
    // What only matters in training, or for classes that are not converted.
    free(&["is_gated_act", "dropout_rate", "scale_decoder_outputs", "num_decoder_layers"]),
];

pub(super) const DECODER_RULES: &[Rule] = &[differs(
    &["scale_decoder_outputs"],
    |case, is_scaled| {
        let own_head = case.settings.named("tie_word_embeddings") == false;
        *is_scaled == false || is_scaled.is_null() && own_head
    },
    "does not divide logits by the root of the width",
)];

/// The converter names layers by those of the encoder.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let layers = settings.find(LAYERS).and_then(Json::as_u64);
    let behind = settings.count("num_decoder_layers");
    if behind.zip(layers).is_some_and(|(behind, layers)| behind > layers) {
        return Err(not_yet("T5 models with more layers in the decoder than in the encoder"));
    }
    Ok(())
}
