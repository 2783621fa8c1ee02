//! The language model of HunyuanOCR and Hunyuan VL: rotary positions of several dimensions.

use serde_json::json;

use super::family::*;
use super::hunyuan_dense::{self, HUNYUAN_DENSE, base_of, is_dynamic, longest, stretched};

pub(super) const HUNYUAN_VL: Family = Family {
    architecture: "hunyuan_vl",
    classes: &["HunYuanVLForConditionalGeneration"],
    types: &["hunyuan_vl_text", "hunyuan_vl"],
    has_sections: true,
    left_out: &[("vit.", "part of the vision model, which GGUF stores in a separate file")],
    keys: &[BASE, KEYS],
    refuse: refuse_without_sections,
    rules: &[RULES, hunyuan_dense::RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [290943, 4096, 11008, 32, 32, 2048],
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    mlx: false,
    back: None,
    ..HUNYUAN_DENSE
};

const RULES: &[Rule] = &[free(&["rope_scaling.xdrope_section", "sep_token_id"])];

const KEYS: &[KeyRow] = &[
    ("rope.freq_base", Number, Made(base)),
    ("rope.scaling.type", Text, Made(|settings| stretched(settings, json!("none")))),
    ("rope.scaling.factor", Number, Made(factor)),
    ("rope.scaling.alpha", Number, Made(alpha)),
    ("rope.scaling.original_context_length", Count, Made(context)),
    ("context_length", Count, Made(context)),
];

/// With sections, llama.cpp stretches the base itself.
fn base(settings: &Settings) -> Option<Json> {
    if settings.has_sections() {
        return settings.rope(&["rope_theta"]).cloned();
    }
    base_of(settings, 50.0)
}

fn factor(settings: &Settings) -> Option<Json> {
    let stated = settings.rope(&["factor"]).filter(|_| settings.has_sections());
    stretched(settings, stated.cloned().unwrap_or(json!(1.0)))
}

fn alpha(settings: &Settings) -> Option<Json> {
    let stated = settings.rope(&["alpha"]).filter(|_| settings.has_sections())?;
    stretched(settings, stated.clone())
}

/// Models with sections state the context that they are for.
fn context(settings: &Settings) -> Option<Json> {
    if settings.has_sections() {
        return stretched(settings, settings.find(CONTEXT)?.clone());
    }
    longest(settings)
}

/// Only without sections the converter knows no other contexts and bases.
fn refuse_without_sections(settings: &Settings, about: &About<'_>) -> Result<()> {
    if settings.has_sections() {
        let has_alpha = !is_dynamic(settings) || settings.rope(&["alpha"]).is_some();
        let missing = || Error::malformed("config.json: rotary scaling states no `alpha`");
        return if has_alpha { Ok(()) } else { Err(missing()) };
    }
    (HUNYUAN_DENSE.refuse)(settings, about)
}
