//! A file given by name.

use std::path::Path;

use super::index::Index;
use super::listing::{Entry, Listing, extension};
use super::search::Search;
use super::sets::Set;
use super::shards::Shard;
use super::{Located, configs, directory, sets, shown_name, some_of};
use crate::containers;
use crate::error::{Error, Result};
use crate::input::EntryKind;

/// Files of a series that are asked for by name, where nothing lists them.
const MOST_ASKED: usize = 10_000;

/// The model that a file is, or stands for.
pub(super) fn locate(path: &Path, len: u64, search: &Search<'_>) -> Result<Vec<Located>> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut model = Located::new(path.to_owned(), search);
    let folder = folder_of(path);
    if containers::is_index(&name) {
        let set = Index::read(path, search)?.into_set(search)?;
        if set.files.is_empty() {
            return Err(no_files(path, &set.missing));
        }
        configs::beside(folder, &mut model, search)?;
        directory::adopt(set, &mut model, search);
        return Ok(vec![model]);
    }
    configs::beside_file(path, folder, &mut model, search)?;
    if containers::by_extension(&extension(&name))
        .is_some_and(|(format, _)| format.conventions().any_part_is_whole)
        && let Some(shard) = Shard::parse(&name)
        && let Some(set) = series_of(path, &shard, search)?
    {
        directory::adopt(set, &mut model, search);
        return Ok(vec![model]);
    }
    if let Some(shard) = Shard::parse(&name).filter(|shard| shard.total > 1) {
        model.notes.push(format!(
            "only shard {} of {} is open; open the directory {} for the whole model",
            shard.index,
            shard.total,
            super::shown(folder)
        ));
    }
    model.findings.extend(directory::unfinished(path, len, search));
    model.files.push(path.to_owned());
    Ok(vec![model])
}

/// The other files of a model, by the name of one of them.
fn series_of(path: &Path, shard: &Shard, search: &Search<'_>) -> Result<Option<Set>> {
    let folder = folder_of(path);
    let others = shard.indices(shard.index).take(MOST_ASKED).map(|index| shard.name(index));
    search.ask_for(others.map(|name| folder.join(name)).collect())?;
    let listing = Listing::read(folder, search)?;
    let member = |entry: &&Entry| {
        entry.kind != EntryKind::Folder
            && Shard::parse(&entry.name).is_some_and(|other| other.set() == shard.set())
    };
    let members: Vec<&Entry> = listing.entries.iter().filter(member).collect();
    Ok(sets::group(&members, search).pop())
}

/// The folder a file lies in; the current one has a name too.
pub(super) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn no_files(path: &Path, missing: &[String]) -> Error {
    let message = match missing.len() {
        0 => format!("{} is a shard index that names no files", shown_name(path)),
        count => format!(
            "this is a shard index, and all its shards are missing ({count}): {}",
            some_of(missing, 5)
        ),
    };
    Error::malformed(message)
        .in_file(path)
        .hint("an index holds no weights; fetch the files it names")
}
