//! NeoBERT, which transformers does not know.

use super::bert::BERT;
use super::family::*;

pub(super) const NEO_BERT: Family = Family {
    architecture: "neo-bert",
    classes: &["NeoBERTLMHead", "NeoBERT", "NeoBERTForSequenceClassification"],
    types: &["neobert"],
    prefix: "model.",
    rows: &[ROWS],
    left_out: &[("decoder.", "masked-word head, not converted")],
    keys: &[BASE, ENCODER, KEYS],
    rules: &[RULES],
    defaults: None,
    back: None,
    ..BERT
};

const ROWS: &[Row] = &[
    ("encoder", &["token_embd"], Embedding),
    ("transformer_encoder.#.attention_norm", &["blk.#.attn_norm"], Norm),
    ("transformer_encoder.#.qkv", QKV, Qkv),
    ("transformer_encoder.#.wo", &["blk.#.attn_output"], Plain),
    ("transformer_encoder.#.ffn_norm", &["blk.#.ffn_norm"], Norm),
    ("transformer_encoder.#.ffn.w12", &["blk.#.ffn_up"], Plain),
    ("transformer_encoder.#.ffn.w3", &["blk.#.ffn_down"], Plain),
    ("layer_norm", &["enc.output_norm"], Norm),
    ("/dense", &["cls"], Plain),
    ("classifier", &["cls.output"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("feed_forward_length", Count, Made(inner)),
    ("rope.freq_base", Number, Made(|_| Some(10000.0.into()))),
    ("rope.scaling.type", Text, Made(|_| Some("none".into()))),
    ("attention.layer_norm_rms_epsilon", Number, Made(epsilon)),
    ("pooling_type", Count, Made(|_| Some(2.into()))),
];

/// The inner size: two thirds of what the config says, since there is a gate.
fn inner(settings: &Settings) -> Option<Json> {
    settings.count("intermediate_size")?.checked_mul(2).map(|twice| (twice / 3).into())
}

fn epsilon(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["norm_eps"]).cloned().unwrap_or(1e-6.into()))
}

const RULES: &[Rule] = &[
    fails(
        &["intermediate_size"],
        |_, size| size.as_u64().is_none_or(|size| (size * 2 / 3).is_multiple_of(8)),
        "the inner size is rounded up to a multiple of 8, and the file states another one",
    ),
    // The model's own code has the query, the key and the value of a head next to each other.
    differs(
        &["num_attention_heads"],
        |_, heads| *heads == 1,
        "takes all queries for first, and here each head has its own queries, keys and values",
    ),
    differs(&["hidden_act"], silu, "uses silu"),
    free(&["classifier_init_range", "decoder_init_range", "embedding_init_range"]),
    free(&["dim_head", "kwargs", "rms_norm", "rope", "trust_remote_code", "flash_attention"]),
];
