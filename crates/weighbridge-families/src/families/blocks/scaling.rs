//! What a config has to state of scaled rotary positions. transformers loads no model without it, and
//! llama.cpp would run one unscaled, or with factors that nobody stated.

use serde_json::Value as Json;

use super::rope::part;
use crate::error::{Error, Result};
use crate::families::settings::Settings;

/// Parameters that each kind needs.
const NEEDED: &[(&str, &[&str])] = &[
    ("linear", &["factor"]),
    ("dynamic", &["factor"]),
    ("yarn", &["factor"]),
    ("llama3", &["factor", "low_freq_factor", "high_freq_factor"]),
    ("longrope", FACTORS),
    ("su", FACTORS),
];

const FACTORS: &[&str] = &["short_factor", "long_factor"];

/// An error if a parameter is missing, or a list of factors does not fit the heads.
pub(crate) fn check_scaling(settings: &Settings) -> Result<()> {
    let kind = settings.rope(&["rope_type"]).and_then(Json::as_str).unwrap_or_default();
    let known = NEEDED.iter().find(|(name, _)| kind.eq_ignore_ascii_case(name));
    let Some((kind, needed)) = known else { return Ok(()) };
    for key in *needed {
        let value = settings.rope(&[key]);
        let problem =
            if *needed == FACTORS { not_factors(value, settings) } else { no_number(value) };
        if let Some(problem) = problem {
            let message = format!("config.json: rotary scaling of type `{kind}`: {problem}");
            return Err(Error::malformed(message.replace("KEY", key))
                .hint(format!("state `{key}` under `rope_scaling` or `rope_parameters`")));
        }
    }
    Ok(())
}

fn no_number(value: Option<&Json>) -> Option<String> {
    let message = match value {
        None => "`KEY` is missing",
        Some(value) if value.as_f64().is_none_or(|number| number <= 0.0) => {
            "`KEY` is not a positive number"
        }
        Some(_) => return None,
    };
    Some(message.to_owned())
}

/// What is wrong with a list of factors: one for each rotated pair of a head.
fn not_factors(value: Option<&Json>, settings: &Settings) -> Option<String> {
    let Some(value) = value else { return Some("`KEY` is missing".to_owned()) };
    let numbers = value.as_array().filter(|list| list.iter().all(Json::is_number));
    let Some(numbers) = numbers else { return Some("`KEY` is not a list of numbers".to_owned()) };
    let whole = Json::from(1.0);
    let rotated = settings.rope(&["partial_rotary_factor"]).unwrap_or(&whole);
    let pairs = part(rotated, settings.head_width()?)? / 2;
    let found = numbers.len() as u64;
    (found != pairs)
        .then(|| format!("`KEY` has {found} factors, but {pairs} pairs of each head are rotated"))
}
