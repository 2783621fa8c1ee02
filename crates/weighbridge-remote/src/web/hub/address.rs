//! Names of repositories and of files in them: `hf://owner/name@revision/path`, or the address of
//! a page in a browser.

use std::path::{Path, PathBuf};

use crate::{Error, Result};
use reqwest::Url;

use crate::web::fault::shown;
use crate::web::folder::{decoded, is_plain};

const SCHEME: &str = "hf://";
const HOSTS: [&str; 3] = ["huggingface.co", "www.huggingface.co", "hf.co"];

/// Pages of the Hub that are no owners.
const PAGES: [&str; 12] = [
    "api",
    "blog",
    "buckets",
    "collections",
    "docs",
    "join",
    "kernels",
    "learn",
    "login",
    "papers",
    "settings",
    "tasks",
];

/// A kind of repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepositoryKind {
    /// A model.
    Model,
    /// A dataset.
    Dataset,
    /// A space.
    Space,
}

impl RepositoryKind {
    /// The word for it in addresses.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Dataset => "datasets",
            Self::Space => "spaces",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Model, Self::Dataset, Self::Space].into_iter().find(|kind| kind.word() == word)
    }
}

/// A repository, or something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HubAddress {
    /// What kind of repository.
    pub kind: RepositoryKind,
    /// `owner/name`.
    pub id: String,
    /// A branch, a tag or a commit; without one, `main`.
    pub revision: Option<String>,
    /// A file or a folder in it; empty for all of it.
    pub path: PathBuf,
}

impl HubAddress {
    /// The repository as it is written behind `hf://`.
    pub(crate) fn shown_id(&self) -> String {
        match self.kind {
            RepositoryKind::Model => self.id.clone(),
            kind => format!("{}/{}", kind.word(), self.id),
        }
    }

    /// Reads an address. `None` for one that is not of the Hub at this endpoint.
    pub fn parse(typed: &str, endpoint: &Url) -> Option<Result<Self>> {
        if let Some(rest) = typed.strip_prefix(SCHEME) {
            return Some(Self::of_name(rest).ok_or_else(|| not_a_name(typed)));
        }
        let url = Url::parse(typed).ok()?;
        let of_hub = url.scheme() == "https" && HOSTS.contains(&url.host_str()?);
        if of_hub || url.origin() == endpoint.origin() {
            Self::of_page(&url, endpoint)?.ok_or_else(|| not_a_name(&shown(&url))).into()
        } else {
            None
        }
    }

    /// `[models/|datasets/|spaces/]owner/name[@revision][/path]`.
    fn of_name(rest: &str) -> Option<Self> {
        let mut parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
        let kind = kind_of(&mut parts);
        // The revision ends the name, whichever part that is.
        let named = parts.iter().take(2).position(|part| part.contains('@'));
        let count = named.map_or(2, |at| at + 1).min(parts.len());
        let mut rest = parts.split_off(count);
        let mut revision = None;
        if let Some((name, found)) = parts.last().and_then(|last| last.split_once('@')) {
            let mut found = decoded(found)?;
            if found == "refs" && rest.len() >= 2 {
                // Revisions of pull requests are often written as they are.
                let reference: Vec<&str> = rest.drain(..2).collect();
                found = format!("refs/{}", reference.join("/"));
            }
            revision = Some(found);
            *parts.last_mut()? = name;
        }
        let path: Vec<String> = rest.iter().map(|part| (*part).to_owned()).collect();
        Self::checked(kind, &parts, revision, &path)
    }

    /// The address of a page: of a repository, or of something in it (`/blob/main/..`). `None` for
    /// other pages of the Hub.
    #[expect(clippy::option_option, reason = "no repository, or one with a wrong name")]
    fn of_page(url: &Url, endpoint: &Url) -> Option<Option<Self>> {
        let of_endpoint = url.origin() == endpoint.origin();
        let base = if of_endpoint { endpoint.path().trim_end_matches('/') } else { "" };
        let rest = url.path().strip_prefix(base)?;
        let mut parts: Vec<&str> = rest.trim_matches('/').split('/').collect();
        let kind = kind_of(&mut parts);
        if PAGES.contains(parts.first()?) || parts == [""] {
            return None;
        }
        let verbs = ["blob", "tree", "resolve", "raw"];
        let Some(at) = parts.iter().take(3).position(|part| verbs.contains(part)) else {
            // Other pages of a repository, such as its discussions, stand for all of it.
            return Some(Self::checked(kind, &parts[..parts.len().min(2)], None, &[]));
        };
        let path = parts.iter().skip(at + 2).map(|part| decoded(part)).collect::<Option<Vec<_>>>();
        let revision = parts.get(at + 1).and_then(|part| decoded(part));
        Some(path.and_then(|path| Self::checked(kind, &parts[..at], revision, &path)))
    }

