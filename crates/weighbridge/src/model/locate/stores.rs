//! Local model stores of other programs.

use std::ffi::OsString;
use std::path::PathBuf;

/// The local model stores that bare names are looked up in.
///
/// The default locations come from the environment. Set them explicitly in a program that must not
/// depend on it.
///
/// ```
/// use weighbridge::{OpenOptions, Stores};
/// let options = OpenOptions::new().stores(Stores::none().hugging_face("/data/hub"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stores {
    /// The folder that holds `models--org--name`.
    pub hugging_face: Option<PathBuf>,
    /// The folder that holds `manifests` and `blobs`.
    pub ollama: Option<PathBuf>,
}

impl Stores {
    /// No stores: only paths are opened.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The stores of the current user: `HF_HUB_CACHE`, else `HF_HOME/hub`, else
    /// `XDG_CACHE_HOME/huggingface/hub`, else `~/.cache/huggingface/hub`; and `OLLAMA_MODELS`,
    /// else `~/.ollama/models`.
    #[must_use]
    pub fn from_env() -> Self {
        Self::from_lookup(|name| std::env::var_os(name))
    }

    /// Sets the Hugging Face cache.
    #[must_use]
    pub fn hugging_face(mut self, folder: impl Into<PathBuf>) -> Self {
        self.hugging_face = Some(folder.into());
        self
    }

    /// Sets the Ollama store.
    #[must_use]
    pub fn ollama(mut self, folder: impl Into<PathBuf>) -> Self {
        self.ollama = Some(folder.into());
        self
    }

    fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = |name: &str| lookup(name).filter(|value| !value.is_empty());
        let home = set("HOME").or_else(|| set("USERPROFILE")).map(PathBuf::from);
        let folder = |name: &str| set(name).map(|value| below_home(value.into(), home.as_ref()));
        let caches =
            folder("XDG_CACHE_HOME").or_else(|| home.as_ref().map(|home| home.join(".cache")));
        let hugging_face = folder("HF_HUB_CACHE")
            // The older spelling, which the hub library still reads.
            .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| folder("HF_HOME").map(|home| home.join("hub")))
            .or_else(|| caches.map(|caches| caches.join("huggingface").join("hub")));
        let ollama = folder("OLLAMA_MODELS")
            .or_else(|| home.as_ref().map(|home| home.join(".ollama").join("models")));
        Self { hugging_face, ollama }
    }
}

/// A leading `~` in a variable was never seen by a shell.
fn below_home(path: PathBuf, home: Option<&PathBuf>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores(variables: &[(&str, &str)]) -> Stores {
        Stores::from_lookup(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_most_specific_variable_wins() {
        let mut variables = vec![("HOME", "/h")];
        let hub = |variables: &[(&str, &str)]| stores(variables).hugging_face.unwrap();
        assert_eq!(hub(&variables), PathBuf::from("/h/.cache/huggingface/hub"));
        variables.push(("XDG_CACHE_HOME", "/x"));
        assert_eq!(hub(&variables), PathBuf::from("/x/huggingface/hub"));
        variables.push(("HF_HOME", "~/hf"));
        assert_eq!(hub(&variables), PathBuf::from("/h/hf/hub"));
        variables.push(("HF_HUB_CACHE", "/cache"));
        assert_eq!(hub(&variables), PathBuf::from("/cache"));
    }

    #[test]
    fn empty_variables_are_not_set() {
        let found = stores(&[("HOME", "/h"), ("OLLAMA_MODELS", "")]);
        assert_eq!(found.ollama, Some(PathBuf::from("/h/.ollama/models")));
        assert_eq!(stores(&[("OLLAMA_MODELS", "/o")]).ollama, Some(PathBuf::from("/o")));
        assert_eq!(stores(&[]), Stores::none());
    }
}
