//! Weights of a model that lie in folders of its repository.

use std::path::PathBuf;

use super::siblings::home;
use crate::error::Result;
use crate::model::{Model, OpenOptions, Weight};
use crate::projectors::Projector;

/// A model with the weights of the folders that a class of projectors has beside it.
pub(super) fn with_beside(model: &Model, projector: &Projector) -> Result<Model> {
    if projector.beside().is_empty() {
        return Ok(model.clone());
    }
    let folders: Vec<PathBuf> =
        projector.beside().iter().map(|folder| home(model).join(folder)).collect();
    OpenOptions::new().open_with(model.folder(), model.path(), &folders)
}

/// The name of a weight, behind that of its folder if it is in one.
pub(super) fn name(model: &Model, projector: &Projector, weight: &Weight) -> String {
    let is_in = |folder: &&&str| {
        let path = home(model).join(folder);
        weight.parts().next().is_some_and(|(_, source, _)| source.input().name().starts_with(path))
    };
    match projector.beside().iter().find(is_in) {
        Some(folder) => format!("{folder}/{}", weight.name()),
        None => weight.name().to_owned(),
    }
}
