//! Settings of each layer in config.json.
//!
//! ```text
//! "quantization": {                      also as "quantization_config", which Hugging Face reads
//!     "group_size": 64, "bits": 4, "mode": "affine",
//!     "model.layers.0.mlp.down_proj": {"group_size": 32, "bits": 6},
//!     "model.layers.1.mlp.gate": false
//! }
//! ```
//!
//! A layer's own entry is passed to MLX unchanged, so missing values have MLX's defaults (affine, 4
//! bits, groups of 64), not the values at the top.

use serde_json::Value as Json;

use super::kind::{Kind, Mode};
use crate::config::HUGGING_FACE;
use crate::framework::{Configs, Evidence, Method};
use crate::text::shortened;

/// Settings of a layer.
#[derive(Debug, PartialEq)]
pub(super) enum Says {
    /// No config mentions MLX.
    Nothing,
    /// All or some of the settings.
    Settings { mode: Mode, bits: Option<u32>, group: Option<u64> },
    /// Not quantized.
    NotQuantized,
    /// Invalid settings, with the reason.
    Unreadable(String),
}

impl Says {
    /// Returns the kind, if bits, group and mode are all stated.
    pub(super) fn kind(&self) -> Option<Kind> {
        match *self {
            Self::Settings { mode, bits: Some(bits), group: Some(group) } => {
                Some(Kind { mode, bits, group })
            }
            _ => None,
        }
    }

    /// Whether a reading agrees with the settings.
    pub(super) fn allows(&self, kind: Kind) -> bool {
        match *self {
            Self::Nothing => true,
            Self::Settings { mode, bits, group } => {
                kind.mode == mode
                    && bits.is_none_or(|bits| bits == kind.bits)
                    && group.is_none_or(|group| group == kind.group)
            }
            Self::NotQuantized | Self::Unreadable(_) => false,
        }
    }
}

/// MLX itself, which no other scheme shares, and transformers' name for its variant.
pub(super) const METHODS: [Method; 2] =
    [Method { is_exclusive: true, ..Method::named("mlx") }, Method::named("metal")];

/// MLX's own key of config.json.
pub(super) const KEY: &str = "quantization";

/// Whether config.json has MLX's settings under its own key.
pub(super) fn is_there(configs: &Configs<'_>) -> bool {
    let mut settings = configs.models().into_iter().filter_map(|model| model.get(KEY));
    settings.any(|settings| settings.get("group_size").is_some())
}

/// The config's quantization settings, if they are MLX's or those of transformers' `metal`.
#[derive(Default)]
pub(super) struct Settings<'a>(Option<&'a Json>);

impl<'a> Settings<'a> {
    pub(super) fn of(evidence: &Evidence<'a>) -> Self {
        let speaks =
            |json: &&Json| ["bits", "group_size", "mode"].iter().any(|k| json.get(k).is_some());
        let own = || {
            let models = evidence.configs().models().into_iter();
            models.filter_map(|model| model.get(KEY)).find(speaks)
        };
        let ours = |json: &&Json| match json.get("quant_method").and_then(Json::as_str) {
            Some(method) => METHODS.iter().any(|own| own.is_called(&method.to_lowercase())),
            None => true,
        };
        let shared = || {
            let (_, json) = evidence.quantization().filter(|(file, _)| *file == HUGGING_FACE)?;
            Some(json).filter(ours).filter(speaks)
        };
        Self(own().or_else(shared))
    }

    /// Whether there are settings.
    pub(super) fn are_there(&self) -> bool {
        self.0.is_some()
    }

    /// Returns the settings of the layer with that path.
    pub(super) fn layer(&self, path: &str) -> Says {
        let Some(top) = self.0 else { return Says::Nothing };
        match top.get(path) {
            None | Some(Json::Bool(true)) => read(top, false),
            Some(Json::Bool(false)) => Says::NotQuantized,
            Some(own @ Json::Object(_)) => read(own, true),
            Some(other) => Says::Unreadable(format!("its entry is {}", shown(other))),
        }
    }
}

/// Reads one object of settings; `complete` if missing values have MLX's defaults.
fn read(json: &Json, complete: bool) -> Says {
    let text = json.get("mode").map(|mode| mode.as_str().ok_or(mode));
    let mode = match text {
        None => Some(Mode::Affine),
        Some(Ok(name)) => Mode::of(name),
        Some(Err(_)) => None,
    };
    let Some(mode) = mode else {
        return Says::Unreadable(format!("mode {} is unknown", shown(&json["mode"])));
    };
    let number = |key: &str| match json.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|&number| number > 0) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{key} is {}", shown(value))),
        },
    };
    let (bits, group) = match (number("bits"), number("group_size")) {
        (Ok(bits), Ok(group)) => (bits, group),
        (Err(why), _) | (_, Err(why)) => return Says::Unreadable(why),
    };
    let usual = Some(mode.usual()).filter(|_| complete || mode != Mode::Affine);
    Says::Settings {
        mode,
        bits: bits.map(|n| u32::try_from(n).unwrap_or(u32::MAX)).or(usual.map(|u| u.bits)),
        group: group.or(usual.map(|u| u.group)),
    }
}

fn shown(json: &Json) -> String {
    shortened(&json.to_string(), 40)
}
