//! Kimi-K2.5: `MoonViT` with positions in time.

use serde_json::Value as Json;

use super::projector::*;
use super::rows::Part;
use crate::view::{Rows, View};

pub(super) const KIMI_K25: Projector = Projector {
    shown: "kimi_k25",
    classes: &["KimiK25ForConditionalGeneration"],
    settle,
    starts: &[
        ("vision_tower.", "vision."),
        ("mm_projector.proj.0.", "mm.linear_1."),
        ("mm_projector.proj.2.", "mm.linear_2."),
        ("mm_projector.proj.linear_", "mm.linear_"),
        ("mm_projector.", "mm."),
    ],
    rows: &[
        MOONVIT,
        &[
            ("vision.patch_embed.pos_emb", &["v.position_embd"], Plain),
            ("vision.encoder.blocks.#.wqkv", &["v.blk.#.attn_qkv"], Own(halves)),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("kimik25")),
            ("/vision.pos_emb_height", Count, VisionOr(&["init_pos_emb_height"], 64.0)),
            ("/vision.pos_emb_width", Count, VisionOr(&["init_pos_emb_width"], 64.0)),
            ("/vision.pos_emb_time", Count, VisionOr(&["init_pos_emb_time"], 4.0)),
            ("use_gelu", Flag, Made(uses_gelu)),
            (EPSILON, Number, VisionOr(&["projector_ln_eps"], 1e-5)),
            (SCALE, Count, Made(merged)),
            (MIN_PIXELS, Count, Made(|facts| pixels(facts, 8))),
            (MAX_PIXELS, Count, Made(most_pixels)),
        ],
    ],
    needs: &[
        "mm.1.weight",
        "mm.2.weight",
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.post_ln.weight",
    ],
    ..PROJECTOR
};

/// What the converter takes for the number of heads, unless the config has the usual key.
const HEADS: u64 = 16;

fn settle(facts: &mut Facts<'_>) -> Result<()> {
    let own = "vt_num_attention_heads";
    if count(&facts.vision, "num_attention_heads").is_none()
        && count(&facts.vision, own).is_some_and(|heads| heads != HEADS)
    {
        return Err(odd(own, facts.vision.get(own)));
    }
    let height = count(&facts.vision, "init_pos_emb_height").unwrap_or(64);
    let size = height.checked_mul(needed(&facts.vision, "patch_size")?);
    set(&mut facts.vision, "image_size", size);
    Ok(())
}

fn uses_gelu(facts: &Facts<'_>) -> Result<Option<Json>> {
    let stated = facts.vision.get("projector_hidden_act");
    Ok(Some(stated.is_none_or(|act| act == "gelu").into()))
}

fn merged(facts: &Facts<'_>) -> Result<Option<Json>> {
    let stated = facts.vision.get("merge_kernel_size");
    Ok(Some(stated.map_or(Json::from(2), |sides| sides[0].clone())))
}

fn pixels(facts: &Facts<'_>, patches: u64) -> Result<Option<Json>> {
    let side = needed(&facts.vision, "patch_size")?;
    Ok(side.checked_mul(side).and_then(|patch| patch.checked_mul(patches)).map(Json::from))
}

fn most_pixels(facts: &Facts<'_>) -> Result<Option<Json>> {
    pixels(facts, count(&facts.processor, "in_patch_limit").unwrap_or(16384))
}

/// Queries and keys, whose rows turn in pairs about two axes by turns: all pairs of one axis, then
/// all of the other. Values stay.
fn halves(facts: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let heads = count(&facts.vision, "num_attention_heads").unwrap_or(HEADS);
    let (&rows, inner) = shape.split_first()?;
    let (width, columns) = (rows / 3, inner.first().copied().unwrap_or(1));
    let groups = width.checked_div(heads)? / 4;
    let fits = groups > 0 && groups * 4 * heads * 3 == rows && inner.len() < 2;
    let order = Rows::Tiled { start: 0, groups, members: 2, run: 2 };
    let turned = View { rows: order, ..View::whole(&[2 * width, columns]) };
    let views = vec![turned, View::part(&[width, columns], 2 * width)];
    fits.then(|| vec![Part { views, ..Part::whole(shape, View::whole(shape)) }])
}
