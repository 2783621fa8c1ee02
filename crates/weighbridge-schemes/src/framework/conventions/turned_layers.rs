//! Families whose linear layers are stored with outputs along the columns.
//!
//! Their loaders transpose such a matrix, before quantizing it or while reading it. Quantized
//! without that, its scales would apply to other numbers.

use crate::error::{Error, Result};
use crate::framework::Configs;
use crate::text::escaped;

/// Names of these families in configs.
const FAMILIES: &[&str] = &["gpt2", "openai-gpt", "imagegpt", "decision_transformer"];

/// Returns an error for a model of such a family, which this library would quantize.
pub(crate) fn refuse(configs: &Configs<'_>, library: &str) -> Result<()> {
    let named = configs.models().into_iter().filter_map(|model| model.get("model_type")?.as_str());
    match named.into_iter().find(|name| FAMILIES.contains(name)) {
        None => Ok(()),
        Some(name) => Err(Error::unsupported(format!(
            "model family {} is not supported: {library} transposes its linear layers before \
             quantizing",
            escaped(name)
        ))),
    }
}
