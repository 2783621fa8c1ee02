//! What the rules ask about a model, as its metadata says.

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::text::escaped;

/// What the rules ask about a model.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) architecture: String,
    /// How many blocks it has, those that predict further tokens included.
    pub(super) layers: Option<i64>,
    pub(super) experts: u64,
    /// How many heads share keys and values in its first block.
    pub(super) heads_a_value: u64,
    /// Whether it is one of those whose values are an eighth of the queries.
    pub(super) is_70b: bool,
}

/// Architectures of which models with so many layers count as 70B.
const SEVENTY: [(&str, i64); 6] =
    [("llama", 80), ("llama-embed", 80), ("qwen2", 80), ("deci", 80), ("olmo", 80), ("jais2", 68)];

impl Facts {
    /// Those of a model.
    pub(super) fn of(metadata: &dyn Fn(&str) -> Option<Value>) -> Result<Self> {
        let architecture = metadata("general.architecture")
            .and_then(|value| value.as_str().map(str::to_owned))
            .unwrap_or_default();
        // A tower has no blocks of its own that the rules count.
        if architecture == "clip" {
            return Ok(Self { architecture, layers: Some(0), ..Self::default() });
        }
        let number = |key: &str| first_number(metadata, &format!("{architecture}.{key}"));
        let heads = number("attention.head_count")?.unwrap_or(0);
        let value_heads = number("attention.head_count_kv")?.unwrap_or(heads);
        let experts = number("expert_count")?.unwrap_or(0);
        let blocks = number("block_count")?.and_then(|count| i64::try_from(count).ok());
        let more = number("nextn_predict_layers")?.and_then(|count| i64::try_from(count).ok());
        let own = blocks.map(|blocks| blocks.saturating_sub(more.unwrap_or(0)));
        let layers = match (&*architecture, own) {
            // One block more holds the router of its adapters.
            ("graniteswitch", Some(own)) => Some(own.saturating_add(1)),
            ("nanbeige", Some(own)) => match number("num_loops")? {
                Some(loops) if loops > 1 => {
                    Some(own.saturating_mul(i64::try_from(loops).unwrap_or(i64::MAX)))
                }
                _ => blocks,
            },
            _ => blocks,
        };
        let is_llama = architecture.starts_with("llama");
        let is_70b =
            SEVENTY.iter().any(|(name, layers)| *name == architecture && own == Some(*layers))
                && !(is_llama && (experts == 8 || heads == value_heads));
        let heads_a_value = heads.checked_div(value_heads).unwrap_or(0);
        Ok(Self { architecture, layers, experts, heads_a_value, is_70b })
    }

    /// How many blocks it has, or why no mixture can be made.
    pub(super) fn layers(&self) -> Result<i64> {
        self.layers.ok_or_else(|| {
            Error::unsupported(format!(
                "cannot choose types: the metadata has no `{}.block_count`",
                escaped(&self.architecture)
            ))
            .hint("a single type for all weights does not need it")
        })
    }
}

/// A number of the metadata; of a list with one for each block, that of the first.
fn first_number(metadata: &dyn Fn(&str) -> Option<Value>, key: &str) -> Result<Option<u64>> {
    let number = match metadata(key) {
        None => return Ok(None),
        Some(Value::List(values)) => values.first().and_then(Value::as_u64),
        Some(value) => value.as_u64(),
    };
    let wrong = || Error::malformed(format!("`{}` is not a number", escaped(key)));
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(architecture: &str, entries: &[(&str, Value)]) -> Facts {
        let lookup = |key: &str| match key {
            "general.architecture" => Some(Value::text(architecture)),
            _ => {
                let own = key.strip_prefix(architecture)?.strip_prefix('.')?;
                entries.iter().find(|(key, _)| *key == own).map(|(_, value)| value.clone())
            }
        };
        Facts::of(&lookup).unwrap()
    }

    fn number(value: u64) -> Value {
        Value::Unsigned(32, value)
    }

    #[test]
    fn seventy_billion_weights_are_told_by_layers_and_heads() {
        let of = |architecture, layers, heads, shared| {
            let entries = [
                ("block_count", number(layers)),
                ("attention.head_count", number(heads)),
                ("attention.head_count_kv", number(shared)),
            ];
            facts(architecture, &entries).is_70b
        };
        assert!(of("llama", 80, 64, 8));
        assert!(!of("llama", 80, 64, 64));
        assert!(of("qwen2", 80, 64, 64));
        assert!(of("jais2", 68, 64, 64));
        assert!(!of("llama", 32, 32, 8));
    }

    #[test]
    fn lists_count_by_their_first_block() {
        let heads = Value::List(vec![number(32), number(16)]);
        let of = facts(
            "deci",
            &[("attention.head_count", heads), ("attention.head_count_kv", number(0))],
        );
        assert_eq!((of.heads_a_value, of.layers), (0, None));
        assert!(of.layers().unwrap_err().message().contains("deci.block_count"));
        let loops = [("block_count", number(4)), ("num_loops", number(3))];
        assert_eq!(facts("nanbeige", &loops).layers, Some(12));
        assert_eq!(facts("graniteswitch", &loops).layers, Some(5));
    }
}
