//! The refusal of a family that is not known: why, which one is nearest, and what can be done.

use serde_json::Value as Json;

use super::{missing_class, nearest};
use crate::error::{Error, Remedy};
use crate::text::escaped;

/// The refusal of a config whose family is not known.
#[must_use]
pub fn unsupported_family(config: &Json) -> Error {
    let text = |config: &Json| config["architectures"][0].as_str().map(str::to_owned);
    let class = text(config).or_else(|| super::text_part(config).and_then(text));
    let Some(name) = config["model_type"].as_str() else {
        let message = match &class {
            Some(class) => format!("model class `{}` is not supported", escaped(class)),
            None => "config.json states no model family (model_type)".to_owned(),
        };
        return advised(Error::unsupported(message), &class.unwrap_or_default());
    };
    let message = match class.as_deref().and_then(missing_class) {
        Some([class, architecture, reason]) => format!(
            "model family `{}` ({class}, GGUF architecture {architecture}) is not supported: {reason}",
            escaped(name)
        ),
        None => format!("model family `{}` is not supported", escaped(name)),
    };
    advised(Error::unsupported(message), class.as_deref().unwrap_or(name))
}

/// The error with what can be done instead, for a family with that name.
pub(crate) fn advised(error: Error, name: &str) -> Error {
    let error = match nearest(name) {
        Some(known) => error.hint(format!("the nearest supported family is {known}")),
        None => error,
    };
    error.remedy(Remedy::ListFamilies).remedy(Remedy::KeepNames).remedy(Remedy::AnyFamily)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_nearest_family_is_named() {
        let config = json!({ "model_type": "llama9", "architectures": ["Llama9ForCausalLM"] });
        let error = unsupported_family(&config);
        assert_eq!(error.to_string(), "model family `llama9` is not supported");
        assert_eq!(error.hint_text(), Some("the nearest supported family is llama"));
        assert!(error.remedies().contains(&Remedy::AnyFamily));
        let error = unsupported_family(&json!({ "model_type": "zebra" }));
        assert_eq!((error.hint_text(), error.remedies().len()), (None, 3));
        let error = unsupported_family(&json!({}));
        assert!(error.to_string().contains("states no model family"), "{error}");
    }
}
