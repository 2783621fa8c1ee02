//! What the configs say about weights of this kind: GPTQ's, AWQ's and AutoRound's keys.
//!
//! ```text
//! quant_method        gptq, awq, auto-round; files of 2023 say nothing
//! bits, w_bit         group_size, q_group_size      -1 is one group for all
//! checkpoint_format   GPTQ's layout: gptq (zero points less one), gptq_v2, ..; older: format
//! version             AWQ's layout: gemm, gemv, gemv_fast, llm-awq; newer: format
//! packing_format      AutoRound's: which of the others it wrote
//! dynamic             GPTQ: rules by module name, the first that fits; `-:` is not quantized
//! extra_config        AutoRound: the same, names or patterns
//! ```

use regex::Regex;
use serde_json::Value as Json;

use crate::schemes::Evidence;
use crate::text::shortened;

/// A layout that a config names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// GPTQ's: columns of words.
    Gptq {
        /// Whether zero points are stored less one.
        less_one: bool,
    },
    /// AWQ's for matrix multiplication: eight outputs in a word.
    AwqGemm,
    /// Another of GPTQ's layouts, by name.
    OtherGptq(String),
    /// Another of AWQ's layouts, by name.
    OtherAwq(String),
}

impl Layout {
    /// Whether it is one of GPTQ's layouts.
    pub(crate) fn is_gptq(&self) -> bool {
        matches!(self, Self::Gptq { .. } | Self::OtherGptq(_))
    }

    /// Whether it is one of AWQ's layouts.
    pub(crate) fn is_awq(&self) -> bool {
        !self.is_gptq()
    }
}

/// What the configs say about the whole model.
pub(crate) struct Config<'a> {
    /// How weights lie.
    pub layout: Layout,
    /// The bits and the group size of most weights.
    pub usual: Packed,
    /// Rules for single modules.
    rules: Vec<(&'a str, &'a Json)>,
    /// Whether a name stands for itself even if it would be a pattern too.
    names_first: bool,
}

/// Bits and group size of a weight, as far as a config says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Bits of a code.
    pub bits: Option<u64>,
    /// Inputs of a group; `Some(None)` is one group for all.
    pub group_size: Option<Option<u64>>,
}

impl Packed {
    fn of(json: &Json) -> Self {
        let number = |keys: [&str; 2]| keys.iter().find_map(|key| json.get(*key)?.as_i64());
        let group_size = number(["group_size", "q_group_size"]);
        Self {
            bits: number(["bits", "w_bit"]).map(i64::unsigned_abs),
            group_size: group_size.map(|size| u64::try_from(size).ok().filter(|&size| size > 0)),
        }
    }

    fn or(self, usual: Self) -> Self {
        Self { bits: self.bits.or(usual.bits), group_size: self.group_size.or(usual.group_size) }
    }
}

impl<'a> Config<'a> {
    /// What the configs say; `Ok(None)` if nothing at all, `Err` if they speak of another method.
    pub(crate) fn of(evidence: &Evidence<'a>) -> Result<Option<Self>, ()> {
        let Some((_, json)) = evidence.quantization() else {
            return if evidence.method().is_none() { Ok(None) } else { Err(()) };
        };
        let layout = layout_of(json).ok_or(())?;
        let rules = |key: &str| json.get(key).and_then(Json::as_object);
        let (dynamic, extra) = (rules("dynamic"), rules("extra_config"));
        let rules = dynamic.or(extra).into_iter().flatten();
        Ok(Some(Self {
            layout,
            usual: Packed::of(json),
            rules: rules.map(|(name, rule)| (&**name, rule)).collect(),
            names_first: dynamic.is_none(),
        }))
    }

    /// The bits and group size of a module; why they cannot be told, otherwise.
    pub(crate) fn of_module(&self, module: &str) -> Result<Packed, String> {
        let by_name = self.rules.iter().filter(|(name, _)| self.names_first && *name == module);
        for &(pattern, rule) in by_name.chain(&self.rules) {
            let (negative, pattern) = match pattern.strip_prefix("-:") {
                Some(pattern) => (true, pattern),
                None => (false, pattern.strip_prefix("+:").unwrap_or(pattern)),
            };
            if !fits(pattern, module)? {
                continue;
            }
            if negative {
                return Err(format!(
                    "the config's rule `-:{}` says that it is not quantized, but it is packed",
                    shortened(pattern, 60)
                ));
            }
            return Ok(Packed::of(rule).or(self.usual));
        }
        Ok(self.usual)
    }
}

/// Whether a rule's pattern fits a module's name from its start on, as Python's `match` has it.
fn fits(pattern: &str, module: &str) -> Result<bool, String> {
    if pattern == module {
        return Ok(true);
    }
    match Regex::new(&format!("^(?:{pattern})")) {
        Ok(regex) => Ok(regex.is_match(module)),
        Err(_) => Err(format!(
            "the config's rule `{}` cannot be read as a pattern, so its bits are unknown",
            shortened(pattern, 60)
        )),
    }
}

