//! Settings that llama.cpp takes for granted, and that a projector's file does not carry.

use serde_json::Value as Json;

use super::facts::Facts;
use super::projector::Projector;
use crate::warning::{NOT_CARRIED, Warning};

impl Projector {
    /// Warnings about settings that llama.cpp does not follow.
    #[must_use]
    pub fn warnings(&self, facts: &Facts<'_>) -> Vec<Warning> {
        let warning = |&(key, values, says): &(&str, &[&str], &str)| {
            let value = stated(facts, key)?;
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let message = format!("not carried by GGUF; llama.cpp {says}, so results differ");
            (!value.is_null() && !values.contains(&shown.as_str()))
                .then(|| Warning::new(NOT_CARRIED, key, value.clone(), message))
        };
        self.assumes.iter().filter_map(warning).collect()
    }
}

fn inside<'a>(of: &'a Json, key: &str) -> Option<&'a Json> {
    of.pointer(&format!("/{}", key.replace('.', "/")))
}

/// A setting of an encoder (`vision.`, `audio.`), or of the whole model.
fn stated<'a>(facts: &'a Facts<'_>, key: &str) -> Option<&'a Json> {
    match key.split_once('.') {
        Some(("vision", key)) => inside(&facts.vision, key),
        Some(("audio", key)) => inside(&facts.audio, key),
        _ => inside(&facts.config, key),
    }
}
