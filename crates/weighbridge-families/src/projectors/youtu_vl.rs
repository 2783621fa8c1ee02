//! Youtu-VL: SigLIP 2, whose layers see windows but for some.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const YOUTU_VL: Projector = Projector {
    shown: "youtu_vl",
    classes: &["YoutuVLForConditionalGeneration"],
    settle: |facts| {
        set_default(&mut facts.vision, "image_size", 560);
        if ACTS.iter().all(|act| !acts(facts, act)) {
            return Err(odd("hidden_act", facts.vision.get("hidden_act")));
        }
        Ok(())
    },
    starts: &[("siglip2.vision_model.", "vision."), ("merger.", "merger.")],
    left_out: &[("siglip2.vision_model.head.", "pooling head, not used by Youtu-VL")],
    rows: &[
        SIGLIP,
        &[("merger.ln_q", &["mm.input_norm"], Plain), ("merger.mlp.#", &["mm.#"], Plain)],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("youtuvl")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            ("use_gelu", Flag, Made(|facts| Ok((!acts(facts, "silu")).then_some(true.into())))),
            ("use_silu", Flag, Made(|facts| Ok(acts(facts, "silu").then_some(true.into())))),
            (MERGE, Count, VisionOr(&["spatial_merge_size"], 2.0)),
            ("vision.window_size", Count, Made(|facts| Ok(given(&facts.vision, "window_size")))),
            ("vision.wa_layer_indexes", Counts, Vision(&["fullatt_block_indexes"])),
        ],
    ],
    needs: &["mm.0.weight", "mm.2.weight", "v.patch_embd.weight", "v.post_ln.weight"],
    ..PROJECTOR
};

const ACTS: [&str; 6] =
    ["gelu", "gelu_pytorch_tanh", "gelu_fast", "gelu_new", "gelu_accurate", "silu"];

fn acts(facts: &Facts<'_>, act: &str) -> bool {
    let stated = facts.vision.get("hidden_act").map_or(Some("gelu_pytorch_tanh"), Json::as_str);
    stated.is_some_and(|stated| stated.eq_ignore_ascii_case(act))
}
