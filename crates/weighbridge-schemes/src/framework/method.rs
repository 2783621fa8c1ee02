//! Quantization methods: what configs name, and whose they are.

use serde_json::Value as Json;

use crate::SCHEMES;
use crate::framework::{ConfigFile, Configs, Holds, Scheme};

/// A method as configs name it. Several schemes may read models of one method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// Whether names of tensors that other schemes use too mean this scheme in models of the
    /// method: schemes that share such names leave those models alone.
    pub is_exclusive: bool,
    /// Keys under which its configs say that weights are quantized. A config
    /// without any of them that has a cache key only concerns the KV cache. Empty: every config
    /// concerns weights.
    pub weight_keys: &'static [&'static str],
    /// Keys under which its configs say that the KV cache is quantized.
    pub cache_keys: &'static [&'static str],
}

impl Method {
    /// A method of which nothing but the name matters.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self { name, aliases: &[], is_exclusive: false, weight_keys: &[], cache_keys: &[] }
    }

    /// Whether a config's word, in lower case, means it.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// How a method can be recognised in configs that do not name it, the surest sign first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// A file that only its writer makes.
    File,
    /// A key of the model's config that only its writer uses.
    Key,
    /// What stands inside settings that any writer could have made.
    Settings,
}

/// Every method of every scheme, with the scheme's name.
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static Method)> {
    SCHEMES.iter().flat_map(|scheme| scheme.methods().iter().map(|method| (scheme.name(), method)))
}

/// The method of that name, in lower case.
pub(crate) fn find(name: &str) -> Option<&'static Method> {
    all().map(|(_, method)| method).find(|method| method.is_called(name))
}

/// Whether models of that method belong to a scheme other than `scheme` alone.
pub(crate) fn belongs_to_another(name: &str, scheme: &str) -> bool {
    all().any(|(owner, method)| owner != scheme && method.is_exclusive && method.is_called(name))
}

/// The method that the configs name or, where they name none, that the surest sign implies.
pub(crate) fn of_configs(configs: Configs<'_>, schemes: &[&dyn Scheme]) -> Option<String> {
    let settings = configs.quantization().and_then(|(_, json)| name_in(json));
    let more = || {
        let files = schemes.iter().flat_map(|scheme| scheme.config_files());
        let more = files.filter(|file| matches!(file.holds, Holds::MoreSettings(_)));
        more.filter_map(|file| name_in(configs.file(file.name)?)).min()
    };
    let implied = || {
        let signs = schemes.iter().filter_map(|scheme| scheme.implied_method(configs));
        signs.min().map(|(_, method)| method.to_owned())
    };
    let name = settings.or_else(more).or_else(implied)?;
    Some(find(&name).map_or(name, |method| method.name.to_owned()))
}

/// The method that some settings name, in lower case.
pub(crate) fn name_in(settings: &Json) -> Option<String> {
    let own = settings.get("quant_method");
    own.or_else(|| settings.get("producer")?.get("name"))?.as_str().map(str::to_lowercase)
}

/// The files that schemes read beside the model's own config, each once.
pub(crate) fn config_files(schemes: &[&dyn Scheme]) -> Vec<&'static ConfigFile> {
    let mut files: Vec<&ConfigFile> = Vec::new();
    for file in schemes.iter().flat_map(|scheme| scheme.config_files()) {
        if !files.iter().any(|known| known.name == file.name) {
            files.push(file);
        }
    }
    files
}
