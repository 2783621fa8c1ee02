//! Which files of a directory are the model. The rule is in the documentation of `locate`.

use std::path::{Path, PathBuf};

use super::index::Index;
use super::listing::{Entry, Listing, extension, stem_of};
use super::search::Search;
use super::sets::{self, Set};
use super::{Located, configs, hazards, keep_a_model, not_a_model, not_found, pipeline};
use super::{shown, some_of};
use crate::ErrorKind;
use crate::catalog::Finding;
use crate::containers::conventions::any_fits;
use crate::containers::{self, CONTAINERS, Conventions};
use crate::error::Result;
use crate::input::EntryKind;

/// Below this, a download is over before its program writes a control file.
const LARGE: u64 = 64 << 10;

/// The models of a directory.
pub(super) fn locate(folder: &Path, search: &Search<'_>) -> Result<Vec<Located>> {
    let listing = Listing::read(folder, search)?;
    if listing.files().any(|entry| entry.name == pipeline::INDEX)
        && let Some(mut components) = pipeline::locate(&listing)?
    {
        hazards::look(&listing, &mut components);
        return Ok(components);
    }
    let mut models = listing.models()?.ok_or_else(|| not_found::no_weights(&listing))?;
    hazards::look(&listing, &mut models);
    Ok(models)
}

/// A set's files by name.
fn names(set: &Set) -> Vec<String> {
    let name = |file: &PathBuf| file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    set.files.iter().map(name).collect()
}

impl Listing<'_> {
    /// Whether the folder holds weights itself.
    pub(super) fn holds_weights(&self) -> bool {
        CONTAINERS.iter().any(|format| !self.candidates(format.conventions()).is_empty())
    }

    /// The models among the files; `None` if there are none.
    pub(super) fn models(&self) -> Result<Option<Vec<Located>>> {
        let mut general = Located::new(self.folder.clone(), self.search);
        let mut taken: Vec<Set> = Vec::new();
        let mut ignored: Vec<String> = Vec::new();
        for format in containers::by_preference() {
            let mut found = self.sets_of(format, &mut general)?;
            if taken.is_empty() {
                let best = found.iter().map(|set| rank(set, format)).min();
                taken = found.extract_if(.., |set| Some(rank(set, format)) == best).collect();
            }
            ignored.extend(found.iter().flat_map(names));
        }
        if taken.is_empty() {
            return Ok(None);
        }
        self.describe(&taken, &ignored, &mut general);
        taken_as_models(taken, &general, self.search).map(Some)
    }

    fn candidates(&self, format: &Conventions) -> Vec<&Entry> {
        // A file whose extension other programs use too is looked at.
        let counts = |entry: &Entry| {
            format.knows_beginning(&entry.name)
                || not_a_model::is_worth_opening(&entry.path, self.search)
        };
        let weights = |entry: &&Entry| {
            let extension = format.extension(&entry.extension()).filter(|known| known.listed);
            entry.is_file_or_broken()
                && !containers::is_not_weights(&entry.name)
                && extension.is_some_and(|extension| !extension.shared || counts(entry))
        };
        self.entries.iter().filter(weights).collect()
    }

    fn sets_of(&self, format: &Conventions, general: &mut Located) -> Result<Vec<Set>> {
        let mut left = self.candidates(format);
        let mut sets = Vec::new();
        for entry in self.files() {
            let Some((stem, variant)) = format.index_stem(&entry.name) else { continue };
            if let Some(mut set) = indexed(entry, general, self.search)? {
                set.stem = (stem.to_owned(), variant);
                left.retain(|entry| !set.files.contains(&entry.path));
                sets.push(set);
            }
        }
        let joined = |entry: &&Entry| any_fits(format.together, stem_of(&entry.name));
        let (joined, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(joined);
        sets.extend(sets::together(&joined));
        sets.extend(sets::group(&rest, self.search));
        Ok(sets)
    }

    /// Says what was decided.
    fn describe(&self, taken: &[Set], ignored: &[String], general: &mut Located) {
        if !ignored.is_empty() {
            let labels: Vec<&str> = taken.iter().map(|set| &*set.label).collect();
            general.notes.push(format!(
                "the directory has several sets of weights; used: {}; ignored: {} (priority: an \
                 index, then {}; `model` before other names)",
                some_of(&labels, 4),
                some_of(ignored, 6),
                containers::labels().join(", ")
            ));
        }
        let names = self.files().map(|entry| &*entry.name);
        let others: Vec<&str> = names.filter(|name| containers::is_not_weights(name)).collect();
        if !others.is_empty() {
            general.notes.push(format!("not model weights: {}", some_of(&others, 6)));
        }
        for entry in self.entries.iter().filter(|entry| entry.kind == EntryKind::BrokenLink) {
            if entry.is_named_as_weights() && sets::group(&[entry], self.search).is_empty() {
                general.notes.push(format!("{} is a broken link", shown(Path::new(&entry.name))));
            }
        }
    }
}

