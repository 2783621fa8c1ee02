//! ComfyUI's descriptions of single layers, which may belong to several schemes.
//!
//! ```text
//! X.comfy_quant            U8, the text of {"format": "float8_e4m3fn", ..}
//! _quantization_metadata   in the file's metadata: {"layers": {"X": {"format": ..}}}
//! ```

use serde_json::Value as Json;

use crate::catalog::Metadata;
use crate::framework::{Evidence, StoredTensor};
use crate::text::escaped;

/// Key of a file's metadata.
pub(crate) const METADATA: &str = "_quantization_metadata";

/// Suffix of the tensor that describes a module.
pub(crate) const TENSOR: &str = ".comfy_quant";

/// Reason for rejecting a file with damaged metadata.
pub(crate) const UNREADABLE: &str = "cannot read the layer formats in the file's \
                                     _quantization_metadata; fetch the file again";

/// Returns the tensor that describes a module, and its contents.
pub(crate) fn description<'a>(
    evidence: &Evidence<'a>,
    module: &str,
) -> Option<(StoredTensor<'a>, Result<Json, String>)> {
    let tensor = evidence.beside(module, TENSOR)?;
    let json = evidence.bytes(tensor.0).and_then(|bytes| {
        serde_json::from_slice(&bytes)
            .map_err(|e| format!("{} is not JSON: {e}", escaped(&tensor.1.name)))
    });
    Some((tensor, json))
}

/// Returns the descriptions in a file's metadata, by module; `Err` if they cannot be read.
pub(crate) fn layers(metadata: &Metadata) -> Option<Result<Json, &'static str>> {
    let text = metadata.get(METADATA)?.as_str();
    let json = text.and_then(|text| serde_json::from_str::<Json>(text).ok());
    let layers = json.and_then(|mut json| json.get_mut("layers").map(Json::take));
    Some(layers.filter(Json::is_object).ok_or(UNREADABLE))
}

/// Returns the format that a description names.
pub(crate) fn format(description: &Json) -> Option<&str> {
    description.get("format")?.as_str()
}
