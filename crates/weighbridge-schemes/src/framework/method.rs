//! Quantization methods: what configs name, and whose they are.

use serde_json::Value as Json;

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

/// The method that some settings name, in lower case.
pub(crate) fn name_in(settings: &Json) -> Option<String> {
    let own = settings.get("quant_method");
    own.or_else(|| settings.get("producer")?.get("name"))?.as_str().map(str::to_lowercase)
}
