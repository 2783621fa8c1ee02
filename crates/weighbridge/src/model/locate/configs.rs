//! The JSON documents beside the weights.
//!
//! Several of them coexist: a converter leaves its own file next to `config.json`, and the schemes
//! decide which one is right. A config that cannot be read is a finding, because without it a
//! scheme would take the model for something else.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::LazyLock;

use super::search::Search;
use super::{Located, shown_name};
use crate::catalog::{Finding, TensorInfo};
use crate::config::{self, Config};
use crate::containers::{self, conventions::Configs};
use crate::error::Result;
use crate::limits::Budget;
use crate::schemes::SCHEMES;
use crate::source::Source;

/// What a scheme may want to see, in the order they are listed.
static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let mut names = vec![config::HUGGING_FACE];
    names.extend(SCHEMES.config_files().iter().map(|file| file.name));
    names.extend([config::MISTRAL, config::ADAPTER]);
    names
});

/// Real configs stay far below; those that list every tensor come to some megabytes.
const MAX_BYTES: u64 = 64 << 20;

/// What a parsed document takes for each byte of its text, at worst (`[[],[],..`).
const PARSED_BYTES: u64 = 12;

/// Reads the configs in a folder.
pub(super) fn beside(folder: &Path, located: &mut Located, search: &Search<'_>) -> Result<()> {
    for name in NAMES.iter() {
        read(&folder.join(name), name, located, search)?;
    }
    Ok(())
}

/// Reads the configs of a file that was given by name.
///
/// Many formats rarely have a config beside their files. Those are only looked for once the
/// tensors are known.
pub(super) fn beside_file(
    path: &Path,
    folder: &Path,
    located: &mut Located,
    search: &Search<'_>,
) -> Result<()> {
    match wanted_by(path) {
        Configs::Never => {}
        Configs::Always if search.folder.has_listing() => beside(folder, located, search)?,
        // Each of them costs a request where nothing says which there are.
        Configs::IfPacked | Configs::Always => located.late_configs = Some(folder.to_owned()),
    }
    Ok(())
}

/// Reads the configs that were left for later, if a tensor could need one: a matrix of whole
/// numbers or of 8-bit floats may be the packed form of something else.
pub(in crate::model) fn beside_late(
    sources: &[Source],
    located: &mut Located,
    budget: &Budget,
) -> Result<()> {
    let Some(place) = located.late_configs.take() else { return Ok(()) };
    let packed = |tensor: &TensorInfo| {
        let dtype = tensor.stored.element();
        tensor.shape.len() > 1 && !dtype.is_some_and(|d| d.is_float() && d.bits() >= 16)
    };
    if !sources.iter().any(|source| source.catalog().tensors.iter().any(packed)) {
        return Ok(());
    }
    let search = Search { folder: located.folder.clone(), budget };
    beside(&place, located, &search)
}

/// Whether a file by that name says all about itself, so that a config beside it belongs to
/// something else.
pub(super) fn needs_none(path: &Path) -> bool {
    wanted_by(path) == Configs::Never
}

/// When the configs beside a file of that name are read.
fn wanted_by(path: &Path) -> Configs {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let known = extension.and_then(containers::by_extension);
    known.map_or(Configs::Always, |(_, extension)| extension.configs)
}

/// Reads one config, if it is there and a scheme may want it; its file may be named otherwise.
pub(super) fn read(
    path: &Path,
    name: &str,
    located: &mut Located,
    search: &Search<'_>,
) -> Result<()> {
    let is_missing = if search.folder.has_listing() {
        search.kind(path).is_none()
    } else {
        is_missing(path, search)
    };
    if is_missing || !NAMES.contains(&name) {
        return Ok(());
    }
    let problem = match document(path, search) {
        Ok(json) if json.is_object() => {
            located.configs.push(Config { name: name.to_owned(), json });
            return Ok(());
        }
        Ok(_) => "it is not a JSON object".to_owned(),
        Err(error) if error.kind() == crate::ErrorKind::Limit => return Err(error),
        Err(error) => error.message().to_owned(),
    };
    let message = format!("{} cannot be used: {problem}; fetch it again", shown_name(path));
    located.findings.push(Finding::general("bad-config", message));
    Ok(())
}

/// Whether a folder without a listing does not have a file. Servers that do not tell strangers what
/// they have refuse what is not there, too.
fn is_missing(path: &Path, search: &Search<'_>) -> bool {
    let opened = search.folder.open(path);
    opened.is_err_and(|error| {
        matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
    })
}

/// A JSON document, whatever it holds.
pub(super) fn document(path: &Path, search: &Search<'_>) -> Result<serde_json::Value> {
    let text = search.read(path, MAX_BYTES)?;
    search.charge_parsed(path, &text, PARSED_BYTES, "a JSON document")?;
    config::parse(&text).map_err(|e| e.in_file(path))
}
