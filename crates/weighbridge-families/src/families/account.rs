//! The account of a config: which settings a GGUF file does not carry, and what follows.

use super::blocks::{Case, INERT, Otherwise, Rule};
use super::{Family, Settings};
use crate::warning::{NOT_CARRIED, WILL_NOT_LOAD, Warning};

/// Warnings about settings that llama.cpp does not follow.
///
/// `settings` must have been read for the entries of a file: what was read there is carried. A rule
/// about a key overrides that.
pub(crate) fn account(family: &Family, settings: &Settings, tensors: &[&str]) -> Vec<Warning> {
    let case = Case { scalings: family.scalings, settings, tensors };
    let rules: Vec<&Rule> = family.rules.iter().copied().flatten().collect();
    let mut found: Vec<Warning> = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        let key = rule.keys[0];
        let is_overridden = rules[..at].iter().any(|earlier| earlier.keys.contains(&key));
        let value = case.value(key);
        if !is_overridden && !(rule.holds)(&case, &value) {
            let key = rule.keys.iter().find(|key| !case.value(key).is_null()).unwrap_or(&key);
            found.push(warning(key, case.value(key), rule));
        }
    }
    found.extend(unknown(settings, &rules));
    found
}

fn warning(key: &str, value: serde_json::Value, rule: &Rule) -> Warning {
    let says = rule.says;
    match rule.otherwise {
        Otherwise::Differs => {
            let message = format!("not carried by GGUF; llama.cpp {says}, so results differ");
            Warning::new(NOT_CARRIED, key, value, message)
        }
        Otherwise::Fails => {
            Warning::new(WILL_NOT_LOAD, key, value, format!("llama.cpp will not load it: {says}"))
        }
    }
}

/// Settings that nothing accounts for.
fn unknown(settings: &Settings, rules: &[&Rule]) -> Vec<Warning> {
    let is_ruled = |key: &str| {
        rules.iter().flat_map(|rule| rule.keys).any(|known| match known.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => *known == key,
        })
    };
    let is_unset = |value: &serde_json::Value| match value {
        serde_json::Value::Bool(is_on) => !is_on,
        serde_json::Value::Array(list) => list.is_empty(),
        serde_json::Value::Object(map) => map.is_empty(),
        value => value.is_null(),
    };
    let all = settings.all().into_iter();
    let open = all.filter(|(key, value)| {
        let name = key.strip_prefix("full_attention.").unwrap_or(key);
        let known = INERT.contains(&name) || is_ruled(name) || settings.was_read(name);
        !known && !is_unset(value)
    });
    let message = "not carried by GGUF; it is not known whether it changes results";
    open.map(|(key, value)| Warning::new(NOT_CARRIED, key, value, message)).collect()
}