    fn checked(
        kind: RepositoryKind,
        id: &[&str],
        revision: Option<String>,
        path: &[String],
    ) -> Option<Self> {
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let named = |part: &&str| is_plain(part) && part.chars().all(letter);
        let revised =
            |text: &String| text.split('/').all(is_plain) && !text.chars().any(char::is_control);
        let fits = (1..=2).contains(&id.len())
            && id.iter().all(named)
            && revision.iter().all(revised)
            && path.iter().all(|part| is_plain(part));
        fits.then(|| Self { kind, id: id.join("/"), revision, path: path.iter().collect() })
    }

    /// The revision that is meant.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or("main")
    }

    /// As it is typed, with another path.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let revision = self.revision.as_ref().map(|rev| format!("@{}", rev.replace('/', "%2F")));
        let path: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
        let path = if path.is_empty() { String::new() } else { format!("/{}", path.join("/")) };
        format!("{SCHEME}{}{}{path}", self.shown_id(), revision.unwrap_or_default())
    }
}

/// Takes a leading `datasets` away.
fn kind_of(parts: &mut Vec<&str>) -> RepositoryKind {
    let kind = parts.first().and_then(|part| RepositoryKind::parse(part));
    if kind.is_some() {
        parts.remove(0);
    }
    kind.unwrap_or(RepositoryKind::Model)
}

fn not_a_name(typed: &str) -> Error {
    Error::usage("not a Hub repository")
        .in_file(Path::new(typed))
        .hint("write hf://owner/name[@revision][/path], with %2F for `/` in a revision")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(typed: &str) -> Option<Result<HubAddress>> {
        HubAddress::parse(typed, &Url::parse("http://127.0.0.1:8080/").unwrap())
    }

    /// What was understood: the address as it is typed.
    fn read(typed: &str) -> String {
        let address = parse(typed).unwrap().unwrap();
        address.shown(&address.path)
    }

    #[test]
    fn names() {
        for same in [
            "hf://o/n",
            "hf://gpt2",
            "hf://o/n@v1.0",
            "hf://o/n@refs%2Fpr%2F1/a/b.gguf",
            "hf://datasets/o/n/x.npz",
            "hf://o/n/a@b.gguf",
        ] {
            assert_eq!(read(same), same);
        }
        assert_eq!(read("hf://models/o/n/"), "hf://o/n");
        assert_eq!(read("hf://o/n@refs/pr/1/a"), "hf://o/n@refs%2Fpr%2F1/a");
    }

    #[test]
    fn pages() {
        let hub = "https://huggingface.co";
        assert_eq!(read(&format!("{hub}/o/n")), "hf://o/n");
        assert_eq!(read(&format!("{hub}/gpt2/tree/main")), "hf://gpt2@main");
        assert_eq!(
            read(&format!("{hub}/o/n/resolve/refs%2Fpr%2F1/a%20b/c.gguf?download=true")),
            "hf://o/n@refs%2Fpr%2F1/a b/c.gguf"
        );
        assert_eq!(
            read("https://hf.co/datasets/o/n/blob/main/x.npz"),
            "hf://datasets/o/n@main/x.npz"
        );
        assert_eq!(read("http://127.0.0.1:8080/o/n/blob/v1/x"), "hf://o/n@v1/x");
        assert_eq!(read(&format!("{hub}/o/n/discussions/1")), "hf://o/n");
        for other in ["https://a.com/o/n", "http://huggingface.co/o/n", "/o/n", "o/n"] {
            assert!(parse(other).is_none(), "{other}");
        }
        assert!(parse(&format!("{hub}/docs/hub")).is_none() && parse(hub).is_none());
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        for name in
            ["", "o/n/../x", "o/..", "o/n@", "o/n@a%2F..%2Fb", "o/n//x", "a b/c", "o/n/a\\b"]
        {
            let error = parse(&format!("hf://{name}")).unwrap().unwrap_err();
            assert!(error.to_string().contains("not a Hub repository"), "{error}");
        }
    }
}
