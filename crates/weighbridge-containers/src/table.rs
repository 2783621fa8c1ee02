//! Lookups over the whole table of formats.

use super::conventions::{Conventions, Extension, Signature};
use super::{CONTAINERS, Container};

/// What every format says about its files, the one that a directory prefers first.
pub fn by_preference() -> Vec<&'static Conventions> {
    let mut all: Vec<_> = CONTAINERS.iter().map(|container| container.conventions()).collect();
    all.sort_by_key(|conventions| conventions.preference);
    all
}

/// What people call the formats that can be read.
pub fn labels() -> Vec<&'static str> {
    by_preference().iter().map(|conventions| conventions.label).collect()
}

/// The extensions that files with weights have.
pub fn weight_extensions() -> Vec<&'static str> {
    let listed = |conventions: &'static Conventions| {
        conventions.extensions.iter().filter(|extension| extension.listed)
    };
    by_preference().into_iter().flat_map(listed).map(|extension| extension.name).collect()
}

/// The format whose files have an extension, in any letter case.
pub fn by_extension(name: &str) -> Option<(&'static dyn Container, &'static Extension)> {
    CONTAINERS
        .iter()
        .find_map(|&container| Some((container, container.conventions().extension(name)?)))
}

/// Files that are easily taken for one of the formats.
pub fn look_alikes() -> impl Iterator<Item = &'static Signature> {
    CONTAINERS.iter().flat_map(|container| container.conventions().look_alikes)
}

/// Whether a file has the extension of weights and is something else that training leaves behind.
pub fn is_not_weights(name: &str) -> bool {
    let name = name.to_lowercase();
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    by_extension(extension).is_some_and(|(container, extension)| {
        extension.listed && container.conventions().is_not_weights(stem)
    })
}

/// Whether a file name is that of an index.
pub fn is_index(name: &str) -> bool {
    CONTAINERS.iter().any(|container| container.conventions().index_stem(name).is_some())
}

impl Conventions {
    /// The stem of the files that an index is for, and whether they are a variant:
    /// `model` of `model.safetensors.index.json` and of `model.safetensors.index.fp16.json`.
    pub fn index_stem<'a>(&self, name: &'a str) -> Option<(&'a str, bool)> {
        let stem = name.strip_suffix(".json").filter(|_| self.indexed)?;
        self.extensions.iter().filter(|extension| extension.listed).find_map(|extension| {
            let (stem, rest) = stem.split_once(&format!(".{}.index", extension.name))?;
            (rest.is_empty() || rest.starts_with('.')).then_some((stem, !rest.is_empty()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_a_strict_order() {
        let all = by_preference();
        assert!(all.windows(2).all(|pair| pair[0].preference < pair[1].preference));
        assert_eq!(all.len(), CONTAINERS.len());
    }

    #[test]
    fn extensions_belong_to_one_format() {
        let mut seen = std::collections::HashSet::new();
        for conventions in by_preference() {
            for extension in conventions.extensions {
                assert!(seen.insert(extension.name), "{}", extension.name);
                assert_eq!(extension.name, extension.name.to_lowercase());
            }
        }
    }

    #[test]
    fn names_of_indexes() {
        let index = |name| CONTAINERS.iter().find_map(|c| c.conventions().index_stem(name));
        assert_eq!(index("model.safetensors.index.json"), Some(("model", false)));
        assert_eq!(index("model.safetensors.index.fp16.json"), Some(("model", true)));
        assert_eq!(index("pytorch_model.bin.index.json"), Some(("pytorch_model", false)));
        for name in ["model.safetensors", "index.json", "a.safetensors.indexed.json"] {
            assert_eq!(index(name), None, "{name}");
        }
    }

    #[test]
    fn what_training_leaves_behind() {
        for name in ["optimizer.pt", "training_args.BIN", "tokenizer.pt", "x.optim.safetensors"] {
            assert!(is_not_weights(name), "{name}");
        }
        for name in ["model.pt", "tokenizer.safetensors", "optimizer.gguf", "args.npz", "args"] {
            assert!(!is_not_weights(name), "{name}");
        }
    }
}
