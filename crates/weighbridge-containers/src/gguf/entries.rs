//! Metadata entries: keys and single values are read, arrays are walked over.

use std::collections::HashSet;

use crate::catalog::{ArrayRef, Catalog, Finding, Value};
use crate::cursor::Endian;
use crate::error::{Error, Result};
use crate::text::{escaped, shortened};

use super::check::report;
use super::original_shapes::{self, Stated};
use super::reader::{Reader, ValueType};

/// A key and its value.
type Entry = (Box<str>, Value);

/// What one entry costs beside its texts.
const RECORD: u64 = size_of::<Entry>() as u64;

/// Arrays in arrays are walked by recursion, so their depth has an end whatever the limits say.
const MAX_NESTING: u32 = 256;

/// Reads `count` entries into the catalog, and gives the shapes that some of them state.
pub(super) fn read(
    reader: &mut Reader<'_>,
    count: u64,
    catalog: &mut Catalog,
) -> Result<Vec<Stated>> {
    let least = reader.prefix_bytes().saturating_add(5);
    reader.expect_items(count, least, "the metadata")?;
    reader.budget.items(count, "the metadata")?;
    let (mut entries, mut shapes) = (Vec::new(), Vec::new());
    for _ in 0..count {
        reader.budget.charge(RECORD, "the metadata")?;
        let key = reader.name("a metadata key")?;
        let value = match key.strip_prefix(original_shapes::PREFIX) {
            None => value(reader),
            Some(tensor) => stated_shape(reader, tensor).map(|(value, stated)| {
                shapes.push(stated);
                value
            }),
        };
        let value = value.map_err(|e| in_key(e, &key))?;
        entries.push((key, value));
    }
    keep_first(reader, entries, catalog)?;
    Ok(shapes)
}

/// A value that should be the shape of a tensor, and what it says.
fn stated_shape(reader: &mut Reader<'_>, tensor: &str) -> Result<(Value, Stated)> {
    const COST: u64 = original_shapes::MAX_RANK.saturating_mul(size_of::<Value>() as u64);
    reader.budget.charge(COST.saturating_add(tensor.len() as u64), "the tensor shapes")?;
    let of = |sides| Stated { tensor: tensor.into(), sides };
    let kind = ValueType::read(reader)?;
    if kind != ValueType::Array {
        return Ok((single(reader, kind)?, of(None)));
    }
    let (kind, len) = array_head(reader)?;
    let offset = reader.cursor.position();
    let (element, sides) = if kind.is_integer() && len <= original_shapes::MAX_RANK {
        let sides = (0..len).map(|_| single(reader, kind)).collect::<Result<Vec<_>>>()?;
        (kind.name().into(), Some(sides))
    } else {
        (skip(reader, kind, len, 1)?.name().into(), None)
    };
    Ok((Value::Array(ArrayRef { element, len, offset }), of(sides)))
}

fn in_key(error: Error, key: &str) -> Error {
    error.inside(&format!("the value of metadata key `{}`", shortened(key, 200)))
}

/// Of several entries with one key the first counts.
fn keep_first(reader: &Reader<'_>, entries: Vec<Entry>, catalog: &mut Catalog) -> Result<()> {
    let mut keys = HashSet::<_, foldhash::fast::RandomState>::default();
    let first: Vec<bool> = entries.iter().map(|(key, _)| keys.insert(&**key)).collect();
    drop(keys);
    for ((key, value), first) in entries.into_iter().zip(first) {
        if first {
            catalog.metadata.push(key, value);
        } else {
            let message =
                format!("duplicate metadata key `{}`; the first value is used", escaped(&key));
            let finding = Finding::general("duplicate-key", message);
            report(&mut catalog.findings, reader.budget, finding)?;
        }
    }
    Ok(())
}

fn value(reader: &mut Reader<'_>) -> Result<Value> {
    match ValueType::read(reader)? {
        ValueType::Array => array(reader).map(Value::Array),
        kind => single(reader, kind),
    }
}

/// A value that is not an array.
fn single(reader: &mut Reader<'_>, kind: ValueType) -> Result<Value> {
    const WHAT: &str = "a metadata value";
    let cursor = &mut reader.cursor;
    Ok(match kind {
        ValueType::U8 => Value::Unsigned(8, cursor.u8(WHAT)?.into()),
        ValueType::I8 => Value::Signed(8, cursor.i8(WHAT)?.into()),
        ValueType::U16 => Value::Unsigned(16, cursor.u16(WHAT)?.into()),
        ValueType::I16 => Value::Signed(16, cursor.i16(WHAT)?.into()),
        ValueType::U32 => Value::Unsigned(32, cursor.u32(WHAT)?.into()),
        ValueType::I32 => Value::Signed(32, cursor.i32(WHAT)?.into()),
        ValueType::U64 => Value::Unsigned(64, cursor.u64(WHAT)?),
        ValueType::I64 => Value::Signed(64, cursor.i64(WHAT)?),
        ValueType::F32 => Value::F32(cursor.f32(WHAT)?),
        ValueType::F64 => Value::F64(cursor.f64(WHAT)?),
        ValueType::Bool => Value::Bool(cursor.u8(WHAT)? != 0),
        ValueType::String => reader.text(WHAT)?,
        ValueType::Array => return Err(Error::usage("expected a single value, found an array")),
    })
}

