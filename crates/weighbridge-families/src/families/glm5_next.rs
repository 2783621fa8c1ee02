//! The text model of GLM 5.3 Flash: delta attention, DeepSeek's with an indexer, and residual streams.

use super::family::*;
use super::glm_moe_dsa::{INDEXER, indexers};
use super::glm4_moe::SPECIAL;
use super::kimi_linear::of_linear;

pub(super) const GLM5_NEXT: Family = Family {
    architecture: "glm5-next",
    classes: &["Glm5NextForConditionalGeneration"],
    types: &["glm5_next_text", "glm5_next"],
    rows: &[
        TRUNK,
        ATTENTION,
        LATENT_ATTENTION,
        DELTA_ATTENTION,
        INDEXER,
        ROWS,
        MLP,
        TWO_NORMS,
        EXPERTS,
        SHARED_EXPERTS,
        NEXTN,
    ],
    drops_head: DropsHead::Tied,
    predicts: true,
    counts_next: Some("num_nextn_predict_layers"),
    ignored: &["head_dim"],
    keys: &[BASE, KEYS],
    refuse: check,
    rules: &[RULES],
    scalings: &[],
    defaults: Some(Defaults {
        sizes: [154880, 4096, 12288, 45, 64, 1048576],
        key_heads: KeyHeads::Unsaid,
        epsilon: ("rms_norm_eps", 1e-5),
        learns_positions: true,
        more: &[
            ("hc_eps", 1e-6),
            ("hc_mult", 4.0),
            ("hc_sinkhorn_iters", 20.0),
            ("index_head_dim", 128.0),
            ("index_kpool", 16.0),
            ("index_n_heads", 32.0),
            ("index_topk", 2048.0),
            ("kv_lora_rank", 512.0),
            ("moe_intermediate_size", 2048.0),
            ("n_group", 1.0),
            ("n_routed_experts", 288.0),
            ("n_shared_experts", 1.0),
            ("num_experts_per_tok", 8.0),
            ("num_key_value_heads", 64.0),
            ("q_lora_rank", 1536.0),
            ("qk_nope_head_dim", 256.0),
            ("qk_rope_head_dim", 0.0),
            ("routed_scaling_factor", 2.5),
            ("swiglu_limit", 10.0),
            ("topk_group", 1.0),
            ("v_head_dim", 256.0),
        ],
        flags: &[("norm_topk_prob", true), ("index_kpool_always_select_tail", true)],
        ..DEFAULTS
    }),
    tokenizer: SPECIAL,
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.self_attn.A_log", &["blk.#.ssm_a"], Own(Lay(rates))),
    ("layers.#.hc_attn_fn", &["blk.#.hc_attn_fn"], Plain),
    ("layers.#.hc_attn_base", &["blk.#.hc_attn_base"], Plain),
    ("layers.#.hc_attn_scale", &["blk.#.hc_attn_scale"], Plain),
    ("layers.#.hc_ffn_fn", &["blk.#.hc_ffn_fn"], Plain),
    ("layers.#.hc_ffn_base", &["blk.#.hc_ffn_base"], Plain),
    ("layers.#.hc_ffn_scale", &["blk.#.hc_ffn_scale"], Plain),
    ("layers.#.self_attn.indexer.index_kpool_compress_ape", APE, Plain),
    ("layers.#.self_attn.indexer.index_kpool_compress_gate", GATE_OF_POOLS, Plain),
];

const APE: &[&str] = &["blk.#.indexer_compressor_ape"];
const GATE_OF_POOLS: &[&str] = &["blk.#.indexer_compressor_gate"];

/// Decay rates, stored as logarithms; GGUF has the negated rates in a vector, one a head.
fn rates(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let heads = shape.iter().try_fold(1_u64, |all, side| all.checked_mul(*side))?;
    let view = View { change: Change::MinusExp, ..View::whole(&[heads]) };
    let is_one_each = settings.count("num_attention_heads") == Some(heads);
    is_one_each.then(|| Laid::whole(view, "-exp"))
}

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(&["hc_mult"], |_, streams| is_number(streams, 4.0), "it has four residual streams"),
    fails(
        &["index_kpool"],
        |case, _| {
            let count = |key: &str| case.settings.count(key).unwrap_or(0);
            count("index_kpool") > 1 && count("index_topk").is_multiple_of(count("index_kpool"))
        },
        "it chooses pools of several tokens, and whole ones",
    ),
    fails(&["attention_bias"], off, "it has no attention biases in this family"),
    differs(&["mlp_layer_types"], dense_agree, "takes the first layers for dense ones"),
    differs(&["moe_layer_freq"], is_one, "has experts in every layer after the first dense ones"),
    differs(
        &["n_group"],
        |_, groups| groups.as_u64().unwrap_or(1) <= 1,
        "chooses experts by groups in its own way",
    ),
    free(&["num_key_value_heads", "qk_head_dim", "topk_method", "ep_size", "scoring_func"]),
    // Other values of these are refused.
    free(&["mhc", "mla_use_nope"]),
    // The class has these out of `linear_attn_config`.
    free(&["linear_conv_kernel_dim", "linear_head_dim", "linear_num_heads", "linear_lower_bound"]),
    free(&["rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor"]),
];

