//! Warnings: what a program that loads an output will do differently.

use serde::Serialize;
use serde_json::Value;

/// A setting or a structure of the source that a loader of the output does not treat as the source's
/// own library does.
///
/// Weights are written as they should be; what is computed with them differs. Kinds are stable names
/// in kebab-case, such as `setting-not-carried` and `will-not-load`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Warning {
    /// What kind of warning it is.
    pub kind: &'static str,
    /// The setting, or what else it is about.
    pub key: String,
    /// Its value in the source; null if it has none.
    pub value: Value,
    /// What follows from it.
    pub message: String,
}

/// The kind of a setting that changes the source's results and not those of the output.
pub const NOT_CARRIED: &str = "setting-not-carried";

/// The kind of a setting with which the output does not load.
pub const WILL_NOT_LOAD: &str = "will-not-load";

/// The kind of an output that loads with other numbers.
pub const LOADS_WRONG: &str = "loads-wrong";

impl Warning {
    /// A warning of a kind.
    pub fn new(
        kind: &'static str,
        key: impl Into<String>,
        value: Value,
        message: impl Into<String>,
    ) -> Self {
        Self { kind, key: key.into(), value, message: message.into() }
    }
}

/// The longest value that [`Warning::subject`] shows in full.
const LONGEST: usize = 60;

impl Warning {
    /// The key with its value, for a line of text. Long values are cut.
    pub fn subject(&self) -> String {
        if self.value.is_null() {
            return self.key.clone();
        }
        let value = self.value.to_string();
        match value.char_indices().nth(LONGEST) {
            Some((end, _)) => format!("{} {}..", self.key, &value[..end]),
            None => format!("{} {value}", self.key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_cut() {
        let of = |value: Value| Warning::new(NOT_CARRIED, "key", value, "").subject();
        assert_eq!(of(Value::Null), "key");
        assert_eq!(of(1.5.into()), "key 1.5");
        assert_eq!(of("ä".repeat(100).into()).chars().count(), "key ".len() + LONGEST + 2);
    }
}
