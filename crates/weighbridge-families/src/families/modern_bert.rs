//! ModernBERT.

use serde_json::json;

use super::bert::refuse_classifier;
use super::family::*;

pub(super) const MODERN_BERT: Family = Family {
    architecture: "modern-bert",
    classes: &["ModernBertModel", "ModernBertForMaskedLM", "ModernBertForSequenceClassification"],
    types: &["modernbert"],
    prefix: "",
    rows: &[ROWS],
    left_out: &[("decoder.", "masked-word head, not converted")],
    keys: &[BASE, ENCODER, KEYS],
    rules: &[RULES, ROPE],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [50368, 768, 1152, 22, 12, 8192],
        key_heads: KeyHeads::Unsaid,
        epsilon: ("norm_eps", 1e-5),
        theta: 160000.0,
        local_theta: Some(10000.0),
        more: &[
            ("local_attention", 128.0),
            ("pad_token_id", 50283.0),
            ("eos_token_id", 50282.0),
            ("bos_token_id", 50281.0),
            ("cls_token_id", 50281.0),
            ("sep_token_id", 50282.0),
        ],
        texts: &[("hidden_activation", "gelu"), ("classifier_pooling", "cls")],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::Encoder(EncoderTokens::EndedPairs),
    back: Some(Back {
        refuse: refuse_classifier,
        lacks: |name, layer| layer == 0 && name == "blk.#.attn_norm.weight",
        flags: &[
            ("attention_bias", &["blk.#.attn_qkv.bias", O]),
            ("mlp_bias", &[UP, DOWN]),
            ("norm_bias", &["token_embd_norm.bias", "output_norm.bias"]),
        ],
        fixed: BACK_VALUES,
        untold: &[
            ("classifier_pooling", "cls"),
            ("classifier_activation", "gelu"),
            ("classifier_bias", "false"),
            ("decoder_bias", "true"),
        ],
        activation: ("hidden_activation", "gelu"),
        ..BACK
    }),
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("embeddings.tok_embeddings", &["token_embd"], Embedding),
    ("embeddings.norm", &["token_embd_norm"], Norm),
    ("layers.#.attn_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.attn.Wqkv", QKV, Qkv),
    ("layers.#.attn.Wo", &["blk.#.attn_output"], Plain),
    ("layers.#.mlp_norm", &["blk.#.ffn_norm"], Norm),
    // Up and gate in one matrix.
    ("layers.#.mlp.Wi", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.Wo", &["blk.#.ffn_down"], Plain),
    ("final_norm", &["output_norm"], Norm),
    ("/head.dense", &["cls"], Plain),
    ("/head.norm", &["cls.norm"], Norm),
    ("classifier", &["cls.output"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("attention.sliding_window", Count, Needed(&["local_attention"])),
    ("attention.sliding_window_pattern", Count, Any(&["global_attn_every_n_layers"])),
    ("rope.scaling.type", Text, Made(|_| Some("none".into()))),
    VOCABULARY,
    ("hidden_activation", Text, Any(&["hidden_activation"])),
];

/// The class has norms' epsilon under one name, and llama.cpp under the other.
const BACK_VALUES: &[(&str, Fixed)] = &[
    ("norm_eps", |_, config| config.get("layer_norm_eps").cloned()),
    ("rope_parameters", bases),
    ("layer_types", kinds),
    ("classifier_pooling", |told, _| classifier_pooling_of(told)),
    ("cls_token_id", |told, _| Some(token(told, &["cls", "bos"]))),
    ("sep_token_id", |told, _| Some(token(told, &["seperator", "eos"]))),
];

/// The first of these special tokens that a file has.
fn token(told: &Told<'_>, kinds: &[&str]) -> Json {
    let id = |kind: &&str| told.count(&format!("tokenizer.ggml.{kind}_token_id"));
    kinds.iter().find_map(id).into()
}

/// The bases of both kinds of layers. Where one stands alone, llama.cpp takes it for both.
fn bases(told: &Told<'_>, config: &Config) -> Option<Json> {
    let full = config.get("rope_theta")?.clone();
    let local = told.own("rope.freq_base_swa").as_ref().and_then(as_json);
    let of = |theta: Json| json!({ "rope_type": "default", "rope_theta": theta });
    Some(json!({
        "full_attention": of(full.clone()),
        "sliding_attention": of(local.unwrap_or(full)),
    }))
}

/// Which layers see everything: the first of every three where the file does not say.
fn kinds(_: &Told<'_>, config: &Config) -> Option<Json> {
    let every = config.get("global_attn_every_n_layers").map_or(Some(3), Json::as_u64)?.max(1);
    let layers =
        config.get("num_hidden_layers")?.as_u64().filter(|layers| *layers < MOST_LAYERS)?;
    let kind = |layer: u64| match layer.is_multiple_of(every) {
        true => "full_attention",
        false => "sliding_attention",
    };
    Some((0..layers).map(kind).collect())
}

/// More layers than any model has.
const MOST_LAYERS: u64 = 1 << 12;

const RULES: &[Rule] = &[
    fails(&["layer_norm_eps"], |_, epsilon| !epsilon.is_null(), "a file has to state this"),
    differs(
        &["norm_eps"],
        |case, epsilon| {
            let other = case.value("layer_norm_eps").as_f64();
            other.is_none_or(|other| is_number(epsilon, other))
        },
        "uses layer_norm_eps",
    ),
    fails(&["norm_bias"], |case, _| !case.has("norm.bias"), "its norms have no biases"),
    fails(&["attention_bias"], |case, _| !case.has(".attn_qkv.bias"), NO_BIASES),
    fails(&["mlp_bias"], |case, _| !case.has(".ffn_up.bias"), NO_BIASES),
    fails(&["classifier_bias"], |case, _| !case.has("cls.bias"), NO_BIASES),
    differs(&["classifier_activation"], gelu, "uses gelu"),
    differs(
        &["hidden_activation"],
        |case, name| gelu(case, name) || silu(case, name),
        "uses gelu or silu",
    ),
    differs(&["layer_types"], has_pattern, "lets the first of every few layers see everything"),
    // How the same numbers are computed, and what the masked-word head does.
    free(&[
        "decoder_bias",
        "deterministic_flash_attn",
        "initializer_cutoff_factor",
        "position_embedding_type",
        "reference_compile",
        "repad_logits_with_grad",
        "sparse_pred_ignore_index",
        "sparse_prediction",
    ]),
];

const NO_BIASES: &str = "this family has no such biases";

/// Whether the layers that see everything are the first ones of a pattern.
fn has_pattern(case: &Case<'_>, listed: &Json) -> bool {
    let every = case.value("global_attn_every_n_layers").as_u64().unwrap_or(3).max(1);
    let is_usual =
        |(layer, kind): (u64, &Json)| (kind == "full_attention") == layer.is_multiple_of(every);
    listed.as_array().is_none_or(|kinds| (0..).zip(kinds).all(is_usual))
}
