//! numpy arrays inside a pickle, and numpy's numbers.
//!
//! ```text
//! _reconstruct(ndarray, (0,), b"b")  with the state  (1, shape, dtype, is_fortran, bytes)
//! dtype("f4", False, True)           with the state  (3, "<", None, None, None, -1, -1, 0)
//! scalar(dtype, bytes)
//! ```
//!
//! Protocol 2 has no bytes: they are spelled `_codecs.encode("text", "latin1")`, each byte a
//! character, and have to be unpacked; otherwise the array is where the pickle is.

use crate::catalog::{Place, Run, Shape, Swap, Value};
use crate::dtype::{DType, StoredType};
use crate::error::Result;

use super::super::npz::dtype_of;
use super::super::strides::measured;
use super::draft::Draft;
use super::geometry::sizes;
use super::pickle::{Class, Id, Node, Object, Span};
use super::reader::Reader;

/// The parts of an array.
struct Parts {
    shape: Id,
    dtype: Id,
    fortran: bool,
    data: Id,
}

/// A numpy dtype.
struct ArrayType {
    stored: StoredType,
    big_endian: bool,
}

impl Reader<'_, '_> {
    /// The array that a node stands for, if it does.
    pub(super) fn array(&mut self, id: Id) -> Result<Option<Draft>> {
        let Some(parts) = self.array_parts(id) else { return Ok(None) };
        let kind = self.array_type(parts.dtype);
        let draft = match (sizes(self.heap, parts.shape), kind.stored.element()) {
            (Some(shape), Some(dtype)) => self.array_data(&parts, shape, dtype, kind.big_endian)?,
            (shape, _) => {
                let name = crate::text::escaped(kind.stored.name());
                let why = format!("arrays of type `{name}` are not supported");
                Draft::refused(shape.unwrap_or_default(), kind.stored, why)
            }
        };
        Ok(Some(Draft { is_array: true, ..draft }))
    }

    fn array_parts(&self, id: Id) -> Option<Parts> {
        let heap = self.heap;
        let object = heap.object(id)?;
        match heap.class(object.class)? {
            Class::Array => {
                let state = heap.tuple(object.state?)?;
                let state = if state.len() == 5 { state.get(1..)? } else { state };
                let &[shape, dtype, fortran, data] = state else { return None };
                Some(Parts { shape, dtype, fortran: heap.int(fortran)? != 0, data })
            }
            Class::ArrayOverBuffer => {
                let &[data, dtype, shape, ref order @ ..] = heap.tuple(object.args)? else {
                    return None;
                };
                let fortran = order.first().is_some_and(|&order| heap.is_text(order, "F"));
                Some(Parts { shape, dtype, fortran, data })
            }
            _ => None,
        }
    }

    fn array_type(&self, id: Id) -> ArrayType {
        let heap = self.heap;
        let unknown = || ArrayType { stored: StoredType::opaque("UNKNOWN"), big_endian: false };
        let is_type = |object: &&Object| heap.class(object.class) == Some(Class::ArrayType);
        let Some(object) = heap.object(id).filter(is_type) else { return unknown() };
        let code = heap.tuple(object.args).and_then(|args| args.first().copied());
        let Some(code) = code.and_then(|code| heap.text_of(code)) else { return unknown() };
        let state = object.state.and_then(|state| heap.tuple(state)).unwrap_or_default();
        let order = state.get(1).and_then(|&order| heap.text_of(order)).unwrap_or("|".into());
        let structured = state.get(3).is_some_and(|&names| !matches!(heap.node(names), Node::None));
        let stored = match dtype_of(&code) {
            Some(dtype) if !structured => dtype.into(),
            _ => StoredType::opaque(crate::text::shortened(&format!("{order}{code}"), 40)),
        };
        ArrayType { stored, big_endian: order == ">" }
    }

    fn array_data(
        &mut self,
        parts: &Parts,
        shape: Shape,
        dtype: DType,
        big_endian: bool,
    ) -> Result<Draft> {
        let stored = StoredType::from(dtype);
        let unit = u64::from(dtype.bits() / 8).max(1);
        let measured = measured(&shape, parts.fortran)
            .and_then(|(elements, order)| Some((elements.checked_mul(unit)?, order)));
        let Some((bytes, order)) = measured else {
            return Ok(Draft::faulty(shape, stored, "out-of-bounds", "the shape is too large"));
        };
        if bytes == 0 {
            return Ok(Draft::readable(shape, stored, 0, Place::nowhere()));
        }
        let Some((run, len)) = self.raw_bytes(parts.data)? else {
            let why = "the bytes are stored in an unsupported form";
            return Ok(Draft { bytes, ..Draft::refused(shape, stored, why) });
        };
        if len != bytes {
            let why = format!("shape and type need {bytes} bytes, but the pickle has {len}");
            return Ok(Draft { bytes, ..Draft::faulty(shape, stored, "malformed-tensor", why) });
        }
        let swap = match dtype.swap_width() {
            width if width > 1 && big_endian => Swap::Elements(width),
            _ => Swap::None,
        };
        Ok(Draft::readable(shape, stored, bytes, Place { run, order, swap }))
    }

