//! Calls that make tensors, read as descriptions of them.

use crate::advanced;
use crate::catalog::{Place, Run, Shape, Swap};
use crate::cursor::Endian;
use crate::dtype::StoredType;
use crate::error::Result;
use crate::strides::extent;

use super::draft::Draft;
use super::geometry::sizes;
use super::pickle::{Class, Element, Id, Node, Rebuild};
use super::reader::Reader;
use super::storage::{StorageId, storage_id};

/// Calls inside calls: a parameter of a subclass of a tensor is three deep.
const MAX_NESTING: usize = 16;

/// Keys and values that say how a tensor's bytes are meant; PyTorch knows two keys.
const MAX_FLAGS: usize = 32;

/// What a sparse tensor is made of at most.
const MAX_PARTS: usize = 8;

impl Reader<'_, '_> {
    /// The tensor that a node stands for, if it does.
    pub(super) fn tensor(&mut self, id: Id) -> Result<Option<Draft>> {
        let mut inner = None;
        let mut at = id;
        let Some((mut class, mut args)) = self.call(at) else { return Ok(None) };
        for _ in 0..MAX_NESTING {
            let Class::Rebuild(kind) = class else {
                return match class {
                    Class::Array | Class::ArrayOverBuffer => self.array(at),
                    _ => Ok(None),
                };
            };
            let list = self.heap.tuple(args).unwrap_or_default();
            match (kind, list) {
                (Rebuild::First, &[first, ..]) => {
                    let Some(next) = self.call(first) else { return Ok(None) };
                    at = first;
                    (class, args) = next;
                }
                (Rebuild::FromType, &[function, _, arguments, ref state @ ..]) => {
                    let Some(function) = self.heap.class_of(function) else { return Ok(None) };
                    inner = state.first().copied();
                    (class, args) = (function.class, arguments);
                }
                _ => return self.rebuild(kind, args, inner, at).map(Some),
            }
        }
        Ok(None)
    }

    /// What an object's class means, and its arguments.
    fn call(&self, id: Id) -> Option<(Class, Id)> {
        let object = self.heap.object(id)?;
        Some((self.heap.class(object.class)?, object.args))
    }

    fn rebuild(&mut self, kind: Rebuild, args: Id, inner: Option<Id>, at: Id) -> Result<Draft> {
        let heap = self.heap;
        let list = heap.tuple(args).unwrap_or_default();
        match (kind, list) {
            (Rebuild::Dense, &[storage, offset, size, strides, ref rest @ ..]) => {
                let flags = rest.get(2).copied();
                self.dense([storage, offset, size, strides], None, flags)
            }
            (
                Rebuild::DenseTyped,
                &[storage, offset, size, strides, _, _, dtype, ref rest @ ..],
            ) => {
                let Some(element) = self.dtype(dtype) else {
                    return Ok(self.unknown_type(size, dtype));
                };
                self.dense([storage, offset, size, strides], Some(element), rest.first().copied())
            }
            (Rebuild::Quantized, &[storage, offset, size, strides, ..]) => {
                let mut draft = self.dense([storage, offset, size, strides], None, None)?;
                draft.refused.get_or_insert_with(|| {
                    "a quantized tensor, which is not supported: its values need a scale and \
                         a zero point"
                        .into()
                });
                Ok(draft)
            }
            (Rebuild::FromArray, &[array, dtype, ..]) => self.tensor_of_array(array, dtype),
            (Rebuild::Sparse, &[layout, parts]) => self.sparse(layout, parts),
            (Rebuild::Meta, &[dtype, size, ..]) => {
                Ok(self.without_data(dtype, size, "a tensor on the meta device has no values"))
            }
            (Rebuild::Wrapper, &[_, dtype, size, ..]) => {
                let why = "a wrapper around other tensors, which are listed below it";
                let inner = inner.or(heap.object(at).and_then(|object| object.state));
                Ok(Draft { inner, ..self.without_data(dtype, size, why) })
            }
            (Rebuild::Nested, &[buffer, ..]) => {
                let why = "a nested tensor: its rows differ in length";
                Ok(Draft::refused(Shape::new(), stored_as(self.element_of(buffer)), why))
            }
            (Rebuild::Uninitialized, _) => {
                let why = "an uninitialized parameter";
                Ok(Draft::refused(Shape::new(), stored_as(None), why))
            }
            _ => Ok(malformed()),
        }
    }

