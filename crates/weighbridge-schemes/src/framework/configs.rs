//! Quantization settings in the configs of a model.

use serde_json::Value as Json;

use crate::config::{self, Config};
use crate::framework::method::name_in;
use crate::framework::{Holds, Roster};

/// Key of a model's config that holds the settings of most methods.
pub(crate) const SETTINGS: &str = "quantization_config";

/// Key of Mistral's config for these settings.
const MISTRAL_SETTINGS: &str = "quantization";

/// All configs of a model, and the schemes whose settings they may hold.
pub struct Configs<'a> {
    /// All documents.
    pub(crate) all: &'a [Config],
    /// Facts about all schemes.
    pub(crate) roster: Roster,
}

impl<'a> Configs<'a> {
    /// Returns a document by file name.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&'a Json> {
        config::find(self.all, name)
    }

    /// Returns the config of a transformers model.
    #[must_use]
    pub fn model(&self) -> Option<&'a Json> {
        self.file(config::HUGGING_FACE)
    }

    /// Returns the config of the model, then those of all models inside it.
    pub(crate) fn models(&self) -> Vec<&'a Json> {
        self.model().map(config::models).unwrap_or_default()
    }

    /// Returns the first of some keys that holds an object, in the model's config or in that of a
    /// model inside it.
    fn in_models(&self, keys: &[&str]) -> Option<&'a Json> {
        let inner = || self.models().into_iter().find_map(|model| object_under(model, keys));
        object_under(self.model()?, keys).or_else(inner)
    }

    /// Whether models inside the model have different settings, without settings for the whole
    /// model that override them.
    pub(crate) fn contradict(&self) -> bool {
        let keys = self.settings_keys();
        let mut models = self.models().into_iter();
        let own = models.next().and_then(|model| object_under(model, &keys));
        let mut inner = models.filter_map(|model| object_under(model, &keys));
        let first = inner.next();
        own.is_none() && inner.any(|other| Some(other) != first)
    }

    /// Returns the settings of a method, and the file that contains them.
    #[must_use]
    pub fn quantization(&self) -> Option<(&'static str, &'a Json)> {
        if self.all.is_empty() {
            return None;
        }
        let in_model =
            self.in_models(&self.settings_keys()).map(|json| (config::HUGGING_FACE, json));
        in_model.or_else(|| self.in_own_file()).or_else(|| {
            let json = object_under(self.file(config::MISTRAL)?, &[SETTINGS, MISTRAL_SETTINGS])?;
            Some((config::MISTRAL, json))
        })
    }

    /// Returns settings that have their own file.
    fn in_own_file(&self) -> Option<(&'static str, &'a Json)> {
        let mut files =
            self.roster.config_files.iter().filter(|file| file.holds == Holds::Settings);
        files.find_map(|file| Some((file.name, self.file(file.name)?)))
    }

    /// Returns the files of single schemes with more settings, and the key that holds them.
    fn files_with_more(&self) -> impl Iterator<Item = (&'a Json, &'static str)> {
        self.roster.config_files.iter().filter_map(|file| match file.holds {
            Holds::MoreSettings(key) => Some((self.file(file.name)?, key)),
            _ => None,
        })
    }

    /// Returns all settings: those above, and more in files of single schemes.
    pub(crate) fn all_settings(&self) -> impl Iterator<Item = &'a Json> {
        let more = self.files_with_more().filter_map(|(json, key)| json.get(key));
        self.quantization().map(|(_, json)| json).into_iter().chain(more)
    }

    /// Returns the method that settings name, in lower case.
    pub(crate) fn named_method(&self) -> Option<String> {
        let settings = self.quantization().and_then(|(_, json)| name_in(json));
        settings.or_else(|| self.files_with_more().filter_map(|(json, _)| name_in(json)).min())
    }

    /// Returns the settings in Mistral's config.
    pub(crate) fn mistral_settings(&self) -> Option<&'a Json> {
        self.file(config::MISTRAL)?.get(MISTRAL_SETTINGS)
    }

    /// Returns the keys of a model's config that hold settings.
    fn settings_keys(&self) -> Vec<&'static str> {
        std::iter::once(SETTINGS).chain(self.roster.config_keys.iter().copied()).collect()
    }
}

fn object_under<'a>(json: &'a Json, keys: &[&str]) -> Option<&'a Json> {
    keys.iter().find_map(|key| json.get(*key).filter(|json| json.is_object()))
}
