//! Importance matrices of llama-imatrix: how much each column of a weight matters.
//!
//! There are two file formats: the older binary format (`entries.rs`), and tensors in a container
//! (`tensors.rs`). Opening a file reads names and lengths. The values of a weight are read on demand
//! and cached.

mod entries;
mod recent;
mod tensors;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::Value;
use crate::containers::{self, Recognition};
use crate::error::{Error, Result};
use crate::input::{FileAccess, Input};
use crate::limits::{Budget, Limits};
use crate::schemes::Importance;
use recent::Recent;

/// As much of a text as llama-quantize has room for.
const MOST_TEXT: usize = 127;

/// An importance matrix. Clones share the open file.
///
/// ```no_run
/// let matrix = weighbridge::ImportanceMatrix::open("imatrix.gguf")?;
/// println!("{matrix:?}");
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct ImportanceMatrix(Arc<Contents>);

/// What all handles share.
struct Contents {
    path: PathBuf,
    stored: Stored,
    /// Where each name is among what is stored.
    places: HashMap<String, usize>,
    recent: Recent,
}

/// What a file holds.
struct Stored {
    /// The weights it knows, by name, with how many numbers each has.
    weights: Vec<(String, usize)>,
    /// The texts that the model read.
    datasets: Vec<Vec<u8>>,
    /// How many stretches of text the model read; 0 if that is not known.
    chunks: u32,
    numbers: Box<dyn Numbers>,
}

/// Reads the numbers of one weight.
trait Numbers: Send + Sync {
    fn read(&self, index: usize) -> Result<Vec<f32>>;
}

impl fmt::Debug for ImportanceMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportanceMatrix")
            .field("path", &self.0.path)
            .field("weights", &self.0.stored.weights.len())
            .finish_non_exhaustive()
    }
}

impl ImportanceMatrix {
    /// Opens a file and reads its names and lengths.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let input = Input::open(path, FileAccess::default())?;
        let in_container = containers::recognize(&input)?
            .is_some_and(|(_, recognition)| recognition == Recognition::Certain);
        let budget = Budget::new(Limits::default());
        let stored =
            if in_container { tensors::open(path, &budget) } else { entries::open(input, &budget) };
        let stored = stored.map_err(|error| error.in_file(path))?;
        if stored.weights.is_empty() {
            return Err(not_one("it has no entries").in_file(path));
        }
        // Where a name comes twice, the last counts.
        let names = stored.weights.iter().enumerate();
        let places = names.map(|(place, (name, _))| (name.clone(), place)).collect();
        let recent = Recent::default();
        Ok(Self(Arc::new(Contents { path: path.to_owned(), stored, places, recent })))
    }

    /// The names of the weights it knows, as GGUF files name them.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.places.keys().map(String::as_str)
    }

    /// How many numbers it has for a weight.
    #[must_use]
    pub fn len_of(&self, name: &str) -> Option<usize> {
        self.0.places.get(name).map(|&place| self.0.stored.weights[place].1)
    }

    /// The importance of a weight's columns, which is read when it is needed.
    #[must_use]
    pub fn of(&self, name: &str) -> Option<Arc<dyn Importance>> {
        let place = *self.0.places.get(name)?;
        Some(Arc::new(OfWeight { of: self.0.clone(), place }))
    }

    /// What llama-quantize adds to the metadata of a file that was made with it, in its order.
    #[must_use]
    pub fn entries(&self) -> Vec<(String, Value)> {
        let stored = &self.0.stored;
        let entry = |key: &str, value| (format!("quantize.imatrix.{key}"), value);
        let count = |count: usize| Value::Unsigned(32, u64::try_from(count).unwrap_or(u64::MAX));
        let mut entries =
            vec![entry("file", shortened(self.0.path.as_os_str().as_encoded_bytes()))];
        entries.extend(stored.datasets.first().map(|text| entry("dataset", shortened(text))));
        entries.push(entry("entries_count", count(self.0.places.len())));
        if stored.chunks > 0 {
            entries.push(entry("chunks_count", Value::Unsigned(32, stored.chunks.into())));
        }
        entries
    }
}

/// The importance of one weight.
struct OfWeight {
    of: Arc<Contents>,
    place: usize,
}

impl Importance for OfWeight {
    fn values(&self) -> Result<Arc<[f32]>> {
        let (name, _) = &self.of.stored.weights[self.place];
        let read = || {
            let values = self.of.stored.numbers.read(self.place)?;
            match values.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
                None => Ok(values.into()),
                Some(column) => Err(not_importance(column, values[column])),
            }
        };
        let found = self.of.recent.get(self.place, read);
        found.map_err(|error| error.in_tensor(name).in_file(&self.of.path))
    }

    fn len(&self) -> Result<usize> {
        Ok(self.of.stored.weights[self.place].1)
    }
}

/// The error for an importance that is negative or not finite. A search for the best scales would
/// prefer larger errors, or find none.
fn not_importance(column: usize, value: f32) -> Error {
    let message = format!(
        "the importance of column {column} is {value}, but must be a finite number from 0 on"
    );
    Error::malformed(message)
}

/// Text up to its first zero byte, and no longer than there is room for.
fn shortened(text: &[u8]) -> Value {
    let text = up_to_zero(text);
    Value::of_text(text.get(..MOST_TEXT).unwrap_or(text))
}

/// Text as C reads it.
fn up_to_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The error for a file that is not an importance matrix, or not one that llama-quantize accepts.
fn not_one(reason: &str) -> Error {
    Error::malformed(format!("not an importance matrix: {reason}"))
}

#[cfg(test)]
mod tests;
