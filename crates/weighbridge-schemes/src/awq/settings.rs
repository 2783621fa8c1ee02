//! AWQ's layout as named in the configs.
//!
//! ```text
//! version          gemm, gemv, gemv_fast, llm-awq; newer: checkpoint_format or format
//! packing_format   AutoRound's label
//! ```

use serde_json::Value as Json;

use crate::arithmetic::columns::config::{Settings, Writer, text};
use crate::framework::{Configs, Evidence, Method};

/// AWQ's quantization method.
pub(super) const METHOD: Method = Method::named("awq");

/// `Ok` for the layout for matrix multiplication, with eight outputs per word; otherwise the
/// layout's name.
type Layout = Result<(), String>;

/// Reads the settings; `Ok(None)` if there are none, `Err` if they name another method.
pub(super) fn of<'a>(evidence: &Evidence<'a>) -> Result<Option<Settings<'a, ()>>, ()> {
    Settings::of(evidence, &METHOD, false, layout_of)
}

/// Whether settings that name no method have keys that only AWQ uses.
pub(super) fn are_ours(configs: &Configs<'_>) -> bool {
    let Some((_, settings)) = configs.quantization() else { return false };
    ["w_bit", "zero_point"].iter().any(|key| settings.get(*key).is_some())
}

fn layout_of(settings: &Json, writer: Writer) -> Option<Layout> {
    match writer {
        Writer::Own => {
            let keys = ["version", "checkpoint_format", "format"];
            let format = keys.iter().find_map(|key| text(settings, key));
            Some(match format.as_deref().unwrap_or("gemm") {
                "gemm" => Ok(()),
                other => Err(other.to_owned()),
            })
        }
        Writer::AutoRound(label) => match &*label {
            "auto_round:auto_awq" | "auto_round:awq" => Some(Ok(())),
            other if other.contains("awq") => Some(Err(other.to_owned())),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_of_every_writer() {
        let own = |json: Json| layout_of(&json, Writer::Own);
        assert_eq!(own(json!({"version": "GEMM"})), Some(Ok(())));
        assert_eq!(own(json!({"version": "GEMV_FAST"})), Some(Err("gemv_fast".into())));
        let auto = |label: &str| layout_of(&json!({}), Writer::AutoRound(label.into()));
        assert_eq!(auto("auto_round:auto_awq"), Some(Ok(())));
        assert_eq!(auto("auto_round:auto_gptq"), None);
        assert_eq!(auto("auto_round:llm_compressor"), None);
    }
}
