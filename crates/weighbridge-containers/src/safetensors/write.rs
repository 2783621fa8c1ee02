//! Writing safetensors: by type, the widest first, then by name, as the canonical writer does it;
//! the data start at a multiple of eight.

use std::cmp::Reverse;
use std::fmt::Write as _;

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::writing::{
    self, Entries, FileContext, Holds, Layout, MetadataValue, Planned, Writer, end_of,
};

use super::Safetensors;

/// The entry of the header that is no tensor.
const METADATA: &str = "__metadata__";

impl Writer for Safetensors {
    fn refuses(&self, tensor: &Planned<'_>) -> Option<String> {
        let dtype = tensor.stored.element().filter(|dtype| super::header::is_standard(*dtype));
        match dtype {
            None => Some(writing::no_type(tensor, "safetensors")),
            Some(_) if tensor.name == METADATA => {
                Some("safetensors reserves this name for its metadata".to_owned())
            }
            Some(_) if writing::full_count(tensor.shape).is_none() => {
                Some(writing::too_large(tensor, "safetensors"))
            }
            Some(_) => None,
        }
    }

    fn holds(&self) -> Holds {
        Holds::Texts
    }

    /// Loaders of the transformers library insist on `format`; what is there already is kept.
    fn metadata(&self, mut entries: Entries, _: &[Planned<'_>], _: bool) -> Result<Entries> {
        if !entries.iter().any(|(key, _)| key == "format") {
            entries.insert(0, ("format".to_owned(), MetadataValue::Value(Value::text("pt"))));
        }
        Ok(entries)
    }

    fn lay_out(&self, tensors: &[Planned<'_>], context: &FileContext<'_>) -> Result<Layout> {
        writing::refuse_duplicates(tensors)?;
        let mut order: Vec<usize> = (0..tensors.len()).collect();
        let key = |i: &usize| tensors.get(*i).map(|t| (Reverse(t.stored.element()), t.name));
        order.sort_by(|a, b| key(a).cmp(&key(b)));
        // Written as it goes: as a tree of values, a header takes ten times the memory.
        let mut json = String::from("{");
        if !context.metadata.is_empty() {
            let _ = write!(json, "\"{METADATA}\":{}", metadata(context.metadata));
        }
        let mut places = vec![0u64; tensors.len()];
        let mut end = 0u64;
        for index in order {
            let (Some(tensor), Some(place)) = (tensors.get(index), places.get_mut(index)) else {
                continue;
            };
            let next = end_of(end, tensor)?;
            if json.len() > 1 {
                json.push(',');
            }
            add_entry(&mut json, tensor, end, next);
            (*place, end) = (end, next);
        }
        json.push('}');
        Ok(Layout::behind(header(json)?, places, end))
    }

    fn splits(&self) -> bool {
        true
    }

    fn ties(&self) -> bool {
        true
    }

    fn index(
        &self,
        stem: &str,
        map: Vec<(&str, &str)>,
        bytes: u64,
        parameters: u64,
    ) -> Option<(String, String)> {
        let text = super::index::index(map, bytes, parameters);
        Some((format!("{stem}.safetensors.index.json"), text))
    }
}

/// Metadata as an object of strings.
fn metadata(entries: &[(String, MetadataValue)]) -> serde_json::Value {
    let text = |entry: &MetadataValue| {
        entry.value().and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    entries.iter().map(|(key, entry)| (key.clone(), text(entry))).collect()
}

/// `"name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}`.
fn add_entry(json: &mut String, tensor: &Planned<'_>, start: u64, end: u64) {
    let (name, dtype) = (serde_json::Value::from(tensor.name), tensor.stored.name());
    let _ = write!(json, "{name}:{{\"dtype\":\"{dtype}\",\"shape\":[");
    for (index, dim) in tensor.shape.iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(json, "{comma}{dim}");
    }
    let _ = write!(json, "],\"data_offsets\":[{start},{end}]}}");
}

/// Length and padded JSON.
fn header(json: String) -> Result<Vec<u8>> {
    let mut text = json.into_bytes();
    text.resize(text.len().next_multiple_of(8), b' ');
    if text.len() as u64 > super::MAX_HEADER {
        return Err(Error::limit(format!(
            "the header needs {} bytes; safetensors allows at most {}",
            text.len(),
            super::MAX_HEADER
        )));
    }
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.extend_from_slice(&text);
    Ok(header)
}
