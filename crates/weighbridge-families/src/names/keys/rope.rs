//! Rotary parameters: where configs of different age have them, and the factors that GGUF stores
//! as tensors.

use serde_json::{Map, Value as Json, json};

use super::classes::Class;
use super::families::family_of;
use super::settings::Settings;

type Values = Map<String, Json>;

fn object<'a>(values: &'a Values, key: &str) -> Option<&'a Values> {
    values.get(key).and_then(Json::as_object)
}

/// The parameters as a config states them that no class reads.
pub(super) fn as_stated(values: &Values) -> Values {
    let key = ["rope_parameters", "rope_scaling"].into_iter().find(|key| values.contains_key(*key));
    key.and_then(|key| object(values, key)).cloned().unwrap_or_default()
}

/// The parameters as a class completes them: under `rope_scaling` in older configs, with the base
/// beside it, and under `rope_parameters` in newer ones.
pub(super) fn filled(values: &Values, class: &Class) -> Values {
    let scaling = object(values, "rope_scaling").filter(|scaling| !scaling.is_empty());
    let stated = object(values, "rope_parameters");
    let theta = values.get("rope_theta").cloned().unwrap_or_else(|| class.theta.into());
    if let Some(local) = class.local_theta {
        return by_layer(values, scaling, stated, (theta, local));
    }
    let mut rope = scaling.or(stated).cloned().unwrap_or_else(|| by_default(class));
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
fn by_default(class: &Class) -> Values {
    let kind = (!class.yarn.is_empty()).then(|| ("rope_type".to_owned(), "yarn".into()));
    let stated = class.yarn.iter().map(|&(key, value)| (key.to_owned(), value.into()));
    stated.chain(kind).collect()
}

/// Parameters of layers that see everything and of those with a sliding window.
fn by_layer(
    values: &Values,
    scaling: Option<&Values>,
    stated: Option<&Values>,
    (theta, local): (Json, f64),
) -> Values {
    let mut rope = stated.cloned().unwrap_or_default();
    let local = values.get("rope_local_base_freq").cloned().unwrap_or_else(|| local.into());
    for (layers, theta) in [("full_attention", theta), ("sliding_attention", local)] {
        // Nothing said is a type too: `type` in what is added later does not change it.
        let unsaid = || Values::from_iter([("rope_type".to_owned(), "default".into())]);
        let mut own = object(&rope, layers).cloned().unwrap_or_else(unsaid);
        if let Some(scaling) = scaling.filter(|_| layers == "full_attention") {
            own.extend(scaling.clone());
        }
        own.entry("rope_theta").or_insert(theta);
        name_type(&mut own);
        let scaled = own.get("rope_type").and_then(Json::as_str).is_some_and(is_scaled);
        if let Some(context) = values.get("max_position_embeddings").filter(|_| scaled) {
            own.entry("original_max_position_embeddings").or_insert_with(|| context.clone());
        }
        rope.insert(layers.into(), own.into());
    }
    rope
}

/// Whether a type of rotary parameters states the context before scaling.
fn is_scaled(kind: &str) -> bool {
    ["llama3", "yarn", "longrope"].contains(&kind)
}

/// `type` is what `rope_type` was called before.
fn name_type(rope: &mut Values) {
    let kind = rope.get("type").cloned().unwrap_or_else(|| "default".into());
    rope.entry("rope_type").or_insert(kind);
}

/// Adds what stands beside the parameters and belongs to them.
pub(super) fn mirrored(mut rope: Values, values: &Values) -> Values {
    if rope.contains_key("full_attention") || rope.contains_key("sliding_attention") {
        return rope;
    }
    let find = |keys: &[&str]| {
        keys.iter().find_map(|key| values.get(*key)).filter(|value| !value.is_null()).cloned()
    };
    if let Some(theta) = find(LOCAL_THETA) {
        rope.insert("sliding_attention".into(), json!({ "rope_theta": theta }));
    }
    let kind = rope.get("type").cloned();
    let more = [
        ("rope_theta", find(THETA)),
        ("rope_type", kind),
        ("partial_rotary_factor", find(&["partial_rotary_factor", "rope_pct", "rope_percent"])),
        ("original_max_position_embeddings", find(&["original_max_position_embeddings"])),
    ];
    for (key, value) in more {
        if let Some(value) = value {
            rope.entry(key).or_insert(value);
        }
    }
    rope
}

const THETA: &[&str] = &[
    "global_rope_theta",
    "rope_global_theta",
    "rope_theta_global",
    "rope_theta",
    "rotary_emb_base",
];
const LOCAL_THETA: &[&str] = &[
    "local_rope_theta",
    "rope_local_theta",
    "rope_theta_local",
    "swa_rope_theta",
    "rope_local_base_freq",
];

/// By what Llama 3's scaling divides each rotary frequency (`rope_freqs.weight`); none where the
/// model has no such scaling, or is of a family whose file does not have the tensor.
///
/// All of it is arithmetic in f32, and a division with a number on its left is the product with a
/// reciprocal, as torch has it: the tensor is the converter's to the bit.
pub fn rope_factors(config: &Json) -> Option<Vec<f32>> {
    family_of(config).filter(|family| family.has_rope_freqs)?;
    let settings = Settings::of(config);
    let kind = settings.rope(&["rope_type"])?.as_str()?;
    if !kind.eq_ignore_ascii_case("llama3") {
        return None;
    }
    let number = |key: &str, otherwise: f64| {
        settings.rope(&[key]).and_then(Json::as_f64).unwrap_or(otherwise)
    };
    let scaling = Scaling {
        factor: number("factor", 8.0),
        low: number("low_freq_factor", 1.0),
        high: number("high_freq_factor", 4.0),
        context: number("original_max_position_embeddings", 8192.0),
    };
    // Nobody has wider heads, and a config may say anything.
    let width = settings.head_width().filter(|width| *width <= 1 << 16)?;
    Some(llama3_divisors(number("rope_theta", 10000.0), width, &scaling).collect())
}

/// The factors of heads of a width.
pub(super) fn llama3_divisors(
    base: f64,
    width: u64,
    scaling: &Scaling,
) -> impl Iterator<Item = f32> {
    (0..width).step_by(2).map(move |at| scaling.divisor(frequency(base, at, width)))
}

/// The rotary frequency of the pair that starts at a place of a head.
#[allow(clippy::cast_possible_truncation)] // f32 is what is meant.
fn frequency(base: f64, at: u64, width: u64) -> f32 {
    let exponent = at as f32 / width as f32;
    let power = f64::from(base as f32).powf(f64::from(exponent)) as f32;
    1.0 / power
}

/// The parameters of Llama 3's scaling.
pub(super) struct Scaling {
    pub factor: f64,
    /// Wavelengths longer than the context by this are scaled.
    pub low: f64,
    /// Those shorter than the context by this are not.
    pub high: f64,
    /// The context of the training.
    pub context: f64,
}

impl Scaling {
    #[allow(clippy::cast_possible_truncation)] // f32 is what is meant.
    fn divisor(&self, frequency: f32) -> f32 {
        let length = (1.0 / frequency) * std::f64::consts::TAU as f32;
        let factor = self.factor as f32;
        if length < (self.context / self.high) as f32 {
            return 1.0;
        }
        if length > (self.context / self.low) as f32 {
            return factor;
        }
        let turns = (1.0 / length) * self.context as f32;
        let smooth = (turns - self.low as f32) / (self.high - self.low) as f32;
        1.0 / ((1.0 - smooth) / factor + smooth)
    }
}

/// The factors of Phi-3's long and short contexts (`rope_factors_long.weight` and
/// `rope_factors_short.weight`, in this order in the file); none where the config has none.
pub fn long_rope_factors(config: &Json) -> Option<(Vec<f32>, Vec<f32>)> {
    family_of(config).filter(|family| family.architecture == "phi3")?;
    let settings = Settings::of(config);
    let long = numbers(settings.rope(&["long_factor"])?)?;
    let short = numbers(settings.rope(&["short_factor"])?)?;
    (!long.is_empty()).then_some((long, short))
}

fn numbers(values: &Json) -> Option<Vec<f32>> {
    #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
    let number = |value: &Json| value.as_f64().map(|number| number as f32);
    values.as_array()?.iter().map(number).collect()
}
