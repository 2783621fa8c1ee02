//! The JSON header, read in one pass without building a JSON tree.

use std::borrow::Cow;

use super::json::Json;
use crate::catalog::{Catalog, LISTED, Metadata, Place, Shape, TensorInfo, Value, element_count};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::limits::Budget;

/// Reads the header whose data starts at `data_start`.
pub(super) fn parse(json: &[u8], data_start: u64, budget: &Budget) -> Result<Catalog> {
    let mut catalog = Catalog::default();
    let mut json = Json::new(json, 8)?;
    let mut more = json.open(b'{', b'}')?;
    let mut seen_metadata = false;
    while more {
        let name = json.string()?;
        json.expect(b':')?;
        if name == "__metadata__" {
            if std::mem::replace(&mut seen_metadata, true) {
                return Err(json.error("`__metadata__` occurs twice"));
            }
            catalog.metadata = metadata(&mut json, budget)?;
        } else {
            charge(budget, name.len(), "the tensor list")?;
            let entry = HeaderEntry::read(&mut json).map_err(|e| e.in_tensor(&name))?;
            // Up to four dimensions lie in the entry itself.
            let dimensions = entry.shape.as_ref().map_or(0, |shape| shape.len().saturating_sub(4));
            budget.charge((dimensions as u64).saturating_mul(32), "the tensor list")?;
            let info = entry.into_info(&name, data_start).map_err(|e| e.in_tensor(&name))?;
            catalog.tensors.push(info);
        }
        more = json.more(b'}')?;
    }
    json.end()?;
    crate::refuse_duplicates(&catalog)?;
    catalog.declared_len = Some(check_ranges(&catalog, data_start)?);
    Ok(catalog)
}

fn charge(budget: &Budget, text: usize, what: &str) -> Result<()> {
    crate::charge_item(budget, LISTED.saturating_add(text as u64), what)
}

/// `__metadata__`: text to text.
fn metadata(json: &mut Json<'_>, budget: &Budget) -> Result<Metadata> {
    let mut metadata = Metadata::default();
    if json.null() {
        return Ok(metadata);
    }
    let mut more = json.open(b'{', b'}')?;
    while more {
        let key = json.string()?;
        json.expect(b':')?;
        let value = json.string()?;
        charge(budget, key.len().saturating_add(value.len()), "the metadata")?;
        metadata.push(key, Value::text(value));
        more = json.more(b'}')?;
    }
    Ok(metadata)
}

/// One tensor's entry.
#[derive(Default)]
struct HeaderEntry<'a> {
    dtype: Option<Cow<'a, str>>,
    shape: Option<Shape>,
    data_offsets: Option<(u64, u64)>,
}

impl<'a> HeaderEntry<'a> {
    /// Reads an entry: quickly when it is spelled as every writer spells it, else as it comes.
    fn read(json: &mut Json<'a>) -> Result<Self> {
        if json.literally("{\"dtype\":") {
            let mut entry = Self { dtype: Some(json.string()?), ..Self::default() };
            if json.literally(",\"shape\":") {
                entry.shape = Some(shape(json)?);
                if json.literally(",\"data_offsets\":") {
                    entry.data_offsets = Some(offsets(json)?);
                }
            }
            let more = json.more(b'}')?;
            return entry.read_rest(json, more);
        }
        let more = json.open(b'{', b'}')?;
        Self::default().read_rest(json, more)
    }

    fn read_rest(self, json: &mut Json<'a>, mut more: bool) -> Result<Self> {
        let mut entry = self;
        while more {
            let key = json.string()?;
            json.expect(b':')?;
            let twice = match &*key {
                "dtype" => entry.dtype.replace(json.string()?).is_some(),
                "shape" => entry.shape.replace(shape(json)?).is_some(),
                "data_offsets" => entry.data_offsets.replace(offsets(json)?).is_some(),
                _ => {
                    json.skip_value()?;
                    false
                }
            };
            if twice {
                return Err(json.error(&format!("`{key}` occurs twice")));
            }
            more = json.more(b'}')?;
        }
        Ok(entry)
    }

