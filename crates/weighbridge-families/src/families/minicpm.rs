//! MiniCPM 1, 2 and 4: Llama with scales for embeddings, layers and the output.

use super::family::*;

pub(super) const MINICPM: Family = Family {
    architecture: "minicpm",
    classes: &["MiniCPMForCausalLM"],
    types: &["minicpm"],
    pairs: true,
    keys: &[BASE, KEYS],
    computed: long_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "longrope"],
    tokenizer: Tokenizer::PiecesWith(&[]),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    HEADS_SHARE,
    FACTORS_BEHIND_CONTEXT,
    // Attention over parts of long texts, which computes the same for short ones.
    differs(&["sparse_config"], off, "lets every token see the whole text"),
    free(&["mup_denominator"]),
];

/// The context of the training, which no file has.
pub(super) const FACTORS_BEHIND_CONTEXT: Rule = differs(
    &["rope_scaling.original_max_position_embeddings"],
    |case, original| {
        case.value("rope_scaling.rope_type") != "longrope"
            || original.is_null()
            || *original == case.value("max_position_embeddings")
    },
    "takes the long factors for texts longer than max_position_embeddings",
);

const KEYS: &[KeyRow] = &[
    ("embedding_scale", Number, Needed(&["scale_emb"])),
    ("residual_scale", Number, MadeOf("scale_depth", residual_scale)),
    ("logit_scale", Number, MadeOf("dim_model_base", logit_scale)),
];

/// By what each layer's part is multiplied: less in models of more layers.
fn residual_scale(settings: &Settings) -> Option<Json> {
    let depth = settings.find(&["scale_depth"])?.as_f64()?;
    let layers = settings.count("num_hidden_layers")?;
    Some((depth / (layers as f64).sqrt()).into())
}

/// By what the output is divided.
fn logit_scale(settings: &Settings) -> Option<Json> {
    let base = settings.find(&["dim_model_base"])?.as_f64()?;
    let hidden = settings.find(&["hidden_size"])?.as_f64()?;
    Some((hidden / base).into())
}
