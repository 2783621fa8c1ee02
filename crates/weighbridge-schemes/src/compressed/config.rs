//! A compressed-tensors config: groups of modules, each with its own arguments.

use std::collections::HashSet;
use std::fmt;

use regex::Regex;
use serde_json::Value as Json;

use crate::framework::match_budget::MatchBudget;
use crate::framework::{Configs, Evidence, Method, Sign};

/// The settings that decoding depends on.
#[derive(Default)]
pub(super) struct Settings {
    groups: Vec<Group>,
    ignore: Targets,
    /// Modules whose activations are transformed at run time, and exceptions.
    transformed: Vec<(Targets, Targets)>,
    /// Whether activations are quantized at run time: for integer weights, and for float weights.
    activations: [bool; 2],
    /// Budget for matching names.
    budget: MatchBudget,
    /// Packing that the writer's version used for widths that do not divide a word.
    pub(super) writer: Writer,
}

/// Packing of widths that do not divide 32, by version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Writer {
    /// Before 0.9.4: whole codes per word; zero points that are all zero are omitted.
    Early,
    /// Before 0.18: whole codes per word.
    Words,
    /// Since 0.18: one bit stream.
    Stream,
    /// No version, or one between the two.
    #[default]
    Unknown,
}

/// Modules with the same quantization.
struct Group {
    targets: Targets,
    args: Args,
}

/// Names of modules, patterns for them, and names of classes.
#[derive(Default)]
struct Targets {
    names: HashSet<String>,
    patterns: Vec<Regex>,
    /// Whether there is a pattern with unsupported syntax (Python has more): it may match anything.
    unreadable: bool,
    /// Whether there is the name of a class.
    class: bool,
}

/// Part of a weight that shares a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The whole weight.
    Tensor,
    /// A row.
    Channel,
    /// A group of columns of a row.
    Group(u64),
    /// A block of rows and columns.
    Block(u64, u64),
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor => f.write_str("one scale per tensor"),
            Self::Channel => f.write_str("one scale per row"),
            Self::Group(size) => write!(f, "one scale per {size} columns"),
            Self::Block(rows, columns) => write!(f, "one scale per {rows} x {columns} block"),
        }
    }
}

/// The format of four-bit floats with a global scale.
pub(super) const SMALL_FLOATS: &str = "nvfp4-pack-quantized";

/// Formats that are known here, decoded or rejected by name when their tensors are found.
/// `fakequant` is the first writers' name for weights that stay floats.
const FORMATS: [&str; 14] = [
    "dense",
    "fakequant",
    "float-quantized",
    "int-quantized",
    "marlin-24",
    "mixed-precision",
    "mxfp4-pack-quantized",
    "mxfp6-pack-quantized",
    "mxfp8-quantized",
    "naive-quantized",
    SMALL_FLOATS,
    "pack-quantized",
    "sparse-24-bitmask",
    "sparse-bitmask",
];

/// Quantization arguments of a group's weights. Missing ones are derived from the tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Args {
    pub(super) bits: Option<u32>,
    pub(super) float: Option<bool>,
    pub(super) strategy: Option<Strategy>,
    pub(super) symmetric: Option<bool>,
    /// Columns are assigned to groups out of order.
    pub(super) ordered: bool,
    /// Columns were quantized out of order, which only calibration does.
    pub(super) calibrated: bool,
    /// Scales were searched for the least error, so the largest numbers may be clipped.
    pub(super) clipped: bool,
    /// The config names an unknown strategy.
    pub(super) has_unknown_strategy: bool,
    /// An unknown format, in which the same tensors may mean something else.
    pub(super) format: Option<Box<str>>,
}

/// The compressed-tensors method. Its tensors share names with several schemes and follow their own
/// rules. Mistral's files have both spellings.
pub(super) const METHOD: Method = Method {
    aliases: &["compressed_tensors"],
    is_exclusive: true,
    weight_keys: &["config_groups"],
    cache_keys: &["kv_cache_scheme"],
    ..Method::named("compressed-tensors")
};

/// Key that early versions used in config.json.
pub(super) const EARLY_KEY: &str = "compression_config";

/// Returns the sign that implies the method if it is not named: the key of early versions, or
/// groups.
pub(super) fn sign(configs: &Configs<'_>) -> Option<Sign> {
    let has_key = |json: &Json| json.get(EARLY_KEY).is_some();
    if configs.models().into_iter().any(has_key) {
        return Some(Sign::Key);
    }
    let (_, settings) = configs.quantization()?;
    settings.get("config_groups").map(|_| Sign::Settings)
}

