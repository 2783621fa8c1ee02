//! The objects under a prefix, as a tree of files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path as FilePath};
use std::sync::{Arc, Mutex};

use crate::input::error_of;
use crate::{EntryKind, Folder, FolderEntry, ReadAt, Result};
use object_store::ObjectStore as _;
use object_store::path::Path;

use crate::stop::lock;
use crate::store::address::Address;
use crate::store::bucket::Bucket;
use crate::store::fault;
use crate::store::file::StoreFile;
use crate::store::records::under;

/// What lies directly under a prefix, by name.
type Listing = Arc<BTreeMap<String, EntryKind>>;

/// The objects under a prefix. A prefix is listed once: what is there later is not seen.
pub struct StoreFolder {
    bucket: Arc<Bucket>,
    root: Path,
    listed: Mutex<BTreeMap<Path, Listing>>,
    /// The tags of files that were opened.
    tags: Mutex<BTreeMap<Path, String>>,
    /// Files that were opened to learn whether they are there.
    opened: Mutex<BTreeMap<Path, Arc<StoreFile>>>,
}

impl StoreFolder {
    /// All objects whose keys begin with `root` and a slash.
    pub fn new(bucket: Arc<Bucket>, root: Path) -> Self {
        let (listed, tags, opened) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self { bucket, root, listed, tags, opened }
    }

    /// What an address names: a folder and the path in it, which is empty for the folder itself.
    /// Where the address does not say what it is, the store is asked.
    pub fn at(bucket: Arc<Bucket>, address: &Address) -> Result<(Self, String)> {
        let name = address.key.filename().filter(|_| !address.is_folder);
        let Some(name) = name else {
            return Ok((Self::new(bucket, address.key.clone()), String::new()));
        };
        let file = match StoreFile::open(&bucket, &address.key, None).map_err(fault::as_io) {
            Ok(file) => file,
            Err(error) => {
                let folder = Self::new(bucket, address.key.clone());
                return if is_missing(&error) && folder.listing(&address.key).is_ok() {
                    Ok((folder, String::new()))
                } else {
                    Err(error_of(error, "cannot read"))
                };
            }
        };
        let folder = Self::new(bucket, address.key.parent().unwrap_or_default());
        lock(&folder.opened).insert(address.key.clone(), Arc::new(file));
        Ok((folder, name.to_owned()))
    }

    /// The key of a path. Paths do not lead out of the folder.
    fn key(&self, path: &FilePath) -> io::Result<Path> {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.components() {
            match part {
                Component::Normal(name) => {
                    parts.push(name.to_str().ok_or(io::ErrorKind::NotFound)?);
                }
                Component::ParentDir => drop(parts.pop()),
                _ => {}
            }
        }
        if parts.is_empty() {
            Ok(self.root.clone())
        } else {
            under(&self.root, &parts.join("/")).ok_or(io::ErrorKind::NotFound.into())
        }
    }

    /// What lies under a prefix; there are no empty folders, but the root of a bucket may be.
    fn listing(&self, key: &Path) -> io::Result<Listing> {
        if let Some(listing) = self.known(key) {
            return found(listing, key);
        }
        let prefix = (!key.is_root()).then_some(key);
        let asked = self.bucket.store.list_with_delimiter(prefix);
        let answer = self.bucket.ask(key, "cannot list", asked).map_err(fault::as_io)?;
        let mut entries = BTreeMap::new();
        for object in answer.objects {
            // Some programs mark a folder by an object of its own name.
            if let Some(name) = object.location.filename().filter(|_| object.location != *key) {
                entries.insert(name.to_owned(), EntryKind::File(object.size));
            }
        }
        for folder in answer.common_prefixes {
            if let Some(name) = folder.filename() {
                entries.entry(name.to_owned()).or_insert(EntryKind::Folder);
            }
        }
        let listing = Arc::new(entries);
        lock(&self.listed).insert(key.clone(), listing.clone());
        found(listing, key)
    }

    fn known(&self, key: &Path) -> Option<Listing> {
        lock(&self.listed).get(key).cloned()
    }

    /// What a listing of the folder above says, where there was one.
    fn known_kind(&self, key: &Path) -> Option<Option<EntryKind>> {
        let listing = self.known(&key.parent()?)?;
        Some(key.filename().and_then(|name| listing.get(name).copied()))
    }
}

impl Folder for StoreFolder {
    fn version(&self, path: &FilePath) -> Option<String> {
        let key = self.key(path).ok()?;
        let first = lock(&self.opened).get(&key).and_then(|file| file.tag().cloned());
        let tags = lock(&self.tags);
        first.or_else(|| tags.get(&key).cloned())
    }

    fn has_latency(&self) -> bool {
        true
    }

    fn list(&self, path: &FilePath) -> io::Result<Vec<FolderEntry>> {
        let key = self.key(path)?;
        if key != self.root && matches!(self.known_kind(&key), Some(Some(EntryKind::File(_)))) {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        let listing = match self.listing(&key) {
            // Whether it is a file instead is worth a request only now.
            Err(error) if is_missing(&error) && key != self.root => {
                return Err(match self.kind(path) {
                    Ok(EntryKind::File(_)) => io::ErrorKind::NotADirectory.into(),
                    _ => error,
                });
            }
            other => other?,
        };
        let entry =
            |(name, kind): (&String, &EntryKind)| FolderEntry { name: name.into(), kind: *kind };
        Ok(listing.iter().map(entry).collect())
    }

    fn kind(&self, path: &FilePath) -> io::Result<EntryKind> {
        let key = self.key(path)?;
        if key == self.root {
            return self.listing(&key).map(|_| EntryKind::Folder);
        }
        if let Some(file) = lock(&self.opened).get(&key) {
            return Ok(EntryKind::File(file.size()));
        }
        // One listing answers for all files beside this one, too.
        let listing = self.listing(&key.parent().unwrap_or_default())?;
        let kind = key.filename().and_then(|name| listing.get(name).copied());
        kind.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn open(&self, path: &FilePath) -> io::Result<Arc<dyn ReadAt>> {
        let key = self.key(path)?;
        if key == self.root {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(file) = lock(&self.opened).get(&key) {
            return Ok(file.clone());
        }
        let size = match self.known_kind(&key) {
            Some(Some(EntryKind::File(size))) => Some(size),
            Some(Some(_)) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(None) => return Err(io::ErrorKind::NotFound.into()),
            None => None,
        };
        let opened = StoreFile::open(&self.bucket, &key, size).map_err(fault::as_io);
        let file = opened.map_err(|error| {
            if is_missing(&error) && self.listing(&key).is_ok() {
                io::ErrorKind::IsADirectory.into()
            } else {
                error
            }
        })?;
        if let Some(tag) = file.tag() {
            lock(&self.tags).insert(key, tag.clone());
        }
        Ok(Arc::new(file))
    }
}

fn is_missing(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

fn found(listing: Listing, key: &Path) -> io::Result<Listing> {
    if listing.is_empty() && !key.is_root() {
        Err(io::ErrorKind::NotFound.into())
    } else {
        Ok(listing)
    }
}
