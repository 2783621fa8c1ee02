//! Granite Speech Plus: the outputs of several layers side by side.

use serde_json::Value as Json;

use super::granite_speech::{GRANITE_SPEECH, GRANITE_SPEECH_KEYS};
use super::projector::*;

pub(super) const GRANITE_SPEECH_PLUS: Projector = Projector {
    shown: "granite_speech_plus",
    classes: &["GraniteSpeechPlusForConditionalGeneration"],
    keys: &[AUDIO, GRANITE_SPEECH_KEYS, &[("audio.feature_layer", Counts, Made(layers))]],
    ..GRANITE_SPEECH
};

/// The layers beside the last. The Q-Former has to be wide enough for all of them.
fn layers(facts: &Facts<'_>) -> Result<Option<Json>> {
    let Some(layers) = given(&facts.audio, "cat_hidden_layers") else { return Ok(None) };
    let count = layers.as_array().map_or(0, Vec::len) as u64;
    let seen = facts.config["projector_config"].get("encoder_hidden_size");
    let width = needed(&facts.audio, "hidden_dim")?.checked_mul(count + 1);
    match count {
        0 => Ok(None),
        _ if seen.and_then(Json::as_u64) == width => Ok(Some(layers)),
        _ => Err(odd("encoder_hidden_size", seen)),
    }
}
