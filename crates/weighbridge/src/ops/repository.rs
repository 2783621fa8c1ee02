//! The folder that a model was opened from, and the files in it beside the weights.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::containers;
use crate::error::{Error, Result};
use crate::input::{EntryKind, Folder, error_of};
use crate::model::Model;
use crate::pipeline::{Contents, ExtraFile};

/// Endings of weights in formats that other frameworks read.
const OTHER_WEIGHTS: [&str; 3] = [".h5", ".msgpack", ".onnx"];

/// How deep folders are followed.
const MAX_DEPTH: usize = 8;

/// The most bytes of a file that is read whole.
const MAX_READ: u64 = 256 << 20;

/// A folder with a model and the files that belong to it.
pub(super) struct Repository {
    folder: Arc<dyn Folder>,
    path: PathBuf,
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

    /// Every file but weights, hidden files and the `output` of a conversion, sorted by name.
    pub(super) fn side_files(&self, output: Option<&Path>) -> Result<Vec<ExtraFile>> {
        let mut found = Vec::new();
        self.collect(Path::new(""), output, 0, &mut found)?;
        Ok(found)
    }

    fn collect(
        &self,
        under: &Path,
        output: Option<&Path>,
        depth: usize,
        found: &mut Vec<ExtraFile>,
    ) -> Result<()> {
        let folder = self.path_of(under);
        let failed = |e| error_of(e, "cannot read").in_file(&folder);
        let mut entries = self.folder.list(&folder).map_err(failed)?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        for entry in entries {
            let (path, name) = (folder.join(&entry.name), entry.name.to_string_lossy());
            if name.starts_with('.') || name.ends_with(".weigh-partial") {
                continue;
            }
            if output.is_some_and(|output| self.is_on_disk_at(&path, output)) {
                continue;
            }
            let inside = under.join(&*name);
            match entry.kind {
                EntryKind::Folder if depth < MAX_DEPTH => {
                    self.collect(&inside, output, depth + 1, found)?;
                }
                EntryKind::Folder | EntryKind::BrokenLink => {}
                _ if is_side_file(&name) => {
                    let contents = Contents::Of(self.folder.clone(), path);
                    found.push(ExtraFile { name: inside, contents });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The bytes of a file.
    pub(super) fn read(&self, name: &Path) -> Result<Vec<u8>> {
        let path = self.path_of(name);
        let failed = |e: io::Error| error_of(e, "cannot read").in_file(&path);
        let source = self.folder.open(&path).map_err(failed)?;
        let len = source.find_len().map_err(failed)?;
        if len > MAX_READ {
            let message = format!("it has {len} bytes; a config has at most {MAX_READ}");
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

/// Whether a file goes along with weights that are written in another form.
fn is_side_file(name: &str) -> bool {
    !containers::is_weights_or_index(name) && !OTHER_WEIGHTS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_what_describes_them_stay_behind() {
        for name in ["model-00001-of-00002.safetensors", "pytorch_model.bin", "x.gguf"] {
            assert!(!is_side_file(name), "{name}");
        }
        for name in
            ["tokenizer.json", "README.md", "LICENSE", "modeling_x.py", "generation_config.json"]
        {
            assert!(is_side_file(name), "{name}");
        }
    }
}
