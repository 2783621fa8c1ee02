//! The text model of MiniMax M3, whose attention looks at some blocks of tokens only.

use super::family::*;
use super::kimi_linear::SHARED;

pub(super) const MINIMAX_M3: Family = Family {
    architecture: "minimax-m3",
    classes: &["MiniMaxM3SparseForCausalLM", "MiniMaxM3SparseForConditionalGeneration"],
    types: &["minimax_m3", "minimax_m3_vl"],
    rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, MIXTRAL_EXPERTS, SHARED, ROWS],
    norm_add: 1.0,
    left_out: &[(
        "patch_merge_mlp.",
        "part of the vision model, which GGUF stores in a separate file",
    )],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    as_stated: true,
    tokenizer: Tokenizer::BytePairs(&[]),
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.block_sparse_moe.e_score_correction_bias", &["blk.#.exp_probs_b.bias"], Plain),
    ("layers.#.self_attn.index_q_proj", &["blk.#.indexer.q_proj"], Plain),
    ("layers.#.self_attn.index_k_proj", &["blk.#.indexer.k_proj"], Plain),
    ("layers.#.self_attn.index_q_norm", &["blk.#.indexer.q_norm"], Norm),
    ("layers.#.self_attn.index_k_norm", &["blk.#.indexer.k_norm"], Norm),
];

const RULES: &[Rule] = &[
    NEEDS_HEAD,
    NO_ATTENTION_BIAS,
    differs(
        &["hidden_act"],
        |_, name| name.is_null() || name == "swigluoai",
        "uses OpenAI's clamped SwiGLU",
    ),
    differs(&["swiglu_limit"], |_, limit| is_number(limit, 7.0), "uses 7"),
    differs(&["swiglu_alpha"], |_, alpha| is_number(alpha, 1.702), "uses 1.702"),
    differs(&["use_gemma_norm"], on, "adds 1 to norms"),
    differs(&["use_qk_norm"], on, "norms queries and keys"),
    differs(
        &["qk_norm_type"],
        |_, kind| kind.is_null() || kind == "per_head",
        "norms each head alone",
    ),
    fails(
        &["use_routing_bias"],
        |case, _| case.has(".exp_probs_b.bias") || !case.has(".attn_q.weight"),
        "experts of this family are chosen with a bias",
    ),
    fails(
        &["scoring_func"],
        |_, function| !function.is_null(),
        "a file has to state how experts are chosen",
    ),
    fails(
        &["shared_intermediate_size"],
        |case, size| size.is_null() || *size == case.value("intermediate_size"),
        "shared experts are as large as the others",
    ),
    fails(
        &["sparse_attention_config"],
        |case, sparse| sparse["sparse_num_index_heads"] == case.value("num_key_value_heads"),
        "there is a head that chooses blocks for each key head",
    ),
    fails(&["moe_layer_freq"], dense_come_first, "dense layers come before those with experts"),
    fails(
        &["sparse_attention_config"],
        |case, sparse| sparse["sparse_attention_freq"] == case.value("moe_layer_freq"),
        "the layers with experts are those that choose blocks",
    ),
    free(&["use_mtp", "num_mtp_modules", "mtp_transformer_layers", "head_dim"]),
];

/// Zeros, and nothing but ones behind them.
fn dense_come_first(case: &Case<'_>, layers: &Json) -> bool {
    let Some(layers) = layers.as_array() else { return false };
    let dense = dense(case.settings).unwrap_or(0);
    (0..).zip(layers).all(|(layer, has)| has.as_u64() == Some(u64::from(layer >= dense)))
}

const KEYS: &[KeyRow] = &[
    ("expert_feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("rope.dimension_count", Count, Needed(&["rotary_dim"])),
    ("expert_shared_count", Count, Needed(&["n_shared_experts"])),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Made(|_| Some(true.into()))),
    ("attention.indexer.head_count", Count, MadeOf(SPARSE, |s| sparse(s, "num_index_heads"))),
    ("attention.indexer.key_length", Count, MadeOf(SPARSE, |s| sparse(s, "index_dim"))),
    ("attention.indexer.top_k", Count, MadeOf(SPARSE, |s| sparse(s, "topk_blocks"))),
    ("attention.indexer.block_size", Count, MadeOf(SPARSE, |s| sparse(s, "block_size"))),
    ("attention.indexer.local_blocks", Count, MadeOf(SPARSE, |s| sparse(s, "local_block"))),
    (
        "leading_dense_block_count",
        Count,
        MadeOf("moe_layer_freq", |settings| dense(settings).map(Json::from)),
    ),
];

const SPARSE: &str = "sparse_attention_config";

fn sparse(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[SPARSE])?.get(format!("sparse_{key}")).cloned()
}

/// How many layers come before the first with experts.
fn dense(settings: &Settings) -> Option<u64> {
    let layers = settings.find(&["moe_layer_freq"])?.as_array()?;
    Some(layers.iter().take_while(|has| has.as_u64() == Some(0)).count() as u64)
}
