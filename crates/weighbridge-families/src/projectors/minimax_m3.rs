//! MiniMax M3: CLIP over two images, with heads that turn about three axes.

use serde_json::Value as Json;

use super::projector::*;
use super::rows::Part;
use crate::families::whole;
use crate::view::View;

pub(super) const MINIMAX_M3: Projector = Projector {
    shown: "minimax_m3",
    classes: &["MiniMaxM3SparseForConditionalGeneration"],
    starts: &[
        ("vision_tower.vision_model.", "vision."),
        ("multi_modal_projector.", "mm."),
        ("patch_merge_mlp.", "merge."),
    ],
    rows: &[
        &[
            (
                "vision.embeddings.patch_embedding.weight",
                &["v.patch_embd.weight", "v.patch_embd.weight.1"],
                Slices,
            ),
            ("vision.encoder.layers.#.self_attn.q_proj", &["v.blk.#.attn_q"], Own(axes)),
            ("vision.encoder.layers.#.self_attn.k_proj", &["v.blk.#.attn_k"], Own(axes)),
        ],
        SIGLIP,
        &[
            ("vision.pre_layrnorm", &["v.pre_ln"], Plain),
            ("mm.linear_1", &["mm.1"], Plain),
            ("mm.linear_2", &["mm.2"], Plain),
            ("merge.linear_1", &["mm.merger.fc1"], Plain),
            ("merge.linear_2", &["mm.merger.fc2"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("minimax_m3")),
            GELU,
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-5)),
            (MERGE, Count, Made(merged)),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &[
        "mm.1.weight",
        "mm.2.weight",
        "mm.merger.fc1.weight",
        "mm.merger.fc2.weight",
        "v.patch_embd.weight",
        "v.patch_embd.weight.1",
        "v.pre_ln.weight",
    ],
    ..PROJECTOR
};

fn merged(facts: &Facts<'_>) -> Result<Option<Json>> {
    const KEY: &str = "spatial_merge_size";
    let stated = facts.vision["img_token_compression_config"].get(KEY);
    let side = stated.map_or(Some(2), whole).ok_or_else(|| odd(KEY, stated))?;
    Ok(Some(side.into()))
}

/// Rows of a head, and of one half of an axis. The converter knows no others.
const HEAD: u64 = 80;
const RUN: u64 = 13;

/// The first halves of three axes, then the second ones; as axis by axis. Two rows behind them do not turn.
fn axes(facts: &Facts<'_>, shape: &[u64]) -> Option<Vec<Part>> {
    let (&rows, inner) = shape.split_first()?;
    let columns = inner.first().copied().unwrap_or(1);
    let heads = facts.vision_heads().filter(|heads| heads.checked_mul(HEAD) == Some(rows))?;
    let part = |length, start| View::part(&[length, columns], start);
    let views = (0..heads).map(|head| head * HEAD).flat_map(|start| {
        let runs = [0, 3, 1, 4, 2, 5].map(|run| part(RUN, start + run * RUN));
        runs.into_iter().chain([part(HEAD - 6 * RUN, start + 6 * RUN)])
    });
    Some(vec![Part { views: views.collect(), ..Part::whole(shape, View::whole(shape)) }])
}
