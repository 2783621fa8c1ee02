//! Config settings of weights packed in columns, under the keys that their writers share.
//!
//! ```text
//! quant_method        files of 2023 say nothing
//! bits, w_bit         group_size, q_group_size      -1 is one group for all
//! packing_format      AutoRound's: which layout it wrote
//! dynamic             patterns from the start of a name, the first that fits; `-:` is not quantized
//! extra_config        AutoRound: names; what is no module's name is a pattern, anywhere in a name
//! ```
//!
//! Patterns may use syntax that only Python supports. Their effect is then one of several
//! possibilities, and the shapes decide.

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value as Json;

use crate::framework::match_budget::MatchBudget;
use crate::framework::{ConfigFile, Evidence, Holds, Method};
use crate::text::shortened;

/// AutoRound, which writes weights in the layouts of several schemes.
pub(crate) const AUTO_ROUND: Method =
    Method { aliases: &["autoround", "intel/auto-round"], ..Method::named("auto-round") };

/// Files that hold the settings if config.json does not.
pub(crate) const FILES: [ConfigFile; 2] = [
    ConfigFile { name: "quantize_config.json", holds: Holds::Settings },
    ConfigFile { name: "quant_config.json", holds: Holds::Settings },
];

/// The writer of the settings that determine the layout.
pub(crate) enum Writer {
    /// The scheme's own library.
    Own,
    /// AutoRound, which names its layout with a label.
    AutoRound(String),
}

/// Returns the text under a key of some settings, in lower case.
pub(crate) fn text(settings: &Json, key: &str) -> Option<String> {
    settings.get(key).and_then(Json::as_str).map(str::to_lowercase)
}

/// Settings of the whole model.
pub(crate) struct Settings<'a, L> {
    /// Layout of the weights in the scheme's terms, or the name of an unsupported layout.
    pub layout: Result<L, String>,
    /// Whether activations are rotated at run time (AutoRound's rotations). Weights are then valid
    /// only with the same rotation.
    pub rotated: bool,
    /// Bits and group size of most weights.
    usual: Packed,
    /// Bits and group size of single modules.
    named: HashMap<&'a str, Packed>,
    /// Bits and group size of modules whose names match a pattern.
    rules: Vec<Rule<'a>>,
    /// Budget for matching names.
    budget: MatchBudget,
}

/// A pattern of module names, and the settings of the modules it matches.
struct Rule<'a> {
    text: &'a str,
    /// `None` if the syntax is not supported.
    pattern: Option<Regex>,
    says: Says,
}

enum Says {
    /// Not quantized.
    Plain,
    /// Packed with these settings; later rules are ignored.
    Packed(Packed),
    /// Perhaps packed with these settings: which rule applies depends on modules that are not in
    /// the file.
    Perhaps(Packed),
}

/// Bits and group size of a weight, as far as a config states them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Bits per code.
    pub bits: Option<u64>,
    /// Group size; `Some(None)` is a single group.
    pub group_size: Option<Option<u64>>,
}

impl Packed {
    fn of(json: &Json) -> Self {
        // Configs that were edited by hand may have numbers as text.
        let whole = |json: &Json| json.as_i64().or_else(|| json.as_str()?.trim().parse().ok());
        let number = |keys: [&str; 2]| keys.iter().find_map(|key| whole(json.get(*key)?));
        let group_size = number(["group_size", "q_group_size"]);
        Self {
            bits: number(["bits", "w_bit"]).map(|bits| u64::try_from(bits).unwrap_or(0)),
            group_size: group_size.map(|size| u64::try_from(size).ok().filter(|&size| size > 0)),
        }
    }

    fn or(self, usual: Self) -> Self {
        Self { bits: self.bits.or(usual.bits), group_size: self.group_size.or(usual.group_size) }
    }

