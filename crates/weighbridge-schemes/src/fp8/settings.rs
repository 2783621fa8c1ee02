//! FP8 settings in the configs: the library that wrote the model, the block size, the format, and
//! whether a weight may lack a scale.

use serde_json::Value as Json;

use crate::dtype::DType;
use crate::framework::conventions::modelopt;
use crate::framework::match_budget::MatchBudget;
use crate::framework::{Configs, Evidence, Method};

/// FP8 settings of a model.
#[derive(Debug, Default)]
pub(super) struct Settings<'a> {
    /// Quantization method, in lower case.
    pub method: Option<&'a str>,
    /// Block size for every weight, or why it cannot be read.
    block: Option<Result<[u64; 2], String>>,
    /// Layers with their own settings.
    layers: Option<&'a Json>,
    /// The 8-bit format that is stated.
    format: Option<DType>,
    /// Whether a matrix of 8-bit floats without a scale contradicts the configs.
    pub scales_expected: bool,
    /// Modules that are not quantized, as names or patterns.
    excluded: Vec<&'a str>,
    /// Budget for matching names.
    budget: MatchBudget,
    /// The model's original type.
    pub model_dtype: Option<DType>,
    /// The model's `model_type`.
    model_type: &'a str,
}

/// Methods whose weights in 8-bit floats always have scales.
const SCALED: [&str; 5] = ["fp8", "mxfp8", "fbgemm_fp8", "deepseek_v4_fp8", "quark"];

/// All methods of the scheme.
pub(super) const METHODS: &[Method] = &[
    Method::named(SCALED[0]),
    Method::named(SCALED[1]),
    Method::named(SCALED[2]),
    Method::named(SCALED[3]),
    Method::named(SCALED[4]),
    Method::named("blockwise_int8"),
    modelopt::METHOD,
];

/// Whether the settings are those that Mistral writes, which name no method.
pub(super) fn is_mistral(configs: &Configs<'_>) -> bool {
    configs.quantization().is_some_and(|(_, json)| json.get("qformat_weight").is_some())
}

impl<'a> Settings<'a> {
    /// Reads the settings from all configs.
    pub(super) fn of(evidence: &'a Evidence<'_>) -> Self {
        let (configs, method) = (evidence.configs(), evidence.method());
        let model_type = configs.model().and_then(|config| config.get("model_type")?.as_str());
        let mut settings = Self {
            scales_expected: method.is_some_and(|m| SCALED.contains(&m)),
            model_dtype: evidence.model_dtype(),
            model_type: model_type.unwrap_or_default(),
            budget: evidence.match_budget().clone(),
            method,
            ..Self::default()
        };
        if let Some((_, json)) = evidence.quantization() {
            settings.read(json);
        }
        if let Some(json) = modelopt::settings(configs) {
            settings.read(json);
        }
        if let Some(json) = configs.mistral_settings() {
            settings.read_mistral(json);
        }
        settings
    }

    fn read(&mut self, json: &'a Json) {
        let block = json.get("weight_block_size").filter(|block| !block.is_null());
        let method = self.method;
        self.block = block
            .map(block_of)
            .or_else(|| algorithm_block(json))
            .or_else(|| (method == Some("mxfp8")).then_some(Ok([1, 32])))
            .or(self.block.take());
        self.layers = json.get("quantized_layers").or(self.layers);
        let format = json.get("fmt").and_then(Json::as_str).and_then(format_of);
        self.format = format.or(self.format);
        let algorithm = modelopt::algorithm(json).unwrap_or_default();
        self.scales_expected |= algorithm.starts_with("FP8") || algorithm == "MXFP8";
        for key in
            ["modules_to_not_convert", "ignored_layers", "ignore", "exclude_modules", "exclude"]
        {
            let entries = json.get(key).and_then(Json::as_array).into_iter().flatten();
            self.excluded.extend(entries.filter_map(Json::as_str));
        }
    }

    fn read_mistral(&mut self, json: &'a Json) {
        let text = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default();
        if let Some(format) = format_of(text("qformat_weight")) {
            self.format = Some(format);
            // `qscheme_act` may be NO_SCALES, which only concerns activations.
            self.scales_expected = true;
        }
    }

    /// Returns the block size stated for the weight of a module.
    pub(super) fn block(&self, module: &str) -> Result<Option<[u64; 2]>, String> {
        let layer = self.layers.and_then(|layers| algorithm_block(layers.get(module)?));
        layer.or_else(|| self.block.clone()).transpose()
    }

    /// Whether ModelOpt wrote the model.
    pub(super) fn is_modelopt(&self) -> bool {
        self.method.is_some_and(modelopt::is_method)
    }

    /// Returns why a weight of that type contradicts the configs, if it does.
    pub(super) fn contradicts(&self, dtype: DType) -> Option<String> {
        let format = self.format.filter(|&format| format != dtype)?;
        Some(format!("the config says {format} weights, but this one is {dtype}"))
    }

    /// Whether a module is listed as not quantized.
    pub(super) fn excludes(&self, module: &str) -> bool {
        let matches = |entry: &&str| {
            let core = entry.trim_start_matches("re:").trim_matches(['*', '.', '^', '$']);
            !core.is_empty() && module.contains(core)
        };
        self.budget.compare(module, self.excluded.len()) && self.excluded.iter().any(matches)
    }

    /// Whether a weight may be fused projections whose blocks restart in each shard.
    pub(super) fn fused(&self, name: &str) -> bool {
        name.contains("qkv") || self.model_type.starts_with("mimo")
    }
}

/// Reads two positive numbers.
fn block_of(json: &Json) -> Result<[u64; 2], String> {
    let sides = json.as_array().map(|sides| sides.iter().map(Json::as_u64).collect::<Vec<_>>());
    match sides.as_deref() {
        Some(&[Some(rows @ 1..), Some(columns @ 1..)]) => Ok([rows, columns]),
        _ => {
            Err(format!("the config's weight_block_size is {json}, expected two positive numbers"))
        }
    }
}

/// Returns the block size that ModelOpt's algorithm name implies.
fn algorithm_block(json: &Json) -> Option<Result<[u64; 2], String>> {
    let side = json.get("group_size").and_then(Json::as_u64).filter(|&side| side > 0);
    match modelopt::algorithm(json)?.as_str() {
        "MXFP8" => Some(Ok([1, 32])),
        "FP8_PB_WO" => side.map(|side| Ok([side, side])),
        _ => None,
    }
}

/// Returns an 8-bit format by its name in configs and in ComfyUI.
pub(super) fn format_of(name: &str) -> Option<DType> {
    match name.trim_start_matches("fp8_").trim_start_matches("float8_") {
        "e4m3" | "e4m3fn" => Some(DType::F8_E4M3),
        "e5m2" => Some(DType::F8_E5M2),
        "e4m3fnuz" => Some(DType::F8_E4M3FNUZ),
        "e5m2fnuz" => Some(DType::F8_E5M2FNUZ),
        _ => None,
    }
}
