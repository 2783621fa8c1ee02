//! Files in memory, by their paths.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::memory::Memory;
use super::{EntryKind, Folder, FolderEntry, ReadAt};

/// Files in memory: downloaded, unpacked or created by a test.
///
/// A folder exists if it contains files.
#[derive(Clone, Default)]
pub struct MemoryFolder {
    files: BTreeMap<PathBuf, Arc<dyn ReadAt>>,
}

impl MemoryFolder {
    /// Creates an empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a file.
    #[must_use]
    pub fn with(
        self,
        path: impl AsRef<Path>,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
    ) -> Self {
        self.with_source(path, Arc::new(Memory(bytes)))
    }

    /// Adds or replaces a file that is read from another source.
    #[must_use]
    pub fn with_source(mut self, path: impl AsRef<Path>, source: Arc<dyn ReadAt>) -> Self {
        self.files.insert(plain(path.as_ref()), source);
        self
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.as_os_str().is_empty() || self.below(path).next().is_some()
    }

    /// What lies below a folder, by paths relative to it.
    fn below<'a>(
        &'a self,
        folder: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a Arc<dyn ReadAt>)> {
        let inside = move |(path, source): (&'a PathBuf, _)| {
            let rest = path.strip_prefix(folder).ok().filter(|rest| !rest.as_os_str().is_empty());
            Some((rest?, source))
        };
        self.files.iter().filter_map(inside)
    }
}

impl Folder for MemoryFolder {
    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        let path = plain(path);
        if !self.is_folder(&path) {
            return Err(if self.files.contains_key(&path) {
                io::ErrorKind::NotADirectory.into()
            } else {
                io::ErrorKind::NotFound.into()
            });
        }
        let mut folders = BTreeSet::new();
        let mut entries = Vec::new();
        for (rest, source) in self.below(&path) {
            let mut parts = rest.iter();
            let Some(name) = parts.next() else { continue };
            match parts.next() {
                Some(_) => drop(folders.insert(name)),
                None => {
                    let kind = EntryKind::File(source.len().unwrap_or(0));
                    entries.push(FolderEntry { name: name.to_owned(), kind });
                }
            }
        }
        let folder =
            |name: &std::ffi::OsStr| FolderEntry { name: name.to_owned(), kind: EntryKind::Folder };
        entries.extend(folders.into_iter().map(folder));
        Ok(entries)
    }

    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let path = plain(path);
        match self.files.get(&path) {
            Some(source) => Ok(EntryKind::File(source.len().unwrap_or(0))),
            None if self.is_folder(&path) => Ok(EntryKind::Folder),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let path = plain(path);
        match self.files.get(&path) {
            Some(source) => Ok(source.clone()),
            None if self.is_folder(&path) => Err(io::ErrorKind::IsADirectory.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A path without `.` and `..`, from the root on.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => drop(plain.pop()),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{FileAccess, LocalFolder};

    const FILES: [&str; 4] = ["config.json", "model.bin", "unet/config.json", "unet/deep/x.bin"];

    /// What a folder says about some paths, in words.
    fn described(folder: &dyn Folder) -> Vec<String> {
        let paths = ["", ".", "unet", "unet/deep", "config.json", "none", "none/x", "unet/../unet"];
        let list = |path: &&str| match folder.list(Path::new(path)) {
            Ok(mut entries) => {
                entries.sort_by(|a, b| a.name.cmp(&b.name));
                format!("{path}: {entries:?}")
            }
            Err(error) => format!("{path}: {:?}", error.kind()),
        };
        let open = |path: &&str| match folder.open(Path::new(path)) {
            Ok(source) => {
                let mut bytes = vec![0; usize::try_from(source.len().unwrap()).unwrap()];
                source.read_at(0, &mut bytes).unwrap();
                format!("{path}: {}", String::from_utf8(bytes).unwrap())
            }
            Err(error) => format!("{path}: {:?}", error.kind()),
        };
        let kind = |path: &&str| match folder.kind(Path::new(path)) {
            Ok(kind) => format!("{path}: {kind:?}"),
            Err(error) => format!("{path}: {:?}", error.kind()),
        };
        let all = paths.iter();
        all.clone().map(list).chain(all.clone().map(open)).chain(all.map(kind)).collect()
    }

    #[test]
    fn a_folder_in_memory_answers_as_a_directory_does() {
        let directory = tempfile::tempdir().unwrap();
        let mut memory = MemoryFolder::new();
        for path in FILES {
            let target = directory.path().join(path);
            std::fs::create_dir_all(target.parent().unwrap()).unwrap();
            std::fs::write(target, path).unwrap();
            memory = memory.with(path, path);
        }
        let local = LocalFolder::new(directory.path(), FileAccess::Map);
        assert_eq!(described(&memory), described(&local));
    }
}