    /// Returns the inputs per group for `groups` groups, or why they do not fit.
    pub(crate) fn group_size(self, inputs: u64, groups: u64) -> Result<u64, String> {
        let size = match self.group_size {
            Some(size) => size.unwrap_or(inputs),
            None if inputs.is_multiple_of(groups) => inputs / groups,
            None => {
                return Err(format!(
                    "no config states the group size, and {inputs} inputs are not a multiple of \
                     {groups} groups"
                ));
            }
        };
        match inputs.div_ceil(size) {
            fitting if fitting == groups => Ok(size),
            other => Err(format!(
                "the config's group size {size} gives {other} groups for {inputs} inputs, but the \
                 scales have {groups}"
            )),
        }
    }
}

impl<'a, L> Settings<'a, L> {
    /// Reads the settings. `Ok(None)` if there are none, `Err` if they name another method or a
    /// layout that `layout` does not know. Settings that name no method and that no scheme
    /// recognises belong to `own` if it `takes_unnamed`.
    pub(crate) fn of(
        evidence: &Evidence<'a>,
        own: &Method,
        takes_unnamed: bool,
        layout: fn(&Json, Writer) -> Option<Result<L, String>>,
    ) -> Result<Option<Self>, ()> {
        let (settings, writer) = match (evidence.quantization(), evidence.method()) {
            (None, None) => return Ok(None),
            (Some((_, json)), Some(method)) if own.is_called(method) => (json, Writer::Own),
            (Some((_, json)), Some(method)) if AUTO_ROUND.is_called(method) => {
                let label = text(json, "packing_format").unwrap_or_else(|| "auto".to_owned());
                (json, Writer::AutoRound(label))
            }
            (Some((_, json)), None) if takes_unnamed => (json, Writer::Own),
            _ => return Err(()),
        };
        let is_module = |name: &str| {
            let there = |suffix: &str| evidence.find(&format!("{name}.{suffix}")).is_some();
            there("qweight") || there("weight")
        };
        let layout = layout(settings, writer).ok_or(())?;
        Ok(Some(Self::from_json(settings, layout, &is_module, evidence.match_budget())))
    }

    fn from_json(
        json: &'a Json,
        layout: Result<L, String>,
        is_module: &dyn Fn(&str) -> bool,
        budget: &MatchBudget,
    ) -> Self {
        let usual = Packed::of(json);
        let members = |key: &str| {
            let members = json.get(key).and_then(Json::as_object).into_iter().flatten();
            members.map(|(name, rule)| (&**name, Packed::of(rule).or(usual)))
        };
        let dynamic = members("dynamic").map(|(text, packed)| match text.strip_prefix("-:") {
            Some(text) => Rule::at_start(text, Says::Plain, budget),
            None => {
                let text = text.strip_prefix("+:").unwrap_or(text);
                Rule::at_start(text, Says::Packed(packed), budget)
            }
        });
        let extra = members("extra_config").filter(|(name, _)| !is_module(name));
        let extra = extra.map(|(text, packed)| Rule {
            text,
            pattern: budget.pattern(text),
            says: Says::Perhaps(packed),
        });
        Self {
            layout,
            rotated: ["rotation_config", "spinquant_config"].iter().any(|key| says(json.get(*key))),
            usual,
            named: members("extra_config").collect(),
            rules: dynamic.chain(extra).collect(),
            budget: budget.clone(),
        }
    }

    /// Returns the possible bits and group sizes of a module, more than one if a rule leaves them
    /// open; or why there is none.
    pub(crate) fn of_module(&self, module: &str) -> Result<Vec<Packed>, String> {
        if let Some(&packed) = self.named.get(module) {
            return Ok(vec![packed]);
        }
        let mut possible = Vec::new();
        let rules =
            if self.budget.compare(module, self.rules.len()) { &self.rules[..] } else { &[] };
        for rule in rules {
            match (rule.fits(module), &rule.says) {
                (Some(true), Says::Packed(packed)) => {
                    possible.push(*packed);
                    return Ok(possible);
                }
                (Some(true), Says::Plain) => {
                    return Err(format!(
                        "the config's rule `-:{}` marks it as not quantized, but it is packed; use \
                         the config of this model",
                        shortened(rule.text, 60)
                    ));
                }
                (Some(true), Says::Perhaps(packed)) | (None, Says::Packed(packed)) => {
                    possible.push(*packed);
                }
                // A packed weight is not one of the plain ones; and AutoRound skips what it
                // cannot read.
                (Some(false), _) | (None, Says::Plain | Says::Perhaps(_)) => {}
            }
        }
        possible.push(self.usual);
        Ok(possible)
    }
}

