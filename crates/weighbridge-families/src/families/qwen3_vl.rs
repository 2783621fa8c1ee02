//! The language model of Qwen 3 VL.

use super::family::*;
use super::qwen2_vl::SECTIONS;
use super::qwen3::QWEN3;

pub(super) const QWEN3_VL: Family = Family {
    architecture: "qwen3vl",
    classes: &["Qwen3VLForConditionalGeneration"],
    types: &["qwen3_vl_text", "qwen3_vl"],
    prefix: "model.language_model.",
    has_sections: true,
    keys: &[BASE, &[POOLING], DEEPSTACK],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [151936, 4096, 22016, 32, 32, 128000],
        key_heads: KeyHeads::Of(32),
        head: Head::OfOrShare(128),
        theta: 500000.0,
        ..DEFAULTS
    }),
    back: None,
    mlx: false,
    ..QWEN3
};

pub(super) const RULES: &[Rule] = &[SILU, NO_ATTENTION_BIAS, SECTIONS, REACHED];

/// Three sections take turns. Frequencies behind the end of one are not rotated by llama.cpp, and with the first
/// section's positions by the model. The last ones rotate so little that this does not matter.
pub(super) const REACHED: Rule = differs(
    &["rope_scaling.mrope_interleaved", "rope_scaling.mrope_section"],
    |case, _| is_reached(case.settings, &case.value("rope_scaling.mrope_section")),
    "does not rotate the frequencies that no section reaches",
);

fn is_reached(settings: &Settings, sections: &Json) -> bool {
    let part = |at: usize| sections.get(at).and_then(Json::as_u64);
    let count = settings.head_width().unwrap_or(128) / 2;
    let (Some(t), Some(h), Some(w)) = (part(0), part(1), part(2)) else {
        return true;
    };
    let has = |at: u64| at / 3 < [t, h, w][(at % 3) as usize];
    (0..count - count / 16).all(has)
}

/// Into how many of the first layers the vision model sends features of its own.
pub(super) const DEEPSTACK: &[KeyRow] = &[("n_deepstack_layers", Count, Made(deepstack_layers))];

fn deepstack_layers(settings: &Settings) -> Option<Json> {
    let vision = settings.find(&["vision_config"]);
    let listed = vision.and_then(|vision| vision.get("deepstack_visual_indexes"));
    // The class has three of them.
    Some(listed.map_or(3, |layers| layers.as_array().map_or(0, Vec::len)).into())
}