fn layout_of(json: &Json) -> Option<Layout> {
    let text = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_lowercase);
    let gptq = || {
        if json.get("is_marlin_format").and_then(Json::as_bool) == Some(true) {
            return Layout::OtherGptq("marlin".to_owned());
        }
        let format = text("checkpoint_format").or_else(|| text("format"));
        match format.as_deref().unwrap_or("gptq") {
            "gptq" | "gemm" => Layout::Gptq { less_one: true },
            "gptq_v2" => Layout::Gptq { less_one: false },
            other => Layout::OtherGptq(other.to_owned()),
        }
    };
    let awq = || {
        let format =
            text("version").or_else(|| text("checkpoint_format")).or_else(|| text("format"));
        match format.as_deref().unwrap_or("gemm") {
            "gemm" => Layout::AwqGemm,
            other => Layout::OtherAwq(other.to_owned()),
        }
    };
    let layout = match text("quant_method").as_deref() {
        Some("gptq") => gptq(),
        Some("awq") => awq(),
        Some("auto-round" | "autoround" | "intel/auto-round") => {
            auto_round(text("packing_format").as_deref().unwrap_or("auto"))?
        }
        Some(_) => return None,
        None if ["w_bit", "zero_point"].iter().any(|key| json.get(*key).is_some()) => awq(),
        None => gptq(),
    };
    // Words of other widths than 32 bits exist only as a setting; nobody publishes them.
    match text("pack_dtype") {
        Some(words) if words != "int32" && layout.is_gptq() => {
            Some(Layout::OtherGptq(format!("words of {words}")))
        }
        _ => Some(layout),
    }
}

/// AutoRound's labels; `None` for those of other schemes.
fn auto_round(label: &str) -> Option<Layout> {
    match label {
        "auto" | "auto_round:auto_gptq" | "auto_round:gptq" => {
            Some(Layout::Gptq { less_one: true })
        }
        "auto_round" | "auto_round:gptqmodel" => Some(Layout::Gptq { less_one: false }),
        "auto_round:auto_awq" | "auto_round:awq" => Some(Layout::AwqGemm),
        other if other.contains("gptq") || other.contains("exllama") => {
            Some(Layout::OtherGptq(other.to_owned()))
        }
        other if other.contains("awq") => Some(Layout::OtherAwq(other.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_of_every_writer() {
        let layout = |json: Json| layout_of(&json);
        let (v1, v2) = (Layout::Gptq { less_one: true }, Layout::Gptq { less_one: false });
        assert_eq!(layout(json!({"quant_method": "gptq", "bits": 4})), Some(v1.clone()));
        assert_eq!(
            layout(json!({"quant_method": "gptq", "checkpoint_format": "gptq_v2"})),
            Some(v2.clone())
        );
        assert_eq!(
            layout(json!({"quant_method": "gptq", "is_marlin_format": true})),
            Some(Layout::OtherGptq("marlin".into()))
        );
        assert_eq!(
            layout(json!({"quant_method": "awq", "version": "GEMM"})),
            Some(Layout::AwqGemm)
        );
        assert_eq!(
            layout(json!({"w_bit": 4, "version": "GEMV_FAST"})),
            Some(Layout::OtherAwq("gemv_fast".into()))
        );
        let auto =
            |label: &str| layout(json!({"quant_method": "auto-round", "packing_format": label}));
        assert_eq!(auto("auto_round:auto_gptq"), Some(v1));
        assert_eq!(auto("auto_round:gptqmodel"), Some(v2.clone()));
        assert_eq!(auto("auto_round"), Some(v2));
        assert_eq!(auto("auto_round:auto_awq"), Some(Layout::AwqGemm));
        assert_eq!(auto("auto_round:llm_compressor"), None);
        assert_eq!(layout(json!({"quant_method": "compressed-tensors"})), None);
    }

    #[test]
    fn the_first_rule_that_fits_wins() {
        let json = json!({"dynamic": {
            "-:.*o_proj": {},
            "+:.*\\.18\\..*gate.*": {"bits": 8, "group_size": 32},
            ".*gate.*": {"bits": 2},
        }});
        let config = Config {
            layout: Layout::Gptq { less_one: true },
            usual: Packed { bits: Some(4), group_size: Some(Some(128)) },
            rules: json["dynamic"].as_object().unwrap().iter().map(|(k, v)| (&**k, v)).collect(),
            names_first: false,
        };
        let of = |module: &str| config.of_module(module);
        assert!(of("model.layers.1.self_attn.o_proj").unwrap_err().contains("not quantized"));
        let gate = of("model.layers.18.mlp.gate_proj").unwrap();
        assert_eq!(gate, Packed { bits: Some(8), group_size: Some(Some(32)) });
        let other = of("model.layers.17.mlp.gate_proj").unwrap();
        assert_eq!(other, Packed { bits: Some(2), group_size: Some(Some(128)) });
        assert_eq!(of("model.layers.17.mlp.up_proj").unwrap(), config.usual);
    }
}
