//! OLMo 3: OLMo 2 with windows.

use serde_json::json;

use super::family::*;
use super::olmo2::OLMO2;

pub(super) const OLMO3: Family = Family {
    classes: &["Olmo3ForCausalLM"],
    types: &["olmo3"],
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [50304, 4096, 11008, 32, 32, 2048],
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 500000.0,
        local_theta: Some(500000.0),
        more: &[("sliding_window", 4096.0)],
        ..DEFAULTS
    }),
    back: Some(Back {
        is: |told| told.own("attention.sliding_window").is_some(),
        flags: ATTENTION_BIAS,
        made: &[("attention.sliding_window", "sliding_window")],
        fixed: &[("layer_types", layers_with_windows), ("rope_parameters", bases)],
        untold: &[(
            "layer_types",
            "full_attention in every 4th layer, sliding_attention in the others",
        )],
        ..BACK
    }),
    ..OLMO2
};

const RULES: &[Rule] = &[
    SILU,
    NO_ATTENTION_BIAS,
    NEEDS_HEAD,
    HEADS_SHARE,
    UNSCALED_WINDOWS,
    differs(&["sliding_attention.rope_theta"], has_one_base, "uses one base for all layers"),
];

pub(super) fn has_one_base(case: &Case<'_>, base: &Json) -> bool {
    base.is_null() || base.as_f64() == case.value("rope_theta").as_f64()
}

/// The bases of both kinds of layers: where it stands alone, the class takes `rope_theta` for one of
/// them.
fn bases(told: &Told<'_>, config: &Config) -> Option<Json> {
    let full = config.get("rope_theta")?.clone();
    let local = told.own("rope.freq_base_swa").as_ref().and_then(as_json);
    let of = |theta: Json| json!({ "rope_type": "default", "rope_theta": theta });
    Some(json!({
        "full_attention": of(full.clone()),
        "sliding_attention": of(local.unwrap_or(full)),
    }))
}
