//! Errors for paths and names without a model.

use std::io;
use std::path::Path;

use super::listing::{Entry, Listing};
use super::resolvers::{RESOLVERS, Typed};
use super::search::Search;
use super::{path, sets, shown, some_of};
use crate::containers;
use crate::error::Error;
use crate::input::EntryKind;

/// Nothing has the name that was typed: says what was tried, and what comes close.
pub(super) fn not_found(typed: &Typed<'_>, search: &Search<'_>) -> Error {
    let tried: Vec<String> = RESOLVERS.iter().filter_map(|r| r.looked_for(typed)).collect();
    let close = RESOLVERS.iter().map(|resolver| resolver.close_names(typed, search));
    let hint = close.into_iter().find_map(|names| did_you_mean(&names));
    let advice = || RESOLVERS.iter().find_map(|resolver| resolver.advice(typed, search));
    let others = RESOLVERS.iter().filter_map(|resolver| resolver.other_way(typed));
    let hints: Vec<String> = hint.or_else(advice).into_iter().chain(others).collect();
    let hint = (!hints.is_empty()).then(|| hints.join("; "));
    missing(typed.path, &tried.join(", and "), hint)
}

/// Nothing is at a path of a folder.
pub(super) fn not_in_folder(path: &Path, search: &Search<'_>) -> Error {
    let hint = did_you_mean(&path::close_names(path, search));
    missing(path, path::LOOKED_FOR, hint.or_else(|| path::missing_folder(path, search)))
}

fn did_you_mean(names: &[String]) -> Option<String> {
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

fn missing(path: &Path, tried: &str, hint: Option<String>) -> Error {
    let error = io::Error::new(io::ErrorKind::NotFound, tried);
    let error = Error::io(error, "cannot open").in_file(path);
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// A directory without weights: says what it holds instead.
pub(super) fn no_weights(listing: &Listing<'_>) -> Error {
    let error = |message: String| Error::usage(message).in_file(&listing.folder);
    if listing.entries.is_empty() {
        return error("the directory is empty".to_owned()).hint("download the model into it first");
    }
    let unfinished = names(listing, |e| {
        e.kind != EntryKind::Folder && sets::UNFINISHED.contains(&&*e.extension())
    });
    if !unfinished.is_empty() {
        return error(format!(
            "no weights found, only unfinished downloads: {}",
            some_of(&unfinished, 5)
        ))
        .hint("let the download finish, or start it again");
    }
    let broken = names(listing, |e| e.kind == EntryKind::BrokenLink);
    if !broken.is_empty() {
        return error(format!("no weights found, only broken links: {}", some_of(&broken, 5)))
            .hint("the files they point to were moved or deleted; fetch them again");
    }
    let below = models_below(listing);
    if !below.is_empty() {
        return error(format!("no weights found in this directory, but in {}", some_of(&below, 8)))
            .hint("open one of these directories");
    }
    let all = names(listing, |_| true);
    error(format!("no weights found in this directory; it contains {}", some_of(&all, 8)))
        .hint(format!("supported files: {}", extensions()))
}

/// ".a, .b and .c".
fn extensions() -> String {
    let all: Vec<String> =
        containers::weight_extensions().iter().map(|extension| format!(".{extension}")).collect();
    crate::text::listed(&all, "and")
}

fn names(listing: &Listing<'_>, wanted: impl Fn(&Entry) -> bool) -> Vec<String> {
    let name = |entry: &Entry| match entry.kind {
        EntryKind::Folder => format!("{}/", entry.name),
        _ => entry.name.clone(),
    };
    listing.entries.iter().filter(|entry| wanted(entry)).map(name).collect()
}

/// Folders inside that hold weights, and the snapshots where this is a repository of a cache.
fn models_below(listing: &Listing<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for folder in listing.folders() {
        let Ok(inside) = Listing::read(&folder.path, listing.search) else { continue };
        if inside.holds_weights() {
            found.push(shown(&folder.path));
        } else if folder.name == "snapshots" {
            let snapshots = inside.folders().filter(|entry| {
                Listing::read(&entry.path, listing.search).is_ok_and(|one| one.holds_weights())
            });
            found.extend(snapshots.map(|entry| shown(&entry.path)));
        }
    }
    found
}