impl Settings {
    /// Reads the config of a model that declares compressed-tensors.
    pub(super) fn of(evidence: &Evidence<'_>) -> Option<Self> {
        let (_, json) = evidence.quantization()?;
        let ours = evidence.method()? == METHOD.name;
        ours.then(|| Self::from_json(json, evidence.match_budget()))
    }

    fn from_json(json: &Json, budget: &MatchBudget) -> Self {
        // Early writers nest it once more.
        let json =
            json.get("quantization_config").filter(|inner| inner.is_object()).unwrap_or(json);
        let groups = json.get("config_groups").and_then(Json::as_object);
        let groups = groups.into_iter().flat_map(|groups| groups.values());
        let activations = [false, true].map(|of_floats| {
            groups.clone().any(|group| {
                let says = |key: &str| group.get(key).is_some_and(|of| !of.is_null());
                let are_floats = group["weights"]["type"].as_str() == Some("float");
                are_floats == of_floats && (says("input_activations") || says("output_activations"))
            })
        });
        let format = json.get("format").and_then(Json::as_str);
        Self {
            groups: groups.filter_map(|group| Group::from_json(group, format, budget)).collect(),
            ignore: Targets::of(json.get("ignore"), budget),
            transformed: transformed(json, budget),
            activations,
            budget: budget.clone(),
            writer: json.get("version").and_then(Json::as_str).map_or(Writer::Unknown, writer_of),
        }
    }

    /// Whether a module is excluded by name.
    pub(super) fn ignores(&self, module: &str) -> bool {
        self.ignore.matches(module, &self.budget)
    }

    /// Whether a module's activations are transformed at run time.
    pub(super) fn transforms(&self, module: &str) -> bool {
        let is_transformed = |(targets, ignore): &(Targets, Targets)| {
            // A quantized weight is one of a class.
            let is_target =
                targets.class || targets.unreadable || targets.matches(module, &self.budget);
            is_target && !ignore.matches(module, &self.budget)
        };
        self.budget.compare(module, self.transformed.len())
            && self.transformed.iter().any(is_transformed)
    }

    /// Whether activations are quantized too, for float or integer weights.
    pub(super) fn quantizes_activations(&self, of_floats: bool) -> bool {
        self.activations[usize::from(of_floats)]
    }

    /// Whether the config shows that codes were chosen together, by calibration.
    pub(super) fn are_calibrated(&self) -> bool {
        self.groups.iter().any(|group| group.args.calibrated)
    }

    /// Whether a config allows large numbers to be clipped.
    pub(super) fn are_clipped(&self) -> bool {
        self.groups.iter().any(|group| group.args.clipped)
    }

    /// Returns the arguments of every group; without groups, empty arguments.
    pub(super) fn all(&self) -> Vec<Args> {
        match &self.groups[..] {
            // Each is tried, which costs more than a comparison.
            groups if !groups.is_empty() && self.budget.compare("", groups.len() * 16) => {
                groups.iter().map(|group| group.args.clone()).collect()
            }
            _ => vec![Args::default()],
        }
    }

    /// Returns the group of a module: by its own name, then by pattern, then by its class, which is
    /// only known if there is a single such group.
    pub(super) fn named(&self, module: &str) -> Option<Args> {
        if !self.budget.compare(module, self.groups.len()) {
            return None;
        }
        let first =
            |test: &dyn Fn(&Targets) -> bool| self.groups.iter().find(|group| test(&group.targets));
        let exact = first(&|targets| targets.names.contains(module));
        let pattern = || first(&|targets| targets.fits_pattern(module, &self.budget));
        let class = || {
            let mut classes = self.groups.iter().filter(|group| group.targets.class);
            let only = classes.next().filter(|_| classes.next().is_none());
            only.filter(|_| !self.groups.iter().any(|group| group.targets.unreadable))
        };
        exact.or_else(pattern).or_else(class).map(|group| group.args.clone())
    }
}

impl Group {
    /// Reads a group. One without weight arguments quantizes activations only. `format` is the
    /// model's.
    fn from_json(json: &Json, format: Option<&str>, budget: &MatchBudget) -> Option<Self> {
        let weights = json.get("weights").filter(|weights| weights.is_object())?;
        let format = json.get("format").and_then(Json::as_str).or(format);
        let format = format.filter(|format| !FORMATS.contains(format)).map(Into::into);
        let args = Args { format, ..Args::from_json(weights) };
        Some(Self { targets: Targets::of(json.get("targets"), budget), args })
    }
}

