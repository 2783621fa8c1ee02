//! Rotary parameters, where configs of different age have them.

use serde_json::{Map, Value as Json, json};

use crate::families::defaults::Defaults;

type Values = Map<String, Json>;

fn object<'a>(values: &'a Values, key: &str) -> Option<&'a Values> {
    values.get(key).and_then(Json::as_object)
}

fn scaling(values: &Values) -> Option<&Values> {
    object(values, "rope_scaling").filter(|scaling| !scaling.is_empty())
}

/// The parameters as a config states them that no class reads.
pub(super) fn as_stated(values: &Values) -> Values {
    let key = ["rope_parameters", "rope_scaling"].into_iter().find(|key| values.contains_key(*key));
    key.and_then(|key| object(values, key)).cloned().unwrap_or_default()
}

/// The parameters as a class completes them: under `rope_scaling` in older configs, with the base
/// beside it, and under `rope_parameters` in newer ones.
pub(super) fn filled(values: &Values, class: &Defaults) -> Values {
    let stated = object(values, "rope_parameters");
    let theta = values.get("rope_theta").cloned().unwrap_or_else(|| class.theta.into());
    if let Some(local) = class.local_theta {
        let theta = super::first(values, THETA).cloned().unwrap_or(theta);
        return by_layer(values, class, theta, local);
    }
    let mut rope = scaling(values).or(stated).cloned().unwrap_or_else(|| by_default(class));
    rope.entry("rope_theta").or_insert(theta);
    let rotated = values.get("partial_rotary_factor").cloned();
    if let Some(rotated) = rotated.or(class.rotated.map(Json::from)) {
        rope.entry("partial_rotary_factor").or_insert(rotated);
    }
    name_type(&mut rope);
    let kind = rope.get("rope_type").and_then(Json::as_str).unwrap_or_default().to_owned();
    if class.original_context.is_some() && ["su", "yarn"].contains(&&*kind) {
        rope.insert("rope_type".into(), "longrope".into());
    }
    if ["llama3", "yarn", "longrope", "su"].contains(&&*kind) {
        let original = values.get("original_max_position_embeddings").cloned();
        if let Some(original) = original.filter(|_| class.original_context.is_some()) {
            rope.insert("original_max_position_embeddings".into(), original);
        } else if let Some(context) = values.get("max_position_embeddings") {
            rope.entry("original_max_position_embeddings").or_insert_with(|| context.clone());
        }
    }
    rope
}

/// The parameters of a config that states none.
fn by_default(class: &Defaults) -> Values {
    let Some((kind, stated)) = class.scaling else { return Values::new() };
    let stated = stated.iter().map(|&(key, value)| (key.to_owned(), value.into()));
    stated.chain([("rope_type".to_owned(), kind.into())]).collect()
}

/// Parameters of layers that see everything and of those with a sliding window.
fn by_layer(values: &Values, class: &Defaults, theta: Json, local: f64) -> Values {
    let stated = object(values, "rope_parameters");
    let mut rope = stated.cloned().unwrap_or_default();
    let local = super::first(values, LOCAL_THETA).cloned().unwrap_or_else(|| local.into());
    for (layers, theta) in [("full_attention", theta), ("sliding_attention", local)] {
        // Nothing said is a type too: `type` in what is added later does not change it.
        let unsaid = || Values::from_iter([("rope_type".to_owned(), "default".into())]);
        let is_scaled = stated.is_none() && layers == "full_attention" && class.scaling.is_some();
        let unsaid = || if is_scaled { by_default(class) } else { unsaid() };
        let mut own = object(&rope, layers).cloned().unwrap_or_else(unsaid);
        if let Some(scaling) = scaling(values).filter(|_| layers == "full_attention") {
            own.extend(scaling.clone());
        }
        own.entry("rope_theta").or_insert(theta);
        name_type(&mut own);
        // These types state the context before scaling.
        let kind = own.get("rope_type").and_then(Json::as_str);
        let scaled = kind.is_some_and(|kind| ["llama3", "yarn", "longrope"].contains(&kind));
        if let Some(context) = values.get("max_position_embeddings").filter(|_| scaled) {
            own.entry("original_max_position_embeddings").or_insert_with(|| context.clone());
        }
        rope.insert(layers.into(), own.into());
    }
    rope
}

