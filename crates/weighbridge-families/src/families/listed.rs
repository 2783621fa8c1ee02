//! The families as a list for people: names, both directions, and what was checked.

use super::evidence::{EVIDENCE, MISSING};
use super::{FAMILIES, Family, NAMES};

/// A family in the list.
pub struct Listed {
    /// Its name: that of its line in the table, in lower case.
    pub name: String,
    /// Its name in GGUF files.
    pub architecture: &'static str,
    /// Class names in configs.
    pub classes: &'static [&'static str],
    /// Values of `model_type` in configs.
    pub types: &'static [&'static str],
    /// Whether a GGUF file becomes a repository.
    pub back: bool,
    /// What becomes of layers that predict further tokens: `kept`, `dropped`, or none if it has no such layers.
    pub next_layers: Option<&'static str>,
    /// The tokenizers that are read.
    pub tokenizer: &'static str,
    /// Repositories whose GGUF files are compared with the converter's, byte for byte.
    pub compared: u64,
    /// The result of a run in llama.cpp beside transformers.
    pub run: Run,
}

/// A run in llama.cpp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Run {
    /// Agrees with transformers, with the largest difference of log-probabilities or hidden states.
    Agrees(f64),
    /// Differs by that much, with the settings of the class itself.
    Differs(f64),
    /// Not run.
    None,
}

/// All families, by name.
#[must_use]
pub fn listed() -> Vec<Listed> {
    let mut all: Vec<Listed> = FAMILIES.iter().zip(NAMES).map(of).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn of((family, (file, name)): (&'static Family, &(&'static str, &'static str))) -> Listed {
    let name = name.to_lowercase();
    let row = evidence().find(|row| row.name == name);
    let run = row.as_ref().map_or(Run::None, |row| row.run);
    debug_assert!(!file.is_empty());
    Listed {
        architecture: family.architecture,
        classes: family.classes,
        types: family.types,
        back: family.goes_back(),
        next_layers: family.predicts.then_some(if family.drops_next { "dropped" } else { "kept" }),
        tokenizer: family.tokenizer.name(),
        compared: row.map_or(0, |row| row.compared),
        run,
        name,
    }
}

/// A row of the evidence.
pub(super) struct Row {
    pub name: String,
    pub compared: u64,
    pub run: Run,
}

fn evidence() -> impl Iterator<Item = Row> {
    EVIDENCE.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        let (name, compared) = (fields.next()?.to_owned(), fields.next()?.parse().ok()?);
        let result = fields.next()?;
        let difference = fields.next().and_then(|text| text.parse().ok());
        let run = match (result, difference) {
            ("agrees", Some(difference)) => Run::Agrees(difference),
            ("differs", Some(difference)) => Run::Differs(difference),
            _ => Run::None,
        };
        Some(Row { name, compared, run })
    })
}

/// Class names that llama.cpp's converter knows and this crate does not: the class, its GGUF architecture
/// and the reason.
pub fn missing_classes() -> impl Iterator<Item = [&'static str; 3]> {
    MISSING.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        Some([fields.next()?, fields.next()?, fields.next()?])
    })
}

/// The row of a class in that list.
#[must_use]
pub fn missing_class(class: &str) -> Option<[&'static str; 3]> {
    missing_classes().find(|[name, ..]| *name == class)
}