/// The set that an index names; a finding if the index cannot be used.
fn indexed(entry: &Entry, general: &mut Located, search: &Search<'_>) -> Result<Option<Set>> {
    let set = match Index::read(&entry.path, search) {
        Ok(index) => index.into_set(search)?,
        Err(error) if error.kind() == ErrorKind::Limit => return Err(error),
        Err(error) => {
            let message = format!(
                "{}: {}; shards are found by file name instead",
                entry.name,
                error.message()
            );
            general.findings.push(Finding::general("bad-index", crate::text::escaped(&message)));
            return Ok(None);
        }
    };
    if set.files.is_empty() {
        let message = format!(
            "{} names {} files, but none of them exists ({})",
            crate::text::escaped(&entry.name),
            set.missing.len(),
            some_of(&set.missing, 3)
        );
        general.findings.push(Finding::general("bad-index", message));
        return Ok(None);
    }
    Ok(Some(set))
}

/// Smaller is better; equal ranks are several models.
fn rank(set: &Set, format: &Conventions) -> (bool, usize, bool) {
    let (stem, variant) = &set.stem;
    if format.independent {
        (false, 0, false)
    } else {
        (set.index.is_none(), format.stem_rank(stem), *variant)
    }
}

/// One model for each set that was taken. Several are called by their first file.
fn taken_as_models(
    taken: Vec<Set>,
    general: &Located,
    search: &Search<'_>,
) -> Result<Vec<Located>> {
    let alone = taken.len() == 1;
    let mut models = Vec::new();
    for set in taken {
        let place = match (alone, set.files.first()) {
            (false, Some(first)) => first.clone(),
            _ => general.path.clone(),
        };
        let mut model = Located::new(place, search);
        model.findings.clone_from(&general.findings);
        model.notes.clone_from(&general.notes);
        if !set.files.iter().all(|file| configs::needs_none(file)) {
            configs::beside(&general.path, &mut model, search)?;
        }
        adopt(set, &mut model, search);
        models.push(model);
    }
    if models.len() > 1 {
        mark_companions(&mut models);
    }
    Ok(models)
}

/// Gives a model its files.
pub(super) fn adopt(set: Set, model: &mut Located, search: &Search<'_>) {
    if set.is_counted && set.files.len() > 1 {
        model.notes.push(format!(
            "{} numbered shards are opened as one model, starting with {}",
            set.files.len(),
            set.label
        ));
    }
    model.findings.extend(set.findings);
    let unfinished = |file: &PathBuf| unfinished(file, search.file_len(file)?, search);
    model.findings.extend(set.files.iter().filter_map(unfinished));
    model.files = set.files;
    model.index = set.index;
}

/// A download that is not finished, by what its program leaves behind. Programs that keep a control
/// file beside it do so for large files.
pub(super) fn unfinished(file: &Path, len: u64, search: &Search<'_>) -> Option<Finding> {
    let name = file.file_name()?.to_string_lossy();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    let by_name = sets::UNFINISHED.iter().any(|known| known.eq_ignore_ascii_case(ending));
    let by_name = by_name.then(|| "by its file name".to_owned());
    let control = || {
        if len <= LARGE {
            return None;
        }
        let mut control = file.as_os_str().to_owned();
        control.push(".aria2");
        search.is_there(Path::new(&control)).then(|| format!("{name}.aria2 is still there"))
    };
    by_name.or_else(control).map(|why| {
        let message =
            format!("{name} is an unfinished download ({why}); let it finish or fetch it again");
        Finding::general("incomplete-download", crate::text::escaped(&message))
    })
}

/// Files that accompany a model and are none themselves.
fn mark_companions(models: &mut [Located]) {
    for model in models.iter_mut() {
        let name = model.path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let format = containers::by_extension(&extension(&name));
        let known = format.map_or(&[][..], |(format, _)| format.conventions().companions);
        let companion = known.iter().find(|(pattern, _)| any_fits(&[pattern], stem_of(&name)));
        model.companion = companion.map(|(_, what)| *what);
    }
    keep_a_model(models);
}
