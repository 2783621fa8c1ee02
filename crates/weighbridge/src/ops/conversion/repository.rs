//! The folder that a model was opened from, and the files in it beside the weights.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::file_actions::{Decoded, FileAction, action};
use super::reach::Reach;
use super::report::LeftBehind;
use crate::error::{Error, Remedy, Result};
use crate::input::{EntryKind, Folder, error_of};
use crate::model::Model;
use crate::output::MARKER;
use crate::pipeline::{Contents, ExtraFile};

/// How deep folders are followed.
const MAX_DEPTH: usize = 8;

/// The most bytes of a file that is read whole.
const MAX_READ: u64 = 256 << 20;

/// A folder with a model and the files that belong to it.
pub(super) struct Repository {
    folder: Arc<dyn Folder>,
    path: PathBuf,
}

/// What is copied of a repository.
pub(super) struct Rules<'a> {
    /// The output, which may lie inside the repository.
    pub(super) output: Option<&'a Path>,
    /// Where links may lead.
    pub(super) reach: &'a Reach,
    /// Files that describe the weights: links of these names may lead anywhere.
    pub(super) configs: &'a [PathBuf],
    /// The models whose weights are written anew.
    pub(super) decoded: &'a [Decoded],
}

/// The files of a repository beside its weights.
#[derive(Default)]
pub(super) struct SideFiles {
    pub(super) copied: Vec<ExtraFile>,
    /// Those that hold weights of something else.
    pub(super) weights: Vec<String>,
    pub(super) left_behind: Vec<LeftBehind>,
}

impl SideFiles {
    fn leave(&mut self, name: &Path, reason: &str, remedy: Option<Remedy>) {
        let name = name.to_string_lossy().into_owned();
        self.left_behind.push(LeftBehind { name, reason: reason.to_owned(), remedy });
    }
}

impl Repository {
    /// The repository of a model that was opened as a directory, or by the index of one.
    pub(super) fn of(model: &Model) -> Option<Self> {
        let (folder, path) = (model.folder(), model.path());
        let is_index = path.to_string_lossy().ends_with(".index.json");
        let path = match folder.kind(path) {
            Ok(EntryKind::Folder) => path,
            Ok(_) if is_index => {
                let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
                parent.unwrap_or(Path::new("."))
            }
            _ => return None,
        };
        Some(Self { folder: folder.clone(), path: path.to_owned() })
    }

    /// The repository at a path of the folder that a model was opened from.
    pub(super) fn at(path: &Path, model: &Model) -> Self {
        Self { folder: model.folder().clone(), path: path.to_owned() }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where links of this repository may lead.
    pub(super) fn reach(&self, models: &[Model], follow_links: bool) -> Reach {
        Reach::new(self.folder.local_path(&self.path), models, follow_links)
    }

    /// Every file that is copied, and those that are not and have nothing in their place, sorted by
    /// name.
    pub(super) fn side_files(&self, rules: &Rules<'_>) -> Result<SideFiles> {
        let mut found = SideFiles::default();
        self.collect(Path::new(""), rules, 0, &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        under: &Path,
        rules: &Rules<'_>,
        depth: usize,
        found: &mut SideFiles,
    ) -> Result<()> {
        let folder = self.path_of(under);
        let failed = |e| error_of(e, "cannot read").in_file(&folder);
        let mut entries = self.folder.list(&folder).map_err(failed)?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            let (path, name) = (folder.join(&entry.name), entry.name.to_string_lossy());
            let is_output = rules.output.is_some_and(|output| self.is_on_disk_at(&path, output));
            if is_output || name == MARKER {
                continue;
            }
            let inside = under.join(&*name);
            if let Some(reason) = not_of_a_model(&name) {
                found.leave(&inside, reason, None);
                continue;
            }
            let action = match entry.kind {
                EntryKind::Folder => FileAction::Copy,
                _ => action(&inside, rules.decoded),
            };
            match action {
                FileAction::Replace => continue,
                FileAction::LeaveBehind(reason) => {
                    found.leave(&inside, reason, None);
                    continue;
                }
                FileAction::Copy | FileAction::CopyWeights => {}
            }
            match self.obstacle(&path, &inside, entry.kind, rules) {
                Some((reason, remedy)) => found.leave(&inside, reason, remedy),
                None if entry.kind != EntryKind::Folder => {
                    if action == FileAction::CopyWeights {
                        found.weights.push(inside.to_string_lossy().into_owned());
                    }
                    let contents = Contents::Of(self.folder.clone(), path);
                    found.copied.push(ExtraFile { name: inside, contents });
                }
                None if depth < MAX_DEPTH => self.collect(&inside, rules, depth + 1, found)?,
                None => found.leave(&inside, "is nested too deep", None),
            }
        }
        Ok(())
    }

    /// Why something is not copied, and what would change that. Only files and folders are ever
    /// opened: a pipe would wait for somebody to write to it.
    fn obstacle(
        &self,
        path: &Path,
        inside: &Path,
        kind: EntryKind,
        rules: &Rules<'_>,
    ) -> Option<(&'static str, Option<Remedy>)> {
        let target = || self.folder.link_target(path);
        match kind {
            EntryKind::File(_) => {
                let is_config = rules.configs.iter().any(|config| inside == config);
                let outside = target().filter(|to| !is_config && !rules.reach.takes_file(to));
                let reason = "is a link to a file outside the model";
                outside.map(|_| (reason, Some(Remedy::FollowLinks)))
            }
            EntryKind::Folder => {
                let within = path.parent().and_then(|folder| self.folder.local_path(folder));
                let reason = rules.reach.refuses_folder(&target()?, &within.unwrap_or_default())?;
                Some((reason, None))
            }
            EntryKind::BrokenLink => Some(("is a broken link", None)),
            _ => Some(("is not a regular file", None)),
        }
    }

    /// The bytes of a file.
    pub(super) fn read(&self, name: &Path) -> Result<Vec<u8>> {
        let path = self.path_of(name);
        let failed = |e: io::Error| error_of(e, "cannot read").in_file(&path);
        let source = self.folder.open(&path).map_err(failed)?;
        let len = source.find_len().map_err(failed)?;
        if len > MAX_READ {
            let message = format!("the config has {len} bytes, the limit is {MAX_READ} bytes");
            return Err(Error::malformed(message).in_file(&path));
        }
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
        source.read_at(0, &mut bytes).map_err(failed)?;
        Ok(bytes)
    }

    fn is_on_disk_at(&self, path: &Path, place: &Path) -> bool {
        let on_disk = self.folder.local_path(path).and_then(|path| path.canonicalize().ok());
        on_disk.is_some_and(|path| path == place)
    }

    fn path_of(&self, name: &Path) -> PathBuf {
        if name.as_os_str().is_empty() { self.path.clone() } else { self.path.join(name) }
    }
}

/// Why something of that name does not belong to a model.
fn not_of_a_model(name: &str) -> Option<&'static str> {
    if name.starts_with('.') {
        return Some("is hidden, so not part of the model");
    }
    name.ends_with(".weigh-partial").then_some("was left by an unfinished conversion")
}
