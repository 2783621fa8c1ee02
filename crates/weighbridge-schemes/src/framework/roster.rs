//! Facts that all schemes state about themselves, as data.

use crate::framework::{ConfigFile, Method};

/// Facts about all schemes. Their order does not matter.
#[derive(Default)]
pub(crate) struct Roster {
    /// Names of the schemes.
    pub(crate) names: Vec<&'static str>,
    /// Methods, each with the name of its scheme.
    pub(crate) methods: Vec<(&'static str, &'static Method)>,
    /// Files that they read next to the model's own config, each once.
    pub(crate) config_files: Vec<&'static ConfigFile>,
    /// Keys of a model's config that hold settings of single schemes.
    pub(crate) config_keys: Vec<&'static str>,
    /// Layer formats that they decode, as named in descriptions inside files.
    pub(crate) layer_formats: Vec<&'static str>,
}

impl Roster {
    /// Returns the schemes that read models of a method, by name, with what each states about it.
    pub(crate) fn owners(
        &self,
        method: &str,
    ) -> impl Iterator<Item = (&'static str, &'static Method)> {
        self.methods.iter().copied().filter(move |(_, own)| own.is_called(method))
    }

    /// Returns the method of that name, in lower case.
    pub(crate) fn method(&self, name: &str) -> Option<&'static Method> {
        self.owners(name).next().map(|(_, method)| method)
    }
}
