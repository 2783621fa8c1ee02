//! Qwen 2-VL: a wide encoder, and four patches made one.

use super::projector::*;

pub(super) const QWEN2_VL: Projector = Projector {
    shown: "qwen2_vl",
    classes: &["Qwen2VLForConditionalGeneration", "Qwen2VLModel"],
    defaults: r#"{"vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "num_heads": 16, "patch_size": 14}}"#,
    settle,
    starts: &[("visual.", "visual."), ("model.visual.", "visual.")],
    rows: &[QWEN_BLOCKS, SPLIT_QKV, QWEN_MERGER, TWO_PATCHES],
    keys: &[
        VISION,
        &[("projector_type", Text, Says("qwen2vl_merger")), (EPSILON, Number, Is(1e-6))],
    ],
    assumes: &[THETA, MERGES_TWO],
    needs: &[
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.post_ln.weight",
        "mm.0.weight",
        "mm.0.bias",
        "mm.2.weight",
        "mm.2.bias",
    ],
    has_width: true,
    ..PROJECTOR
};

/// The encoder's width is called so in newer configs only; what they call the width of the output is what
/// older ones call the width.
fn settle(facts: &mut Facts<'_>) -> Result<()> {
    qwen_names(facts);
    rename(&mut facts.vision, "hidden_size", "intermediate_size");
    rename(&mut facts.vision, "embed_dim", "hidden_size");
    Ok(())
}
