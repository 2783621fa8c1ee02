//! GPTQ's layout as named in the configs.
//!
//! ```text
//! checkpoint_format   gptq (zero points less one), gptq_v2, ..; older: format
//! is_marlin_format    older still
//! packing_format      AutoRound's label
//! ```

use serde_json::Value as Json;

use crate::arithmetic::columns::config::{Settings, Writer, text};
use crate::framework::{Evidence, Method};

/// GPTQ's quantization method.
pub(super) const METHOD: Method = Method::named("gptq");

/// Whether zero points are stored minus one, in columns of words; or the name of another layout.
pub(super) type Layout = Result<bool, String>;

const LESS_ONE: Layout = Ok(true);
const AS_THEY_ARE: Layout = Ok(false);

/// Reads the settings; `Ok(None)` if there are none, `Err` if they name another method. Settings of
/// 2023 name no method.
pub(super) fn of<'a>(evidence: &Evidence<'a>) -> Result<Option<Settings<'a, bool>>, ()> {
    Settings::of(evidence, &METHOD, true, layout_of)
}

fn layout_of(settings: &Json, writer: Writer) -> Option<Layout> {
    let layout = match writer {
        Writer::Own => own(settings),
        Writer::AutoRound(label) => auto_round(&label)?,
    };
    // A setting allows words of other widths than 32 bits, but no published model uses it.
    match text(settings, "pack_dtype") {
        Some(words) if words != "int32" => Some(Err(format!("words of {words}"))),
        _ => Some(layout),
    }
}

fn own(settings: &Json) -> Layout {
    if settings.get("is_marlin_format").and_then(Json::as_bool) == Some(true) {
        return Err("marlin".to_owned());
    }
    let format = text(settings, "checkpoint_format").or_else(|| text(settings, "format"));
    match format.as_deref().unwrap_or("gptq") {
        "gptq" | "gemm" => LESS_ONE,
        "gptq_v2" => AS_THEY_ARE,
        other => Err(other.to_owned()),
    }
}

/// Returns the layout of AutoRound's labels; `None` for those of other schemes.
fn auto_round(label: &str) -> Option<Layout> {
    match label {
        "auto" | "auto_round:auto_gptq" | "auto_round:gptq" => Some(LESS_ONE),
        "auto_round" | "auto_round:gptqmodel" => Some(AS_THEY_ARE),
        other if other.contains("gptq") || other.contains("exllama") => Some(Err(other.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn labels_of_every_writer() {
        let (v1, v2) = (LESS_ONE, AS_THEY_ARE);
        let own = |json: Json| layout_of(&json, Writer::Own);
        assert_eq!(own(json!({"bits": 4})), Some(v1.clone()));
        assert_eq!(own(json!({"checkpoint_format": "gptq_v2"})), Some(v2.clone()));
        assert_eq!(own(json!({"is_marlin_format": true})), Some(Err("marlin".into())));
        let words = Err("words of int16".into());
        assert_eq!(own(json!({"pack_dtype": "int16"})), Some(words));
        let auto = |label: &str| layout_of(&json!({}), Writer::AutoRound(label.into()));
        assert_eq!(auto("auto_round:auto_gptq"), Some(v1));
        assert_eq!(auto("auto_round:gptqmodel"), Some(v2.clone()));
        assert_eq!(auto("auto_round"), Some(v2));
        assert_eq!(auto("auto_round:auto_awq"), None);
        assert_eq!(auto("auto_round:llm_compressor"), None);
    }
}
