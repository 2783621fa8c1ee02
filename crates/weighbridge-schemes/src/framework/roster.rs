//! What the schemes that there are state about themselves, as data.

use crate::framework::{ConfigFile, Method};

/// What all schemes state; their order decides nothing.
#[derive(Default)]
pub(crate) struct Roster {
    /// What they are called.
    pub(crate) names: Vec<&'static str>,
    /// Their methods, each with the name of its scheme.
    pub(crate) methods: Vec<(&'static str, &'static Method)>,
    /// The files that they read beside the model's own config, each once.
    pub(crate) config_files: Vec<&'static ConfigFile>,
    /// The keys of a model's config that hold settings of single schemes.
    pub(crate) config_keys: Vec<&'static str>,
    /// The formats of layers that they decode, as descriptions inside files name them.
    pub(crate) layer_formats: Vec<&'static str>,
}

impl Roster {
    /// The schemes that read models of a method, by name, and what each says about it.
    pub(crate) fn owners(
        &self,
        method: &str,
    ) -> impl Iterator<Item = (&'static str, &'static Method)> {
        self.methods.iter().copied().filter(move |(_, own)| own.is_called(method))
    }

    /// The method of that name, in lower case.
    pub(crate) fn method(&self, name: &str) -> Option<&'static Method> {
        self.owners(name).next().map(|(_, method)| method)
    }
}
