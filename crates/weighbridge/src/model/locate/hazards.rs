//! Programs beside the weights of a model. Nothing here loads them, but Python may.
//!
//! A repository with safetensors often has pickles too: `pytorch_model.bin`, `training_args.bin`.
//! A reader that ignores them must not call the repository clean.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::listing::{Entry, Listing};
use super::search::Search;
use super::{Located, shown};
use crate::catalog::Finding;
use crate::containers::{self, Audited};
use crate::error::{Error, ErrorKind};
use crate::input::{Input, error_of};
use crate::limits::Budget;

/// Dangerous calls that are listed for one file.
const MOST_CALLS: usize = 8;

/// Adds the dangerous files in the directory of these models and in its immediate subdirectories.
/// A file in the directory of one model concerns that model; the others concern all.
pub(super) fn look(listing: &Listing<'_>, models: &mut [Located]) {
    let folder = &listing.search.folder;
    if folder.has_latency() || !folder.has_listing() {
        return;
    }
    look_in(listing, &listing.folder, models);
    for entry in listing.folders() {
        // The search's own budget is for finding the model.
        let budget = Budget::new(listing.search.budget.limits().clone());
        let search = Search { folder: folder.clone(), budget: &budget };
        match Listing::read(&entry.path, &search) {
            Ok(inside) => look_in(&inside, &listing.folder, models),
            Err(error) => {
                let hazard = unchecked(&format!("{}/", shown(Path::new(&entry.name))), &error)
                    .in_file(&entry.path.as_path().into());
                models.iter_mut().for_each(|model| model.hazards.push(hazard.clone()));
            }
        }
    }
}

fn look_in(listing: &Listing<'_>, root: &Path, models: &mut [Located]) {
    for entry in listing.files() {
        if models.iter().any(|model| model.files.contains(&entry.path)) {
            continue;
        }
        let name = shown(entry.path.strip_prefix(root).unwrap_or(&entry.path));
        let (mut hazards, note) = hazards_of(entry, &name, listing.search);
        let path: Arc<Path> = entry.path.as_path().into();
        hazards.iter_mut().for_each(|hazard| hazard.file = Some(path.clone()));
        let is_own = |model: &&mut Located| model.path == listing.folder;
        let owned = models.iter_mut().any(|model| is_own(&model));
        for model in models.iter_mut().filter(|model| !owned || is_own(model)) {
            model.hazards.extend(hazards.iter().cloned());
            model.notes.extend(note.clone());
        }
    }
}

/// What is dangerous in one file, and a note if its name hides what it is.
fn hazards_of(entry: &Entry, name: &str, search: &Search<'_>) -> (Vec<Finding>, Option<String>) {
    let input = match search.folder.open(&entry.path) {
        Ok(source) => Input::from_source(source, &entry.path),
        // A broken link: nothing can be loaded.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Default::default(),
        Err(e) => return (vec![unchecked(name, &error_of(e, "cannot open"))], None),
    };
    let budget = Budget::new(search.budget.limits().clone());
    match containers::audit(&input, &budget) {
        Ok(None) => Default::default(),
        Ok(Some(Audited { what, dangers, is_named_so })) => {
            let says = if is_named_so { String::new() } else { format!(" ({what})") };
            let hazard = |danger: &Finding| {
                Finding::general(danger.kind, format!("{name}{says}: {}", danger.message))
            };
            let hazards: Vec<Finding> = dangers.iter().take(MOST_CALLS).map(hazard).collect();
            let is_hidden = hazards.is_empty() && !is_named_so && has_extension(name);
            (hazards, is_hidden.then(|| format!("{name} is {what}, despite its extension")))
        }
        Err(error) if error.kind() == ErrorKind::Io => (vec![unchecked(name, &error)], None),
        Err(error) => {
            let message = format!("{name} cannot be checked for dangerous code: {error}");
            (vec![Finding::general("broken-pickle", message)], None)
        }
    }
}

/// A file that may be anything, because it cannot be read. It must not pass as harmless.
fn unchecked(name: &str, error: &Error) -> Finding {
    Finding::general("unchecked", format!("{name} was not checked for dangerous code: {error}"))
}

fn has_extension(name: &str) -> bool {
    Path::new(name).extension().is_some()
}