    /// A view of a storage: [storage, offset, size, strides].
    fn dense(&mut self, args: [Id; 4], dtype: Option<Element>, flags: Option<Id>) -> Result<Draft> {
        let heap = self.heap;
        let [storage, offset, size, strides] = args;
        let parts = (
            storage_id(heap, storage),
            heap.int(offset).and_then(|value| u64::try_from(value).ok()),
            sizes(heap, size),
            sizes(heap, strides),
        );
        let (Some(storage), Some(offset), Some(shape), Some(strides)) = parts else {
            let shape = sizes(heap, size).unwrap_or_default();
            let why = "invalid storage, offset, size or strides";
            return Ok(Draft::faulty(shape, stored_as(dtype), "malformed-tensor", why));
        };
        // A storage without a type holds bytes.
        let element = dtype.or(storage.element).or(Element::of_dtype("uint8"));
        let Some(element) = element else { return Ok(self.unknown_type(size, args[0])) };
        let mut draft = self.view(&storage, element, offset, shape, &strides)?;
        if draft.refused.is_none() {
            draft.refused = type_refusal(element);
            self.apply_flags(flags, &mut draft);
        }
        Ok(draft)
    }

    /// Lays a view over a storage, within its bounds.
    pub(super) fn view(
        &mut self,
        storage: &StorageId<'_>,
        element: Element,
        offset: u64,
        shape: Shape,
        strides: &[u64],
    ) -> Result<Draft> {
        let unit = element.bytes();
        let stored = element.stored();
        let measured = extent(&shape, strides)
            .and_then(|extent| Some((extent.elements.checked_mul(unit)?, extent)));
        let Some((bytes, extent)) = measured else {
            let why = format!("shape {:?} with strides {strides:?} is too large", &shape[..]);
            return Ok(Draft::faulty(shape, stored, "out-of-bounds", why));
        };
        if extent.elements == 0 {
            return Ok(Draft::readable(shape, stored, 0, Place::nowhere()));
        }
        let first = offset.checked_mul(unit);
        let end = first.and_then(|first| first.checked_add(extent.span.checked_mul(unit)?));
        let window = storage.window();
        let (Some(first), Some(end), Some((start, size))) = (first, end, window) else {
            let why = "offset and strides reach outside the storage";
            return Ok(Draft { bytes, ..Draft::faulty(shape, stored, "out-of-bounds", why) });
        };
        if end > size {
            let why = format!(
                "the last element ends at byte {end}, but the storage has {size} bytes (key \
                     `{}`)",
                crate::text::shortened(&String::from_utf8_lossy(storage.key), 40)
            );
            return Ok(Draft { bytes, ..Draft::faulty(shape, stored, "out-of-bounds", why) });
        }
        let located = match self.store.locate(storage.key, &mut self.catalog)? {
            Ok(located) => located,
            Err(missing) => {
                let draft = Draft::faulty(shape, stored, missing.kind, missing.reason);
                return Ok(Draft { bytes, ..draft });
            }
        };
        let needed = start.saturating_add(end);
        if needed > located.available {
            let why = format!(
                "the storage needs {needed} bytes, but the file has only {} of them",
                located.available
            );
            return Ok(Draft { bytes, ..Draft::faulty(shape, stored, "truncated", why) });
        }
        let run = advanced(located.run, start.saturating_add(first)).unwrap_or(Run::Nowhere);
        let width = element.plain().map_or(1, crate::dtype::DType::swap_width);
        let swap = match self.store.byte_order() {
            _ if width <= 1 => Swap::None,
            Some(Endian::Little) => Swap::None,
            Some(Endian::Big) => Swap::Elements(width),
            None => {
                let why = "the file does not state its byte order";
                return Ok(Draft { bytes, ..Draft::refused(shape, stored, why) });
            }
        };
        let place = Place { run, order: extent.order, swap };
        Ok(Draft::readable(shape, stored, bytes, place))
    }

