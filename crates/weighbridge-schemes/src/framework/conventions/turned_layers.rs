//! Families whose linear layers are stored with outputs along the columns.
//!
//! Their loaders turn such a matrix around, before it is stored in fewer bits or while it is read.
//! In fewer bits as it lies, its scales would be those of other numbers.

use crate::error::{Error, Result};
use crate::framework::Configs;
use crate::text::escaped;

/// What configs call these families.
const FAMILIES: &[&str] = &["gpt2", "openai-gpt", "imagegpt", "decision_transformer"];

/// An error for a model of such a family, which this library would store in fewer bits.
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
