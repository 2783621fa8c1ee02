//! Lists the model families that are translated between Hugging Face and GGUF.

use serde::Serialize;
use weighbridge_families::families::{Listed, Run, listed, missing_classes, nearest};
use weighbridge_families::projectors::{self, ListedProjector};

use crate::error::{Error, Result};
use crate::text::escaped;

/// The model families, with what was checked of each.
#[derive(Serialize)]
pub struct FamiliesReport {
    /// The families, by name.
    pub families: Vec<FamilyReport>,
    /// The projector classes, by name.
    pub projectors: Vec<ProjectorReport>,
    /// Class names that llama.cpp's converter knows and this version does not.
    pub missing: Vec<MissingClass>,
}

/// A model family.
#[derive(Serialize)]
pub struct FamilyReport {
    /// Its name.
    pub name: String,
    /// Its architecture in GGUF files.
    pub architecture: &'static str,
    /// Class names in `architectures` of configs.
    pub classes: &'static [&'static str],
    /// Values of `model_type` in configs.
    pub model_types: &'static [&'static str],
    /// Whether GGUF files of the family become repositories again.
    pub to_hf: bool,
    /// What becomes of next-token prediction layers: `kept` or `dropped`.
    pub next_layers: Option<&'static str>,
    /// The tokenizers that are read.
    pub tokenizer: &'static str,
    /// How many test models are compared with the output of llama.cpp's converter.
    pub compared: u64,
    /// Whether llama.cpp's results agree with those of transformers; none if that was not run.
    pub agrees: Option<bool>,
    /// The largest difference of log-probabilities or hidden states in that run.
    pub difference: Option<f64>,
}

/// A class of projectors: encoders of images or audio, in a file beside the language model.
#[derive(Serialize)]
pub struct ProjectorReport {
    /// Its name.
    pub name: &'static str,
    /// Class names in configs.
    pub classes: &'static [&'static str],
    /// What it encodes: `images`, `audio`, or both.
    pub encodes: Vec<&'static str>,
    /// How many test models are compared with the output of llama.cpp's converter.
    pub compared: u64,
}

/// A class that is not supported.
#[derive(Serialize)]
pub struct MissingClass {
    /// Its name in configs.
    pub class: &'static str,
    /// Its architecture in GGUF files.
    pub architecture: &'static str,
    /// Why it is not supported.
    pub reason: &'static str,
}

impl From<Listed> for FamilyReport {
    fn from(family: Listed) -> Self {
        let (agrees, difference) = match family.run {
            Run::Agrees(difference) => (Some(true), Some(difference)),
            Run::Differs(difference) => (Some(false), Some(difference)),
            Run::None => (None, None),
        };
        Self {
            name: family.name,
            architecture: family.architecture,
            classes: family.classes,
            model_types: family.types,
            to_hf: family.back,
            next_layers: family.next_layers,
            tokenizer: family.tokenizer,
            compared: family.compared,
            agrees,
            difference,
        }
    }
}

impl From<ListedProjector> for ProjectorReport {
    fn from(projector: ListedProjector) -> Self {
        let ListedProjector { name, classes, encodes, compared } = projector;
        Self { name, classes, encodes, compared }
    }
}

impl ProjectorReport {
    /// Whether a name is its own or that of a class.
    fn is_called(&self, name: &str) -> bool {
        let own = [self.name];
        own.iter().chain(self.classes).any(|known| known.eq_ignore_ascii_case(name))
    }
}

impl FamilyReport {
    /// Whether a name is one of this family: its own, its architecture, a class or a `model_type`.
    fn is_called(&self, name: &str) -> bool {
        let own = [self.name.as_str(), self.architecture];
        let mut all = own.iter().chain(self.classes).chain(self.model_types);
        all.any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Lists the families with one of these names, or all.
///
/// ```
/// let report = weighbridge::ops::families(&["Qwen3MoeForCausalLM"])?;
/// assert_eq!(report.families[0].architecture, "qwen3moe");
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn families(names: &[&str]) -> Result<FamiliesReport> {
    let mut families: Vec<FamilyReport> = listed().into_iter().map(FamilyReport::from).collect();
    let listed = projectors::listed().into_iter();
    let mut projectors: Vec<ProjectorReport> = listed.map(ProjectorReport::from).collect();
    let missing = missing_classes().map(|[class, architecture, reason]| MissingClass {
        class,
        architecture,
        reason,
    });
    let mut missing: Vec<MissingClass> = missing.collect();
    if names.is_empty() {
        return Ok(FamiliesReport { families, projectors, missing });
    }
    let is_missing = |one: &MissingClass, name: &str| {
        one.class.eq_ignore_ascii_case(name) || one.architecture == name
    };
    for name in names {
        let is_known = families.iter().any(|family| family.is_called(name))
            || projectors.iter().any(|projector| projector.is_called(name));
        if !is_known && !missing.iter().any(|one| is_missing(one, name)) {
            return Err(unknown(name));
        }
    }
    families.retain(|family| names.iter().any(|name| family.is_called(name)));
    projectors.retain(|projector| names.iter().any(|name| projector.is_called(name)));
    missing.retain(|one| names.iter().any(|name| is_missing(one, name)));
    Ok(FamiliesReport { families, projectors, missing })
}

fn unknown(name: &str) -> Error {
    let error = Error::usage(format!("unknown model family '{}'", escaped(name)));
    match nearest(name) {
        Some(known) => error.hint(format!("the nearest supported family is {known}")),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_found_by_every_name() {
        for name in ["qwen3_moe", "qwen3moe", "Qwen3MoeForCausalLM", "qwen3moeforcausallm"] {
            let report = families(&[name]).unwrap();
            assert_eq!(report.families[0].name, "qwen3_moe", "{name}");
        }
        let llama = families(&["llama"]).unwrap().families;
        assert!(llama.len() >= 3, "all families of an architecture");
        let error = families(&["llama", "mixtrall"]).err().unwrap();
        assert_eq!(error.hint_text(), Some("the nearest supported family is mixtral"));
        let all = families(&[]).unwrap();
        assert!(all.families.len() > 30 && !all.projectors.is_empty());
        let both = families(&["Gemma3ForConditionalGeneration"]).unwrap();
        assert_eq!((both.families[0].name.as_str(), both.projectors[0].name), ("gemma3", "gemma3"));
    }
}
