//! One file on a web server, and what lies beside it.

use std::collections::HashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::{EntryKind, Error, Folder, FolderEntry, ReadAt, Result};
use reqwest::Url;

use crate::guess;
use crate::settings::Remote;
use crate::stop::lock;
use crate::web::answer::Pin;
use crate::web::client::Client;
use crate::web::fault::shown;
use crate::web::fetch::{Fetcher, Site, WHOLE};
use crate::web::file::WebFile;
use crate::web::places::check_start;

/// The folder that a file on a web server lies in. Servers have no listings: the file is listed,
/// and what was opened beside it; any other name below the folder can be opened, if the server knows
/// it.
pub struct WebFolder {
    client: Client,
    /// The address of the file.
    address: Url,
    /// Its path in this folder.
    name: PathBuf,
    opened: Mutex<HashMap<PathBuf, Arc<WebFile>>>,
}

impl WebFolder {
    /// The folder of the file at an address. Nothing is fetched yet.
    pub fn new(address: &str, settings: &Remote) -> Result<Self> {
        let mut url = Url::parse(address)
            .map_err(|error| Error::usage(format!("not a web address ({error})")))?;
        url.set_fragment(None);
        let place = shown(&url);
        check_start(&url, None, settings).map_err(|fault| fault.at(&place).into_error())?;
        let last = url.path_segments().and_then(|mut parts| parts.next_back()).unwrap_or_default();
        let name = decoded(last).filter(|name| is_plain(name)).ok_or_else(|| {
            Error::usage("the address has no file name")
                .in_file(Path::new(&place))
                .hint("give the address of a single file; web servers do not list directories")
        })?;
        let client = Client::new(settings)?;
        Ok(Self { client, address: url, name: name.into(), opened: Mutex::default() })
    }

    /// The file's own name in this folder.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The address of the folder, for messages.
    pub(crate) fn shown_folder(&self) -> Option<String> {
        let all = shown(&self.address);
        all.rsplit_once('/').map(|(folder, _)| folder.to_owned())
    }

    /// The address of a path in this folder. The query belongs to the file alone.
    fn address_of(&self, path: &Path) -> Option<Url> {
        if path == self.name {
            return Some(self.address.clone());
        }
        let mut url = self.address.clone();
        url.set_query(None);
        let mut segments = url.path_segments_mut().ok()?;
        segments.pop();
        for part in path {
            segments.push(part.to_str().filter(|part| is_plain(part))?);
        }
        drop(segments);
        Some(url)
    }

    fn known(&self, path: &Path) -> Option<Arc<WebFile>> {
        lock(&self.opened).get(path).cloned()
    }

    /// A signed address is one file's alone: refused names beside it are not there for us.
    fn beside_signed(&self, path: &Path, error: io::Error) -> io::Error {
        let is_refused = error.kind() == io::ErrorKind::PermissionDenied;
        if is_refused && path != self.name && self.address.query().is_some() {
            io::ErrorKind::NotFound.into()
        } else {
            error
        }
    }

    /// The file itself, and what else was opened beside it.
    fn entries(&self) -> Vec<FolderEntry> {
        let is_beside = |path: &&PathBuf| **path != self.name && path.components().count() == 1;
        let others: Vec<PathBuf> = lock(&self.opened).keys().filter(is_beside).cloned().collect();
        let entry = |path: PathBuf| FolderEntry { kind: self.file(&path), name: path.into() };
        std::iter::once(self.name.clone()).chain(others).map(entry).collect()
    }

    /// What is known of a file that is there.
    fn file(&self, path: &Path) -> EntryKind {
        EntryKind::File(self.known(path).and_then(|file| file.len()).unwrap_or(0))
    }
}

impl Folder for WebFolder {
    fn version(&self, path: &Path) -> Option<String> {
        self.known(&plain(path)?)?.version()
    }

    fn list(&self, path: &Path) -> io::Result<Vec<FolderEntry>> {
        match plain(path) {
            Some(path) if path.as_os_str().is_empty() => Ok(self.entries()),
            Some(path) if path == self.name => Err(io::ErrorKind::NotADirectory.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn has_listing(&self) -> bool {
        false
    }

    fn has_latency(&self) -> bool {
        true
    }

    /// Known without a request: the file itself, and what was opened.
    fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let path = plain(path).ok_or(io::ErrorKind::NotFound)?;
        match path == self.name || self.known(&path).is_some() {
            _ if path.as_os_str().is_empty() => Ok(EntryKind::Folder),
            true => Ok(self.file(&path)),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let path = plain(path).ok_or(io::ErrorKind::NotFound)?;
        if path.as_os_str().is_empty() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if let Some(known) = self.known(&path) {
            return Ok(known);
        }
        let url = self.address_of(&path).ok_or(io::ErrorKind::NotFound)?;
        let name = path.to_string_lossy().into_owned();
        let site = Site { name: shown(&url), url, auth: None, hub: None, whole: WHOLE };
        let fetcher = Fetcher::new(self.client.clone(), site, None, Pin::default());
        let file = WebFile::open(fetcher, &name, guess::first(&name, None));
        let file = Arc::new(file.map_err(|error| self.beside_signed(&path, error))?);
        lock(&self.opened).insert(path, file.clone());
        Ok(file)
    }
}

/// A path without `.`; `None` for one that leads out.
pub(crate) fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(plain)
}

/// Whether a name is one step down and nothing else. Servers may take `\` for `/`.
pub(crate) fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\\', '\0'])
}

/// A part of an address with its `%20` read; `None` if that is no text.
pub(crate) fn decoded(part: &str) -> Option<String> {
    Some(percent_encoding::percent_decode_str(part).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(address: &str) -> WebFolder {
        WebFolder::new(address, &Remote::default()).unwrap()
    }

    #[test]
    fn names_stay_below_the_folder() {
        let folder = folder("https://a.com/x/y/my%20model.safetensors?sig=secret#part");
        assert_eq!(folder.name(), Path::new("my model.safetensors"));
        let address = |path: &str| folder.address_of(Path::new(path)).map(|url| url.to_string());
        let own = address("my model.safetensors").unwrap();
        assert_eq!(own, "https://a.com/x/y/my%20model.safetensors?sig=secret");
        assert_eq!(address("config.json").unwrap(), "https://a.com/x/y/config.json");
        assert_eq!(address("a b/c?d").unwrap(), "https://a.com/x/y/a%20b/c%3Fd");
        assert_eq!(address("https://b.com").unwrap(), "https://a.com/x/y/https:/b.com");
        for path in ["../x", "a/../../x", "/etc/passwd", "a\\b"] {
            let opened = folder.open(Path::new(path)).err().unwrap();
            assert_eq!(opened.kind(), io::ErrorKind::NotFound, "{path}");
        }
    }

    #[test]
    fn addresses_without_a_file_are_refused() {
        for address in ["https://a.com", "https://a.com/x/", "https://a.com/%2e%2e", "nonsense"] {
            assert!(WebFolder::new(address, &Remote::default()).is_err(), "{address}");
        }
    }
}
