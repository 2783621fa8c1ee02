//! Where the links of a repository may lead: what is outside it is not ours to publish.

use std::path::{Path, PathBuf};

use crate::model::Model;

/// What the names of a cache's repository folders begin with.
const CACHED: &str = "models--";

/// The places that links of a repository may lead to.
pub(super) struct Reach {
    /// The repository itself, and the caches that it or its weights lie in, all links resolved.
    places: Vec<PathBuf>,
    follow_links: bool,
}

impl Reach {
    /// For the repository at `root`. With `follow_links`, links to files may lead anywhere.
    pub(super) fn new(root: Option<PathBuf>, models: &[Model], follow_links: bool) -> Self {
        let root = root.and_then(|root| root.canonicalize().ok());
        let weights = models
            .iter()
            .flat_map(Model::sources)
            .map(|source| source.input().name().canonicalize());
        let of_weights = weights.flatten().filter_map(|path| cache_of(&path));
        let of_root = root.as_deref().and_then(cache_of);
        let mut places: Vec<_> = root.into_iter().chain(of_root).chain(of_weights).collect();
        // The first stays in its place: it is the repository.
        places.dedup();
        Self { places, follow_links }
    }

    /// Why a link to a folder is not followed; `within` is the folder that the link is in.
    pub(super) fn refuses_folder(&self, target: &Path, within: &Path) -> Option<&'static str> {
        if self.places.first().is_none_or(|root| !target.starts_with(root)) {
            return Some("is a link to a directory outside the model");
        }
        let within = within.canonicalize().unwrap_or_default();
        within.starts_with(target).then_some("is a link to one of its own parent directories")
    }

    /// Whether the file that a link leads to may be copied.
    pub(super) fn takes_file(&self, target: &Path) -> bool {
        self.follow_links || self.places.iter().any(|place| target.starts_with(place))
    }
}

/// The Hugging Face cache that a path lies in.
fn cache_of(path: &Path) -> Option<PathBuf> {
    let is_repository = |folder: &&Path| {
        folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with(CACHED))
    };
    path.ancestors().find(is_repository)?.parent().map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_is_the_folder_of_its_repositories() {
        let cache = |path: &str| cache_of(Path::new(path));
        assert_eq!(cache("/c/hub/models--a--b/snapshots/1"), Some("/c/hub".into()));
        assert_eq!(cache("/c/hub/a--b/snapshots/1"), None);
    }

    #[test]
    fn files_may_come_from_the_repository_and_its_cache() {
        let places = vec!["/c/hub/models--a/snapshots/1".into(), "/c/hub".into()];
        let reach = Reach { places, follow_links: false };
        assert!(reach.takes_file(Path::new("/c/hub/models--a/blobs/x")));
        assert!(!reach.takes_file(Path::new("/c/hubs/x")));
        let none = Path::new("/none");
        assert!(reach.refuses_folder(Path::new("/c/hub/models--a/blobs"), none).is_some());
        let inside = Path::new("/c/hub/models--a/snapshots/1/x");
        assert!(reach.refuses_folder(inside, none).is_none());
        assert!(Reach { follow_links: true, ..reach }.takes_file(Path::new("/etc/hosts")));
    }
}
