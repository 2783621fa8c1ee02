//! ComfyUI's files: a marker tensor in older ones, a format for each layer in newer ones.
//!
//! ```text
//! <prefix>scaled_fp8   its type is that of the weights below the prefix; F32 says E4M3
//! ```

use std::collections::HashMap;

use serde_json::Value as Json;

use super::settings::format_of;
use crate::dtype::DType;
use crate::framework::conventions::comfy;
use crate::framework::{Evidence, Roster, StoredTensor, TensorId};

/// Descriptions in the model's own files.
#[derive(Default)]
pub(super) struct Comfy<'a> {
    /// Marker tensors, by the prefix of the names they apply to.
    markers: HashMap<&'a str, StoredTensor<'a>, foldhash::fast::RandomState>,
    /// All markers, including duplicates.
    pub marker_ids: Vec<TensorId>,
    /// Formats of layers, from the metadata of the files.
    layers: Vec<Json>,
    /// Whether a file's description of its layers is unreadable.
    pub unreadable: bool,
}

/// Description of one layer.
pub(super) struct Layer<'a> {
    /// The tensor that holds it, if any.
    pub tensor: Option<StoredTensor<'a>>,
    /// Name of the format, or why it cannot be read.
    pub format: Result<String, String>,
}

/// Formats of 8-bit floats.
pub(super) const FORMATS: [&str; 3] = ["float8_e4m3fn", "float8_e5m2", "mxfp8"];

impl Layer<'_> {
    /// Whether another scheme decodes or rejects this format, for a weight of 8-bit floats or of
    /// another type.
    pub(super) fn belongs_to_another(&self, fp8: bool, schemes: &Roster) -> bool {
        match &self.format {
            Ok(format) if FORMATS.contains(&&**format) => false,
            Ok(format) if schemes.layer_formats.contains(&&**format) => !fp8,
            Ok(_) => self.tensor.is_some(),
            Err(_) => !fp8,
        }
    }
}

impl<'a> Comfy<'a> {
    /// Gathers the descriptions in a model's files.
    pub(super) fn of(evidence: &Evidence<'a>) -> Self {
        let mut found = Self::default();
        for &(id, info) in evidence.tensors() {
            let prefix = info.name.strip_suffix("scaled_fp8");
            if let Some(prefix) = prefix.filter(|p| p.is_empty() || p.ends_with('.')) {
                found.marker_ids.push(id);
                found.markers.insert(prefix, (id, info));
            }
        }
        for layers in evidence.metadata().iter().filter_map(|metadata| comfy::layers(metadata)) {
            match layers {
                Ok(layers) => found.layers.push(layers),
                Err(_) => found.unreadable = true,
            }
        }
        found
    }

    /// Returns the description of a layer, if there is one.
    pub(super) fn layer(&self, evidence: &Evidence<'a>, module: &str) -> Option<Layer<'a>> {
        if let Some((tensor, json)) = comfy::description(evidence, module) {
            let format = json.and_then(|json| format_in(&json, &tensor.1.name));
            return Some(Layer { tensor: Some(tensor), format });
        }
        let json = self.layers.iter().find_map(|layers| layers.get(module))?;
        Some(Layer { tensor: None, format: format_in(json, comfy::METADATA) })
    }

    /// Whether a marker applies to a weight.
    pub(super) fn is_marked(&self, name: &str) -> bool {
        self.marker(name).is_some()
    }

    fn marker(&self, name: &str) -> Option<&StoredTensor<'a>> {
        if self.markers.is_empty() {
            return None;
        }
        let prefixes = name.rmatch_indices('.').map(|(dot, _)| &name[..=dot]).chain([""]);
        prefixes.into_iter().find_map(|prefix| self.markers.get(prefix))
    }

    /// Returns why a weight of that type contradicts its marker, if it does.
    pub(super) fn contradicts(&self, name: &str, dtype: DType) -> Option<String> {
        let (_, marker) = self.marker(name)?;
        let said = match marker.stored.element()? {
            DType::F32 => DType::F8_E4M3,
            said => said,
        };
        (said != dtype).then(|| {
            format!("the marker {} declares {said} weights, but this one is {dtype}", marker.name)
        })
    }
}

fn format_in(json: &Json, place: &str) -> Result<String, String> {
    comfy::format(json).map(str::to_owned).ok_or_else(|| format!("{place} names no format"))
}

/// Returns why a format does not fit a weight of that type, if it does not.
pub(super) fn misfit(format: &str, dtype: DType) -> Option<String> {
    match (format, format_of(format)) {
        ("mxfp8", _) if dtype == DType::F8_E4M3 => None,
        (_, Some(said)) if said == dtype => None,
        _ => Some(format!("its declared format is `{format}`, but the weight is {dtype}")),
    }
}
