//! The Hub's protocol on one port, and those who store its files on another.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use sha2::{Digest as _, Sha256};

use super::{Reply, Request, Server};

pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
pub const TOKEN: &str = "hf_very_secret";
/// A part of every signed address.
pub const SIGNATURE: &str = "SIGNED";

/// One repository.
#[derive(Clone, Default)]
pub struct Repository {
    pub id: String,
    pub files: BTreeMap<String, Arc<Vec<u8>>>,
    /// Entries on a page of its listing.
    pub page: usize,
    pub gated: bool,
    pub private: bool,
    pub taken_down: bool,
}

/// What both servers know.
#[derive(Default)]
struct State {
    /// The signature that is good now.
    issue: u32,
    leaks: Vec<String>,
    new_tags: bool,
}

pub struct Hub {
    pub hub: Server,
    pub cdn: Server,
    state: Arc<Mutex<State>>,
}

impl Hub {
    pub fn start(repositories: Vec<Repository>) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let all: BTreeMap<String, Arc<Vec<u8>>> =
            repositories.iter().flat_map(Repository::stored_files).collect();
        let of_cdn = state.clone();
        let cdn = Server::start(move |request| stored(request, &all, &of_cdn));
        let (of_hub, base) = (state.clone(), cdn.url(""));
        let hub = Server::start(move |request| {
            let found = repositories.iter().find(|r| request.path.contains(&format!("/{}/", r.id)));
            match found {
                Some(repository) => repository.answer(request, &base, &of_hub),
                None => missing(request),
            }
        });
        Self { hub, cdn, state }
    }

    /// Ends the life of all signed addresses.
    pub fn expire(&self) {
        self.state.lock().unwrap().issue += 1;
    }

    /// From now on, large files have other sums.
    pub fn change(&self) {
        self.state.lock().unwrap().new_tags = true;
    }

    pub fn requests(&self) -> usize {
        self.hub.requests().len() + self.cdn.requests().len()
    }

    /// What of the other server was asked for with a token.
    pub fn leaks(&self) -> Vec<String> {
        self.state.lock().unwrap().leaks.clone()
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let leaks = self.leaks();
        assert!(leaks.is_empty() || std::thread::panicking(), "a token was sent to {leaks:?}");
    }
}

impl Repository {
    pub fn new(id: &str, files: &[(&str, Vec<u8>)]) -> Self {
        let file = |(path, bytes): &(&str, Vec<u8>)| ((*path).to_owned(), Arc::new(bytes.clone()));
        Self::of_shared(id, files.iter().map(file).collect())
    }

    /// One whose files other repositories have too.
    pub fn of_shared(id: &str, files: BTreeMap<String, Arc<Vec<u8>>>) -> Self {
        Self { id: id.to_owned(), files, page: 1000, ..Self::default() }
    }

    /// Its files by the paths under which they are stored.
    fn stored_files(&self) -> impl Iterator<Item = (String, Arc<Vec<u8>>)> {
        self.files.iter().map(|(path, bytes)| (format!("{}/{path}", self.id), bytes.clone()))
    }

    fn answer(&self, request: &Request, cdn: &str, state: &Mutex<State>) -> Reply {
        if self.private && request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
            return missing(request);
        }
        if self.taken_down {
            return Reply::new(403).with("X-Error-Message", "Access to this resource is disabled.");
        }
        let api = format!("/api/models/{}/", self.id);
        let file = format!("/{}/resolve/{COMMIT}/", self.id);
        if let Some(rest) = request.path.strip_prefix(&api) {
            return match rest.split_once('/') {
                Some(("revision", "main" | "refs%2Fpr%2F1" | COMMIT)) => {
                    Reply::new(200).body(format!("{{\"id\":\"{}\",\"sha\":\"{COMMIT}\"}}", self.id))
                }
                Some(("tree", COMMIT)) => self.listing(request),
                _ => Reply::new(404).with("X-Error-Code", "RevisionNotFound"),
            };
        }
        if self.gated {
            return Reply::new(403).with("X-Error-Code", "GatedRepo");
        }
        let path = request.path.strip_prefix(&file).unwrap_or_default();
        let Some(bytes) = self.files.get(path) else {
            return Reply::new(404).with("X-Error-Code", "EntryNotFound");
        };
        if path.ends_with(".json") {
            return Reply::of_file(bytes, request).with("X-Repo-Commit", COMMIT);
        }
        let state = state.lock().unwrap();
        let sum = if state.new_tags { sum(b"other") } else { sum(bytes) };
        Reply::new(302)
            .with(
                "Location",
                format!("{cdn}/{}/{path}?X-Signature={SIGNATURE}{}", self.id, state.issue),
            )
            .with("X-Repo-Commit", COMMIT)
            .with("X-Linked-Etag", format!("\"{sum}\""))
            .with("X-Linked-Size", bytes.len().to_string())
            .body("Found. Redirecting")
    }

    fn listing(&self, request: &Request) -> Reply {
        let cursor = request.query.split('&').find_map(|part| part.strip_prefix("cursor="));
        let from: usize = cursor.map_or(0, |cursor| cursor.parse().unwrap());
        let entry = |(path, bytes): (&String, &Arc<Vec<u8>>)| {
            let size = bytes.len();
            let large = match path.ends_with(".json") {
                true => String::new(),
                false => {
                    let sum = sum(bytes);
                    format!(",\"lfs\":{{\"oid\":\"{sum}\",\"size\":{size},\"pointerSize\":135}}")
                }
            };
            format!(
                "{{\"type\":\"file\",\"oid\":\"00\",\"size\":{size},\"path\":\"{path}\"{large}}}"
            )
        };
        let mut entries: Vec<String> = self.files.iter().map(entry).collect();
        // What no honest listing has.
        entries
            .push("{\"type\":\"file\",\"oid\":\"00\",\"size\":1,\"path\":\"../../x\"}".to_owned());
        let to = (from + self.page).min(entries.len());
        let reply = Reply::new(200).body(format!("[{}]", entries[from..to].join(",")));
        match to < entries.len() {
            true => {
                let next =
                    format!("{}?{}&cursor={to}", request.path, "recursive=true&expand=false");
                let host = request.header("host").unwrap();
                reply.with("Link", format!("<http://{host}{next}>; rel=\"next\""))
            }
            false => reply,
        }
    }
}

/// A repository that is not there, or not for this user.
fn missing(request: &Request) -> Reply {
    let status = if request.header("authorization").is_some() { 404 } else { 401 };
    Reply::new(status).with("X-Error-Code", "RepoNotFound")
}

/// A stored file, for those with a fresh signature.
fn stored(
    request: &Request,
    files: &BTreeMap<String, Arc<Vec<u8>>>,
    state: &Mutex<State>,
) -> Reply {
    let mut state = state.lock().unwrap();
    if request.header("authorization").is_some() {
        state.leaks.push(request.path.clone());
        return Reply::new(400);
    }
    if request.query != format!("X-Signature={SIGNATURE}{}", state.issue) {
        return Reply::new(403).body("<Error>expired</Error>");
    }
    match files.get(request.path.trim_start_matches('/')) {
        Some(bytes) => Reply::of_file(bytes, request).with("ETag", "\"stored\""),
        None => Reply::new(404),
    }
}

/// The SHA-256 of a file, as the Hub states it.
fn sum(bytes: &[u8]) -> String {
    let sum = Sha256::digest(bytes);
    sum.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
