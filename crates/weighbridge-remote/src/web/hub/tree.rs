//! The files of a repository, as the Hub lists them.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::{EntryKind, FolderEntry};
use reqwest::header::{HeaderMap, LINK};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::repository::Repository;
use crate::guess;
use crate::stop::lock;
use crate::web::client::{Ask, Client};
use crate::web::fault::Fault;
use crate::web::folder::is_plain;
use crate::web::retry::retried;

/// A page of a listing, or what the Hub says about a revision.
const MOST_BYTES: u64 = 64 << 20;

/// Pages of a listing; a page has a thousand entries.
const MOST_PAGES: usize = 1000;

/// All files of one commit.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) commit: String,
    entries: BTreeMap<PathBuf, Entry>,
    /// How long the headers of a folder's shards are, by its index.
    headers: Mutex<HashMap<PathBuf, Option<u64>>>,
}

/// One file or folder.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) kind: EntryKind,
    /// The SHA-256 of a file that the Hub stores elsewhere.
    pub(super) sum: Option<String>,
}

#[derive(Deserialize)]
struct Revision {
    sha: String,
}

#[derive(Deserialize)]
struct Listed {
    r#type: String,
    path: String,
    #[serde(default)]
    size: u64,
    lfs: Option<Large>,
}

#[derive(Deserialize)]
struct Large {
    oid: String,
    size: u64,
}

impl Tree {
    /// Asks which commit the revision is, then for that commit's files: a revision may move
    /// between two requests.
    pub(super) async fn fetch(of: &Repository, client: &Client) -> Result<Self, Fault> {
        let fetched = Self::fetch_pages(of, client).await;
        fetched.map_err(|fault| fault.at(&of.address.shown(Path::new(""))))
    }

    async fn fetch_pages(of: &Repository, client: &Client) -> Result<Self, Fault> {
        let revision = of.address.revision();
        let commit = if is_commit(revision) {
            revision.to_owned()
        } else {
            commit_of(&get(of, client, &of.revision_url()).await?.1)?
        };
        let mut tree = Self { commit, entries: BTreeMap::new(), headers: Mutex::default() };
        let mut next = Some(of.tree_url(&tree.commit));
        for _ in 0..MOST_PAGES {
            let Some(url) = next else { return Ok(tree) };
            let (headers, text) = get(of, client, &url).await?;
            next = tree.add_page(&text, &headers, &url)?;
        }
        Err(Fault::unsupported(format!("the file listing has more than {MOST_PAGES} pages")))
    }

    /// Adds the entries of a page, and returns the address of the next one.
    fn add_page(
        &mut self,
        text: &[u8],
        headers: &HeaderMap,
        from: &Url,
    ) -> Result<Option<Url>, Fault> {
        let listed: Vec<Listed> = serde_json::from_slice(text).map_err(|_| odd_answer())?;
        listed.into_iter().for_each(|entry| self.add(entry));
        next_page(headers, from)
    }