    fn into_info(self, name: &str, data_start: u64) -> Result<TensorInfo> {
        let missing = |key: &str| Error::malformed(format!("the entry has no `{key}`"));
        let dtype = self.dtype.ok_or_else(|| missing("dtype"))?;
        let shape = self.shape.ok_or_else(|| missing("shape"))?;
        let (from, to) = self.data_offsets.ok_or_else(|| missing("data_offsets"))?;
        let Some(bytes) = to.checked_sub(from) else {
            return Err(Error::malformed(format!(
                "data_offsets [{from}, {to}] are in reverse order"
            )));
        };
        let Some(start) = data_start.checked_add(from).filter(|s| s.checked_add(bytes).is_some())
        else {
            return Err(Error::malformed(format!("data_offsets [{from}, {to}] are too large")));
        };
        let Some(elements) = element_count(&shape) else {
            return Err(Error::malformed(format!("shape {:?} is too large", &shape[..])));
        };
        let (stored, refused) = match DType::from_name(&dtype) {
            Some(dtype) if is_standard(dtype) => {
                check_size(dtype, &shape, elements, bytes)?;
                (StoredType::Element(dtype), None)
            }
            _ => {
                let shown = crate::text::shortened(&dtype, 40);
                let reason = format!("unsupported dtype `{shown}`");
                (StoredType::opaque(&*dtype), Some(reason.into()))
            }
        };
        Ok(TensorInfo { name: name.into(), shape, stored, bytes, place: Place::at(start), refused })
    }
}

fn shape(json: &mut Json<'_>) -> Result<Shape> {
    let mut shape = Shape::new();
    let mut more = json.open(b'[', b']')?;
    while more {
        shape.push(json.number()?);
        more = json.more(b']')?;
    }
    Ok(shape)
}

fn offsets(json: &mut Json<'_>) -> Result<(u64, u64)> {
    json.expect(b'[')?;
    let from = json.number()?;
    json.expect(b',')?;
    let to = json.number()?;
    json.expect(b']')?;
    Ok((from, to))
}

/// Our list of types is longer than the format's.
pub(super) fn is_standard(dtype: DType) -> bool {
    !matches!(dtype, DType::C32 | DType::C128)
}

fn check_size(dtype: DType, shape: &[u64], elements: u64, bytes: u64) -> Result<()> {
    match dtype.bytes_for(elements) {
        Some(expected) if expected == bytes => Ok(()),
        Some(expected) => Err(Error::malformed(format!(
            "{dtype} {shape:?} needs {expected} bytes, but data_offsets give {bytes}"
        ))),
        None => Err(Error::malformed(format!("{dtype} {shape:?} does not fill whole bytes"))),
    }
}

/// Checks that the tensors cover the data without overlap or hole; returns where they end.
fn check_ranges(catalog: &Catalog, data_start: u64) -> Result<u64> {
    let start = |t: &TensorInfo| crate::start_of(t).unwrap_or(data_start);
    let mut order: Vec<&TensorInfo> = catalog.tensors.iter().collect();
    if !order.is_sorted_by_key(|t| (start(t), t.bytes)) {
        order.sort_by_key(|t| (start(t), t.bytes));
    }
    let mut end = data_start;
    for tensor in order {
        let from = start(tensor);
        if from != end {
            let what = if from < end {
                "overlaps the tensor before it"
            } else {
                "leaves a gap after the tensor before it"
            };
            return Err(Error::malformed(format!(
                "data starts at byte {from} and {what}, which ends at byte {end}"
            ))
            .at(from)
            .in_tensor(&tensor.name));
        }
        end = from.saturating_add(tensor.bytes);
    }
    Ok(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    fn parse_text(json: &str) -> Result<Catalog> {
        parse(json.as_bytes(), 8 + json.len() as u64, &Budget::new(Limits::default()))
    }

    fn message(json: &str) -> String {
        parse_text(json).unwrap_err().to_string()
    }

    #[test]
    fn rules_of_the_format() {
        let ok =
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"k":"v"}}"#;
        let catalog = parse_text(ok).unwrap();
        assert_eq!(catalog.metadata.get("k").and_then(Value::as_str), Some("v"));
        assert_eq!(catalog.declared_len, Some(8 + ok.len() as u64 + 8));
        let cases = [
            (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}"#, "needs 8 bytes"),
            (r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}"#, "leaves a gap"),
            (
                r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#,
                "overlaps",
            ),
            (
                r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}}"#,
                "lists this name twice",
            ),
            (r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}"#, "in reverse order"),
            (
                r#"{"a":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}}"#,
                "does not fill whole bytes",
            ),
            (
                r#"{"a":{"dtype":"U8","shape":[18446744073709551615,2],"data_offsets":[0,1]}}"#,
                "too large",
            ),
            (r#"{"__metadata__":{"a":1}}"#, "not valid JSON"),
            (r#"{"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}"#, "not valid JSON"),
            (r#"[]"#, "not valid JSON"),
        ];
        for (json, expected) in cases {
            assert!(message(json).contains(expected), "{json}: {}", message(json));
        }
    }

    #[test]
    fn an_unknown_dtype_is_listed() {
        let json = r#"{"a":{"dtype":"F2","shape":[8],"data_offsets":[0,2]}}"#;
        let catalog = parse_text(json).unwrap();
        assert_eq!(catalog.tensors[0].stored.name(), "F2");
        assert!(catalog.tensors[0].refused.is_some());
    }
}