/// Reason for rejecting a weight of a rotated model.
pub(crate) const ROTATED: &str = "the config rotates activations at run time (rotation_config), so \
                                  its values are only valid with that rotation; to decode them \
                                  anyway, set its scheme";

/// Whether a setting has any content.
fn says(json: Option<&Json>) -> bool {
    json.is_some_and(|json| match json {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.is_empty(),
        Json::Object(members) => !members.is_empty(),
        Json::Array(list) => !list.is_empty(),
        _ => true,
    })
}

impl<'a> Rule<'a> {
    /// Creates a rule whose pattern matches from the start of a name, as Python's `match` does.
    fn at_start(text: &'a str, says: Says, budget: &MatchBudget) -> Self {
        Self { text, pattern: budget.pattern_at_start(text), says }
    }

    /// Whether a module's name matches; `None` if that cannot be decided.
    fn fits(&self, module: &str) -> Option<bool> {
        Some(self.text == module || self.pattern.as_ref()?.is_match(module))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn packed(bits: u64, group_size: u64) -> Packed {
        Packed { bits: Some(bits), group_size: Some(Some(group_size)) }
    }

    #[test]
    fn the_first_rule_that_fits_wins() {
        let json = json!({"bits": 4, "group_size": 128, "dynamic": {
            "-:.*o_proj": {},
            ".*gate.*": {"bits": 2},
            "+:.*\\.18\\..*proj.*": {"bits": 8, "group_size": 32},
        }});
        let config = Settings::from_json(&json, Ok(()), &|_| false, &MatchBudget::default());
        let of = |module: &str| config.of_module(module);
        assert!(of("model.layers.1.self_attn.o_proj").unwrap_err().contains("not quantized"));
        assert_eq!(of("model.layers.18.mlp.gate_proj").unwrap(), [packed(2, 128)]);
        assert_eq!(of("model.layers.18.mlp.up_proj").unwrap(), [packed(8, 32)]);
        assert_eq!(of("model.layers.17.mlp.up_proj").unwrap(), [packed(4, 128)]);
    }

    /// Look-ahead patterns cannot be read here: such a rule may or may not fit.
    #[test]
    fn a_rule_that_cannot_be_read_leaves_both_open() {
        let json = json!({"bits": 4, "group_size": 128, "dynamic": {
            "-:(?!x).*": {},
            "+:(?!y).*": {"bits": 8},
        }});
        let config = Settings::from_json(&json, Ok(()), &|_| false, &MatchBudget::default());
        assert_eq!(config.of_module("x").unwrap(), [packed(8, 128), packed(4, 128)]);
    }

    /// AutoRound's keys are names first; what is no name may be anywhere in one.
    #[test]
    fn names_are_no_patterns_of_longer_names() {
        let json = json!({"bits": 4, "group_size": 128, "extra_config": {
            "layers.1.mlp.gate": {"bits": 16},
            "shared_expert": {"bits": 8},
        }});
        let is_module = |name: &str| name == "layers.1.mlp.gate";
        let config = Settings::from_json(&json, Ok(()), &is_module, &MatchBudget::default());
        let of = |module: &str| config.of_module(module).unwrap();
        assert_eq!(of("layers.1.mlp.gate_proj"), [packed(4, 128)]);
        assert_eq!(of("layers.1.mlp.gate"), [packed(16, 128)]);
        assert_eq!(of("layers.1.shared_expert.up"), [packed(8, 128), packed(4, 128)]);
    }

    #[test]
    fn numbers_may_be_text() {
        assert_eq!(Packed::of(&json!({"bits": "4", "group_size": "32"})), packed(4, 32));
        let nothing = Packed { bits: None, group_size: None };
        assert_eq!(Packed::of(&json!({"bits": null, "group_size": "all"})), nothing);
        assert_eq!(Packed::of(&json!({"group_size": -1})).group_size, Some(None));
    }
}
