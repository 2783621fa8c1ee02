//! The files of an output beside its weights: the index, the configs, and what was copied.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde_json::Value as Json;

use crate::catalog::Value;
use crate::config;
use crate::containers::writer;
use crate::containers::writing::Entries;
use crate::error::Result;
use crate::input::{EntryKind, Folder, MemoryFolder, ReadAt, error_of};
use crate::model::Model;
use crate::ops::conversion::values::{DEQUANTIZE, is_quantized};
use crate::ops::reports::reports;
use crate::output::made_by;
use crate::pipeline::{Contents, ExtraFile, stem_of};
use crate::text::escaped;

/// Bytes that are compared at once.
const READ_BYTES: usize = 1 << 20;

/// The most bytes of an index.
const MOST_INDEX: u64 = 256 << 20;

reports! {
    /// A file of an output that is not what it should be.
    #[derive(PartialEq)]
    pub struct WrongFile {
        pub name: String,
        pub problem: String,
    }
}

impl WrongFile {
    fn new(name: &str, problem: impl Into<String>) -> Self {
        Self { name: name.to_owned(), problem: problem.into() }
    }
}

/// Whether an output was made from a model by [`dequantize`](crate::ops::dequantize): its marker says so
/// or, if it has none, a config lies in it and the model is quantized. A conversion writes weights
/// alone.
#[must_use]
pub fn was_dequantized(output: &Model, model: &Model) -> bool {
    let (folder, path) = (output.folder(), output.pipeline().unwrap_or(output.path()));
    if !matches!(folder.kind(path), Ok(EntryKind::Folder)) {
        return false;
    }
    match folder.local_path(path).and_then(|path| made_by(&path)) {
        Some(verb) => verb == DEQUANTIZE,
        None => {
            let configs = [config::HUGGING_FACE, config::MISTRAL, config::PIPELINE];
            is_quantized(model) && configs.iter().any(|name| folder.kind(&path.join(name)).is_ok())
        }
    }
}

/// What is wrong with the files beside the weights of an output at `root`.
pub(super) fn wrong_files(
    folder: &dyn Folder,
    root: &Path,
    expected: &[ExtraFile],
) -> Result<Vec<WrongFile>> {
    let mut wrong = Vec::new();
    for file in expected {
        let problem = problem(folder, &root.join(&file.name), file)?;
        let name = file.name.to_string_lossy();
        wrong.extend(problem.map(|problem| WrongFile::new(&name, problem)));
    }
    Ok(wrong)
}

/// What is wrong with a file beside the weights of an output.
fn problem(folder: &dyn Folder, path: &Path, file: &ExtraFile) -> Result<Option<String>> {
    let found = match folder.open(path) {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Some("is missing".to_owned())),
        Err(e) => return Ok(Some(format!("cannot be read ({e})"))),
    };
    let failed = |e| error_of(e, "cannot read");
    let (expected, origin) = match &file.contents {
        Contents::Bytes(bytes) => {
            let made = MemoryFolder::new().with(&file.name, bytes.clone());
            (made.open(&file.name).map_err(failed)?, "the expected content")
        }
        Contents::Of(folder, path) => {
            let own = folder.open(path).map_err(|e| failed(e).in_file(path))?;
            (own, "the model's copy")
        }
    };
    let at = first_difference(&*found, &*expected).map_err(|e| failed(e).in_file(path))?;
    Ok(at.map(|at| format!("differs from {origin}, first at byte {at}")))
}

/// What is wrong with the metadata of an output. That of its first file counts; what only says how it
/// was split into files is not compared.
pub(super) fn wrong_metadata(output: &Model, expected: &Entries) -> Result<Vec<WrongFile>> {
    let Some(source) = output.sources().first() else { return Ok(Vec::new()) };
    let name = source.input().name().file_name().unwrap_or_default().to_string_lossy();
    let mut wrong = Vec::new();
    for (key, value) in expected {
        let found = match source.catalog().metadata.get(key) {
            Some(Value::Array(array)) => Some(Value::List(source.array(array)?)),
            other => other.cloned(),
        };
        let problem = match (&found, value.value()) {
            (None, _) => "is missing",
            (Some(found), Some(value)) if found != value => "has the wrong value",
            _ => continue,
        };
        wrong.push(WrongFile::new(&name, format!("its metadata `{}` {problem}", escaped(key))));
    }
    let is_known = |key: &str| expected.iter().any(|(known, _)| known == key);
    let own = source.catalog().metadata.iter().map(|(key, _)| key);
    for key in own.filter(|key| !key.starts_with("split.") && !is_known(key)) {
        let problem = format!("its metadata has the unexpected key `{}`", escaped(key));
        wrong.push(WrongFile::new(&name, problem));
    }
    Ok(wrong)
}

/// The first byte in which two files differ.
fn first_difference(a: &dyn ReadAt, b: &dyn ReadAt) -> io::Result<Option<u64>> {
    let (len, other) = (a.find_len()?, b.find_len()?);
    let (mut at, both) = (0, len.min(other));
    let (mut left, mut right) = (Vec::new(), Vec::new());
    while at < both {
        let count = usize::try_from(both - at).unwrap_or(READ_BYTES).min(READ_BYTES);
        left.resize(count, 0);
        right.resize(count, 0);
        a.read_at(at, &mut left)?;
        b.read_at(at, &mut right)?;
        if let Some(first) = left.iter().zip(&right).position(|(a, b)| a != b) {
            return Ok(Some(at + first as u64));
        }
        at += count as u64;
    }
    Ok((len != other).then_some(both))
}

