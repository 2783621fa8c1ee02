//! Layers with a sliding window, which some families mix with layers that see everything.

use serde_json::Value as Json;

use super::back::Config;
use super::keys::{CONTEXT, MOST_LAYERS, listed_layers};
use crate::catalog::Value;
use crate::families::settings::Settings;
use crate::families::told::Told;

/// Which layers have a window, by the kinds that a config lists.
fn listed_windows(settings: &Settings) -> Option<Vec<bool>> {
    let kinds = listed_layers(settings).filter(|kinds| kinds.len() as u64 <= MOST_LAYERS)?;
    Some(kinds.iter().map(|kind| kind == "sliding_attention").collect())
}

/// Which layers have a window: all but every so many, unless the config lists them.
fn windows(settings: &Settings, period: u64) -> Option<Vec<bool>> {
    listed_windows(settings).or_else(|| {
        let layers = settings.count("num_hidden_layers").filter(|count| *count <= MOST_LAYERS)?;
        Some((1..=layers).map(|layer| layer % period != 0).collect())
    })
}

/// Whether every layer sees everything, by a list of kinds or by a pattern of one layer.
pub(crate) fn sees_everything(settings: &Settings) -> bool {
    match listed_windows(settings) {
        Some(windows) => !windows.contains(&true),
        None => pattern(settings) == Some(1),
    }
}

/// How many layers a pattern has.
fn pattern(settings: &Settings) -> Option<u64> {
    let keys = ["sliding_window_pattern", "_sliding_window_pattern"];
    keys.iter().find_map(|key| settings.count(key)).filter(|period| *period > 0)
}

/// The layers with a window, where they are not those that llama.cpp takes for granted: all but every
/// so many. The converter does not write this; llama.cpp reads it.
pub(crate) fn unusual_windows<const PERIOD: u64>(settings: &Settings) -> Option<Json> {
    let windows = windows(settings, pattern(settings).unwrap_or(PERIOD))?;
    let is_usual = (1..).zip(&windows).all(|(layer, has)| (layer % PERIOD != 0) == *has);
    (!is_usual && windows.contains(&true)).then(|| windows.into())
}

/// The window. Where no layer has one it is as long as the context: llama.cpp stops at a list of
/// layers without any.
pub(crate) fn window_or_context(settings: &Settings) -> Option<Json> {
    let keys: &[&str] = if sees_everything(settings) { CONTEXT } else { &["sliding_window"] };
    settings.find(keys).cloned()
}

/// Layers with a window and those that see everything, where a file lists them.
pub(crate) fn layers_with_windows(told: &Told<'_>, _: &Config) -> Option<Json> {
    let Value::List(layers) = told.own("attention.sliding_window_pattern")? else { return None };
    let kinds = layers.iter().map(|layer| match layer {
        Value::Bool(true) => "sliding_attention",
        _ => "full_attention",
    });
    Some(kinds.collect())
}