impl Targets {
    /// Reads a list of targets, or a single one.
    fn of(json: Option<&Json>, budget: &MatchBudget) -> Self {
        let list = match json {
            Some(Json::Array(list)) => &list[..],
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        let mut targets = Self::default();
        for text in list.iter().filter_map(Json::as_str) {
            // The library matches from the start of the name, to any position.
            match text.strip_prefix("re:").map(|text| budget.pattern_at_start(text)) {
                Some(Some(pattern)) => targets.patterns.push(pattern),
                Some(None) => targets.unreadable = true,
                None => {
                    targets.class |= is_class(text);
                    targets.names.insert(text.to_owned());
                }
            }
        }
        targets
    }

    fn fits_pattern(&self, module: &str, budget: &MatchBudget) -> bool {
        budget.compare(module, self.patterns.len())
            && self.patterns.iter().any(|pattern| pattern.is_match(module))
    }

    /// Whether a module certainly matches.
    fn matches(&self, module: &str, budget: &MatchBudget) -> bool {
        self.names.contains(module) || self.fits_pattern(module, budget)
    }
}

/// Whether a target is the name of a class, such as `Linear`, and not of a top-level module, such
/// as `lm_head`.
fn is_class(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase()) && !name.contains('.')
}

/// Returns targets and exceptions of every transform of activations that affects a weight.
/// Transforms of weights are already applied; those of the KV cache are between activations.
fn transformed(json: &Json, budget: &MatchBudget) -> Vec<(Targets, Targets)> {
    let groups =
        json.get("transform_config").and_then(|json| json.get("config_groups")?.as_object());
    let schemes = groups.into_iter().flat_map(|groups| groups.values());
    let all = schemes.filter_map(|scheme| scheme.get("apply")?.as_array()).flatten();
    let online = |apply: &&Json| {
        ["input", "output"].map(Some).contains(&apply.get("location").and_then(Json::as_str))
    };
    let of = |apply: &Json, key: &str| Targets::of(apply.get(key), budget);
    all.filter(online).map(|apply| (of(apply, "targets"), of(apply, "ignore"))).collect()
}

impl Args {
    fn from_json(json: &Json) -> Self {
        let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_lowercase);
        let size = json.get("group_size").and_then(Json::as_i64);
        let strategy = strategy_of(text("strategy").as_deref(), size, json.get("block_structure"));
        let bits = json.get("num_bits").and_then(Json::as_u64);
        let order = json.get("actorder");
        let ordered = ["group", "dynamic"].map(Some).contains(&text("actorder").as_deref());
        Self {
            bits: bits.and_then(|bits| u32::try_from(bits).ok()).or(Some(8)),
            float: Some(text("type").as_deref() == Some("float")),
            strategy,
            symmetric: Some(json.get("symmetric").and_then(Json::as_bool).unwrap_or(true)),
            ordered: ordered || order.and_then(Json::as_bool) == Some(true),
            calibrated: order.is_some_and(|order| !order.is_null() && *order != false),
            clipped: text("observer").is_some_and(|observer| observer.contains("mse")),
            has_unknown_strategy: strategy.is_none(),
            format: None,
        }
    }
}

/// Returns the named strategy, or the one that the library derives from the group size.
fn strategy_of(name: Option<&str>, size: Option<i64>, block: Option<&Json>) -> Option<Strategy> {
    let group = || size.and_then(|size| u64::try_from(size).ok()).filter(|&size| size > 0);
    match name {
        Some("tensor") => Some(Strategy::Tensor),
        Some("channel") => Some(Strategy::Channel),
        Some("group" | "tensor_group") => group().map(Strategy::Group),
        Some("block") => block_of(block?),
        Some(_) => None,
        None => match size {
            None => Some(Strategy::Tensor),
            Some(-1) => Some(Strategy::Channel),
            Some(_) => group().map(Strategy::Group),
        },
    }
}

/// Reads `[128, 128]`, or `"128x128"` of early configs.
fn block_of(json: &Json) -> Option<Strategy> {
    let sides: Vec<u64> = match json {
        Json::String(text) => text.split('x').filter_map(|side| side.trim().parse().ok()).collect(),
        _ => json.as_array()?.iter().filter_map(Json::as_u64).collect(),
    };
    match sides[..] {
        [rows, columns] if rows > 0 && columns > 0 => Some(Strategy::Block(rows, columns)),
        _ => None,
    }
}

