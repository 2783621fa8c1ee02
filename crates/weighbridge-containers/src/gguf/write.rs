//! Writing GGUF, version 3, little-endian.
//!
//! Tensors keep their order, each at a multiple of the alignment, the last one filled up to it as
//! well: ggml reads all data in one stretch. Of a model in several files the first holds the
//! metadata, and each says which it is, as llama.cpp's own splitter has it.

use crate::blocks::Standing;
use crate::catalog::{Packed, Value};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Result};
use crate::writing::{
    self, Entries, FileContext, Holds, Layout, MetadataValue, Planned, Writer, end_of,
};

use super::reader::{MAGIC, ValueType};
use super::{Gguf, tensors, types};

/// ggml's buffer for a name, with the zero at its end.
const MAX_NAME: usize = 64;

/// The most dimensions ggml reads.
const MAX_RANK: usize = 4;

/// What ggml aligns to, unless a file says otherwise.
const ALIGNMENT: u64 = 32;

const FILE_TYPE: &str = "general.file_type";

impl Writer for Gguf {
    fn refuses_name(&self, name: &str) -> Option<String> {
        if name.contains('\0') {
            return Some("the name contains a zero byte, which ggml does not allow".to_owned());
        }
        let (len, most) = (name.len(), MAX_NAME - 1);
        (len > most).then(|| format!("the name has {len} bytes; ggml allows at most {most}"))
    }

    fn refuses(&self, tensor: &Planned<'_>) -> Option<String> {
        if type_number(tensor.stored).is_none() {
            return Some(writing::no_type(tensor, "GGUF"));
        }
        if let Some(reason) = self.refuses_name(tensor.name) {
            return Some(reason);
        }
        if tensor.shape.len() > MAX_RANK {
            let rank = tensor.shape.len();
            return Some(format!("it has {rank} dimensions; ggml allows at most {MAX_RANK}"));
        }
        if tensors::extent(tensor.shape).is_err() {
            return Some(writing::too_large(tensor, "GGUF"));
        }
        None
    }

    fn holds(&self) -> Holds {
        Holds::Values
    }

    fn metadata(
        &self,
        mut entries: Entries,
        tensors: &[Planned<'_>],
        kept: bool,
    ) -> Result<Entries> {
        // Split entries of the source do not hold for the output.
        entries.retain(|(key, _)| !key.starts_with("split."));
        let most = most_common(tensors);
        let is_block = matches!(most, Some(StoredType::Block(_)));
        if entries.iter().any(|(key, _)| key.is_empty()) {
            return Err(Error::usage("a metadata key is empty, which ggml rejects"));
        }
        if kept {
            return Ok(entries);
        }
        let said = entries.iter().position(|(key, _)| key == FILE_TYPE);
        // Mixtures of types have numbers of their own, which cannot be derived from the tensors.
        if !(is_block && said.is_some())
            && let Some(number) = most.and_then(file_type)
        {
            let file_type = MetadataValue::Value(Value::Unsigned(32, number));
            match said.and_then(|at| entries.get_mut(at)) {
                Some(entry) => entry.1 = file_type,
                None => entries.push((FILE_TYPE.to_owned(), file_type)),
            }
        }
        if !tensors.iter().any(|tensor| matches!(tensor.stored, StoredType::Block(_))) {
            entries.retain(|(key, _)| key != "general.quantization_version");
        }
        Ok(entries)
    }

    fn lay_out(&self, tensors: &[Planned<'_>], context: &FileContext<'_>) -> Result<Layout> {
        writing::refuse_duplicates(tensors)?;
        let own = own_entries(context);
        let alignment = alignment(own)?;
        let (mut places, mut end) = (Vec::with_capacity(tensors.len()), 0u64);
        for tensor in tensors {
            places.push(end);
            let next = end_of(end, tensor)?.checked_next_multiple_of(alignment);
            end = next.ok_or_else(|| {
                Error::limit("the file would exceed the largest size of any file system")
            })?;
        }
        let mut header = header(tensors, &places, context)?;
        let start = (header.len() as u64).next_multiple_of(alignment);
        header.resize(usize::try_from(start).unwrap_or(header.len()), 0);
        Ok(Layout::behind(header, places, end))
    }

    fn splits(&self) -> bool {
        true
    }

    fn numbers_parts(&self) -> bool {
        true
    }

    fn stem(&self, folder: &str) -> String {
        folder.to_owned()
    }
}

/// The number of a tensor type that ggml reads today.
fn type_number(stored: &StoredType) -> Option<u32> {
    match stored {
        StoredType::Element(dtype) => types::number(*dtype),
        StoredType::Block(block) => {
            matches!(block.standing, Standing::Current | Standing::IkLlama).then_some(block.id)
        }
        StoredType::Opaque(_) => None,
    }
}

/// The type that most bytes of matrices have.
fn most_common<'a>(tensors: &[Planned<'a>]) -> Option<&'a StoredType> {
    let mut counts: Vec<(&StoredType, u64)> = Vec::new();
    let matrices = || tensors.iter().filter(|tensor| tensor.shape.len() > 1);
    let all =
        if matrices().next().is_some() { matrices().collect() } else { Vec::from_iter(tensors) };
    for tensor in all {
        match counts.iter_mut().find(|(stored, _)| *stored == tensor.stored) {
            Some((_, bytes)) => *bytes = bytes.saturating_add(tensor.bytes),
            None => counts.push((tensor.stored, tensor.bytes)),
        }
    }
    counts.into_iter().max_by_key(|(_, bytes)| *bytes).map(|(stored, _)| stored)
}

