//! Hunyuan's dense models.

use serde_json::json;

use super::family::*;
use crate::tokenizer::Ends;

pub(super) const HUNYUAN_DENSE: Family = Family {
    architecture: "hunyuan-dense",
    classes: &["HunYuanDenseV1ForCausalLM"],
    types: &["hunyuan_v1_dense"],
    rows: &[TRUNK, ATTENTION, NORMS, MLP, TWO_NORMS],
    drops_head: DropsHead::Tied,
    ignored: &["num_experts"],
    keys: &[BASE, KEYS],
    refuse,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "dynamic"],
    defaults: Some(Defaults {
        sizes: [290943, 4096, 11008, 32, 32, 2048],
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PairsEnding(Ends::Documents),
    back: Some(Back {
        made: &[("context_length", "max_position_embeddings")],
        flags: &[("", HEAD_NORM_WEIGHTS)],
        fixed: &[
            ("rope_scaling", stretch),
            ("rope_theta", base_before),
            ("eod_token_id", end_of_documents),
        ],
        untold: &[("attention_bias", "false")],
        turns_first: true,
        ..BACK
    }),
    ..DECODER
};

pub(super) const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NO_MLP_BIAS,
    fails(
        &["use_qk_norm"],
        |case, _| case.has(".attn_q_norm.weight") || !case.has(".attn_q.weight"),
        "queries and keys of this family are normed",
    ),
    differs(&["num_experts"], is_one, "has no experts in this family"),
    differs(&["use_cla"], off, "has keys and values of its own in every layer"),
    differs(&["use_mla"], off, "has no latent attention in this family"),
    differs(&["use_rotary_pos_emb"], on, "rotates positions"),
    differs(&["norm_type"], |_, kind| kind.is_null() || kind == "rms", "uses RMS norms"),
    free(&["eod_token_id", "rope_scaling.alpha", "attention_head_dim", "cla_share_factor"]),
    // Of parts that these models do not have, and of other programs.
    free(&["add_classification_head", "class_num", "dense_list", "pool_type", "skip_cls_token"]),
    free(&["im_end_id", "im_newline_id", "im_start_id", "image_token_id", "mask_init_id"]),
    free(&["text_end_id", "text_start_id", "video_end_id", "video_start_id", "org_vocab_size"]),
    free(&["kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"]),
    free(&["moe_drop_tokens", "moe_intermediate_size", "moe_layer_num_skipped", "moe_topk"]),
    free(&["moe_random_routing_dropped_token", "norm_topk_prob", "num_shared_expert"]),
    free(&["use_mixed_mlp_moe", "group_limited_greedy", "n_group", "topk_group", "pad_id"]),
    free(&["routed_scaling_factor", "num_media_embeds", "xdrope_section"]),
    free(&["position_embedding_xdrope", "anyres_pooling_size", "anyres_vit_max_image_size"]),
    free(&["anyres_vit_two_views", "vit_*"]),
];

pub(super) const NORMS: &[Row] = &[
    ("layers.#.self_attn.query_layernorm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.self_attn.key_layernorm", &["blk.#.attn_k_norm"], Norm),
];

const KEYS: &[KeyRow] = &[
    ("rope.freq_base", Number, Made(|settings| base_of(settings, 50.0))),
    ("rope.scaling.type", Text, Made(|settings| stretched(settings, json!("none")))),
    ("rope.scaling.factor", Number, Made(|settings| stretched(settings, json!(1.0)))),
    ("rope.scaling.original_context_length", Count, Made(longest)),
    ("context_length", Count, Made(longest)),
];

/// The context that a stretched base is for, whatever configs state.
const LONGEST: u64 = 256 * 1024;

pub(super) fn is_dynamic(settings: &Settings) -> bool {
    settings.rope(&["rope_type"]).is_some_and(|kind| *kind == "dynamic")
}

fn plain_base(settings: &Settings) -> Option<Json> {
    settings.rope(&["rope_theta"]).cloned()
}

/// The base of rotary frequencies, stretched once and for all contexts where the config says so.
pub(super) fn base_of(settings: &Settings, alpha: f64) -> Option<Json> {
    if !is_dynamic(settings) {
        return plain_base(settings);
    }
    let number = |key: &str| settings.rope(&[key]).and_then(Json::as_f64);
    let width = settings.head_width().filter(|width| *width > 2)? as f64;
    let alpha = number("alpha").unwrap_or(alpha);
    Some((number("rope_theta")? * alpha.powf(width / (width - 2.0))).into())
}

pub(super) fn longest(settings: &Settings) -> Option<Json> {
    stretched(settings, LONGEST.into())
}

pub(super) fn stretched(settings: &Settings, value: Json) -> Option<Json> {
    is_dynamic(settings).then_some(value)
}

/// The converter knows no other contexts and bases to stretch.
fn refuse(settings: &Settings, _: &About<'_>) -> Result<()> {
    if !is_dynamic(settings) {
        return Ok(());
    }
    let base = plain_base(settings).and_then(|base| base.as_f64());
    let context = settings.count("max_position_embeddings");
    let is_known = base == Some(10000.0) && [Some(1 << 15), Some(LONGEST)].contains(&context);
    let message = "dynamic scaling of another rotary base or context";
    if is_known { Ok(()) } else { Err(not_yet(message)) }
}

const HEAD_NORM_WEIGHTS: &[&str] = &["blk.#.attn_q_norm.weight", "blk.#.attn_k_norm.weight"];

/// The base of every model with a stretched one.
const BASE_BEFORE: f64 = 10000.0;

/// The stretch that makes a file's base of the usual one: those of published models are tried.
fn stretch(told: &Told<'_>, config: &Config) -> Option<Json> {
    let original = told.own("rope.scaling.original_context_length")?.as_u64();
    let base = config.get("rope_theta")?.as_f64().filter(|_| original == Some(LONGEST))?;
    let width = told.own("attention.key_length")?.as_u64().filter(|width| *width > 2)? as f64;
    let makes = |alpha: &f64| {
        let made = BASE_BEFORE * alpha.powf(width / (width - 2.0));
        #[allow(clippy::cast_possible_truncation)] // Files have it so.
        let is_same = made as f32 == base as f32;
        is_same
    };
    let alpha = [1000.0, 50.0].into_iter().find(makes)?;
    Some(json!({ "rope_type": "dynamic", "alpha": alpha, "factor": 1.0 }))
}

fn base_before(_: &Told<'_>, config: &Config) -> Option<Json> {
    let kind = config.get("rope_scaling")?.get("rope_type")?;
    (kind == "dynamic").then(|| BASE_BEFORE.into())
}

/// The one that a file has for the end of a text.
fn end_of_documents(told: &Told<'_>, _: &Config) -> Option<Json> {
    let id = told.count("tokenizer.ggml.eos_token_id")?;
    (id < told.rows_of("token_embd.weight")).then(|| id.into())
}
