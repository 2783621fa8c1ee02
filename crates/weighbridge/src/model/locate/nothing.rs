//! What to say where there is no model.

use std::io;
use std::path::Path;

use super::directory::holds_weights;
use super::listing::{Entry, Kind, Listing};
use super::stores::Stores;
use super::{hub, nearby, sets, shown, some_of};
use crate::error::Error;
use crate::limits::Budget;

/// Nothing has this name: says what was tried, and what comes close.
pub(super) fn not_found(typed: &Path, stores: &Stores) -> Error {
    let store = match &stores.hugging_face {
        Some(hub) => format!("and no such repository in the Hugging Face cache {}", shown(hub)),
        None => "and no Hugging Face cache is known".to_owned(),
    };
    let tried = format!("no such file or directory, {store}");
    let error = Error::io(io::Error::new(io::ErrorKind::NotFound, tried), "cannot open");
    let error = error.in_file(typed);
    match suggestion(typed, stores) {
        Some(hint) => error.hint(hint),
        None => error.hint("a model of the local Ollama store is written ollama:name:tag"),
    }
}

fn suggestion(typed: &Path, stores: &Stores) -> Option<String> {
    let wanted = typed.file_name()?.to_string_lossy().into_owned();
    let folder =
        typed.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let missing =
            folder.ancestors().take_while(|f| !f.as_os_str().is_empty() && !f.is_dir()).last()?;
        let close = repositories(typed, stores);
        return Some(close.unwrap_or_else(|| format!("there is no folder {}", shown(missing))));
    }
    let names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    let close = nearby::closest(&wanted, names.iter().map(String::as_str));
    if close.is_empty() {
        return repositories(typed, stores);
    }
    let paths: Vec<String> = close.iter().map(|name| shown(&typed.with_file_name(name))).collect();
    Some(format!("did you mean {}?", paths.join(" or ")))
}

fn repositories(typed: &Path, stores: &Stores) -> Option<String> {
    let known = hub::known(stores.hugging_face.as_deref()?);
    let wanted = typed.to_str()?;
    let mut close = nearby::closest(wanted, known.iter().map(String::as_str));
    if close.is_empty() {
        let short = |name: &String| name.rsplit('/').next().map(str::to_owned).unwrap_or_default();
        let wanted = short(&wanted.to_owned());
        close = known
            .iter()
            .filter(|name| !nearby::closest(&wanted, std::iter::once(&*short(name))).is_empty())
            .take(3)
            .cloned()
            .collect();
    }
    (!close.is_empty()).then(|| format!("did you mean {}?", close.join(" or ")))
}

/// A directory without weights: says what it holds instead.
pub(super) fn no_weights(listing: &Listing, budget: &Budget) -> Error {
    let error = |message: String| Error::usage(message).in_file(&listing.folder);
    if listing.entries.is_empty() {
        return error("the directory is empty".to_owned()).hint("fetch the model into it first");
    }
    let unfinished =
        names(listing, |e| e.kind != Kind::Folder && sets::UNFINISHED.contains(&&*e.extension()));
    if !unfinished.is_empty() {
        return error(format!(
            "no weights are here, only unfinished downloads: {}",
            some_of(&unfinished, 5)
        ))
        .hint("let the download finish, or start it again");
    }
    let broken = names(listing, |e| e.kind == Kind::Broken);
    if !broken.is_empty() {
        return error(format!(
            "no weights are here, only links that lead nowhere: {}",
            some_of(&broken, 5)
        ))
        .hint("the files they stand for were moved or deleted; fetch them again");
    }
    let below = models_below(listing, budget);
    if !below.is_empty() {
        return error(format!(
            "no weights are in this directory itself, but in {}",
            some_of(&below, 8)
        ))
        .hint("name one of these directories");
    }
    let all = names(listing, |_| true);
    error(format!("no weights are here; it holds {}", some_of(&all, 8)))
        .hint("weights are looked for in .safetensors, .gguf, .bin, .pt, .pth, .ckpt, .npz, .npy and .apr files")
}

fn names(listing: &Listing, wanted: impl Fn(&Entry) -> bool) -> Vec<String> {
    let name = |entry: &Entry| match entry.kind {
        Kind::Folder => format!("{}/", entry.name),
        _ => entry.name.clone(),
    };
    listing.entries.iter().filter(|entry| wanted(entry)).map(name).collect()
}

/// Folders inside that hold weights, and the snapshots where this is a repository of a cache.
fn models_below(listing: &Listing, budget: &Budget) -> Vec<String> {
    let mut found = Vec::new();
    for folder in listing.folders() {
        let Ok(inside) = Listing::read(&folder.path, budget) else {
            continue;
        };
        if holds_weights(&inside) {
            found.push(shown(&folder.path));
        } else if folder.name == "snapshots" {
            let snapshots = inside.folders().filter(|entry| {
                Listing::read(&entry.path, budget).is_ok_and(|listing| holds_weights(&listing))
            });
            found.extend(snapshots.map(|entry| shown(&entry.path)));
        }
    }
    found
}
