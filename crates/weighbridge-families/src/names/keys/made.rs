//! Values that a config does not state, but that follow from several of its values.

use serde_json::Value as Json;

use super::settings::Settings;

/// More layers than any model has: a config may state any number.
const MOST_LAYERS: u64 = 1 << 12;

/// The kind of scaling of rotary positions that GGUF has a name for.
pub(super) fn scaling(settings: &Settings) -> Option<String> {
    let has_factor = settings.rope(&["factor"]).is_some();
    match settings.rope(&["rope_type"])?.as_str()? {
        kind @ ("linear" | "yarn") => has_factor.then(|| kind.to_owned()),
        "su" | "longrope" => Some("longrope".to_owned()),
        _ => None,
    }
}

/// The same as a value.
pub(super) fn scaling_type(settings: &Settings) -> Option<Json> {
    scaling(settings).map(Json::from)
}

/// By how much positions are scaled.
pub(super) fn scaling_factor(settings: &Settings) -> Option<Json> {
    let kind = scaling(settings).filter(|kind| kind != "longrope");
    kind.and_then(|_| settings.rope(&["factor"]).cloned())
}

/// What files of some families say whatever the config says.
pub(super) fn no_scaling(_: &Settings) -> Option<Json> {
    Some("none".into())
}

/// False where attention looks ahead.
pub(super) fn not_causal(settings: &Settings) -> Option<Json> {
    settings.find(&["is_causal"]).filter(|causal| causal.as_bool() == Some(false)).cloned()
}

/// The base of rotary frequencies in layers with a sliding window.
pub(super) fn local_theta(settings: &Settings) -> Option<Json> {
    settings.local_theta().cloned()
}

/// The number of the function that chooses experts.
pub(super) fn gating(settings: &Settings) -> Option<Json> {
    let keys = ["score_function", "scoring_func", "score_func", "moe_router_activation"];
    let more = ["moe_router_activation_func", "expert_selection_fn"];
    let name = settings.find(&[&keys[..], &more[..]].concat())?;
    let number = match name.as_str() {
        Some("softmax") => 1.into(),
        Some("sigmoid") => 2.into(),
        Some("sqrtsoftplus") => 4.into(),
        // No number, and so refused where it is to be one.
        _ => name.clone(),
    };
    Some(number)
}

/// The width of a head.
pub(super) fn head_width(settings: &Settings) -> Option<Json> {
    settings.head_width().map(Json::from)
}

/// A part of a width, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rounded down, as Python does.
fn part(factor: &Json, of: u64) -> Option<u64> {
    factor.as_f64().map(|factor| (factor * of as f64) as u64)
}

/// How much of a head is rotated, by the width that the config says.
pub(super) fn rotated_width(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(0.5.into());
    part(&factor, settings.head_width()?).map(Json::from)
}

/// How much of a head is rotated, by what the heads make of the hidden size.
pub(super) fn rotated_share(settings: &Settings) -> Option<Json> {
    part(settings.find(&["rotary_pct"])?, settings.head_share()?).map(Json::from)
}

/// How much of a head is rotated, by the hidden size.
pub(super) fn rotated_hidden(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(1.0.into());
    let rotated = part(&factor, settings.count("hidden_size")?)?;
    rotated.checked_div(settings.count("num_attention_heads")?).map(Json::from)
}

/// What attention is multiplied by in contexts longer than those of the training.
pub(super) fn attention_factor(settings: &Settings) -> Option<Json> {
    settings.rope(&["long_factor"])?;
    let original = settings.rope(&["original_max_position_embeddings"])?.as_f64()?;
    let scale = settings.count("max_position_embeddings")? as f64 / original;
    let factor = match scale > 1.0 {
        true => (1.0 + scale.ln() / original.ln()).sqrt(),
        false => 1.0,
    };
    Some(factor.into())
}

/// Zero tells Phi-4 from its forebears.
pub(super) fn window_or_none(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["sliding_window"]).cloned().unwrap_or(0.into()))
}

/// The window, unless every layer sees everything.
pub(super) fn window_unless_everywhere(settings: &Settings) -> Option<Json> {
    let everywhere = settings.count("sliding_window_pattern") == Some(1);
    settings.find(&["sliding_window"]).filter(|_| !everywhere).cloned()
}

/// A number, unless it is zero.
pub(super) fn nonzero(settings: &Settings, key: &str) -> Option<Json> {
    settings.find(&[key]).filter(|value| value.as_f64() != Some(0.0)).cloned()
}

/// All layers, with those that predict further tokens.
pub(super) fn layers_and_next(settings: &Settings) -> Option<Json> {
    let next = settings.count("num_nextn_predict_layers").unwrap_or(0);
    settings.count("num_hidden_layers")?.checked_add(next).map(Json::from)
}

/// All layers, with those that stand beside the model.
pub(super) fn layers_and_beside(settings: &Settings) -> Option<Json> {
    settings.count("num_hidden_layers")?.checked_add(beside(settings)).map(Json::from)
}

/// How many layers stand beside the model.
fn beside(settings: &Settings) -> u64 {
    settings.count("mtp_num_hidden_layers").unwrap_or(0)
}

/// The same, if there are any.
pub(super) fn layers_beside(settings: &Settings) -> Option<Json> {
    Some(beside(settings)).filter(|layers| *layers > 0).map(Json::from)
}

/// Sigmoid, whatever the config says.
pub(super) fn sigmoid(_: &Settings) -> Option<Json> {
    Some(2.into())
}

