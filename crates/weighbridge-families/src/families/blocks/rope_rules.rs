//! What llama.cpp takes for granted of rotary positions.

use super::rules::{Case, Rule, differs, free, is_number};

/// Of families whose files state the base and the scaling.
pub(crate) const ROPE: &[Rule] = &[
    KIND,
    BETA_FAST,
    BETA_SLOW,
    TRUNCATE,
    ATTENTION_FACTOR,
    free(&[
        "rope_theta",
        "partial_rotary_factor",
        "rope_scaling.factor",
        "rope_scaling.original_max_position_embeddings",
        "original_max_position_embeddings",
        "rope_scaling.low_freq_factor",
        "rope_scaling.high_freq_factor",
        "rope_scaling.long_factor",
        "rope_scaling.short_factor",
        "rope_scaling.mrope_section",
        "rope_scaling.mrope_interleaved",
        "rope_scaling.rope_theta",
        "rope_interleaved",
    ]),
];

const KIND: Rule = differs(
    &["rope_scaling.rope_type", "rope_scaling"],
    |case, kind| {
        let kind = kind.as_str().unwrap_or("default");
        let kind = if kind == "su" { "longrope" } else { kind };
        kind == "default" || kind == "mrope" || case.scalings.contains(&kind)
    },
    "does not scale rotary positions in this way",
);

const BETA_FAST: Rule = differs(
    &["rope_scaling.beta_fast"],
    |case, beta| !scales_by(case, "yarn") || is_number(beta, 32.0),
    "uses 32",
);

const BETA_SLOW: Rule = differs(
    &["rope_scaling.beta_slow"],
    |case, beta| !scales_by(case, "yarn") || is_number(beta, 1.0),
    "uses 1",
);

/// In families whose layers have bases of two kinds, llama.cpp multiplies those with a window too.
const ATTENTION_FACTOR: Rule = differs(
    &[
        "rope_scaling.attention_factor",
        "rope_scaling.attn_factor",
        "rope_scaling.mscale",
        "rope_scaling.mscale_all_dim",
    ],
    |case, _| {
        let is_stated = ["attention_factor", "mscale"]
            .iter()
            .any(|key| !case.value(&format!("rope_scaling.{key}")).is_null());
        let is_carried = case.settings.local_theta().is_none();
        !scales_by(case, "yarn") || !is_stated || is_carried || is_own_factor(case)
    },
    "uses the factor of YaRN itself",
);

/// Whether a config states what YaRN computes by itself.
fn is_own_factor(case: &Case<'_>) -> bool {
    let number = |key: &str| case.value(key).as_f64();
    let own = number("rope_scaling.factor").map(|factor| 0.1 * factor.ln() + 1.0);
    let stated = number("rope_scaling.attention_factor");
    own.zip(stated).is_some_and(|(own, stated)| (own - stated).abs() < 1e-6)
}

const TRUNCATE: Rule = differs(
    &["rope_scaling.truncate"],
    |case, truncate| !scales_by(case, "yarn") || *truncate != false,
    "rounds the range of rotary dimensions that are scaled",
);

fn scales_by(case: &Case<'_>, kind: &str) -> bool {
    case.value("rope_scaling.rope_type") == kind
}

/// Of families with windows: layers that have one are not scaled.
pub(crate) const UNSCALED_WINDOWS: Rule = differs(
    &["sliding_attention.rope_scaling.rope_type", "sliding_attention.rope_scaling.*"],
    |_, kind| kind.is_null() || kind == "default",
    "does not scale rotary positions in layers with a window",
);
