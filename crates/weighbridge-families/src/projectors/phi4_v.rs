//! Phi-4 with SigLIP 2: of the encoder, all layers but the last.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const PHI4_V: Projector = Projector {
    shown: "phi4_v",
    classes: &["Phi4ForCausalLMV"],
    settle,
    starts: &[
        ("model.vision_tower.vision_tower.vision_model.", "vision."),
        ("vision_tower.vision_model.", "vision."),
        ("model.mm_projector.", "mm."),
        ("mm_projector.", "mm."),
    ],
    left_out: &[
        ("model.vision_tower.vision_tower.vision_model.head.", BEHIND),
        ("model.vision_tower.vision_tower.vision_model.post_layernorm.", BEHIND),
        ("vision_tower.vision_model.head.", BEHIND),
        ("vision_tower.vision_model.post_layernorm.", BEHIND),
    ],
    leaves_out: |facts, name| {
        let layer = name.strip_prefix("vision.encoder.layers.")?.split('.').next()?;
        let last = count(&facts.vision, LAYERS)?;
        (layer.parse() == Ok(last)).then_some(BEHIND)
    },
    rows: &[
        // Before rows of the same name.
        &[("vision.embeddings.patch_embedding.weight", &["v.patch_embd.weight"], Pixels)],
        SIGLIP,
        &[("mm.#", &["mm.#"], Plain)],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("phi4")),
            (MIN_PIXELS, Count, Made(|facts| pixels(facts, "min_num_patches"))),
            (MAX_PIXELS, Count, Made(|facts| pixels(facts, "max_num_patches"))),
            GELU,
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &["mm.0.weight", "mm.2.weight", "v.patch_embd.weight", "v.position_embd.weight"],
    ..PROJECTOR
};

const BEHIND: &str = "behind the layer whose output Phi-4 uses";
const LAYERS: &str = "num_hidden_layers";

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    let stated = facts.vision.get(LAYERS).cloned();
    let layers = needed(&facts.vision, LAYERS)?;
    let kept = layers.checked_sub(1).filter(|kept| *kept > 0);
    set(&mut facts.vision, LAYERS, kept.ok_or_else(|| odd(LAYERS, stated.as_ref()))?);
    let patch = needed(&facts.processor, "patch_size")?;
    let positions = facts.shape_of("vision_model.embeddings.position_embedding.weight");
    let side = positions.and_then(|shape| shape.first()).map_or(0, |rows| rows.isqrt());
    set(&mut facts.vision, "patch_size", patch);
    set(&mut facts.vision, "image_size", side.saturating_mul(patch));
    Ok(())
}

fn pixels(facts: &Facts<'_>, key: &str) -> Result<Option<Json>> {
    let patch = needed(&facts.vision, "patch_size")?;
    let own = count(&facts.processor, key).or_else(|| count(&facts.config, key));
    let patches = own.ok_or_else(|| odd(key, facts.config.get(key)))?;
    Ok(patches.checked_mul(patch).and_then(|row| row.checked_mul(patch)).map(Json::from))
}
