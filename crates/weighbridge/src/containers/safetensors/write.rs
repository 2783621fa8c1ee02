//! Planning a safetensors file: every offset is known before a byte of data exists.

use crate::catalog::{Shape, element_count};
use crate::dtype::DType;
use crate::error::{Error, Result};

/// The entry of the header that is no tensor.
const METADATA: &str = "__metadata__";

/// A tensor to be written.
#[derive(Clone, Debug)]
pub struct Planned {
    /// Its name.
    pub name: String,
    /// Its element type.
    pub dtype: DType,
    /// Its dimensions.
    pub shape: Shape,
}

/// A file to be written: its header, and where each tensor goes.
#[derive(Debug)]
pub struct Plan {
    /// The bytes before the data: length and padded JSON.
    pub header: Vec<u8>,
    /// File offset and length of each tensor, in the order they were given.
    pub places: Vec<(u64, u64)>,
    /// Length of the whole file.
    pub len: u64,
}

/// Whether the format has a name for a type.
#[must_use]
pub fn can_express(dtype: DType) -> bool {
    super::header::is_standard(dtype)
}

/// Lays out a file as the canonical writer does: by type, the widest first, then by name, the
/// data starting at a multiple of eight.
pub fn plan(tensors: &[Planned], metadata: &[(String, String)]) -> Result<Plan> {
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    let key = |i: &usize| tensors.get(*i).map(|t| (std::cmp::Reverse(t.dtype), t.name.as_str()));
    order.sort_by(|a, b| key(a).cmp(&key(b)));
    let mut json = serde_json::Map::new();
    if !metadata.is_empty() {
        let entries = metadata.iter().map(|(k, v)| (k.clone(), v.clone().into())).collect();
        json.insert(METADATA.into(), serde_json::Value::Object(entries));
    }
    let mut places = vec![(0u64, 0u64); tensors.len()];
    let mut end = 0u64;
    for index in order {
        let Some(tensor) = tensors.get(index) else {
            continue;
        };
        if tensor.name == METADATA {
            return Err(Error::usage("safetensors keeps this name for its metadata")
                .in_tensor(&tensor.name));
        }
        let bytes = element_count(&tensor.shape).and_then(|n| tensor.dtype.bytes_for(n));
        let next = bytes.and_then(|bytes| end.checked_add(bytes));
        let (Some(bytes), Some(next)) = (bytes, next) else {
            return Err(
                Error::usage("its size is not a whole number of bytes").in_tensor(&tensor.name)
            );
        };
        let entry = serde_json::json!({
            "dtype": tensor.dtype.name(), "shape": &tensor.shape[..], "data_offsets": [end, next],
        });
        if json.insert(tensor.name.clone(), entry).is_some() {
            return Err(
                Error::usage("two tensors to be written have this name").in_tensor(&tensor.name)
            );
        }
        if let Some(place) = places.get_mut(index) {
            *place = (end, bytes);
        }
        end = next;
    }
    let mut text = serde_json::Value::Object(json).to_string().into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    if text.len() as u64 > super::MAX_HEADER {
        return Err(Error::limit(format!(
            "its header would take {} bytes, safetensors allows {}",
            text.len(),
            super::MAX_HEADER
        )));
    }
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.extend_from_slice(&text);
    let start = header.len() as u64;
    for place in &mut places {
        place.0 = place.0.saturating_add(start);
    }
    Ok(Plan { header, places, len: start.saturating_add(end) })
}