/// What is wrong with the index of a directory's weight files. It is held against the files, not
/// against what a conversion would write: how they are split is a matter of taste.
pub(super) fn wrong_index(output: &Model) -> Result<Option<WrongFile>> {
    let Ok(EntryKind::Folder) = output.folder().kind(output.path()) else { return Ok(None) };
    let Some((name, expected)) = expected_index(output) else { return Ok(None) };
    let path = output.path().join(&name);
    let found = match output.folder().kind(&path) {
        Ok(_) => read(&**output.folder(), &path)?,
        Err(_) if output.sources().len() < 2 => return Ok(None),
        Err(_) => return Ok(Some(WrongFile::new(&name, "is missing"))),
    };
    Ok(index_problem(&expected, &found).map(|problem| WrongFile::new(&name, problem)))
}

/// The name of the index, and what it should say about the files that are there.
fn expected_index(output: &Model) -> Option<(String, Json)> {
    let stem = stem_of(output.sources().first()?.input().name())?;
    let (mut map, mut bytes) = (Vec::new(), 0u64);
    for source in output.sources() {
        let file = source.input().name().file_name()?.to_str()?;
        for tensor in &source.catalog().tensors {
            map.push((&*tensor.name, file));
            bytes = bytes.saturating_add(tensor.bytes);
        }
    }
    let (name, text) = writer(output.format())?.index(&stem, map, bytes, 0)?;
    Some((name, serde_json::from_str(&text).ok()?))
}

fn read(folder: &dyn Folder, path: &Path) -> Result<Vec<u8>> {
    let failed = |e| error_of(e, "cannot read").in_file(path);
    let source = folder.open(path).map_err(failed)?;
    let len = source.find_len().map_err(failed)?.min(MOST_INDEX);
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(0)];
    source.read_at(0, &mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// How an index differs from what it should say.
fn index_problem(expected: &Json, found: &[u8]) -> Option<String> {
    let Ok(found) = serde_json::from_slice::<Json>(found) else {
        return Some("is not valid JSON".to_owned());
    };
    let map = |json: &Json| -> BTreeMap<String, String> {
        let entries = json["weight_map"].as_object().into_iter().flatten();
        entries.map(|(name, file)| (name.clone(), file.as_str().unwrap_or("").into())).collect()
    };
    let (right, wrong) = (map(expected), map(&found));
    for (name, file) in &right {
        let (shown, is_in) = (escaped(name), escaped(file));
        match wrong.get(name) {
            None => return Some(format!("does not list {shown}, which is in {is_in}")),
            Some(other) if other != file => {
                let other = escaped(other);
                return Some(format!("says that {shown} is in {other}, but it is in {is_in}"));
            }
            Some(_) => {}
        }
    }
    if let Some(name) = wrong.keys().find(|name| !right.contains_key(*name)) {
        return Some(format!("lists {}, which is in no file", escaped(name)));
    }
    let total = |json: &Json| json["metadata"]["total_size"].clone();
    let (right, wrong) = (total(expected), total(&found));
    (right != wrong).then(|| format!("says total_size {wrong} bytes, but the tensors have {right}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_index_is_held_against_the_files() {
        let index = |map: Json, size: u64| {
            json!({ "metadata": { "total_size": size }, "weight_map": map }).to_string()
        };
        let expected = json!({
            "metadata": { "total_size": 8 }, "weight_map": { "a": "1", "b": "2" } });
        let problem = |found: String| index_problem(&expected, found.as_bytes());
        assert_eq!(problem(index(json!({ "b": "2", "a": "1" }), 8)), None);
        for (found, words) in [
            (index(json!({ "a": "1" }), 8), "does not list b, which is in 2"),
            (index(json!({ "a": "2", "b": "2" }), 8), "a is in 2, but it is in 1"),
            (index(json!({ "a": "1", "b": "2", "c": "2" }), 8), "lists c"),
            (index(json!({ "a": "1", "b": "2" }), 9), "total_size 9 bytes, but the tensors have 8"),
            ("{".to_owned(), "not valid JSON"),
        ] {
            let problem = problem(found).unwrap();
            assert!(problem.contains(words), "{problem}");
        }
    }

    #[test]
    fn files_are_compared_byte_by_byte() {
        let long = vec![7u8; READ_BYTES + 10];
        let open = |bytes: &[u8]| {
            MemoryFolder::new().with("a", bytes.to_vec()).open(Path::new("a")).unwrap()
        };
        let found = open(&long);
        assert_eq!(first_difference(&*found, &*open(&long)).unwrap(), None);
        let mut other = long.clone();
        other[READ_BYTES + 3] = 8;
        assert_eq!(first_difference(&*found, &*open(&other)).unwrap(), Some(READ_BYTES as u64 + 3));
        assert_eq!(first_difference(&*found, &*open(&long[..5])).unwrap(), Some(5));
    }
}
