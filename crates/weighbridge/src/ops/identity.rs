//! A model's name and architecture, from its metadata or its config.
//!
//! Only keys that a format or a library documents are read, in this order; nothing is guessed from
//! tensor names.

use crate::model::Model;

/// Keys of file metadata that hold a model's name: GGUF, the model specification of image
/// models, APR.
const NAMES: &[&str] = &["general.name", "general.basename", "modelspec.title", "name"];

/// Keys of file metadata that hold its architecture.
const ARCHITECTURES: &[&str] = &[
    "general.architecture",
    "modelspec.architecture",
    "architecture",
    "hf_architecture",
    "model_type",
];

/// The model's name.
pub(super) fn name(model: &Model) -> Option<String> {
    first_text(model, NAMES)
}

/// The model's architecture.
pub(super) fn architecture(model: &Model) -> Option<String> {
    first_text(model, ARCHITECTURES).or_else(|| from_config(model))
}

/// What a file is for, if it is no model that can be run.
pub(super) fn purpose(model: &Model) -> Option<String> {
    let kind = first_text(model, &["general.type"])?;
    (kind == "imatrix")
        .then(|| "this is an importance matrix from llama-imatrix, not a model".to_owned())
}

fn first_text(model: &Model, keys: &[&str]) -> Option<String> {
    let metadata = || model.sources().iter().map(|source| &source.catalog().metadata);
    let texts = keys.iter().flat_map(|key| metadata().filter_map(|m| m.get(key)?.as_str()));
    texts.map(str::trim).find(|text| !text.is_empty()).map(str::to_owned)
}

/// `config.json` of transformers: `architectures` names the class, `model_type` the family;
/// that of diffusers has `_class_name`.
fn from_config(model: &Model) -> Option<String> {
    let config = &model.configs().iter().find(|config| config.name == "config.json")?.json;
    let class = config["architectures"][0].as_str().or(config["_class_name"].as_str());
    class.or(config["model_type"].as_str()).map(str::to_owned)
}
