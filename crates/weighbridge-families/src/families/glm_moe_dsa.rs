//! GLM 5: DeepSeek's attention, of the tokens that an indexer chooses.

use super::deepseek_v2::{KEYS, LATENT_BACK, RULES as LATENT_RULES, scoring};
use super::family::*;
use super::glm4_moe::{SPECIAL, layers_of_the_model};
use super::glm4_moe_lite::{DENSE_FIRST, GLM4_MOE_LITE, kinds_of_layers};

pub(super) const GLM_MOE_DSA: Family = Family {
    architecture: "glm-dsa",
    classes: &["GlmMoeDsaForCausalLM"],
    types: &["glm_moe_dsa"],
    rows: &[
        TRUNK,
        ATTENTION,
        LATENT_ATTENTION,
        INDEXER,
        MLP,
        TWO_NORMS,
        EXPERTS,
        SHARED_EXPERTS,
        NEXTN,
    ],
    ignored: &[],
    keys: &[BASE, KEYS, INDEXER_KEYS, OWN_KEYS],
    rules: &[RULES, INDEXED, DENSE_FIRST, LATENT_RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [154880, 6144, 12288, 78, 64, 202752],
        key_heads: KeyHeads::Of(64),
        head: Head::AlwaysAs("qk_rope_head_dim"),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[
            ("first_k_dense_replace", 3.0),
            ("index_head_dim", 128.0),
            ("index_n_heads", 32.0),
            ("index_topk", 2048.0),
            ("kv_lora_rank", 512.0),
            ("moe_intermediate_size", 2048.0),
            ("n_group", 1.0),
            ("n_routed_experts", 256.0),
            ("n_shared_experts", 1.0),
            ("num_experts_per_tok", 8.0),
            ("q_lora_rank", 2048.0),
            ("qk_nope_head_dim", 192.0),
            ("qk_rope_head_dim", 64.0),
            ("routed_scaling_factor", 2.5),
            ("topk_group", 1.0),
            ("v_head_dim", 256.0),
        ],
        flags: &[("norm_topk_prob", true)],
        ..DEFAULTS
    }),
    tokenizer: SPECIAL,
    back: Some(Back {
        is: |_| true,
        flags: &[("", &["blk.#.indexer.k_norm.bias"])],
        made: &[
            ("attention.kv_lora_rank", "kv_lora_rank"),
            ("rope.dimension_count", "qk_rope_head_dim"),
            ("leading_dense_block_count", "first_k_dense_replace"),
            ("expert_shared_count", "n_shared_experts"),
            ("nextn_predict_layers", "num_nextn_predict_layers"),
        ],
        fixed: &[
            ("num_hidden_layers", layers_of_the_model),
            ("q_lora_rank", latent_queries),
            ("qk_nope_head_dim", keys_not_rotated),
            ("head_dim", |_, config| config.get("qk_rope_head_dim").cloned()),
            ("norm_topk_prob", weights_are_normalized),
            ("rope_scaling", with_scale_of_attention),
            ("mlp_layer_types", kinds_of_layers),
            ("indexer_types", kinds_of_indexers),
            ("scoring_func", scoring),
        ],
        untold: &[
            ("num_key_value_heads", ""),
            ("attention_bias", "false"),
            ("mlp_bias", "false"),
            ("rope_scaling.mscale", "as mscale_all_dim"),
        ],
        ..LATENT_BACK
    }),
    ..GLM4_MOE_LITE
};

const RULES: &[Rule] = &[differs(
    &["rope_scaling.mscale_all_dim", "rope_scaling.mscale"],
    |case, scale| off(case, scale) || case.value("rope_scaling.rope_type") != "yarn",
    "does not scale attention with the context in this family",
)];

/// Of attention with an indexer.
pub(super) const INDEXED: &[Rule] = &[
    fails(&["q_lora_rank"], |_, rank| !rank.is_null(), "it makes queries of a shorter vector"),
    fails(
        &["index_head_dim"],
        |_, width| width.as_f64().is_some_and(|width| width > 0.0 && width % 64.0 == 0.0),
        "the width of the indexer's keys is a multiple of 64",
    ),
    differs(
        &["layer_types"],
        |case, kinds| {
            let is_indexed = |kind: &Json| kind == "indexed_attention";
            off(case, kinds) || kinds.as_array().is_some_and(|kinds| kinds.iter().all(is_indexed))
        },
        "chooses tokens in every layer",
    ),
    differs(&["indexer_rope_interleave"], on, "takes pairs of neighbours for rotary pairs"),
    // The sigmoid of the class.
    free(&["scoring_func"]),
];

/// What chooses the tokens that attention looks at.
pub(super) const INDEXER: &[Row] = &[
    ("layers.#.self_attn.indexer.k_norm", &["blk.#.indexer.k_norm"], Plain),
    ("layers.#.self_attn.indexer.weights_proj", &["blk.#.indexer.proj"], Plain),
    ("layers.#.self_attn.indexer.wk", &["blk.#.indexer.attn_k"], Plain),
    ("layers.#.self_attn.indexer.wq_b", &["blk.#.indexer.attn_q_b"], Plain),
];

pub(super) const INDEXER_KEYS: &[KeyRow] = &[
    ("block_count", Count, Made(layers_and_next)),
    ("nextn_predict_layers", Count, Made(|settings| nonzero(settings, "num_nextn_predict_layers"))),
    ("attention.indexer.head_count", Count, Needed(&["index_n_heads"])),
    ("attention.indexer.key_length", Count, Needed(&["index_head_dim"])),
    ("attention.indexer.top_k", Count, Needed(&["index_topk"])),
];

const OWN_KEYS: &[KeyRow] = &[
    ("rope.dimension_count", Count, Made(rotated)),
    ("attention.indexer.types", FlagList, Made(indexers)),
];

fn rotated(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(1.0.into());
    part(&factor, settings.count("qk_rope_head_dim")?).map(Json::from)
}

/// Which layers choose tokens themselves. The others take the choice of the one before.
pub(super) fn indexers(settings: &Settings) -> Option<Json> {
    if let Some(kinds) = settings.find(&["indexer_types"]) {
        return Some(of_kinds(kinds, "full"));
    }
    match settings.find(&["index_topk_pattern"]) {
        Some(Json::String(letters)) => Some(letters.chars().map(|kind| kind == 'F').collect()),
        Some(kinds) => Some(of_kinds(kinds, "full")),
        None => every_so_many(settings),
    }
}

/// What is no list stays as it is, and is refused where it is to be one.
fn of_kinds(kinds: &Json, wanted: &str) -> Json {
    let list = kinds.as_array().map(|kinds| kinds.iter().map(|kind| kind == wanted).collect());
    list.unwrap_or_else(|| kinds.clone())
}

/// All layers, or every so many after the first ones.
fn every_so_many(settings: &Settings) -> Option<Json> {
    let layers = settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)?;
    let period = settings.count("index_topk_freq").unwrap_or(1).max(1);
    let first = settings.count("index_skip_topk_offset").unwrap_or(2);
    Some((0..layers).map(|layer| (layer + 1).saturating_sub(first) % period == 0).collect())
}

fn kinds_of_indexers(told: &Told<'_>, _: &Config) -> Option<Json> {
    let Value::List(layers) = told.own("attention.indexer.types")? else { return None };
    let is_full = |layer: &Value| *layer == Value::Bool(true);
    Some(layers.iter().map(|layer| if is_full(layer) { "full" } else { "shared" }).collect())
}
