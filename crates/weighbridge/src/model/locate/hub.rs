//! Names in the local Hugging Face cache.
//!
//! ```text
//! hub/models--org--name/
//!     refs/main                       the commit a revision stands for, as text
//!     snapshots/<commit>/config.json  links to ..
//!     blobs/<hash>                    .. the files, which have no extension here
//! ```
//!
//! The links' names are kept: a blob's own name says nothing.

use std::path::{Component, Path, PathBuf};

use super::resolvers::{Resolver, Typed};
use super::search::Search;
use super::{Located, path, shown, some_of};
use crate::error::{Error, ErrorKind, Result};
use crate::near::closest;

const PREFIX: &str = "models--";

/// More than the name of any commit.
const MAX_REF_BYTES: u64 = 4096;

/// `org/name`, a repository that the cache holds.
pub(super) struct Hub;

impl Resolver for Hub {
    fn resolve(&self, typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Vec<Located>>> {
        let Some(found) = find(typed, search)? else { return Ok(None) };
        let models = path::locate(&found.path, search).map_err(|e| found.explain(e))?;
        let mut models = models.unwrap_or_default();
        models.iter_mut().for_each(|model| model.notes.insert(0, found.note()));
        Ok(Some(models))
    }

    fn looked_for(&self, typed: &Typed<'_>) -> Option<String> {
        Some(match &typed.stores().hugging_face {
            Some(hub) => format!("no such repository in the Hugging Face cache {}", shown(hub)),
            None => "no Hugging Face cache found".to_owned(),
        })
    }

    /// Repositories whose names are close to the one typed, or else whose last parts are.
    fn close_names(&self, typed: &Typed<'_>, search: &Search<'_>) -> Vec<String> {
        let (Some(hub), Some(wanted)) = (&typed.stores().hugging_face, typed.path.to_str()) else {
            return Vec::new();
        };
        let known = known(hub, search);
        let close = closest(wanted, known.iter().map(String::as_str));
        if !close.is_empty() {
            return close;
        }
        let short = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
        let wanted = short(wanted);
        let is_close =
            |name: &&String| !closest(&wanted, std::iter::once(&*short(name))).is_empty();
        known.iter().filter(is_close).take(3).cloned().collect()
    }
}

/// What a name led to.
struct Snapshot {
    /// The snapshot, or something inside it.
    path: PathBuf,
    repository: String,
    revision: String,
}

impl Snapshot {
    /// Says where it was found.
    fn note(&self) -> String {
        format!(
            "`{}` was found in the local Hugging Face cache, revision {}: {}",
            self.repository,
            self.revision,
            shown(&self.path)
        )
    }

    /// A cached repository without weights was only fetched in part.
    fn explain(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Usage {
            return error;
        }
        let hint = format!("`hf download {}` fetches the rest of the repository", self.repository);
        Error::usage(error.message()).in_file(error.path().unwrap_or(&self.path)).hint(hint)
    }
}

/// What was typed, taken apart: `[org/]name[/path][@revision]`.
struct Name<'a> {
    parts: Vec<&'a str>,
    revision: Option<&'a str>,
}

impl<'a> Name<'a> {
    fn parse(typed: &'a Path) -> Option<Self> {
        let text = typed.to_str()?;
        let (text, revision) = match text.split_once('@') {
            Some((name, revision)) => (name, Some(revision)),
            None => (text, None),
        };
        let parts: Vec<&str> = text.trim_end_matches('/').split('/').collect();
        let plain = |part: &&str| {
            !part.is_empty() && part.chars().all(is_name_character) && !part.starts_with('.')
        };
        let inside = revision.is_none_or(is_inside);
        (parts.iter().all(plain) && inside).then_some(Self { parts, revision })
    }
}

fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

fn is_inside(path: &str) -> bool {
    !path.is_empty() && Path::new(path).components().all(|c| matches!(c, Component::Normal(_)))
}