    /// Adds an entry. Names that are no paths inside the repository cannot be asked for either.
    fn add(&mut self, listed: Listed) {
        if !listed.path.split('/').all(is_plain) {
            return;
        }
        let size = listed.lfs.as_ref().map_or(listed.size, |large| large.size);
        let kind = match &*listed.r#type {
            "file" => EntryKind::File(size),
            "directory" => EntryKind::Folder,
            _ => EntryKind::Other,
        };
        let path = PathBuf::from(listed.path);
        for folder in path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            let entry = || Entry { kind: EntryKind::Folder, sum: None };
            self.entries.entry(folder.to_owned()).or_insert_with(entry);
        }
        self.entries.insert(path, Entry { kind, sum: listed.lfs.map(|large| large.oid) });
    }

    /// What lies at a path that is not the root.
    pub(super) fn get(&self, path: &Path) -> io::Result<&Entry> {
        self.entries.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Which bytes of a file to ask for first.
    pub(super) fn first_bytes(&self, path: &Path, len: u64) -> Range<u64> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let first = guess::first(&name, Some(len));
        if !guess::is_indexed_shard(&name) {
            return first;
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut headers = lock(&self.headers);
        let known = headers.entry(folder.to_owned()).or_insert_with(|| self.headers_in(folder));
        known.map_or(first, |header| 0..header.min(len))
    }

    /// How long the headers of the shards in a folder are, if there is an index.
    fn headers_in(&self, folder: &Path) -> Option<u64> {
        let (mut index, mut shards) = (None, 0);
        for entry in self.list(folder) {
            let name = entry.name.to_string_lossy();
            match entry.kind {
                EntryKind::File(len) if weighbridge_containers::is_index(&name) => {
                    index = index.max(Some(len));
                }
                EntryKind::File(_) if guess::is_shard(&name) => shards += 1,
                _ => {}
            }
        }
        index.map(|index| guess::first_of_shard(index, shards))
    }

    /// What lies directly in a folder.
    pub(super) fn list(&self, folder: &Path) -> Vec<FolderEntry> {
        let inside = |(path, entry): (&PathBuf, &Entry)| {
            let name = path.file_name().filter(|_| path.parent() == Some(folder))?;
            Some(FolderEntry { name: name.to_owned(), kind: entry.kind })
        };
        self.entries.iter().filter_map(inside).collect()
    }
}

/// Whether a revision is a whole commit, which never moves.
pub(super) fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The commit that the Hub says a revision is.
pub(crate) fn commit_of(text: &[u8]) -> Result<String, Fault> {
    let found: Revision = serde_json::from_slice(text).map_err(|_| odd_answer())?;
    Some(found.sha).filter(|sha| is_commit(sha)).ok_or_else(odd_answer)
}

/// Files and folders by their paths.
type Files = Vec<(PathBuf, EntryKind)>;

/// The files of one page of a listing, and the address of the next one.
pub(crate) fn page_of(
    text: &[u8],
    headers: &HeaderMap,
    from: &Url,
) -> Result<(Files, Option<Url>), Fault> {
    let mut tree =
        Tree { commit: String::new(), entries: BTreeMap::new(), headers: Mutex::default() };
    let next = tree.add_page(text, headers, from)?;
    let files = tree.entries.iter().map(|(path, entry)| {
        if let EntryKind::File(len) = entry.kind {
            tree.first_bytes(path, len);
        }
        (path.clone(), entry.kind)
    });
    Ok((files.collect(), next))
}

async fn get(of: &Repository, client: &Client, url: &Url) -> Result<(HeaderMap, Vec<u8>), Fault> {
    let trusted = Some(&of.endpoint);
    let ask = Ask { url, range: None, tag: None, auth: of.auth.as_ref(), trusted };
    let fetch = || async {
        let mut answer = client.send(&ask).await?;
        let status = answer.response.status();
        if status != StatusCode::OK {
            return Err(of.refusal(status, answer.response.headers()));
        }
        let too_long =
            || Fault::unsupported(format!("the server's response exceeds {MOST_BYTES} bytes"));
        let text = answer.body(MOST_BYTES).await?.ok_or_else(too_long)?;
        Ok((answer.response.headers().clone(), text))
    };
    retried(client.settings(), fetch).await
}

/// `Link: <https://..>; rel="next"`. A listing stays on its server.
fn next_page(headers: &HeaderMap, from: &Url) -> Result<Option<Url>, Fault> {
    let links = headers.get(LINK).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let next = links.split(',').find_map(|link| {
        let (address, rest) = link.trim().strip_prefix('<')?.split_once('>')?;
        rest.contains("rel=\"next\"").then_some(address)
    });
    let Some(next) = next else { return Ok(None) };
    let url = from.join(next).ok().filter(|url| url.origin() == from.origin());
    url.map(Some).ok_or_else(odd_answer)
}

fn odd_answer() -> Fault {
    Fault::unsupported("the server does not respond like the Hub")
        .hint("check HF_ENDPOINT and any proxies")
}