/// Walks over an array and notes where it is.
fn array(reader: &mut Reader<'_>) -> Result<ArrayRef> {
    let (kind, len) = array_head(reader)?;
    let offset = reader.cursor.position();
    let element = skip(reader, kind, len, 1)?;
    Ok(ArrayRef { element: element.name().into(), len, offset })
}

fn array_head(reader: &mut Reader<'_>) -> Result<(ValueType, u64)> {
    let kind = ValueType::read(reader)?;
    let len = reader.length("an array's length")?;
    let least = least_bytes(reader, kind);
    reader.expect_items(len, least, "a metadata array")?;
    Ok((kind, len))
}

/// The fewest bytes one value of a kind can take.
fn least_bytes(reader: &Reader<'_>, kind: ValueType) -> u64 {
    let prefix = reader.prefix_bytes();
    match kind {
        ValueType::String => prefix,
        ValueType::Array => prefix.saturating_add(4),
        kind => kind.width().unwrap_or(1),
    }
}

/// What the elements of an array are: `kind` inside `nesting` further arrays.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Element {
    /// The innermost kind; none where arrays differ.
    kind: Option<ValueType>,
    nesting: u32,
}

impl Element {
    fn name(self) -> String {
        let mut name = self.kind.map_or("mixed", ValueType::name).to_owned();
        for _ in 0..self.nesting {
            name = format!("array[{name}]");
        }
        name
    }
}

/// Walks over `len` elements of a kind.
fn skip(reader: &mut Reader<'_>, kind: ValueType, len: u64, depth: u32) -> Result<Element> {
    const WHAT: &str = "a metadata array";
    if let Some(width) = kind.width() {
        reader.cursor.skip(len.saturating_mul(width), WHAT)?;
        return Ok(Element { kind: Some(kind), nesting: 0 });
    }
    // A bound on time, not on memory: nothing is kept of what is walked over.
    reader.budget.items(len, "the elements of metadata arrays")?;
    if kind == ValueType::String {
        let prefix = reader.prefix();
        reader.cursor.skip_strings(len, prefix, "a string in a metadata array")?;
        return Ok(Element { kind: Some(kind), nesting: 0 });
    }
    check_depth(reader, depth)?;
    let mut all: Option<Element> = None;
    for _ in 0..len {
        let (kind, len) = array_head(reader)?;
        let inner = skip(reader, kind, len, depth.saturating_add(1))?;
        all = match all {
            None => Some(inner),
            Some(same) if same == inner => all,
            Some(_) => Some(Element { kind: None, nesting: 0 }),
        };
    }
    Ok(match all {
        Some(inner) => Element { nesting: inner.nesting.saturating_add(1), ..inner },
        None => Element { kind: Some(ValueType::Array), nesting: 0 },
    })
}

fn check_depth(reader: &Reader<'_>, depth: u32) -> Result<()> {
    let at = reader.cursor.position();
    reader.budget.depth(depth, "a nested metadata array").map_err(|e| e.at(at))?;
    if depth > MAX_NESTING {
        Err(Error::limit(format!("arrays are nested deeper than {MAX_NESTING} levels")).at(at))
    } else {
        Ok(())
    }
}

/// Reads the elements of an array that was walked over.
pub(super) fn elements(reader: &mut Reader<'_>, array: &ArrayRef) -> Result<Vec<Value>> {
    let Some(kind) = ValueType::from_name(&array.element) else {
        return Err(Error::usage(format!("`{}` is not a GGUF type", escaped(&array.element))));
    };
    reader.cursor.seek(array.offset);
    let least = least_bytes(reader, kind);
    reader.expect_items(array.len, least, "a metadata array")?;
    list(reader, kind, array.len, 1)
}

/// The bytes of an array as a file of today has them: its kind, its length, its elements; `None`
/// for an old or big-endian file, which stores them differently.
pub(super) fn raw(reader: &mut Reader<'_>, array: &ArrayRef) -> Result<Option<Vec<u8>>> {
    const WHAT: &str = "a metadata array";
    let kind = ValueType::from_name(&array.element);
    let Some(kind) = kind.filter(|_| reader.endian() == Endian::Little && reader.version > 1)
    else {
        return Ok(None);
    };
    reader.cursor.seek(array.offset);
    skip(reader, kind, array.len, 1)?;
    let len = reader.cursor.position().saturating_sub(array.offset);
    reader.budget.charge(len, WHAT)?;
    reader.cursor.seek(array.offset);
    let mut out = kind.number().to_le_bytes().to_vec();
    out.extend(array.len.to_le_bytes());
    let len = usize::try_from(len)
        .map_err(|_| Error::limit("the array is too long for this machine's address space"))?;
    out.extend_from_slice(reader.cursor.take(len, WHAT)?);
    Ok(Some(out))
}

fn list(reader: &mut Reader<'_>, kind: ValueType, len: u64, depth: u32) -> Result<Vec<Value>> {
    const WHAT: &str = "the elements of a metadata array";
    check_depth(reader, depth)?;
    reader.budget.items(len, WHAT)?;
    reader.budget.charge(len.saturating_mul(size_of::<Value>() as u64), WHAT)?;
    let mut values = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    for _ in 0..len {
        values.push(match kind {
            ValueType::Array => {
                let (kind, len) = array_head(reader)?;
                Value::List(list(reader, kind, len, depth.saturating_add(1))?)
            }
            kind => single(reader, kind)?,
        });
    }
    Ok(values)
}