/// Which layers have a sliding window, where there is one: all but every fourth, unless the config
/// lists them.
pub(super) fn sliding_layers(settings: &Settings) -> Option<Json> {
    settings.find(&["sliding_window"])?;
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let is_sliding = |kind: &Json| kind == "sliding_attention";
    Some(match settings.find(&["layer_types"]) {
        Some(Json::Array(kinds)) => kinds.iter().map(is_sliding).collect(),
        // No list, and so refused where it is to be one.
        Some(other) => other.clone(),
        None => (1..=layers).map(|layer| layer % 4 != 0).collect(),
    })
}

/// Which layers have linear attention: all but every so many, unless the config lists them. Those
/// beside the model have none.
pub(super) fn recurrent_layers(settings: &Settings) -> Option<Json> {
    let layers = settings.count("num_hidden_layers").filter(|layers| *layers <= MOST_LAYERS)?;
    let more = vec![false; usize::try_from(beside(settings).min(MOST_LAYERS)).unwrap_or(0)];
    let is_linear = |kind: &Json| kind == "linear_attention";
    let mut kinds: Vec<bool> = match settings.find(&["layer_types"]) {
        Some(Json::Array(kinds)) if kinds.len() as u64 == layers => {
            kinds.iter().map(is_linear).collect()
        }
        // No list of all layers, and so refused where it is to be one.
        Some(_) => return Some("layer_types".into()),
        None => {
            let interval = settings.count("full_attention_interval").unwrap_or(4).max(1);
            (1..=layers).map(|layer| layer % interval != 0).collect()
        }
    };
    kinds.extend(more);
    Some(kinds.into())
}

fn listed_layers(settings: &Settings) -> Option<&Vec<Json>> {
    settings.find(&["layer_types"]).and_then(Json::as_array)
}

/// Every how many layers attention is full. Where the class lists the layers itself, it forgets this.
pub(super) fn full_attention_interval(settings: &Settings) -> Option<Json> {
    let said = settings.find(&["full_attention_interval"]).cloned();
    Some(said.filter(|_| listed_layers(settings).is_some()).unwrap_or(4.into()))
}

/// The width of all value heads.
pub(super) fn all_values(settings: &Settings) -> Option<Json> {
    let (heads, width) = ("linear_num_value_heads", "linear_value_head_dim");
    settings.count(heads)?.checked_mul(settings.count(width)?).map(Json::from)
}

/// Sections of rotary embeddings, one for each of four dimensions.
pub(super) fn sections(settings: &Settings) -> Option<Json> {
    let mut sections = settings.rope(&["mrope_section"])?.as_array()?.clone();
    sections.resize(4, 0.into());
    Some(sections.into())
}

/// Qwen's sections, for configs that have none.
pub(super) fn usual_sections(settings: &Settings) -> Option<Json> {
    (!settings.has_sections()).then(|| vec![11, 11, 10, 0].into())
}

/// The one head of keys that DeepSeek's attention has when its keys are not made.
pub(super) fn one(_: &Settings) -> Option<Json> {
    Some(1.into())
}

/// How many layers come before the first with experts.
pub(super) fn dense_layers(settings: &Settings) -> Option<Json> {
    let has_experts = settings.find(&["n_routed_experts"]).is_some();
    let said = settings.find(&["first_k_dense_replace"]).cloned();
    match has_experts {
        true => said.or_else(|| Some(0.into())),
        false => said.or_else(|| settings.find(&["num_hidden_layers"]).cloned()),
    }
}

fn latent(settings: &Settings) -> u64 {
    settings.count("kv_lora_rank").unwrap_or(512)
}

/// The length of the vector that keys and values are made from.
pub(super) fn latent_length(settings: &Settings) -> Option<Json> {
    Some(latent(settings).into())
}

/// The same with what is rotated.
pub(super) fn latent_key_length(settings: &Settings) -> Option<Json> {
    latent(settings).checked_add(settings.count("qk_rope_head_dim")?).map(Json::from)
}

/// The length of the keys that are made from it.
pub(super) fn made_key_length(settings: &Settings) -> Option<Json> {
    let (plain, rotated) = ("qk_nope_head_dim", "qk_rope_head_dim");
    settings.count(plain)?.checked_add(settings.count(rotated)?).map(Json::from)
}

/// How many experts see every token.
pub(super) fn shared_experts(settings: &Settings) -> Option<Json> {
    Some(settings.find(&["n_shared_experts"]).cloned().unwrap_or(0.into()))
}

/// True, or nothing.
pub(super) fn normalized(settings: &Settings) -> Option<Json> {
    settings.find(&["norm_topk_prob"]).filter(|said| said.as_bool() != Some(false)).cloned()
}

/// How attention grows with the context. A tenth of what the config says, for reasons of history.
pub(super) fn yarn_multiplier(settings: &Settings) -> Option<Json> {
    let all = settings.rope(&["mscale_all_dim"])?;
    Some(all.as_f64().map_or_else(|| all.clone(), |all| (0.1 * all).into()))
}

/// Zero where every layer sees everything.
pub(super) fn no_window(settings: &Settings) -> Option<Json> {
    let rotated = settings.find(&["no_rope_layers"]).and_then(Json::as_array);
    let is_full = match (listed_layers(settings), rotated) {
        (Some(kinds), _) => kinds.iter().all(|kind| kind == "full_attention"),
        (None, Some(rotated)) if !rotated.is_empty() => rotated.iter().all(|layer| layer == 0),
        (None, _) => settings.count("no_rope_layer_interval") == Some(1),
    };
    is_full.then(|| 0.into())
}
