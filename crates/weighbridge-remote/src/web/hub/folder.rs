//! A repository of the Hub as a folder.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use crate::{EntryKind, FileAccess, Folder, FolderEntry, LocalFolder, ReadAt, Result};

use super::address::HubAddress;
use super::cache::Cached;
use super::environment::Environment;
use super::repository::Repository;
use super::tree::{Entry, Tree};
use crate::runtime;
use crate::settings::Remote;
use crate::stop::lock;
use crate::web::answer::Pin;
use crate::web::client::Client;
use crate::web::fault::Fault;
use crate::web::fetch::{Fetcher, Site, WHOLE};
use crate::web::file::WebFile;
use crate::web::folder::plain;
use crate::whole::sum_of;

/// What the Hub keeps in the repository itself is no longer than this, and may be sent whole.
const WHOLE_TEXT: u64 = 16 << 20;

/// A repository at one commit. Files that are in the local cache are read there, the others over
/// the network.
pub struct HubFolder {
    client: Client,
    repository: Arc<Repository>,
    cached: Option<Cached>,
    offline: bool,
    /// Asked for once, when it is needed first.
    contents: OnceLock<Result<Contents, Fault>>,
    opened: Mutex<HashMap<PathBuf, Arc<dyn ReadAt>>>,
}

enum Contents {
    /// A listing, and the folder that holds some of the files.
    Listed(Tree, Option<LocalFolder>),
    /// No network: what is here is all.
    Local(String, LocalFolder),
}

impl HubFolder {
    /// The repository of an address. Nothing is fetched yet.
    pub fn new(address: &HubAddress, environment: &Environment, settings: &Remote) -> Result<Self> {
        Ok(Self {
            client: Client::new(settings)?,
            repository: Arc::new(Repository::new(address, environment)),
            cached: environment.cache.as_ref().map(|cache| Cached::new(cache, address)),
            offline: environment.offline,
            contents: OnceLock::new(),
            opened: Mutex::default(),
        })
    }

    /// The commit to which everything is pinned.
    pub fn commit(&self) -> io::Result<&str> {
        Ok(match self.contents()? {
            Contents::Listed(tree, _) => &tree.commit,
            Contents::Local(commit, _) => commit,
        })
    }

    fn contents(&self) -> Result<&Contents, Fault> {
        let find = || if self.offline { self.local() } else { self.listed() };
        self.contents.get_or_init(find).as_ref().map_err(Clone::clone)
    }

    fn listed(&self) -> Result<Contents, Fault> {
        let fetch = Tree::fetch(&self.repository, &self.client);
        let tree = runtime::block_on(fetch).map_err(|error| Fault::of_wait(&error))??;
        let snapshot = self.cached.as_ref().and_then(|cached| cached.snapshot(&tree.commit));
        let local = snapshot.map(|folder| LocalFolder::new(folder, FileAccess::Map));
        Ok(Contents::Listed(tree, local))
    }

    fn local(&self) -> Result<Contents, Fault> {
        let revision = self.repository.address.revision();
        let found = self.cached.as_ref().and_then(|cached| {
            let commit = cached.commit(revision)?;
            let folder = cached.snapshot(&commit)?;
            Some(Contents::Local(commit, LocalFolder::new(folder, FileAccess::Map)))
        });
        found.ok_or_else(|| self.is_offline("this revision of the repository", Path::new("")))
    }

    fn is_offline(&self, what: &str, path: &Path) -> Fault {
        let message = format!("{what} is not in the local cache, and HF_HUB_OFFLINE is set");
        Fault::missing(message)
            .hint("unset HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE, or download it first")
            .at(&self.repository.address.shown(path))
    }

    /// A file of the listing: from the cache, if it is there as the listing says.
    fn open_listed(
        &self,
        path: &Path,
        entry: &Entry,
        tree: &Tree,
        local: Option<&LocalFolder>,
    ) -> io::Result<Arc<dyn ReadAt>> {
        let EntryKind::File(len) = entry.kind else {
            return Err(match entry.kind {
                EntryKind::Folder => io::ErrorKind::IsADirectory.into(),
                _ => io::ErrorKind::NotFound.into(),
            });
        };
        let here = local.filter(|local| local.kind(path).is_ok_and(|kind| kind == entry.kind));
        if let Some(local) = here {
            return local.open(path);
        }
        let site = Site {
            url: self.repository.file_url(&tree.commit, path),
            name: self.repository.address.shown(path),
            auth: self.repository.auth.clone(),
            hub: Some(self.repository.clone()),
            whole: if entry.sum.is_some() { WHOLE } else { WHOLE_TEXT },
        };
        let pin = entry.sum.as_deref().map_or_else(Pin::default, Pin::of_sum);
        let fetcher = Fetcher::new(self.client.clone(), site, Some(len), pin);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let sum = entry.sum.as_deref().and_then(sum_of);
        let file = WebFile::start(fetcher, &name, tree.first_bytes(path, len), sum)?;
        Ok(Arc::new(file))
    }

    fn known(&self, path: &Path) -> Option<Arc<dyn ReadAt>> {
        lock(&self.opened).get(path).cloned()
    }
}

impl Folder for HubFolder {
    fn version(&self, _path: &Path) -> Option<String> {
        self.commit().ok().map(str::to_owned)
    }

    fn has_latency(&self) -> bool {
        true
    }

    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        let path = plain(path).ok_or(io::ErrorKind::NotFound)?;
        match self.contents()? {
            Contents::Local(_, local) => local.list(&path),
            Contents::Listed(tree, _) if path.as_os_str().is_empty() => Ok(tree.list(&path)),
            Contents::Listed(tree, _) => match tree.get(&path)?.kind {
                EntryKind::Folder => Ok(tree.list(&path)),
                _ => Err(io::ErrorKind::NotADirectory.into()),
            },
        }
    }

    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let path = plain(path).ok_or(io::ErrorKind::NotFound)?;
        // Nobody knows what lies in a repository that cannot be listed; that is not "nothing".
        let unknown =
            |fault: Fault| io::Error::new(io::ErrorKind::PermissionDenied, fault.into_error());
        match self.contents().map_err(unknown)? {
            Contents::Local(_, local) => local.kind(&path),
            Contents::Listed(..) if path.as_os_str().is_empty() => Ok(EntryKind::Folder),
            Contents::Listed(tree, _) => Ok(tree.get(&path)?.kind),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let path = plain(path).ok_or(io::ErrorKind::NotFound)?;
        let (tree, local) = match self.contents()? {
            Contents::Listed(tree, local) => (tree, local),
            Contents::Local(_, local) => {
                let opened = local.open(&path);
                return opened.map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => self.is_offline("this file", &path).into(),
                    _ => error,
                });
            }
        };
        if path.as_os_str().is_empty() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(known) = self.known(&path) {
            return Ok(known);
        }
        let file = self.open_listed(&path, tree.get(&path)?, tree, local.as_ref())?;
        lock(&self.opened).insert(path, file.clone());
        Ok(file)
    }
}
