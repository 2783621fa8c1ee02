//! A tensor on its way into the catalog.

use crate::catalog::{Place, Shape};
use crate::dtype::StoredType;

use super::pickle::Id;

/// What is known about a tensor before it has a name.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) shape: Shape,
    pub(super) stored: StoredType,
    pub(super) bytes: u64,
    pub(super) place: Place,
    pub(super) refused: Option<Box<str>>,
    /// A stable word for what is wrong; the message is the refusal.
    pub(super) problem: Option<&'static str>,
    /// An array of numpy's, not a tensor of torch's.
    pub(super) is_array: bool,
    /// State that holds the actual data in further tensors.
    pub(super) inner: Option<Id>,
}

impl Draft {
    /// A tensor that is listed but cannot be read, for this reason.
    pub(super) fn refused(shape: Shape, stored: StoredType, reason: impl Into<Box<str>>) -> Self {
        Self {
            shape,
            stored,
            bytes: 0,
            place: Place::nowhere(),
            refused: Some(reason.into()),
            problem: None,
            is_array: false,
            inner: None,
        }
    }

    /// A tensor whose bytes are all there.
    pub(super) fn readable(shape: Shape, stored: StoredType, bytes: u64, place: Place) -> Self {
        Self { bytes, place, refused: None, ..Self::refused(shape, stored, "") }
    }

    /// A tensor that cannot be read because the file is at fault.
    pub(super) fn faulty(
        shape: Shape,
        stored: StoredType,
        kind: &'static str,
        reason: impl Into<Box<str>>,
    ) -> Self {
        Self { problem: Some(kind), ..Self::refused(shape, stored, reason) }
    }
}
