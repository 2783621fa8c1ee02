//! Granite 4 Vision: SigLIP, and a Q-Former for each layer of the language model that sees an image.

use serde_json::Value as Json;

use super::projector::*;

pub(super) const GRANITE4_VISION: Projector = Projector {
    shown: "granite4_vision",
    classes: &["Granite4VisionForConditionalGeneration"],
    defaults: r#"{"image_grid_pinpoints": [[336, 672], [672, 336], [672, 672], [1008, 336], [336, 1008]],
        "spatial_target_layers": [12, 15, 18, 21], "text_config": {"num_hidden_layers": 32},
        "vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
            "image_size": 224, "patch_size": 16, "layer_norm_eps": 1e-6}}"#,
    starts: &[
        ("model.vision_tower.vision_model.", "vision."),
        ("model.layerwise_projectors.", "layerwise."),
        ("model.spatial_projectors.", "spatial."),
        ("model.image_newline", "image_newline"),
    ],
    left_out: &[("model.vision_tower.vision_model.head.", "pooling head, not used by Granite")],
    rename: numbered,
    rows: &[
        SIGLIP,
        qformer_rows!("projector.", "v"),
        &[
            ("projector.#.image_positions", &["v.proj_blk.#.img_pos"], Plain),
            ("projector.#.query", &["v.proj_blk.#.query"], Plain),
            ("projector.#.norm", &["v.proj_blk.#.norm"], Plain),
            ("projector.#.out_linear", &["v.proj_blk.#.linear"], Plain),
            ("projector.#.qformer.layernorm", &["v.proj_blk.#.post_norm"], Plain),
            ("image_newline", &["v.image_newline"], Plain),
        ],
    ],
    keys: &[
        VISION,
        &[
            ("projector_type", Text, Says("granite4_vision")),
            (EPSILON, Number, VisionOr(&["layer_norm_eps"], 1e-6)),
            GELU,
            ("vision.preproc_image_size", Count, VisionOr(&["image_size"], 384.0)),
            ("vision.projector.query_side", Count, Made(|facts| side(facts, 0))),
            ("vision.projector.window_side", Count, Made(|facts| side(facts, 1))),
            ("vision.feature_layer", Counts, Made(|facts| of_all(facts, |one| one.seen))),
            ("vision.projector.spatial_offsets", Counts, Made(|facts| of_all(facts, offset))),
            ("vision.image_grid_pinpoints", Counts, Made(sizes)),
        ],
    ],
    assumes: &[("vision.hidden_act", GELUS, "computes `gelu`")],
    needs: &[
        "v.patch_embd.weight",
        "v.position_embd.weight",
        "v.proj_blk.0.query",
        "v.image_newline",
    ],
    ..PROJECTOR
};

/// A Q-Former: the layer that it sees, the layer of the language model that it is for, what kind it
/// is, and which of that kind.
struct Former {
    seen: i64,
    layer: i64,
    kind: &'static str,
    number: i64,
}

const KINDS: [(&str, &str); 2] =
    [("layerwise", "deepstack_layer_map"), ("spatial", "spatial_target_layers")];

/// All of them, by the layers that they are for.
fn formers(facts: &Facts<'_>) -> Result<Vec<Former>> {
    let [(layerwise, map), (spatial, targets)] = KINDS;
    let layers = needed(&facts.vision, "num_hidden_layers")?;
    let text = needed(&facts.config["text_config"], "num_hidden_layers")?;
    let from_end = |layer: i64, all: u64| match layer {
        ..0 => all.cast_signed().saturating_add(layer),
        layer => layer,
    };
    let mut pairs = numbers::<[i64; 2]>(facts, map)?;
    pairs.sort_unstable();
    let mut found: Vec<Former> = (0..)
        .zip(pairs)
        .map(|(number, [seen, layer])| {
            let (seen, layer) = (from_end(seen, layers), from_end(layer, text));
            Former { seen, layer, kind: layerwise, number }
        })
        .collect();
    let seen = facts.config.get("spatial_vision_layer").and_then(Json::as_i64).unwrap_or(-1);
    let seen = from_end(seen, layers);
    let targets = (0..).zip(numbers::<i64>(facts, targets)?);
    found.extend(targets.map(|(number, layer)| Former { seen, layer, kind: spatial, number }));
    found.sort_by_key(|former| former.layer);
    Ok(found)
}

/// A list in the config, as far as there is one.
fn numbers<T: serde::de::DeserializeOwned>(facts: &Facts<'_>, key: &str) -> Result<Vec<T>> {
    let Some(stated) = given(&facts.config, key) else { return Ok(Vec::new()) };
    serde_json::from_value(stated.clone()).map_err(|_| odd(key, Some(&stated)))
}

fn of_all(facts: &Facts<'_>, what: fn(&Former) -> i64) -> Result<Option<Json>> {
    let all = formers(facts)?;
    Ok(Some(all.iter().map(what).collect()))
}

fn offset(former: &Former) -> i64 {
    if former.kind == KINDS[1].0 { former.number } else { -1 }
}

/// `4/8`: queries and patches of a window, a side.
fn side(facts: &Facts<'_>, which: usize) -> Result<Option<Json>> {
    const KEY: &str = "downsample_rate";
    let stated = facts.config.get(KEY);
    let sides: Vec<&str> = stated.and_then(Json::as_str).unwrap_or_default().split('/').collect();
    let side = sides.get(which).filter(|_| sides.len() == 2).and_then(|side| side.parse().ok());
    side.map(|side: u64| Some(side.into())).ok_or_else(|| odd(KEY, stated))
}

/// Sizes, width first; the config has heights first.
fn sizes(facts: &Facts<'_>) -> Result<Option<Json>> {
    let sizes = numbers::<[i64; 2]>(facts, "image_grid_pinpoints")?;
    let flat: Vec<i64> = sizes.iter().flat_map(|[height, width]| [*width, *height]).collect();
    Ok(Some(flat.into()).filter(|_| !sizes.is_empty()))
}

/// GGUF counts all of them together. Each has one layer, whose number it has there.
fn numbered(facts: &Facts<'_>, name: &str) -> Result<Option<String>> {
    let parts = name.split_once('.').and_then(|(kind, rest)| Some((kind, rest.split_once('.')?)));
    let Some((kind, (number, rest))) = parts else { return Ok(None) };
    let is_it = |former: &Former| former.kind == kind && number.parse() == Ok(former.number);
    let Some(place) = formers(facts)?.iter().position(is_it) else { return Ok(None) };
    Ok(Some(match rest.strip_prefix("qformer.encoder.layer.0.") {
        Some(rest) => format!("projector.qformer.encoder.layer.{place}.{rest}"),
        None => format!("projector.{place}.{rest}"),
    }))
}
