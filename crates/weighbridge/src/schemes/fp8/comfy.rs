//! ComfyUI's descriptions: a marker tensor in older files, a format for each layer in newer ones.
//!
//! ```text
//! <prefix>scaled_fp8            older: its type is that of the weights below the prefix; F32 says E4M3
//! X.comfy_quant                 newer: U8, the text of {"format": "float8_e4m3fn", ..}
//! _quantization_metadata        newer, in the file's metadata: {"layers": {"X": {"format": ..}}}
//! ```

use std::collections::HashMap;

use serde_json::Value as Json;

use super::names::Found;
use super::settings::format_of;
use crate::dtype::DType;
use crate::schemes::{self, Evidence, TensorId};

/// What a file's own descriptions say.
#[derive(Default)]
pub(super) struct Comfy<'a> {
    /// Marker tensors, by the prefix of the names they speak for.
    markers: HashMap<&'a str, Found<'a>, foldhash::fast::RandomState>,
    /// All of them, also where two have one name.
    pub marker_ids: Vec<TensorId>,
    /// Formats of layers, from the metadata of the files.
    layers: Vec<Json>,
    /// A file's description of its layers cannot be read.
    pub unreadable: bool,
}

/// What is said of one layer.
pub(super) struct Layer<'a> {
    /// The tensor that says so, where it is one.
    pub tensor: Option<Found<'a>>,
    /// The name of the format; why it cannot be read, otherwise.
    pub format: Result<String, String>,
}

/// Formats of 8-bit floats.
pub(super) const FORMATS: [&str; 3] = ["float8_e4m3fn", "float8_e5m2", "mxfp8"];

impl Layer<'_> {
    /// Whether the format is another scheme's to decode, or to refuse by its name, for a weight
    /// of 8-bit floats or of another type.
    pub(super) fn is_anothers(&self, fp8: bool) -> bool {
        match &self.format {
            Ok(format) if FORMATS.contains(&&**format) => false,
            Ok(format) if schemes::decodes_layers_as(format) => !fp8,
            Ok(_) => self.tensor.is_some(),
            Err(_) => !fp8,
        }
    }
}

impl<'a> Comfy<'a> {
    /// Gathers it.
    pub(super) fn of(evidence: &Evidence<'a>) -> Self {
        let mut comfy = Self::default();
        for &(id, info) in evidence.tensors() {
            let prefix = info.name.strip_suffix("scaled_fp8");
            if let Some(prefix) = prefix.filter(|p| p.is_empty() || p.ends_with('.')) {
                comfy.marker_ids.push(id);
                comfy.markers.insert(prefix, (id, info));
            }
        }
        for metadata in evidence.metadata() {
            let Some(value) = metadata.get("_quantization_metadata") else { continue };
            let json = value.as_str().and_then(|text| serde_json::from_str::<Json>(text).ok());
            match json.and_then(|json| json.get("layers").filter(|l| l.is_object()).cloned()) {
                Some(layers) => comfy.layers.push(layers),
                None => comfy.unreadable = true,
            }
        }
        comfy
    }

    /// What is said of a layer, if anything is.
    pub(super) fn layer(&self, evidence: &Evidence<'a>, module: &str) -> Option<Layer<'a>> {
        if let Some((id, info)) = evidence.beside(module, ".comfy_quant") {
            let json = evidence.bytes(id).and_then(|bytes| {
                serde_json::from_slice::<Json>(&bytes)
                    .map_err(|e| format!("{} is not JSON: {e}", info.name))
            });
            let format = json.and_then(|json| format_in(&json, &info.name));
            return Some(Layer { tensor: Some((id, info)), format });
        }
        let json = self.layers.iter().find_map(|layers| layers.get(module))?;
        Some(Layer { tensor: None, format: format_in(json, "_quantization_metadata") })
    }

    /// Whether a marker speaks for a weight.
    pub(super) fn is_marked(&self, name: &str) -> bool {
        self.marker(name).is_some()
    }

    fn marker(&self, name: &str) -> Option<&Found<'a>> {
        if self.markers.is_empty() {
            return None;
        }
        let prefixes = name.rmatch_indices('.').map(|(dot, _)| &name[..=dot]).chain([""]);
        prefixes.into_iter().find_map(|prefix| self.markers.get(prefix))
    }

    /// Why a weight of that type contradicts its marker, if it does.
    pub(super) fn contradicts(&self, name: &str, dtype: DType) -> Option<String> {
        let (_, marker) = self.marker(name)?;
        let said = match marker.stored.element()? {
            DType::F32 => DType::F8_E4M3,
            said => said,
        };
        (said != dtype).then(|| {
            format!("the marker {} says that weights are {said}, this one is {dtype}", marker.name)
        })
    }
}

fn format_in(json: &Json, place: &str) -> Result<String, String> {
    let format = json.get("format").and_then(Json::as_str);
    format.map(str::to_owned).ok_or_else(|| format!("{place} names no format"))
}

/// Why a format does not fit a weight of that type, if it does not.
pub(super) fn misfit(format: &str, dtype: DType) -> Option<String> {
    match (format, format_of(format)) {
        ("mxfp8", _) if dtype == DType::F8_E4M3 => None,
        (_, Some(said)) if said == dtype => None,
        _ => Some(format!("its format is said to be `{format}`, but the weight is {dtype}")),
    }
}
