//! Encoders as Pixtral has them, whose names begin with `vision.`, and its projection.

use crate::error::{Error, Result};
use crate::projectors::facts::{Facts, odd, set, set_default};
use crate::projectors::keys::KeyRow;
use crate::projectors::keys::Type::Flag;
use crate::projectors::keys::Where::Made;
use crate::projectors::rows::How::{Pairs, Plain};
use crate::projectors::rows::Row;

/// Patches, layers and the projection.
pub(crate) const PIXTRAL: &[Row] = &[
    ("vision.patch_conv", &["v.patch_embd"], Plain),
    ("vision.ln_pre", &["v.pre_ln"], Plain),
    ("vision.transformer.layers.#.attention_norm", &["v.blk.#.ln1"], Plain),
    ("vision.transformer.layers.#.attention.q_proj", &["v.blk.#.attn_q"], Pairs),
    ("vision.transformer.layers.#.attention.k_proj", &["v.blk.#.attn_k"], Pairs),
    ("vision.transformer.layers.#.attention.v_proj", &["v.blk.#.attn_v"], Plain),
    ("vision.transformer.layers.#.attention.o_proj", &["v.blk.#.attn_out"], Plain),
    ("vision.transformer.layers.#.ffn_norm", &["v.blk.#.ln2"], Plain),
    ("vision.transformer.layers.#.feed_forward.gate_proj", &["v.blk.#.ffn_gate"], Plain),
    ("vision.transformer.layers.#.feed_forward.up_proj", &["v.blk.#.ffn_up"], Plain),
    ("vision.transformer.layers.#.feed_forward.down_proj", &["v.blk.#.ffn_down"], Plain),
    ("mm.norm", &["mm.input_norm"], Plain),
    ("mm.patch_merger.merging_layer", &["mm.patch_merger"], Plain),
    ("mm.linear_1", &["mm.1"], Plain),
    ("mm.linear_2", &["mm.2"], Plain),
];

/// What transformers fills in for its encoder.
pub(crate) const PIXTRAL_DEFAULTS: &str = r#"{"vision_config": {"hidden_size": 1024, "intermediate_size": 4096,
    "num_hidden_layers": 24, "num_attention_heads": 16, "image_size": 1024, "patch_size": 16, "hidden_act": "gelu"}}"#;

/// Refuses other encoders. The constant of norms is in no config.
pub(crate) fn only_pixtral(facts: &mut Facts<'_>) -> Result<()> {
    let kind = facts.vision.get("model_type");
    if kind.is_none_or(|kind| kind != "pixtral") {
        return Err(odd("model_type", kind));
    }
    set_default(&mut facts.vision, "layer_norm_eps", 1e-5);
    Ok(())
}

/// The activation, which is one of two.
pub(crate) const ACTIVATION: &[KeyRow] = &[
    ("use_silu", Flag, Made(|facts| acts(facts, "silu"))),
    ("use_gelu", Flag, Made(|facts| acts(facts, "gelu"))),
];

fn acts(facts: &Facts<'_>, asked: &str) -> Result<Option<serde_json::Value>> {
    let act = facts.vision.get("hidden_act");
    match act.and_then(serde_json::Value::as_str) {
        Some(own @ ("silu" | "gelu")) => Ok((own == asked).then_some(true.into())),
        _ => Err(odd("hidden_act", act)),
    }
}

/// Which token ends a row of patches: its embedding goes into the file.
pub(crate) fn set_break(facts: &mut Facts<'_>) -> Result<()> {
    const TOKEN: &str = "[IMG_BREAK]";
    let is_it = |token: &serde_json::Value| token["content"] == TOKEN;
    let settings = facts.document("tokenizer_config.json")?.unwrap_or_default();
    let decoder = settings["added_tokens_decoder"].as_object();
    let stated = decoder.into_iter().flatten().find(|(_, token)| is_it(token));
    let mut id = stated.and_then(|(id, _)| id.parse::<u64>().ok());
    if id.is_none() {
        let tokenizer = facts.document("tokenizer.json")?.unwrap_or_default();
        let added = tokenizer["added_tokens"].as_array();
        id = added.into_iter().flatten().find(|token| is_it(token)).and_then(|t| t["id"].as_u64());
    }
    let id = id.ok_or_else(|| Error::malformed(format!("the tokenizer has no token `{TOKEN}`")))?;
    if facts.shape_of("embed_tokens.weight").is_none() {
        return Err(Error::malformed(format!("there are no embeddings, so none of {TOKEN}")));
    }
    set(&mut facts.vision, "img_break", id);
    Ok(())
}
