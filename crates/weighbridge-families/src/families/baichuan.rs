//! Baichuan. Models of 32 layers have rotary positions, those of 40 slopes of attention.

use super::family::*;

pub(super) const BAICHUAN: Family = Family {
    architecture: "baichuan",
    classes: &["BaichuanForCausalLM", "BaiChuanForCausalLM"],
    types: &["baichuan"],
    rows: &[TRUNK, ROWS, MLP, TWO_NORMS],
    pairs: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesWith(&[]),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    differs(
        &["num_hidden_layers"],
        |case, _| [32, 40].contains(&case.layers()),
        "gives rotary positions to models of 32 layers only",
    ),
    // The second generation of these models norms the rows of its output head as it runs.
    differs(
        &["z_loss_weight"],
        |_, weight| weight.is_null(),
        "takes the output head as it is, and does not norm its rows",
    ),
    free(&["gradient_checkpointing"]),
];

const ROWS: &[Row] = &[
    ("layers.#.self_attn.W_pack", QKV, Qkv),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("tensor_data_layout", Text, Made(|_| Some("Meta AI original pth".into()))),
    ("rope.dimension_count", Count, Made(|settings| settings.head_share().map(Json::from))),
];
