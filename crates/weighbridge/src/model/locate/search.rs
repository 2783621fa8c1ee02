//! The files among which a model is looked for.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::side_by_side::side_by_side;
use crate::error::{Error, Result};
use crate::input::{EntryKind, Folder, ReadAt, error_of};
use crate::limits::Budget;

/// Files that are asked for at once where nothing lists them.
const SIDE_BY_SIDE: usize = 32;

/// A folder, and what looking around in it may cost.
pub(super) struct Search<'a> {
    pub(super) folder: Arc<dyn Folder>,
    pub(super) budget: &'a Budget,
}

impl Search<'_> {
    /// What lies at a path; `None` if there is nothing, or it cannot be reached.
    pub(super) fn kind(&self, path: &Path) -> Option<EntryKind> {
        self.folder.kind(path).ok()
    }

    /// How many bytes the file at a path has.
    pub(super) fn file_len(&self, path: &Path) -> Option<u64> {
        match self.kind(path)? {
            EntryKind::File(len) => Some(len),
            _ => None,
        }
    }

    pub(super) fn is_file(&self, path: &Path) -> bool {
        self.file_len(path).is_some()
    }

    pub(super) fn is_folder(&self, path: &Path) -> bool {
        self.kind(path) == Some(EntryKind::Folder)
    }

    /// Finds out which of these files are there, where no listing says it: each is opened, and the
    /// folder knows it from then on. What is refused is an error: it may be there.
    pub(super) fn ask_for(&self, files: Vec<PathBuf>) -> Result<()> {
        if self.folder.has_listing() {
            return Ok(());
        }
        let ask = |path: PathBuf| match self.folder.open(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error_of(error, "cannot open").in_file(&path))
            }
            _ => Ok(()),
        };
        side_by_side(files, SIDE_BY_SIDE, ask).map(drop)
    }

    /// Whether there is anything at a path.
    pub(super) fn is_there(&self, path: &Path) -> bool {
        self.kind(path).is_some_and(|kind| kind != EntryKind::BrokenLink)
    }

    /// The names in a folder, sorted; those that are not text are left out.
    pub(super) fn names_in(&self, folder: &Path) -> Vec<String> {
        let entries = self.folder.list(folder).unwrap_or_default();
        let mut names: Vec<String> =
            entries.into_iter().filter_map(|entry| entry.name.into_string().ok()).collect();
        names.sort();
        names
    }

    /// The bytes of a small file; charged, and capped at `most`.
    pub(super) fn read(&self, path: &Path, most: u64) -> Result<Vec<u8>> {
        let failed = |e| error_of(e, "cannot read").in_file(path);
        let source = self.folder.open(path).map_err(failed)?;
        let len = source.find_len().map_err(failed)?;
        if len > most {
            let message = format!("it has {len} bytes, the limit for such a file is {most} bytes");
            return Err(Error::malformed(message).in_file(path));
        }
        self.budget.charge(len, "a JSON document").map_err(|e| e.in_file(path))?;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
        source.read_at(0, &mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    /// Charges for what a text is parsed into; `each` is what a byte of it takes at worst.
    pub(super) fn charge_parsed(
        &self,
        path: &Path,
        text: &[u8],
        each: u64,
        what: &str,
    ) -> Result<()> {
        let bytes = (text.len() as u64).saturating_mul(each);
        self.budget.charge(bytes, what).map_err(|e| e.in_file(path))
    }

    /// The first bytes of a file.
    pub(super) fn head(&self, path: &Path, most: usize) -> Option<Vec<u8>> {
        let source: Arc<dyn ReadAt> = self.folder.open(path).ok()?;
        let len = usize::try_from(source.len()?).unwrap_or(usize::MAX);
        let mut head = vec![0; most.min(len)];
        source.read_at(0, &mut head).ok()?;
        Some(head)
    }
}
