//! From a header to a tensor: how long, in which order, and whether it fits where it is.

use crate::catalog::{
    Catalog, Finding, LISTED, Order, Place, Run, SummedMember, Swap, TensorInfo, element_count,
};
use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::strides::measured;

use super::header::Header;

/// Where the bytes behind a header are.
pub(super) struct Storage {
    /// Where the header itself starts.
    pub(super) run: Run,
    /// Bytes behind the header, where that is known.
    pub(super) bytes: Option<u64>,
}

/// What one listed array costs beside its name.
const RECORD: u64 = LISTED.saturating_add(size_of::<SummedMember>() as u64);

/// The tensor a header describes.
pub(super) fn tensor(name: &str, header: &Header, storage: &Storage) -> Result<TensorInfo> {
    let too_large = || Error::malformed(format!("shape {:?} is too large", &header.shape[..]));
    let elements = element_count(&header.shape).ok_or_else(too_large)?;
    let bytes = match header.kind.bytes {
        Some(width) => elements.checked_mul(width).ok_or_else(too_large)?,
        // A pickle or records: whatever is there.
        None => storage.bytes.unwrap_or(0),
    };
    let width = header.kind.stored.element().map_or(1, crate::dtype::DType::swap_width);
    let place = Place {
        run: crate::advanced(storage.run, header.len).ok_or_else(too_large)?,
        order: if header.fortran && elements > 0 {
            measured(&header.shape, true).ok_or_else(too_large)?.1
        } else {
            Order::RowMajor
        },
        swap: if header.kind.big_endian && width > 1 { Swap::Elements(width) } else { Swap::None },
    };
    Ok(TensorInfo {
        name: name.into(),
        shape: header.shape.clone(),
        stored: header.kind.stored.clone(),
        bytes,
        place,
        refused: header.kind.refused.clone(),
    })
}

/// Compares the length of an array with the bytes that are there for it.
pub(super) fn check_length(
    tensor: &TensorInfo,
    header: &Header,
    storage: &Storage,
    catalog: &mut Catalog,
) {
    let (Some(_), Some(have)) = (header.kind.bytes, storage.bytes) else { return };
    let want = tensor.bytes;
    if have > want {
        let message =
            format!("{} extra bytes follow the {want} bytes of data", have.saturating_sub(want));
        catalog.findings.push(Finding::of(&tensor.name, "trailing-bytes", message));
    }
}

/// Adds a tensor to the catalog and charges for it.
pub(super) fn push(catalog: &mut Catalog, tensor: TensorInfo, budget: &Budget) -> Result<()> {
    let cost = RECORD.saturating_add(tensor.name.len() as u64);
    crate::charge_item(budget, cost, "the array list")?;
    catalog.tensors.push(tensor);
    Ok(())
}
