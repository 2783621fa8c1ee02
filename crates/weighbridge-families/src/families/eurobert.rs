//! EuroBERT: Llama that looks ahead, too.

use super::family::*;

pub(super) const EUROBERT: Family = Family {
    architecture: "eurobert",
    classes: &["EuroBertModel", "JinaEmbeddingsV5Model"],
    types: &["eurobert"],
    prefix: "",
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [128256, 768, 3072, 12, 12, 8192],
        head: Head::Share,
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::BarePairs),
    back: Some(Back {
        flags: ALL_BIASES,
        fixed: &[
            ("classifier_pooling", |told, _| classifier_pooling_of(told)),
            ("mask_token_id", |told, _| Some(told.count("tokenizer.ggml.mask_token_id").into())),
        ],
        untold: &[("classifier_pooling", "late")],
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const KEYS: &[KeyRow] = &[
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
    ("rope.scaling.type", Text, Made(|_| Some("none".into()))),
    POOLING,
    CLASSIFIER_POOLING,
];

const RULES: &[Rule] = &[
    SILU,
    HEADS_SHARE,
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
    // For classes of texts, which this class has no weights for, and adapters beside the model.
    free(&["clf_pooling", "classifier_pooling", "is_causal", "mask_token", "task_names"]),
];