fn dense_agree(case: &Case<'_>, kinds: &Json) -> bool {
    let Some(kinds) = kinds.as_array() else { return kinds.is_null() };
    let dense = case.settings.count("first_k_dense_replace").unwrap_or(0);
    (0..).zip(kinds).all(|(layer, kind)| (layer < dense) == (kind == "dense"))
}

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("attention.head_count_kv", Counts, Made(latent_heads)),
    VOCABULARY,
    ("attention.layer_norm_epsilon", Number, Made(|_| Some(1e-6.into()))),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, "num_nextn_predict_layers"))),
    ("ssm.conv_kernel", Count, MadeOf(LINEAR, |s| of_linear(s, "short_conv_kernel_size"))),
    ("kda.head_dim", Count, MadeOf(LINEAR, |s| of_linear(s, "head_dim"))),
    ("kda.gate_lower_bound", Number, Made(|s| of_linear(s, "gate_lower_bound"))),
    ("attention.q_lora_rank", Count, Needed(&["q_lora_rank"])),
    ("attention.kv_lora_rank", Count, Needed(&["kv_lora_rank"])),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
    ("attention.key_length", Count, MadeOf("qk_rope_head_dim", latent_key_length)),
    ("attention.value_length", Count, Needed(&["kv_lora_rank"])),
    ("attention.key_length_mla", Count, MadeOf("qk_nope_head_dim", made_key_length)),
    ("attention.value_length_mla", Count, Needed(&["v_head_dim"])),
    ("attention.indexer.head_count", Count, Needed(&["index_n_heads"])),
    ("attention.indexer.key_length", Count, Needed(&["index_head_dim"])),
    ("attention.indexer.top_k", Count, Needed(&["index_topk"])),
    ("attention.indexer.kpool", Count, Needed(&["index_kpool"])),
    ("attention.indexer.kpool_select_tail", Flag, Made(selects_tail)),
    ("attention.indexer.types", FlagList, Made(indexers)),
    ("hyper_connection.count", Count, Needed(&["hc_mult"])),
    ("hyper_connection.sinkhorn_iterations", Count, Needed(&["hc_sinkhorn_iters"])),
    ("hyper_connection.epsilon", Number, Needed(&["hc_eps"])),
    ("leading_dense_block_count", Count, Needed(&["first_k_dense_replace"])),
    ("expert_feed_forward_length", Count, Needed(&["moe_intermediate_size"])),
    ("expert_shared_count", Count, Needed(&["n_shared_experts"])),
    ("expert_weights_scale", Number, Needed(&["routed_scaling_factor"])),
    ("expert_weights_norm", Flag, Needed(&["norm_topk_prob"])),
    ("swiglu_clamp_exp", Numbers, Made(limits)),
    ("swiglu_clamp_shexp", Numbers, Made(limits)),
];

const LINEAR: &str = "linear_attn_config";

fn selects_tail(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["index_kpool_always_select_tail"]).cloned().unwrap_or(true.into()))
}

/// The one head of keys of layers with DeepSeek's attention, and none for the others. The class gives
/// every fourth layer such attention.
fn latent_heads(settings: &Settings) -> Option<Json> {
    let layers = settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)?;
    let mut heads: Vec<u64> = match listed_layers(settings) {
        Some(kinds) if kinds.len() as u64 == layers => {
            kinds.iter().map(|kind| u64::from(kind != "linear_attention")).collect()
        }
        // No list of all layers, and so refused where it is to be one.
        Some(_) => return Some("layer_types".into()),
        None => (0..layers).map(|layer| u64::from(layer % 4 == 3)).collect(),
    };
    let next = settings.count("num_nextn_predict_layers").unwrap_or(0).min(MOST_LAYERS);
    heads.extend((0..next).map(|_| 1));
    Some(heads.into())
}

/// The limit of feed-forward layers, once a layer.
fn limits(settings: &Settings) -> Option<Json> {
    let limit = settings.find(&["swiglu_limit"])?;
    let layers = layers_and_next(settings)?.as_u64().filter(|count| *count <= 2 * MOST_LAYERS)?;
    Some((0..layers).map(|_| limit.clone()).collect())
}

/// What the converter asserts.
fn check(settings: &Settings, _: &About<'_>) -> Result<()> {
    let is_on = |key: &str| settings.find(&[key]).and_then(Json::as_bool);
    if is_on("mhc") == Some(false) {
        return Err(not_yet("models of this family without residual streams"));
    }
    if is_on("mla_use_nope") != Some(true) || settings.count("qk_rope_head_dim") != Some(0) {
        return Err(not_yet("models of this family that rotate positions"));
    }
    if of_linear(settings, "num_heads").as_ref() != settings.find(&["num_attention_heads"]) {
        let message = "config.json: both kinds of attention of this family have as many heads";
        return Err(Error::malformed(message));
    }
    Ok(())
}
