//! Vision encoders as Qwen has them, and those after its model.

use serde_json::Value as Json;

use crate::error::Result;
use crate::families::whole;
use crate::projectors::facts::{Facts, count, given, needed, odd, rename, set_default};
use crate::projectors::rows::How::{Plain, Slices, Split};
use crate::projectors::rows::Row;

/// Norms, the end of attention, and feed-forward layers of either kind.
pub(crate) const QWEN_BLOCKS: &[Row] = &[
    ("visual.blocks.#.norm1", &["v.blk.#.ln1"], Plain),
    ("visual.blocks.#.norm2", &["v.blk.#.ln2"], Plain),
    ("visual.blocks.#.attn.proj", &["v.blk.#.attn_out"], Plain),
    ("visual.blocks.#.mlp.fc1", &["v.blk.#.ffn_up"], Plain),
    ("visual.blocks.#.mlp.fc2", &["v.blk.#.ffn_down"], Plain),
    ("visual.blocks.#.mlp.linear_fc1", &["v.blk.#.ffn_up"], Plain),
    ("visual.blocks.#.mlp.linear_fc2", &["v.blk.#.ffn_down"], Plain),
    ("visual.blocks.#.mlp.gate_proj", &["v.blk.#.ffn_gate"], Plain),
    ("visual.blocks.#.mlp.up_proj", &["v.blk.#.ffn_up"], Plain),
    ("visual.blocks.#.mlp.down_proj", &["v.blk.#.ffn_down"], Plain),
];

/// Queries, keys and values become three matrices.
pub(crate) const SPLIT_QKV: &[Row] =
    &[("visual.blocks.#.attn.qkv", &["v.blk.#.attn_q", "v.blk.#.attn_k", "v.blk.#.attn_v"], Split)];

/// They stay one.
pub(crate) const ONE_QKV: &[Row] = &[("visual.blocks.#.attn.qkv", &["v.blk.#.attn_qkv"], Plain)];

/// A kernel over two images, which becomes two.
pub(crate) const TWO_PATCHES: &[Row] = &[
    ("visual.patch_embed.proj.weight", &["v.patch_embd.weight", "v.patch_embd.weight.1"], Slices),
    ("visual.patch_embed.proj", &["v.patch_embd"], Plain),
];

/// What makes four patches one.
pub(crate) const QWEN_MERGER: &[Row] =
    &[("visual.merger.ln_q", &["v.post_ln"], Plain), ("visual.merger.mlp.#", &["mm.#"], Plain)];

/// What Qwen calls heads and layers, and the size of an image where it may be any.
pub(crate) fn qwen_names(facts: &mut Facts<'_>) {
    set_default(&mut facts.vision, "image_size", 560);
    rename(&mut facts.vision, "num_heads", "num_attention_heads");
    rename(&mut facts.vision, "depth", "num_hidden_layers");
}

/// Every how many layers one sees the whole image.
pub(crate) fn regular_windows(facts: &Facts<'_>) -> Result<u64> {
    const KEY: &str = "fullatt_block_indexes";
    let stated = facts.vision.get(KEY);
    let layers: Option<Vec<u64>> =
        stated.and_then(Json::as_array).and_then(|list| list.iter().map(whole).collect());
    let layers = layers.filter(|layers| !layers.is_empty()).ok_or_else(|| odd(KEY, stated))?;
    let period = layers[0].saturating_add(1);
    let is_regular = layers.windows(2).all(|two| two[0].checked_add(period) == Some(two[1]));
    if is_regular { Ok(period) } else { Err(odd(KEY, stated)) }
}

/// What makes four patches one in Qwen 3-VL, for the last layer and for some before it.
pub(crate) const QWEN3_MERGER: &[Row] = &[
    ("visual.pos_embed", &["v.position_embd"], Plain),
    ("visual.merger.norm", &["v.post_ln"], Plain),
    ("visual.merger.linear_fc1", &["mm.0"], Plain),
    ("visual.merger.linear_fc2", &["mm.2"], Plain),
    ("visual.deepstack.#.norm", &["v.deepstack.#.norm"], Plain),
    ("visual.deepstack.#.linear_fc1", &["v.deepstack.#.fc1"], Plain),
    ("visual.deepstack.#.linear_fc2", &["v.deepstack.#.fc2"], Plain),
];

/// Which layers of the encoder go to the language model.
pub(crate) const DEEPSTACK: &str = "deepstack_visual_indexes";

/// Those layers; none where a config does not say.
pub(crate) fn deepstack_layers(facts: &Facts<'_>) -> Result<Vec<u64>> {
    let Some(stated) = given(&facts.vision, DEEPSTACK) else { return Ok(Vec::new()) };
    let layers = stated.as_array().and_then(|list| list.iter().map(whole).collect());
    layers.ok_or_else(|| odd(DEEPSTACK, Some(&stated)))
}

/// What follows a layer is counted from the first in weights, and by its layer in GGUF.
pub(crate) fn deepstack_names(facts: &Facts<'_>, name: &str) -> Result<Option<String>> {
    let starts = ["visual.deepstack_merger_list.", "visual.merger_list."];
    let found = starts.iter().find_map(|start| name.strip_prefix(start));
    let Some((number, rest)) = found.and_then(|rest| rest.split_once('.')) else {
        return Ok(None);
    };
    let layers = deepstack_layers(facts)?;
    let layer = number.parse::<usize>().ok().and_then(|number| layers.get(number));
    let layer = layer.ok_or_else(|| odd(DEEPSTACK, facts.vision.get(DEEPSTACK)))?;
    Ok(Some(format!("visual.deepstack.{layer}.{rest}")))
}

/// The size of an image follows from how many positions are learned.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)]
pub(crate) fn size_of_positions(facts: &mut Facts<'_>) -> Result<()> {
    let positions = count(&facts.vision, "num_position_embeddings").unwrap_or(2304);
    let patch = needed(&facts.vision, "patch_size")?;
    let size = (positions as f64).sqrt() * patch as f64;
    set_default(&mut facts.vision, "image_size", size as u64);
    Ok(())
}
