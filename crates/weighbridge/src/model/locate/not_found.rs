//! What to say where there is no model.

use std::io;
use std::path::Path;

use super::directory::holds_weights;
use super::listing::{Entry, Listing};
use super::resolvers::Typed;
use super::search::Search;
use super::{hub, nearby, sets, shown, some_of};
use crate::containers;
use crate::error::Error;
use crate::input::EntryKind;

/// Nothing has the name that was typed: says what was tried, and what comes close.
pub(super) fn not_found(typed: &Typed<'_>, search: &Search<'_>) -> Error {
    let store = match &typed.stores().hugging_face {
        Some(hub) => format!("and no such repository in the Hugging Face cache {}", shown(hub)),
        None => "and no Hugging Face cache is known".to_owned(),
    };
    let error = missing(typed.path, &format!("no such file or directory, {store}"));
    let repositories = || repositories(typed, search);
    match suggestion(typed.path, search, repositories) {
        Some(hint) => error.hint(hint),
        None => error.hint("a model of the local Ollama store is written ollama:name:tag"),
    }
}

/// Nothing is at a path of a folder.
pub(super) fn not_in_folder(path: &Path, search: &Search<'_>) -> Error {
    let error = missing(path, "no such file or directory");
    match suggestion(path, search, || None) {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

fn missing(path: &Path, tried: &str) -> Error {
    Error::io(io::Error::new(io::ErrorKind::NotFound, tried), "cannot open").in_file(path)
}

fn suggestion(
    path: &Path,
    search: &Search<'_>,
    repositories: impl Fn() -> Option<String>,
) -> Option<String> {
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !search.is_folder(folder) {
        let missing = folder
            .ancestors()
            .take_while(|f| !f.as_os_str().is_empty() && !search.is_folder(f))
            .last()?;
        return repositories().or_else(|| Some(format!("there is no folder {}", shown(missing))));
    }
    let names = search.names_in(folder);
    let close = nearby::closest(&wanted, names.iter().map(String::as_str));
    if close.is_empty() {
        return repositories();
    }
    let paths: Vec<String> = close.iter().map(|name| shown(&path.with_file_name(name))).collect();
    Some(format!("did you mean {}?", paths.join(" or ")))
}

fn repositories(typed: &Typed<'_>, search: &Search<'_>) -> Option<String> {
    let known = hub::known(typed.stores().hugging_face.as_deref()?, search);
    let wanted = typed.path.to_str()?;
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
pub(super) fn no_weights(listing: &Listing, search: &Search<'_>) -> Error {
    let error = |message: String| Error::usage(message).in_file(&listing.folder);
    if listing.entries.is_empty() {
        return error("the directory is empty".to_owned()).hint("fetch the model into it first");
    }
    let unfinished = names(listing, |e| {
        e.kind != EntryKind::Folder && sets::UNFINISHED.contains(&&*e.extension())
    });
    if !unfinished.is_empty() {
        return error(format!(
            "no weights are here, only unfinished downloads: {}",
            some_of(&unfinished, 5)
        ))
        .hint("let the download finish, or start it again");
    }
    let broken = names(listing, |e| e.kind == EntryKind::BrokenLink);
    if !broken.is_empty() {
        return error(format!(
            "no weights are here, only links that lead nowhere: {}",
            some_of(&broken, 5)
        ))
        .hint("the files they stand for were moved or deleted; fetch them again");
    }
    let below = models_below(listing, search);
    if !below.is_empty() {
        return error(format!(
            "no weights are in this directory itself, but in {}",
            some_of(&below, 8)
        ))
        .hint("name one of these directories");
    }
    let all = names(listing, |_| true);
    error(format!("no weights are here; it holds {}", some_of(&all, 8)))
        .hint(format!("weights are looked for in {} files", extensions()))
}

/// ".a, .b and .c".
fn extensions() -> String {
    let all: Vec<String> =
        containers::weight_extensions().iter().map(|extension| format!(".{extension}")).collect();
    crate::text::listed(&all, "and")
}

fn names(listing: &Listing, wanted: impl Fn(&Entry) -> bool) -> Vec<String> {
    let name = |entry: &Entry| match entry.kind {
        EntryKind::Folder => format!("{}/", entry.name),
        _ => entry.name.clone(),
    };
    listing.entries.iter().filter(|entry| wanted(entry)).map(name).collect()
}

/// Folders inside that hold weights, and the snapshots where this is a repository of a cache.
fn models_below(listing: &Listing, search: &Search<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for folder in listing.folders() {
        let Ok(inside) = Listing::read(&folder.path, search) else {
            continue;
        };
        if holds_weights(&inside, search) {
            found.push(shown(&folder.path));
        } else if folder.name == "snapshots" {
            let snapshots = inside.folders().filter(|entry| {
                Listing::read(&entry.path, search)
                    .is_ok_and(|listing| holds_weights(&listing, search))
            });
            found.extend(snapshots.map(|entry| shown(&entry.path)));
        }
    }
    found
}
