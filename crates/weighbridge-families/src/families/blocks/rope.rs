//! Rotary positions: what files say of them, and the factors that they have as tensors.

use serde_json::Value as Json;

use crate::families::settings::Settings;

/// The kind of scaling of rotary positions that GGUF has a name for.
pub(crate) fn scaling(settings: &Settings) -> Option<String> {
    let has_factor = settings.rope(&["factor"]).is_some();
    match settings.rope(&["rope_type"])?.as_str()? {
        kind @ ("linear" | "yarn") => has_factor.then(|| kind.to_owned()),
        "su" | "longrope" => Some("longrope".to_owned()),
        _ => None,
    }
}

/// By how much positions are scaled.
pub(crate) fn scaling_factor(settings: &Settings) -> Option<Json> {
    let kind = scaling(settings).filter(|kind| kind != "longrope");
    kind.and_then(|_| settings.rope(&["factor"]).cloned())
}

/// The attention factor of YaRN models, divided by the factor that llama.cpp applies by itself. The
/// converter writes `yarn_attn_factor` instead, which llama.cpp reads for two architectures only.
pub(crate) fn yarn_factor(settings: &Settings) -> Option<Json> {
    scaling(settings).filter(|kind| kind == "yarn")?;
    // Latent attention has a multiplier of its own, as what grows with the context. This one is for
    // layers with a window too.
    let has_multiplier = settings.find(&["qk_rope_head_dim"]).is_some()
        || settings.rope(&["llama_4_scaling_beta"]).is_some();
    if has_multiplier || settings.local_theta().is_some() {
        return None;
    }
    let number = |key: &str| settings.rope(&[key]).and_then(Json::as_f64).filter(|n| *n != 0.0);
    let factor = number("factor").filter(|factor| *factor > 1.0)?;
    let grown = |scale: f64| 0.1 * scale * factor.ln() + 1.0;
    let both = number("mscale").zip(number("mscale_all_dim"));
    let stated = number("attention_factor").or(both.map(|(own, all)| grown(own) / grown(all)))?;
    let more = stated / grown(1.0);
    ((more - 1.0).abs() > 1e-6).then(|| more.into())
}

/// A part of a width, rounded down.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Rounded down, as Python does.
pub(crate) fn part(factor: &Json, of: u64) -> Option<u64> {
    factor.as_f64().map(|factor| (factor * of as f64) as u64)
}

/// How much of a head is rotated, by the width that the config says.
pub(crate) fn rotated_width(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(0.5.into());
    part(&factor, settings.head_width()?).map(Json::from)
}

/// How much of a head is rotated, by the hidden size.
pub(crate) fn rotated_hidden(settings: &Settings) -> Option<Json> {
    let factor = settings.rope(&["partial_rotary_factor"]).cloned().unwrap_or(1.0.into());
    let rotated = part(&factor, settings.count("hidden_size")?)?;
    rotated.checked_div(settings.count("num_attention_heads")?).map(Json::from)
}

/// Sections of rotary embeddings, one for each of four dimensions.
pub(crate) fn sections(settings: &Settings) -> Option<Json> {
    let mut sections = settings.rope(&["mrope_section"])?.as_array()?.clone();
    sections.resize(4, 0.into());
    Some(sections.into())
}

/// Tensors of the file that follow from a config.
pub(crate) type Tensors = Vec<(&'static str, Vec<f32>)>;

/// By what Llama 3's scaling divides each rotary frequency; none where the model has no such scaling.
///
/// All of it is arithmetic in f32, and a division with a number on its left is the product with a
/// reciprocal, as torch has it: the tensor is the converter's to the bit.
pub(crate) fn llama3_factors(settings: &Settings) -> Tensors {
    let factors = factors(settings);
    factors.into_iter().map(|factors| ("rope_freqs.weight", factors)).collect()
}

fn factors(settings: &Settings) -> Option<Vec<f32>> {
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
pub(crate) fn llama3_divisors(
    base: f64,
    width: u64,
    scaling: &Scaling,
) -> impl Iterator<Item = f32> {
    (0..width).step_by(2).map(move |at| scaling.divisor(frequency(base, at, width)))
}

/// The rotary frequency of the pair that starts at a place of a head.
#[allow(clippy::cast_possible_truncation)] // f32 is what is meant.
pub(crate) fn frequency(base: f64, at: u64, width: u64) -> f32 {
    let exponent = at as f32 / width as f32;
    let power = f64::from(base as f32).powf(f64::from(exponent)) as f32;
    1.0 / power
}

/// The parameters of Llama 3's scaling.
pub(crate) struct Scaling {
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

/// The factors of Phi-3's long and short contexts; none where the config has none.
pub(crate) fn long_factors(settings: &Settings) -> Tensors {
    let factors = |key: &str| settings.rope(&[key]).and_then(numbers);
    match (factors("long_factor"), factors("short_factor")) {
        (Some(long), Some(short)) if !long.is_empty() => {
            vec![("rope_factors_long.weight", long), ("rope_factors_short.weight", short)]
        }
        _ => Vec::new(),
    }
}

fn numbers(values: &Json) -> Option<Vec<f32>> {
    #[allow(clippy::cast_possible_truncation)] // f32 is what the file has.
    let number = |value: &Json| value.as_f64().map(|number| number as f32);
    values.as_array()?.iter().map(number).collect()
}