/// Looks a name up. `None` if the cache does not know it.
fn find(typed: &Typed<'_>, search: &Search<'_>) -> Result<Option<Snapshot>> {
    let (Some(hub), Some(name)) = (&typed.stores().hugging_face, Name::parse(typed.path)) else {
        return Ok(None);
    };
    let Some((repository, folder, rest)) = repository(&name.parts, hub, typed.path, search)? else {
        return Ok(None);
    };
    let (snapshot, revision) = snapshot(&folder, name.revision, search)
        .map_err(|e| e.in_file(&folder).hint(again(&repository)))?;
    let path = rest.iter().fold(snapshot, |path, part| path.join(part));
    if search.kind(&path).is_none() {
        let message = format!("the cached copy of {repository} has no {}", rest.join("/"));
        return Err(Error::usage(message).in_file(&path).hint(again(&repository)));
    }
    Ok(Some(Snapshot { path, repository, revision }))
}

fn again(repository: &str) -> String {
    format!("`hf download {repository}` fetches it again")
}

/// The repository, its folder in the cache, and the rest of the name.
type Repository<'a> = (String, PathBuf, &'a [&'a str]);

fn repository<'a>(
    parts: &'a [&'a str],
    hub: &Path,
    typed: &Path,
    search: &Search<'_>,
) -> Result<Option<Repository<'a>>> {
    if let [org, name, rest @ ..] = parts {
        let folder = hub.join(format!("{PREFIX}{org}--{name}"));
        if search.is_folder(&folder) {
            return Ok(Some((format!("{org}/{name}"), folder, rest)));
        }
    }
    let [name] = parts else { return Ok(None) };
    let exact = hub.join(format!("{PREFIX}{name}"));
    if search.is_folder(&exact) {
        return Ok(Some(((*name).to_owned(), exact, &[])));
    }
    let ending = format!("/{name}");
    let candidates: Vec<String> =
        known(hub, search).into_iter().filter(|repository| repository.ends_with(&ending)).collect();
    match &candidates[..] {
        [] => Ok(None),
        [one] => Ok(Some((one.clone(), hub.join(folder_name(one)), &[]))),
        several => {
            let message =
                format!("several cached repositories have this name: {}", some_of(several, 10));
            Err(Error::usage(message).in_file(typed).hint("write organization/name"))
        }
    }
}

fn folder_name(repository: &str) -> String {
    format!("{PREFIX}{}", repository.replace('/', "--"))
}

/// Every repository in the cache, sorted.
fn known(hub: &Path, search: &Search<'_>) -> Vec<String> {
    let name = |name: String| name.strip_prefix(PREFIX).map(|rest| rest.replacen("--", "/", 1));
    let mut names: Vec<String> = search.names_in(hub).into_iter().filter_map(name).collect();
    names.sort();
    names
}

/// The snapshot of a revision, and what to call it.
fn snapshot(
    folder: &Path,
    revision: Option<&str>,
    search: &Search<'_>,
) -> Result<(PathBuf, String)> {
    let snapshots = folder.join("snapshots");
    let wanted = revision.unwrap_or("main");
    if let Ok(commit) = search.read(&folder.join("refs").join(wanted), MAX_REF_BYTES) {
        let commit = String::from_utf8_lossy(&commit);
        let commit = commit.trim();
        let path = snapshots.join(commit);
        if is_inside(commit) && search.is_folder(&path) {
            return Ok((path, format!("{wanted} ({})", crate::text::shortened(commit, 12))));
        }
        let commit = crate::text::shortened(commit, 40);
        return Err(Error::usage(format!(
            "revision {wanted} (commit {commit}) is not in the cache"
        )));
    }
    let all = commits(&snapshots, search);
    let matching: Vec<&String> = match revision {
        Some(revision) => all.iter().filter(|commit| commit.starts_with(revision)).collect(),
        None => all.iter().collect(),
    };
    match matching[..] {
        [commit] => Ok((snapshots.join(commit), commit.clone())),
        [] if all.is_empty() => Err(Error::usage("the cache has no files of this repository")),
        _ => {
            let message = format!(
                "revision {wanted} is not in the cache; cached revisions: {}",
                some_of(&all, 5)
            );
            Err(Error::usage(message).hint("append @COMMIT to the name"))
        }
    }
}

fn commits(snapshots: &Path, search: &Search<'_>) -> Vec<String> {
    let mut all = search.names_in(snapshots);
    all.retain(|commit| search.is_folder(&snapshots.join(commit)));
    all
}