/// `type` is what `rope_type` was called before.
fn name_type(rope: &mut Values) {
    let kind = rope.get("type").cloned().unwrap_or_else(|| "default".into());
    rope.entry("rope_type").or_insert(kind);
    // So Hunyuan called dynamic scaling with sections.
    if rope.get("rope_type").is_some_and(|kind| kind == "xdrope") {
        rope.insert("rope_type".into(), "dynamic".into());
    }
    if let Some(sections) = rope.remove("xdrope_section") {
        rope.entry("mrope_section").or_insert(sections);
    }
}

/// Adds what stands beside the parameters and belongs to them.
pub(super) fn mirrored(mut rope: Values, values: &Values) -> Values {
    if rope.contains_key("full_attention") || rope.contains_key("sliding_attention") {
        return rope;
    }
    let find = |keys: &[&str]| super::first(values, keys).cloned();
    let (theta, of_windows) = match find(THETA) {
        // One for each layer: the second layer is the first with a window.
        Some(Json::Array(all)) => (all.first().cloned(), all.get(1).cloned()),
        one => (one, None),
    };
    if rope.get("rope_theta").is_some_and(Json::is_array) {
        rope.remove("rope_theta");
    }
    if let Some(theta) = find(LOCAL_THETA).or(of_windows) {
        rope.insert("sliding_attention".into(), json!({ "rope_theta": theta }));
    }
    let kind = rope.get("type").cloned();
    let more = [
        ("rope_theta", theta),
        ("rope_type", kind),
        ("partial_rotary_factor", find(&["partial_rotary_factor", "rope_pct", "rope_percent"])),
        ("original_max_position_embeddings", find(&["original_max_position_embeddings"])),
    ];
    for (key, value) in more.into_iter().filter_map(|(key, value)| Some((key, value?))) {
        rope.entry(key).or_insert(value);
    }
    rope
}

#[rustfmt::skip]
const THETA: &[&str] = &[
    "global_rope_theta", "rope_global_theta", "rope_theta_global", "rope_theta", "rotary_emb_base",
];
#[rustfmt::skip]
const LOCAL_THETA: &[&str] = &[
    "local_rope_theta", "rope_local_theta", "rope_theta_local", "swa_rope_theta", "rope_local_base_freq",
];

/// Whether a key of a config states rotary parameters, which have names of their own.
pub(super) fn is_stated_by(key: &str) -> bool {
    let more = ["rope_parameters", "rope_scaling", "partial_rotary_factor", "rope_pct"];
    THETA.contains(&key) || LOCAL_THETA.contains(&key) || more.contains(&key)
}

/// Parameters by name: `rope_theta`, `rope_scaling.factor`, `sliding_attention.rope_theta`.
pub(super) fn named(rope: &Values) -> Vec<(String, Json)> {
    let mut all = Vec::new();
    for (key, value) in rope {
        match (key.as_str(), value) {
            (_, Json::Object(layers)) => {
                let of = |(name, value): (String, Json)| (format!("{key}.{name}"), value);
                all.extend(named(layers).into_iter().map(of));
            }
            // An older name of `rope_type`, a kind that scales nothing, and a record of the training.
            ("type" | "finetuned", _) => {}
            ("rope_type", kind) if kind == "default" => {}
            ("rope_theta" | "partial_rotary_factor", value) => {
                all.push((key.clone(), value.clone()));
            }
            (_, value) => all.push((format!("rope_scaling.{key}"), value.clone())),
        }
    }
    all
}
