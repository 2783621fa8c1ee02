//! A diffusers pipeline: `model_index.json`, and one folder for each component.
//!
//! ```text
//! {"_class_name": "StableDiffusionPipeline",
//!  "unet": ["diffusers", "UNet2DConditionModel"],        a folder, which may hold weights
//!  "safety_checker": [null, null]}                       a component that is not there
//! ```

use super::listing::{Entry, Listing};
use super::{Located, configs, some_of};
use crate::catalog::Finding;
use crate::config;
use crate::error::Result;

/// The file that makes a folder a pipeline.
pub(super) const INDEX: &str = config::PIPELINE;

/// One model for each component that holds weights; `None` if no folder does.
pub(super) fn locate(listing: &Listing<'_>) -> Result<Option<Vec<Located>>> {
    let mut findings = Vec::new();
    let document = configs::document(&listing.folder.join(INDEX), listing.search);
    let named: Option<Vec<String>> = match &document {
        Ok(json) => json.as_object().map(|object| object.keys().cloned().collect()),
        Err(error) => {
            let message = format!(
                "{INDEX} cannot be used: {}; every directory counts as a component",
                error.message()
            );
            findings.push(Finding::general("bad-config", message));
            None
        }
    };
    let is_component =
        |entry: &&Entry| named.as_ref().is_none_or(|names| names.contains(&entry.name));
    let (mut models, mut notes) = (Vec::new(), Vec::new());
    for folder in listing.folders().filter(is_component) {
        let inside = Listing::read(&folder.path, listing.search)?;
        models.extend(inside.models()?.into_iter().flatten());
    }
    if models.is_empty() {
        return Ok(None);
    }
    notes.extend(ignored(listing, named.as_deref())?);
    notes.extend(absent(listing, document.as_ref().ok()));
    for model in &mut models {
        model.findings.splice(0..0, findings.iter().cloned());
        model.notes.splice(0..0, notes.iter().cloned());
        model.pipeline = Some(listing.folder.clone());
    }
    Ok(Some(models))
}

/// Weights in the pipeline's folder that belong to no component.
fn ignored(listing: &Listing<'_>, named: Option<&[String]>) -> Result<Option<String>> {
    let mut names: Vec<String> = Vec::new();
    for folder in listing.folders().filter(|f| named.is_some_and(|n| !n.contains(&f.name))) {
        if Listing::read(&folder.path, listing.search)?.holds_weights() {
            names.push(format!("{}/", folder.name));
        }
    }
    let weights = listing.files().filter(|entry| entry.is_named_as_weights());
    names.extend(weights.map(|entry| entry.name.clone()));
    let note = || format!("ignored because {INDEX} does not name them: {}", some_of(&names, 6));
    Ok((!names.is_empty()).then(note))
}

/// Components that are named and whose folder is missing.
fn absent(listing: &Listing<'_>, document: Option<&serde_json::Value>) -> Option<String> {
    let object = document?.as_object()?;
    let real = |value: &serde_json::Value| {
        value
            .as_array()
            .is_some_and(|pair| pair.len() == 2 && pair.iter().all(serde_json::Value::is_string))
    };
    let missing: Vec<&str> = object
        .iter()
        .filter(|(key, value)| !key.starts_with('_') && real(value))
        .filter(|(key, _)| !listing.folders().any(|folder| folder.name == **key))
        .map(|(key, _)| key.as_str())
        .collect();
    (!missing.is_empty())
        .then(|| format!("components without a directory: {}", some_of(&missing, 6)))
}
