//! Arctic, by Snowflake: a dense model beside experts.

use super::family::*;

pub(super) const ARCTIC: Family = Family {
    architecture: "arctic",
    classes: &["ArcticForCausalLM"],
    types: &["arctic"],
    rows: &[TRUNK, ATTENTION, ROWS, MIXTRAL_EXPERTS],
    pairs: true,
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::PiecesRedefined,
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NO_WINDOW,
    HEADS_SHARE,
    fails(&["moe_layer_frequency"], is_one, "every layer of this family has experts"),
    fails(
        &["use_residual", "parallel_attn_mlp_res"],
        |case, _| case.has(".ffn_norm_exps.weight") || !case.has(".attn_q.weight"),
        "every layer of this family has a dense part beside experts",
    ),
    free(&["parallel_attn_mlp_res", "enable_expert_tensor_parallelism", "enc_index"]),
    free(&["moe_eval_capacity_factor", "moe_min_capacity", "moe_train_capacity_factor"]),
    free(&["moe_token_dropping"]),
];

const ROWS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.residual_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.residual_mlp.w1", &["blk.#.ffn_gate"], Plain),
    ("layers.#.residual_mlp.w3", &["blk.#.ffn_up"], Plain),
    ("layers.#.residual_mlp.w2", &["blk.#.ffn_down"], Plain),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm_exps"], Norm),
];

const KEYS: &[KeyRow] = &[
    VOCABULARY,
    ("rope.dimension_count", Count, Made(|settings| settings.head_share().map(Json::from))),
];
