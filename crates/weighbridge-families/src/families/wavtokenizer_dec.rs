//! WavTokenizer's decoder of sounds, as llama.cpp's script lays it out. It has codes in place of tokens.

use super::family::*;

pub(super) const WAVTOKENIZER_DEC: Family = Family {
    architecture: "wavtokenizer-dec",
    classes: &["WavTokenizerDec"],
    types: &["wavtokenizer"],
    prefix: "backbone.",
    rows: &[ROWS],
    gguf: &[],
    left_out: &[
        ("quantizer.codebook.cluster_size", TRAINING),
        ("quantizer.codebook.embed_avg", TRAINING),
        ("quantizer.codebook.inited", TRAINING),
        ("codebook.", TRAINING),
    ],
    keys: &[BASE, KEYS],
    rules: &[],
    scalings: &[],
    tokenizer: Tokenizer::None,
    mlx: false,
    ..DECODER
};

const TRAINING: &str = "state of the codebook in training";

const ROWS: &[Row] = &[
    ("embedding", &["token_embd"], Embedding),
    ("embed", &["conv1d"], Plain),
    ("norm", &["token_embd_norm"], Norm),
    ("posnet.#.conv1", &["posnet.#.conv1"], Plain),
    ("posnet.#.conv2", &["posnet.#.conv2"], Plain),
    ("posnet.#.norm1", &["posnet.#.norm1"], Norm),
    ("posnet.#.norm2", &["posnet.#.norm2"], Norm),
    ("posnet.#.norm", &["posnet.#.attn_norm"], Norm),
    ("posnet.#.q", &["posnet.#.attn_q"], Plain),
    ("posnet.#.k", &["posnet.#.attn_k"], Plain),
    ("posnet.#.v", &["posnet.#.attn_v"], Plain),
    ("posnet.#.proj_out", &["posnet.#.attn_output"], Plain),
    ("convnext.#.dwconv", &["convnext.#.dw"], Plain),
    ("convnext.#.norm", &["convnext.#.norm"], Norm),
    ("convnext.#.pwconv1", &["convnext.#.pw1"], Plain),
    ("convnext.#.pwconv2", &["convnext.#.pw2"], Plain),
    ("convnext.#.gamma", &["convnext.#.gamma"], Plain),
    ("final_layer_norm", &["output_norm"], Norm),
    ("/head.out", &["output"], Plain),
];

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("features_length", Count, Needed(&["n_embd_features"])),
    ("feed_forward_length", Count, Needed(&["n_ff"])),
    ("attention.group_norm_epsilon", Number, Needed(&["group_norm_epsilon"])),
    ("attention.group_norm_groups", Count, Needed(&["group_norm_groups"])),
    ("posnet.embedding_length", Count, MadeOf("posnet", |all| inner(all, "posnet", "n_embd"))),
    ("posnet.block_count", Count, MadeOf("posnet", |all| inner(all, "posnet", "n_layer"))),
    (
        "convnext.embedding_length",
        Count,
        MadeOf("convnext", |all| inner(all, "convnext", "n_embd")),
    ),
    ("convnext.block_count", Count, MadeOf("convnext", |all| inner(all, "convnext", "n_layer"))),
    ("attention.causal", Flag, Made(|_| Some(false.into()))),
];

/// A size of one of the parts; what is not stated is refused.
fn inner(settings: &Settings, part: &str, key: &str) -> Option<Json> {
    settings.find(&[part]).map(|part| part[key].clone())
}