/// llama.cpp's number for a file whose matrices have mostly this type.
fn file_type(stored: &StoredType) -> Option<u64> {
    match stored {
        StoredType::Element(DType::F32) => Some(0),
        StoredType::Element(DType::F16) => Some(1),
        StoredType::Element(DType::BF16) => Some(32),
        StoredType::Block(block) => block.file_type,
        _ => None,
    }
}

fn alignment(metadata: &[(String, MetadataValue)]) -> Result<u64> {
    let said = metadata.iter().find(|(key, _)| key == "general.alignment");
    let Some(value) = said.and_then(|(_, entry)| entry.value()) else { return Ok(ALIGNMENT) };
    match value {
        Value::Unsigned(32, number) if number.is_power_of_two() && *number >= 8 => Ok(*number),
        _ => Err(Error::usage(
            "general.alignment must be a u32 power of two of at least 8; ggml rejects other \
                 values",
        )),
    }
}

/// More than the header has of a tensor beside its name, with four dimensions.
const MOST_OF_A_TENSOR: usize = 64;

fn header(tensors: &[Planned<'_>], places: &[u64], context: &FileContext<'_>) -> Result<Vec<u8>> {
    // A vector that doubles would take twice the memory of a long vocabulary.
    let names = tensors.iter().map(|tensor| tensor.name.len().saturating_add(MOST_OF_A_TENSOR));
    let metadata = expected_length(own_entries(context));
    let mut out = Vec::with_capacity(names.fold(metadata, usize::saturating_add));
    out.extend(MAGIC);
    out.extend(3u32.to_le_bytes());
    out.extend((tensors.len() as u64).to_le_bytes());
    let (own, split) = (own_entries(context), split_entries(context)?);
    out.extend((own.len().saturating_add(split.len()) as u64).to_le_bytes());
    for (key, entry) in own.iter().chain(&split) {
        text(&mut out, key);
        match entry {
            MetadataValue::Value(single) => value(&mut out, single),
            MetadataValue::Raw(bytes) => {
                out.extend(ValueType::Array.number().to_le_bytes());
                out.extend_from_slice(bytes);
            }
        }
    }
    for (tensor, place) in tensors.iter().zip(places) {
        text(&mut out, tensor.name);
        // Some readers stumble over no dimensions at all, so a scalar has one of one element, as
        // ggml itself writes it.
        let shape = if tensor.shape.is_empty() { &[1] } else { tensor.shape };
        out.extend(u32::try_from(shape.len()).unwrap_or(u32::MAX).to_le_bytes());
        for dim in shape.iter().rev() {
            out.extend(dim.to_le_bytes());
        }
        out.extend(type_number(tensor.stored).unwrap_or_default().to_le_bytes());
        out.extend(place.to_le_bytes());
    }
    Ok(out)
}

/// The model's metadata: all of it is in the first file.
fn own_entries<'a>(context: &FileContext<'a>) -> &'a [(String, MetadataValue)] {
    if context.part.0 == 0 { context.metadata } else { &[] }
}

/// Which part of a split this is; no entries for a single file.
fn split_entries(context: &FileContext<'_>) -> Result<Entries> {
    let (index, count) = context.part;
    if count < 2 {
        return Ok(Vec::new());
    }
    let too_many = |_| Error::limit(format!("{count} shards exceed what GGUF can number"));
    let narrow = |number| u16::try_from(number).map(u64::from).map_err(too_many);
    let tensors = i32::try_from(context.tensors).map_err(too_many)?;
    Ok(vec![
        ("split.no".to_owned(), MetadataValue::Value(Value::Unsigned(16, narrow(index)?))),
        ("split.count".to_owned(), MetadataValue::Value(Value::Unsigned(16, narrow(count)?))),
        ("split.tensors.count".to_owned(), MetadataValue::Value(Value::Signed(32, tensors.into()))),
    ])
}

