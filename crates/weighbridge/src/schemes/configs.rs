//! What the configs beside a model say about quantization.

use serde_json::Value as Json;

use super::{Holds, SCHEMES, method};
use crate::config::{self, Config};

/// The key of a model's config that holds the settings of most methods.
const SETTINGS: &str = "quantization_config";

/// The key of Mistral's config for them.
const MISTRAL_SETTINGS: &str = "quantization";

/// All configs of a model.
#[derive(Clone, Copy, Debug)]
pub struct Configs<'a>(&'a [Config]);

impl<'a> Configs<'a> {
    pub(super) fn new(configs: &'a [Config]) -> Self {
        Self(configs)
    }

    /// Every document.
    pub(super) fn all(self) -> &'a [Config] {
        self.0
    }

    /// A document by file name.
    #[must_use]
    pub fn file(self, name: &str) -> Option<&'a Json> {
        config::find(self.0, name)
    }

    /// The config of a model of Hugging Face's transformers.
    #[must_use]
    pub fn model(self) -> Option<&'a Json> {
        self.file(config::HUGGING_FACE)
    }

    /// The first of some keys that holds an object, in the model's config or in the part of it
    /// that describes the language model.
    pub(super) fn in_model(self, keys: &[&str]) -> Option<&'a Json> {
        let config = self.model()?;
        object_under(config, keys).or_else(|| object_under(config.get("text_config")?, keys))
    }

    /// The settings of a method, and the file that has them.
    #[must_use]
    pub fn quantization(self) -> Option<(&'static str, &'a Json)> {
        let own = SCHEMES.iter().flat_map(|scheme| scheme.config_keys());
        let keys: Vec<&str> = std::iter::once(&SETTINGS).chain(own).copied().collect();
        let in_model = self.in_model(&keys).map(|json| (config::HUGGING_FACE, json));
        in_model.or_else(|| self.in_own_file()).or_else(|| {
            let json = object_under(self.file(config::MISTRAL)?, &[SETTINGS, MISTRAL_SETTINGS])?;
            Some((config::MISTRAL, json))
        })
    }

    /// Settings that are a file of their own.
    fn in_own_file(self) -> Option<(&'static str, &'a Json)> {
        let files = SCHEMES.iter().flat_map(|scheme| scheme.config_files());
        let mut files = files.filter(|file| file.holds == Holds::Settings);
        files.find_map(|file| Some((file.name, self.file(file.name)?)))
    }

    /// Everything that counts as settings: those above, and more in files of single schemes.
    pub(super) fn all_settings(self) -> impl Iterator<Item = &'a Json> {
        let more = method::config_files(SCHEMES).into_iter().filter_map(move |file| {
            let Holds::MoreSettings(key) = file.holds else { return None };
            self.file(file.name)?.get(key)
        });
        self.quantization().map(|(_, json)| json).into_iter().chain(more)
    }

    /// What Mistral's config says, in its own words.
    pub(super) fn mistral_settings(self) -> Option<&'a Json> {
        self.file(config::MISTRAL)?.get(MISTRAL_SETTINGS)
    }
}

fn object_under<'a>(json: &'a Json, keys: &[&str]) -> Option<&'a Json> {
    keys.iter().find_map(|key| json.get(*key).filter(|json| json.is_object()))
}