    /// Where bytes are, and how many.
    fn raw_bytes(&mut self, id: Id) -> Result<Option<(Run, u64)>> {
        match self.heap.raw_bytes(id) {
            Some((span, true)) => self.unpacked(span),
            Some((span, false)) => self.bytes_in_place(span).map(Some),
            None => Ok(None),
        }
    }

    fn bytes_in_place(&mut self, span: Span) -> Result<(Run, u64)> {
        let heap = self.heap;
        let len = heap.bytes(span).len() as u64;
        match (self.store.pickle_offset(), heap.offset(span)) {
            (Some(base), Some(offset)) => Ok((Run::At(base.saturating_add(offset)), len)),
            _ => self.keep_inline(heap.bytes(span).into()),
        }
    }

    /// Text whose characters are the bytes.
    fn unpacked(&mut self, span: Span) -> Result<Option<(Run, u64)>> {
        let heap = self.heap;
        // The same array may be met many times.
        if let Some(known) = self.unpacked.get(&span) {
            return Ok(Some(*known));
        }
        const WHAT: &str = "a numpy array in a pickle";
        self.budget.charge(32, WHAT)?;
        let found = if heap.bytes(span).is_ascii() {
            self.bytes_in_place(span)?
        } else {
            self.budget.check_allocation(heap.bytes(span).len() as u64, WHAT)?;
            let Some(bytes) = latin1::<Vec<u8>>(heap.bytes(span)) else { return Ok(None) };
            self.keep_inline(bytes.into())?
        };
        self.unpacked.insert(span, found);
        Ok(Some(found))
    }

    /// Puts bytes that the file does not hold as such into the catalog.
    fn keep_inline(&mut self, bytes: Box<[u8]>) -> Result<(Run, u64)> {
        let len = bytes.len() as u64;
        self.budget.charge(len, "a numpy array in a pickle")?;
        let index = u32::try_from(self.catalog.inline_data.len()).unwrap_or(u32::MAX);
        self.catalog.inline_data.push(bytes);
        Ok((Run::Inline { index, offset: 0 }, len))
    }

    /// The value of a numpy number.
    pub(super) fn scalar(&self, args: &[Id]) -> Option<Value> {
        let &[dtype, data] = args else { return None };
        let kind = self.array_type(dtype);
        let mut wide = [0u8; 8];
        let bytes = self.few_bytes(data)?;
        let len = bytes.len();
        let slot = wide.get_mut(..len)?;
        slot.copy_from_slice(&bytes);
        if kind.big_endian {
            slot.reverse();
        }
        let unsigned = u64::from_le_bytes(wide);
        let shift = 64u32.saturating_sub(u32::try_from(len).ok()?.saturating_mul(8));
        #[allow(clippy::cast_possible_wrap, clippy::arithmetic_side_effects)]
        let signed = (unsigned << shift.min(63)) as i64 >> shift.min(63);
        let short = u16::try_from(unsigned).unwrap_or(0);
        Some(match (kind.stored.element()?, len) {
            (DType::F64, 8) => Value::F64(f64::from_bits(unsigned)),
            (DType::F32, 4) => Value::F32(f32::from_bits(u32::try_from(unsigned).ok()?)),
            (DType::F16, 2) => Value::F32(half::f16::from_bits(short).to_f32()),
            (DType::Bool, 1) => Value::Bool(unsigned != 0),
            (DType::I8, 1) | (DType::I16, 2) | (DType::I32, 4) | (DType::I64, 8) => {
                Value::Signed(64, signed)
            }
            (DType::U8, 1) | (DType::U16, 2) | (DType::U32, 4) | (DType::U64, 8) => {
                Value::Unsigned(64, unsigned)
            }
            _ => return None,
        })
    }

    /// At most eight bytes of a number.
    fn few_bytes(&self, id: Id) -> Option<smallvec::SmallVec<[u8; 8]>> {
        let heap = self.heap;
        let (span, is_text) =
            heap.raw_bytes(id).filter(|&(span, _)| heap.bytes(span).len() <= 16)?;
        if !is_text {
            return (heap.bytes(span).len() <= 8).then(|| heap.bytes(span).into());
        }
        latin1(heap.bytes(span))
    }
}

/// The bytes that the characters of a text stand for.
fn latin1<T: FromIterator<u8>>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.chars().map(|c| u8::try_from(c).ok()).collect()
}