    /// `conj` and `neg` mark tensors whose stored values are not yet the ones they stand for.
    fn apply_flags(&self, flags: Option<Id>, draft: &mut Draft) {
        let Some(flags) = flags else { return };
        if let Node::Dict(seq) = self.heap.node(flags)
            && self.heap.items(seq).nth(MAX_FLAGS).is_some()
        {
            draft.refused = Some("the tensor flags do not match what PyTorch writes".into());
            return;
        }
        let set = |key| {
            let value = self.heap.lookup(flags, key);
            value.is_some_and(|value| matches!(self.heap.node(value), Node::Bool(true)))
        };
        let (conj, neg) = (set("conj"), set("neg"));
        let Some(dtype) = draft.stored.element().filter(|_| conj || neg) else { return };
        let width = dtype.swap_width();
        let is_complex = dtype.bits() > u32::from(width).saturating_mul(8);
        let is_number = is_complex || dtype.is_float();
        match (conj && is_complex, neg && is_number, draft.place.swap) {
            (false, false, _) if !neg => {}
            (true, false, Swap::None) => draft.place.swap = Swap::Signs { width, imaginary: true },
            (false, true, Swap::None) => draft.place.swap = Swap::Signs { width, imaginary: false },
            _ => {
                draft.refused = Some("the tensor is stored negated, which is not supported".into());
            }
        }
    }

    fn unknown_type(&self, size: Id, dtype: Id) -> Draft {
        let shape = sizes(self.heap, size).unwrap_or_default();
        let name = match self.heap.class_of(dtype) {
            Some(global) => self.heap.text(global.name).into_owned(),
            None => "UNKNOWN".to_owned(),
        };
        let why = format!("unsupported dtype `{}`", crate::text::shortened(&name, 80));
        Draft::refused(shape, StoredType::opaque(name), why)
    }

    fn without_data(&self, dtype: Id, size: Id, why: &'static str) -> Draft {
        let Some(element) = self.dtype(dtype) else { return self.unknown_type(size, dtype) };
        let shape = sizes(self.heap, size).unwrap_or_default();
        Draft::refused(shape, element.stored(), why)
    }

    /// The element type that a node names.
    fn dtype(&self, id: Id) -> Option<Element> {
        match self.heap.class(id)? {
            Class::Dtype(element) => Some(element),
            _ => None,
        }
    }

    /// (indices, values, size, ..) or (outer indices, inner indices, values, size, ..).
    fn sparse(&mut self, layout: Id, parts: Id) -> Result<Draft> {
        let heap = self.heap;
        let parts = heap.tuple(parts).unwrap_or_default();
        let size = parts.iter().take(MAX_PARTS).position(|&part| sizes(heap, part).is_some());
        let shape = size.and_then(|at| sizes(heap, *parts.get(at)?)).unwrap_or_default();
        let values = size.and_then(|at| parts.get(at.checked_sub(1)?)).copied();
        let stored = stored_as(values.and_then(|values| self.element_of(values)));
        let kind = heap.object(layout).and_then(|object| heap.tuple(object.args)?.first());
        let kind = kind.and_then(|&name| heap.text_of(name));
        let kind = kind.map_or_else(|| "sparse".into(), |kind| crate::text::shortened(&kind, 40));
        let why = format!("sparse tensors ({kind}) are not supported, only dense ones");
        Ok(Draft::refused(shape, stored, why))
    }

    /// The element type of a dense tensor inside another.
    fn element_of(&self, id: Id) -> Option<Element> {
        let list = self.heap.tuple(self.call(id)?.1)?;
        let typed = list.get(6).and_then(|&dtype| self.dtype(dtype));
        typed.or_else(|| storage_id(self.heap, *list.first()?)?.element)
    }

    /// A tensor of another device, carried as a numpy array.
    fn tensor_of_array(&mut self, array: Id, dtype: Id) -> Result<Draft> {
        let wanted = self.dtype(dtype);
        let Some(mut draft) = self.array(array)? else {
            let why = "the source array cannot be read";
            return Ok(Draft::faulty(Shape::new(), stored_as(wanted), "malformed-tensor", why));
        };
        draft.is_array = false;
        if let Some(wanted) = wanted
            && wanted.stored() != draft.stored
        {
            let why = format!(
                "stored as {}, converted to {} on load; this is not supported",
                draft.stored.name(),
                wanted.name()
            );
            draft.refused.get_or_insert(why.into());
            draft.stored = wanted.stored();
        }
        Ok(draft)
    }
}

/// A tensor of which only the name is known.
pub(super) fn malformed() -> Draft {
    let why = "the tensor description does not match what PyTorch writes";
    Draft::faulty(Shape::new(), stored_as(None), "malformed-tensor", why)
}

fn stored_as(element: Option<Element>) -> StoredType {
    element.map_or_else(|| StoredType::opaque("UNKNOWN"), Element::stored)
}

fn type_refusal(element: Element) -> Option<Box<str>> {
    let why = || format!("values of type torch.{} are not supported", element.name()).into();
    element.plain().is_none().then(why)
}