fn text(out: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    out.extend((text.as_ref().len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_ref());
}

/// The kind a value has in a file; what GGUF has no kind for is written as JSON.
fn kind(value: &Value) -> ValueType {
    match value {
        Value::Bool(_) => ValueType::Bool,
        Value::Unsigned(8, _) => ValueType::U8,
        Value::Unsigned(16, _) => ValueType::U16,
        Value::Unsigned(32, _) => ValueType::U32,
        Value::Unsigned(..) => ValueType::U64,
        Value::Signed(8, _) => ValueType::I8,
        Value::Signed(16, _) => ValueType::I16,
        Value::Signed(32, _) => ValueType::I32,
        Value::Signed(..) => ValueType::I64,
        Value::F32(_) => ValueType::F32,
        Value::F64(_) => ValueType::F64,
        Value::List(values) if is_array(values) => ValueType::Array,
        Value::Packed(values) if !values.is_empty() => ValueType::Array,
        Value::Array(array) if array.len == 0 => ValueType::Array,
        _ => ValueType::String,
    }
}

/// Whether values can be written as one array: at least one, all of one kind, and none an array
/// itself, since ggml has no nested arrays.
fn is_array(values: &[Value]) -> bool {
    let first = values.first().map(kind).filter(|kind| *kind != ValueType::Array);
    first.is_some() && values.iter().all(|value| Some(kind(value)) == first)
}

fn value(out: &mut Vec<u8>, value: &Value) {
    out.extend(kind(value).number().to_le_bytes());
    bare(out, value);
}

/// A value without its kind.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // To the width it was read with.
fn bare(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Bool(truth) => out.push(u8::from(*truth)),
        Value::Unsigned(bits, number) => integer(out, *bits, number.to_le_bytes()),
        Value::Signed(bits, number) => integer(out, *bits, number.to_le_bytes()),
        Value::F32(number) => out.extend(number.to_le_bytes()),
        Value::F64(number) => out.extend(number.to_le_bytes()),
        Value::Text(string) => text(out, string.as_bytes()),
        Value::RawText(bytes) => text(out, bytes),
        Value::List(values) if is_array(values) => {
            let element = values.first().map_or(ValueType::String, kind);
            out.extend(element.number().to_le_bytes());
            out.extend((values.len() as u64).to_le_bytes());
            values.iter().for_each(|value| bare(out, value));
        }
        Value::Packed(values) if !values.is_empty() => packed(out, values),
        Value::Array(array) if array.len == 0 => {
            let element = ValueType::from_name(&array.element).unwrap_or(ValueType::String);
            out.extend(element.number().to_le_bytes());
            out.extend(0u64.to_le_bytes());
        }
        other => text(out, other.to_json().to_string()),
    }
}

fn packed(out: &mut Vec<u8>, values: &Packed) {
    let element = ValueType::from_name(values.element()).unwrap_or(ValueType::String);
    out.extend(element.number().to_le_bytes());
    out.extend((values.len() as u64).to_le_bytes());
    match values {
        Packed::Texts(all) => all.iter().for_each(|one| text(out, one)),
        Packed::U8(all) => out.extend_from_slice(all),
        Packed::I32(all) => all.iter().for_each(|one| out.extend(one.to_le_bytes())),
        Packed::F32(all) => all.iter().for_each(|one| out.extend(one.to_le_bytes())),
    }
}

/// About how many bytes metadata has: the lists that make headers long are counted.
fn expected_length(entries: &[(String, MetadataValue)]) -> usize {
    const OTHERS: usize = size_of::<[u64; 4]>();
    let lengths = |(key, entry): &(String, MetadataValue)| {
        let list = match entry {
            MetadataValue::Raw(bytes) => bytes.len(),
            MetadataValue::Value(Value::Packed(values)) => packed_length(values),
            MetadataValue::Value(Value::Text(text)) => text.len(),
            MetadataValue::Value(_) => 0,
        };
        list.saturating_add(key.len()).saturating_add(OTHERS)
    };
    entries.iter().map(lengths).fold(0, usize::saturating_add)
}

fn packed_length(values: &Packed) -> usize {
    let each = match values {
        Packed::Texts(_) => size_of::<u64>(),
        Packed::U8(_) => size_of::<u8>(),
        Packed::I32(_) | Packed::F32(_) => size_of::<u32>(),
    };
    let texts = match values {
        Packed::Texts(all) => all.bytes(),
        _ => 0,
    };
    values.len().saturating_mul(each).saturating_add(texts)
}

fn integer(out: &mut Vec<u8>, bits: u8, bytes: [u8; 8]) {
    let width = if matches!(bits, 8 | 16 | 32) { usize::from(bits / 8) } else { bytes.len() };
    out.extend_from_slice(bytes.get(..width).unwrap_or_default());
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