/// Returns the packing of a version. Previews around the change could be either.
fn writer_of(version: &str) -> Writer {
    let mut numbers = version.split('.').map(|part| part.parse::<u64>().ok());
    let (Some(Some(major)), Some(Some(minor))) = (numbers.next(), numbers.next()) else {
        return Writer::Unknown;
    };
    let patch = numbers.next().unwrap_or(Some(0));
    let preview = patch.is_none() || numbers.next().is_some();
    match (major, minor, patch) {
        (0, 17, _) | (0, 18, None | Some(0)) if preview => Writer::Unknown,
        (0, ..9, _) | (0, 9, Some(..4)) => Writer::Early,
        (0, ..18, _) => Writer::Words,
        _ => Writer::Stream,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_tell_the_packing() {
        let of = |version| writer_of(version);
        assert_eq!(["0.9.2", "0.8.1.20250101"].map(of), [Writer::Early; 2]);
        assert_eq!(["0.9.4", "0.17.1"].map(of), [Writer::Words; 2]);
        assert_eq!(["0.18.0", "0.19.0", "1.0", "0.18.1.a20260701"].map(of), [Writer::Stream; 4]);
        assert_eq!(["", "x.y", "0.17.2.a20260601", "0.18.0a1"].map(of), [Writer::Unknown; 4]);
    }

    #[test]
    fn names_come_before_patterns_and_patterns_before_classes() {
        let group = |target: &str, bits: u32| {
            serde_json::json!({ "targets": [target],
                "weights": { "num_bits": bits, "strategy": "channel" } })
        };
        let json = serde_json::json!({ "config_groups": {
            "a": group("Linear", 2), "b": group("re:.*down_proj", 3),
            "c": group("model.down_proj", 4), "d": group("lm_head", 8) } });
        let settings = Settings::from_json(&json, &MatchBudget::default());
        let bits = |module| settings.named(module).and_then(|args| args.bits);
        assert_eq!(bits("model.down_proj"), Some(4));
        assert_eq!(bits("layer.down_proj.x"), Some(3));
        assert_eq!(bits("layer.up_proj"), Some(2), "lm_head is no class");
        assert_eq!(bits("lm_head"), Some(8));
    }

    /// Look-ahead patterns cannot be read here, so they may match anything.
    #[test]
    fn an_unreadable_pattern_decides_nothing() {
        let json = serde_json::json!({ "ignore": ["re:(?!x).*", "lm_head"], "config_groups": {
            "a": { "targets": ["re:(?!x).*"], "weights": { "num_bits": 4 } },
            "b": { "targets": ["Linear"], "weights": { "num_bits": 8 } } } });
        let settings = Settings::from_json(&json, &MatchBudget::default());
        assert_eq!(settings.named("model.up_proj"), None);
        assert!(!settings.ignores("model.up_proj"));
        assert!(settings.ignores("lm_head"));
    }

    #[test]
    fn formats_and_orders_are_read() {
        let of = |global: Option<&str>, own: Option<&str>, order: Json| {
            let json = serde_json::json!({ "format": global, "config_groups": { "a": {
                "targets": ["Linear"], "format": own,
                "weights": { "num_bits": 4, "group_size": 32, "actorder": order } } } });
            let args = Settings::from_json(&json, &MatchBudget::default()).all().remove(0);
            (args.format.map(String::from), args.ordered)
        };
        let odd = Some("new-quantized");
        assert_eq!(of(Some("pack-quantized"), None, Json::Null), (None, false));
        assert_eq!(of(Some("mixed-precision"), odd, "weight".into()), (odd.map(Into::into), false));
        assert_eq!(of(odd, None, "Group".into()), (odd.map(Into::into), true));
        assert_eq!(of(odd, Some("pack-quantized"), true.into()), (None, true));
    }

    #[test]
    fn a_strategy_follows_from_the_group_size() {
        assert_eq!(strategy_of(None, None, None), Some(Strategy::Tensor));
        assert_eq!(strategy_of(None, Some(-1), None), Some(Strategy::Channel));
        assert_eq!(strategy_of(None, Some(64), None), Some(Strategy::Group(64)));
        assert_eq!(strategy_of(Some("group"), None, None), None);
        let block = serde_json::json!("128x64");
        assert_eq!(strategy_of(Some("block"), None, Some(&block)), Some(Strategy::Block(128, 64)));
    }
}
