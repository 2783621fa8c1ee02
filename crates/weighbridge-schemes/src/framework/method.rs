//! Quantization methods that configs name.

use serde_json::Value as Json;

/// A quantization method as configs name it. Several schemes may read models of one method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Name, in lower case.
    pub name: &'static str,
    /// Aliases.
    pub aliases: &'static [&'static str],
    /// Whether tensor names that several schemes share belong to this scheme in models of the
    /// method. Other schemes then leave those models alone.
    pub is_exclusive: bool,
    /// Keys by which its configs mark weights as quantized. A config that has a cache key and none
    /// of these concerns only the KV cache. If empty, every config concerns weights.
    pub weight_keys: &'static [&'static str],
    /// Keys by which its configs mark the KV cache as quantized.
    pub cache_keys: &'static [&'static str],
}

impl Method {
    /// Creates a method that only has a name.
    #[must_use]
    pub const fn named(name: &'static str) -> Self {
        Self { name, aliases: &[], is_exclusive: false, weight_keys: &[], cache_keys: &[] }
    }

    /// Whether a config's word, in lower case, names this method.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }
}

/// Signs of a method in configs that do not name it, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// A file that only this method's writer creates.
    File,
    /// A key of the model's config that only this method's writer uses.
    Key,
    /// The contents of settings that any writer could have created.
    Settings,
}

/// Returns the method that some settings name, in lower case.
pub(crate) fn name_in(settings: &Json) -> Option<String> {
    let own = settings.get("quant_method");
    own.or_else(|| settings.get("producer")?.get("name"))?.as_str().map(str::to_lowercase)
}
