//! Hunyuan with experts.

use super::family::*;
use super::hunyuan_dense::{self, HUNYUAN_DENSE, NORMS};

pub(super) const HUNYUAN_MOE: Family = Family {
    architecture: "hunyuan-moe",
    classes: &["HunYuanMoEV1ForCausalLM"],
    types: &["hunyuan_v1_moe", "hunyuan"],
    rows: &[TRUNK, ATTENTION, NORMS, TWO_NORMS, ROWS, EXPERTS],
    ignored: &[],
    keys: &[BASE, KEYS],
    refuse,
    rules: &[RULES, hunyuan_dense::RULES, ROPE],
    tokenizer: Tokenizer::Ranks,
    back: None,
    mlx: false,
    ..HUNYUAN_DENSE
};

const RULES: &[Rule] = &[free(&["num_experts", "eod_token_id", "moe_topk", "num_shared_expert"])];

const ROWS: &[Row] = &[
    ("layers.#.mlp.gate.wg", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.shared_mlp.gate_proj", &["blk.#.ffn_gate_shexp"], Plain),
    ("layers.#.mlp.shared_mlp.up_proj", &["blk.#.ffn_up_shexp"], Plain),
    ("layers.#.mlp.shared_mlp.down_proj", &["blk.#.ffn_down_shexp"], Plain),
];

const KEYS: &[KeyRow] = &[
    ("expert_shared_feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("expert_feed_forward_length", Count, MadeOf(INNER_SIZE, |s| first(s, INNER_SIZE))),
    ("expert_used_count", Count, MadeOf(USED, |settings| first(settings, USED))),
    ("expert_shared_count", Count, MadeOf(SHARED, |settings| first(settings, SHARED))),
    ("rope.freq_base", Number, Made(|settings| hunyuan_dense::base_of(settings, 1000.0))),
    ("rope.scaling.type", Text, Made(|s| hunyuan_dense::stretched(s, "none".into()))),
    ("rope.scaling.factor", Number, Made(|s| hunyuan_dense::stretched(s, 1.0.into()))),
    ("rope.scaling.original_context_length", Count, Made(hunyuan_dense::longest)),
    ("context_length", Count, Made(hunyuan_dense::longest)),
];

const INNER_SIZE: &str = "moe_intermediate_size";
const USED: &str = "moe_topk";
const SHARED: &str = "num_shared_expert";

/// A number that all layers have in common.
fn first(settings: &Settings, key: &str) -> Option<Json> {
    let stated = settings.find(&[key])?;
    Some(stated.as_array().and_then(|all| all.first()).unwrap_or(stated).clone())
}

/// Layers that differ, which files cannot say, and another stretch of positions than the usual one.
fn refuse(settings: &Settings, about: &About<'_>) -> Result<()> {
    let is_same = |key: &&str| match settings.find(&[key]).and_then(Json::as_array) {
        Some(all) => all.windows(2).all(|two| two[0] == two[1]),
        None => true,
    };
    if let Some(key) = [INNER_SIZE, USED, SHARED].iter().find(|key| !is_same(key)) {
        return Err(not_yet(&format!("models with several values of `{key}`")));
    }
    let alpha = settings.rope(&["alpha"]).and_then(Json::as_f64).unwrap_or(1000.0);
    let is_usual = alpha == 1000.0 && settings.head_share() == Some(128);
    if hunyuan_dense::is_dynamic(settings) && !is_usual {
        return Err(not_yet("dynamic scaling with another alpha or width of heads"));
    }
    (HUNYUAN_DENSE.refuse)(settings, about)
}
