//! What a pre-tokenizer of a known name is in `tokenizer.json`: the table read backwards.

use serde_json::{Value as Json, json};

use super::table::{ALIASES, COMPOSING, IGNORING, If, Row, TABLE};
use crate::error::{Error, Result};
use crate::text::shortened;

/// One pre-tokenizer, as `tokenizer.json` has it.
pub(in crate::tokenizer) struct Known {
    pub normalizer: Json,
    /// Letters are composed first, which no file says and its name stands for.
    pub composes: bool,
    pub pre_tokenizer: Json,
    /// A word that is a token is taken without merging.
    pub ignores_merges: bool,
    /// The post-processor is RoBERTa's.
    pub is_roberta: bool,
    /// A text is bytes, each of which has a letter.
    pub is_byte_level: bool,
}

/// The pre-tokenizer of a name.
pub(in crate::tokenizer) fn known(name: &str) -> Result<Known> {
    let same = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, same)| same);
    let Some((row, conditions)) = row(same) else {
        let name = shortened(name, 40);
        return Err(Error::unsupported(format!("`{name}` is not a known pre-tokenizer")));
    };
    Ok(Known {
        normalizer: normalizer(row, same),
        composes: COMPOSING.contains(&same),
        pre_tokenizer: one_or_all("pretokenizers", row.steps.iter().map(|step| splitting(step))),
        ignores_merges: IGNORING.contains(&same),
        is_roberta: conditions.iter().any(|one| matches!(one, If::Roberta)),
        is_byte_level: row.steps.iter().any(|step| step.starts_with("bytes")),
    })
}

/// One way to cut texts, by one of its names.
pub(in crate::tokenizer) struct Way {
    pub name: &'static str,
    pub normalizer: Json,
    pub pre_tokenizer: Json,
    pub ignores_merges: bool,
}

/// Every way in which bytes are cut.
pub(in crate::tokenizer) fn ways() -> Vec<Way> {
    let mut all: Vec<Way> = Vec::new();
    for (_, name) in TABLE.iter().flat_map(|row| row.names) {
        let Ok(Known { normalizer, pre_tokenizer, ignores_merges, is_byte_level, .. }) =
            known(name)
        else {
            continue;
        };
        let is_same =
            |way: &Way| way.pre_tokenizer == pre_tokenizer && way.ignores_merges == ignores_merges;
        if is_byte_level && !all.iter().any(is_same) {
            all.push(Way { name, normalizer, pre_tokenizer, ignores_merges });
        }
    }
    all
}

fn row(name: &str) -> Option<(&'static Row, &'static [If])> {
    let named = |row: &'static Row| {
        let found = row.names.iter().find(|(_, known)| *known == name)?;
        Some((row, found.0))
    };
    TABLE.iter().find_map(named)
}

/// Where several are known, the first but for names that say otherwise.
fn normalizer(row: &Row, name: &str) -> Json {
    let composing = row.normalizers.iter().find(|steps| steps.contains(&"NFC"));
    let steps = match composing.filter(|_| COMPOSING.contains(&name)) {
        Some(steps) => steps,
        None => row.normalizers.first().copied().unwrap_or_default(),
    };
    one_or_all("normalizers", steps.iter().map(|step| normalizing(step)))
}

/// Nothing, one step, or a sequence of them.
fn one_or_all(inner: &str, steps: impl Iterator<Item = Json>) -> Json {
    let mut steps: Vec<Json> = steps.collect();
    match (steps.len(), steps.pop()) {
        (_, None) => Json::Null,
        (1, Some(step)) => step,
        (_, Some(last)) => {
            steps.push(last);
            json!({ "type": "Sequence", inner: steps })
        }
    }
}

fn normalizing(step: &str) -> Json {
    let parts = step.strip_prefix("replace ").and_then(|parts| parts.rsplit_once(' '));
    match parts {
        Some((from, to)) => {
            let content: Json = serde_json::from_str(to).unwrap_or_default();
            json!({ "type": "Replace", "pattern": pattern(from), "content": content })
        }
        None => json!({ "type": step }),
    }
}

fn splitting(step: &str) -> Json {
    match step {
        "digits" => json!({ "type": "Digits", "individual_digits": false }),
        "digits one by one" => json!({ "type": "Digits", "individual_digits": true }),
        _ if step.starts_with("bytes") => json!({
            "type": "ByteLevel",
            "add_prefix_space": step.ends_with(" after a space"),
            "trim_offsets": true,
            "use_regex": step.contains(" in words"),
        }),
        _ => match (step.strip_prefix("split "), step.strip_prefix("punctuation ")) {
            (Some(what), _) => split(what),
            (_, Some(behavior)) => json!({ "type": "Punctuation", "behavior": behavior }),
            _ => json!({ "type": step }),
        },
    }
}

fn split(what: &str) -> Json {
    let with = ["MergedWithPrevious", "MergedWithNext", "Contiguous", "Removed"];
    let named = with.into_iter().find_map(|behavior| {
        let what = what.strip_suffix(behavior)?.strip_suffix(' ')?;
        Some((what, behavior))
    });
    let (what, behavior) = named.unwrap_or((what, "Isolated"));
    json!({ "type": "Split", "pattern": pattern(what), "behavior": behavior, "invert": false })
}

/// Text has quotes; anything else is a regular expression.
fn pattern(what: &str) -> Json {
    match what.starts_with('"').then(|| serde_json::from_str::<String>(what)) {
        Some(Ok(text)) => json!({ "String": text }),
        _ => json!({ "Regex": what }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::structure::{normalizer as normalized, steps};
    use super::*;

    #[test]
    fn every_row_reads_the_same_in_both_directions() {
        for row in TABLE {
            for (_, name) in row.names {
                let known = known(name).unwrap();
                assert_eq!(steps(&known.pre_tokenizer), row.steps, "{name}");
                let found = normalized(&known.normalizer);
                assert!(row.normalizers.iter().any(|steps| found == *steps), "{name}: {found:?}");
                assert_eq!(found.contains(&"NFC".to_owned()), COMPOSING.contains(name), "{name}");
            }
        }
    }

    #[test]
    fn lists_name_what_the_table_has() {
        let aliased = ALIASES.iter().map(|(_, name)| name);
        for name in COMPOSING.iter().chain(IGNORING).chain(aliased) {
            assert!(row(name).is_some(), "{name}");
        }
        for (name, _) in ALIASES {
            assert!(row(name).is_none(), "{name}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let error = known("no\nsuch").err().unwrap();
        assert_eq!(error.message(), "`no\\nsuch` is not a known pre-tokenizer");
    }
}
