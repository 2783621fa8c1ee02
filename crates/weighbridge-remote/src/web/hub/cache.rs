//! What of a repository is on this machine already. Nothing is written there.
//!
//! ```text
//! models--owner--name/refs/main                     the commit, as text
//! models--owner--name/snapshots/<commit>/config.json
//! ```

use std::path::{Path, PathBuf};

use super::address::HubAddress;
use super::tree::is_commit;

/// The part of the cache that belongs to one repository.
pub(super) struct Cached(PathBuf);

impl Cached {
    pub(super) fn new(cache: &Path, address: &HubAddress) -> Self {
        let name = format!("{}--{}", address.kind.word(), address.id.replace('/', "--"));
        Self(cache.join(name))
    }

    /// The commit that a revision was when it was fetched last.
    pub(super) fn commit(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let text = std::fs::read_to_string(self.0.join("refs").join(revision)).ok()?;
        Some(text.trim().to_owned()).filter(|text| is_commit(text))
    }

    /// The files of a commit, as far as they are there.
    pub(super) fn snapshot(&self, commit: &str) -> Option<PathBuf> {
        Some(self.0.join("snapshots").join(commit)).filter(|folder| folder.is_dir())
    }
}
