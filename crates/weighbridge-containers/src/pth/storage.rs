//! Storages: what a persistent id in a pickle says, and where the bytes are.
//!
//! ```text
//! ("storage", torch.FloatStorage, key, location, elements[, view])
//! view: None, or (key of the view, offset in elements, elements of the view)
//! ```

use crate::catalog::{Catalog, Run};
use crate::cursor::Endian;
use crate::error::Result;

use super::pickle::{Class, Element, Heap, Id, Node};

/// What a persistent id says about a storage.
#[derive(Clone, Copy, Debug)]
pub(super) struct StorageId<'h> {
    /// The type of its elements; without, bytes.
    pub(super) element: Option<Element>,
    /// Its name in the file.
    pub(super) key: &'h [u8],
    /// Elements, or bytes where there is no element type.
    pub(super) len: u64,
    /// Where a view starts, in elements, and how long it is.
    pub(super) view: Option<(u64, u64)>,
}

impl StorageId<'_> {
    pub(super) fn unit(&self) -> u64 {
        self.element.map_or(1, Element::bytes)
    }

    /// The first byte and the number of bytes that tensors may use.
    pub(super) fn window(&self) -> Option<(u64, u64)> {
        match self.view {
            None => Some((0, self.len.checked_mul(self.unit())?)),
            Some((start, len)) => {
                let end = start.checked_add(len).filter(|&end| end <= self.len)?;
                end.checked_mul(self.unit())?;
                Some((start.checked_mul(self.unit())?, len.checked_mul(self.unit())?))
            }
        }
    }
}

/// Reads a persistent id.
pub(super) fn storage_id<'h>(heap: &'h Heap<'_>, node: Id) -> Option<StorageId<'h>> {
    let Node::Persistent(note) = heap.node(node) else { return None };
    let &[kind, class, key, _location, len, ref rest @ ..] = heap.tuple(note)? else { return None };
    if !heap.is_text(kind, "storage") {
        return None;
    }
    let Class::Storage(element) = heap.class_of(class)?.class else { return None };
    let key = heap.text_bytes(key)?;
    let count = |id| heap.int(id).and_then(|value| u64::try_from(value).ok());
    let view = match rest.first().filter(|&&view| !matches!(heap.node(view), Node::None)) {
        None => None,
        // A view that makes no sense is refused: it would give other bytes than PyTorch does.
        Some(&view) => match *heap.tuple(view)? {
            [_, offset, len] => Some((count(offset)?, count(len)?)),
            _ => return None,
        },
    };
    Some(StorageId { element, key, len: count(len)?, view })
}

/// Where a storage is.
#[derive(Clone, Debug)]
pub(super) struct Located {
    /// Where its first byte is.
    pub(super) run: Run,
    /// How many bytes there are.
    pub(super) available: u64,
}

/// Why a storage is nowhere: a stable word and the reason.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub(super) kind: &'static str,
    pub(super) reason: String,
}

/// Finds storages in a file.
pub(super) trait Store {
    /// Where the storage of that key is; compressed members are added to the catalog.
    fn locate(&mut self, key: &[u8], catalog: &mut Catalog) -> Result<Result<Located, Missing>>;

    /// The order of the bytes of a number; `None` if the file says something that is neither.
    fn byte_order(&self) -> Option<Endian> {
        Some(Endian::Little)
    }

    /// Where in the file the pickle's own bytes are, if they are there as such.
    fn pickle_offset(&self) -> Option<u64>;
}
