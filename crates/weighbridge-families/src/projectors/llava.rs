//! Pixtral, as Llava and as Mistral 3 have it: an encoder with rotary embeddings, and a token that ends a row of
//! patches.

use super::projector::*;
use crate::view::View;

pub(super) const LLAVA: Projector = Projector {
    shown: "llava",
    classes: &["LlavaForConditionalGeneration"],
    defaults: PIXTRAL_DEFAULTS,
    settle: |facts| {
        only_pixtral(facts)?;
        set_break(facts)
    },
    starts: &[
        ("vision_tower.", "vision."),
        ("model.vision_tower.", "vision."),
        ("multi_modal_projector.", "mm."),
        ("model.multi_modal_projector.", "mm."),
        ("language_model.model.embed_tokens.weight", "embeddings"),
        ("model.language_model.embed_tokens.weight", "embeddings"),
    ],
    rows: &[PIXTRAL, &[("embeddings", &["v.token_embd.img_break"], Own(break_row))]],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("pixtral")),
            (EPSILON, Number, Vision(&["layer_norm_eps"])),
        ],
        ACTIVATION,
        &[(MERGE, Count, Made(|facts| Ok(given(&facts.config, "spatial_merge_size"))))],
    ],
    assumes: &[
        ("vision_feature_layer", &["-1"], "takes the last layer"),
        ("projector_hidden_act", GELUS, "computes gelu"),
        ("vision.rope_theta", &["10000.0", "10000"], "turns positions by 10000"),
        THETA,
    ],
    needs: &[
        "v.patch_embd.weight",
        "v.pre_ln.weight",
        "v.token_embd.img_break",
        "mm.1.weight",
        "mm.2.weight",
    ],
    has_width: true,
    ..PROJECTOR
};

/// The embedding of the token that ends a row.
fn break_row(facts: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let &[rows, width] = shape else { return None };
    let row = count(&facts.vision, "img_break").filter(|row| *row < rows)?;
    // A vector is one row.
    Some(vec![Part::whole(&[width], View::part(&[width], row))])
}
