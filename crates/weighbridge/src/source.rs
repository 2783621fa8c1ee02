//! One opened container: its bytes and its catalog, and the way from the one to the other.
//!
//! Every tensor is handed out as a *row-major, little-endian image*, outermost dimension first,
//! whatever the file does. Where the file's bytes already are that image and can be lent, they
//! are lent; otherwise they are gathered into the caller's scratch buffer.

use std::sync::{Mutex, PoisonError};

use crate::catalog::{ArrayRef, Catalog, Order, Run, Swap, TensorInfo, Value};
use crate::containers::Container;
use crate::error::{Error, Result};
use crate::inflate::Inflater;
use crate::input::Input;
use crate::limits::Limits;

/// Equally long, equally spaced pieces of one tensor's image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slab {
    /// Which part of the weight.
    pub part: usize,
    /// Where the first piece starts in the image.
    pub offset: u64,
    /// Length of a piece.
    pub row_bytes: u64,
    /// How many pieces.
    pub count: u64,
    /// From the start of one piece to the start of the next.
    pub stride: u64,
}

impl Slab {
    /// One piece.
    #[must_use]
    pub fn whole(part: usize, offset: u64, bytes: u64) -> Self {
        Self { part, offset, row_bytes: bytes, count: 1, stride: bytes }
    }
}

/// The bytes of a slab, ready to be read.
#[derive(Clone, Copy, Debug)]
pub struct Staged<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
    stride: usize,
}

impl<'a> Staged<'a> {
    /// Bytes that need no staging, for tests of recipes.
    #[cfg(test)]
    pub(crate) fn over(bytes: &'a [u8]) -> Self {
        Self { bytes, row_bytes: bytes.len(), stride: bytes.len() }
    }

    /// Pieces that lie one behind the other, for tests of recipes.
    #[cfg(test)]
    pub(crate) fn of_rows(bytes: &'a [u8], row_bytes: usize) -> Self {
        Self { bytes, row_bytes, stride: row_bytes }
    }

    /// Piece `index`; empty if there is no such piece.
    #[must_use]
    pub fn row(&self, index: usize) -> &'a [u8] {
        let start = index.saturating_mul(self.stride);
        self.bytes.get(start..start.saturating_add(self.row_bytes)).unwrap_or_default()
    }

    /// Everything, for a slab of one piece.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// Whether tensors can be read in any order at the same cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Any part, any time.
    Random,
    /// Front to back; going back starts over.
    Sequential,
}

/// One opened container.
pub struct Source {
    input: Input,
    catalog: Catalog,
    container: &'static dyn Container,
    limits: Limits,
    inflater: Mutex<Option<Inflater>>,
}

impl Source {
    /// Binds a catalog to the input it was read from.
    #[must_use]
    pub fn new(
        input: Input,
        catalog: Catalog,
        container: &'static dyn Container,
        limits: Limits,
    ) -> Self {
        Self { input, catalog, container, limits, inflater: Mutex::new(None) }
    }

    /// Where the bytes come from.
    #[must_use]
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// What the header says.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The format.
    #[must_use]
    pub fn container(&self) -> &'static dyn Container {
        self.container
    }

    /// What reading may cost.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The file's length; for a stream that was not read to its end, what its header says.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.input.len().or(self.catalog.declared_len).unwrap_or(0)
    }

    /// How a tensor can be read.
    #[must_use]
    pub fn access(&self, tensor: &TensorInfo) -> Access {
        match tensor.place.run {
            Run::Inside { .. } => Access::Sequential,
            _ => Access::Random,
        }
    }

    /// The elements of a metadata array that was left in the file.
    pub fn array(&self, array: &ArrayRef) -> Result<Vec<Value>> {
        self.container
            .array(&self.input, &self.catalog, array, &self.limits)
            .map_err(|e| e.in_file(self.input.name()))
    }

    /// The same as a file of this format has it; nothing where a new one would have it otherwise.
    pub fn raw_array(&self, array: &ArrayRef) -> Result<Option<Vec<u8>>> {
        self.container
            .raw_array(&self.input, array, &self.limits)
            .map_err(|e| e.in_file(self.input.name()))
    }

    /// The image of a tensor, where the file's own bytes can be lent as such.
    #[must_use]
    pub fn image(&self, tensor: &TensorInfo) -> Option<&[u8]> {
        self.check_readable(tensor).ok()?;
        if tensor.bytes == 0 {
            return Some(&[]);
        }
        let start = usize::try_from(tensor.file_offset()?).ok()?;
        let len = usize::try_from(tensor.bytes).ok()?;
        self.input.lent()?.get(start..start.checked_add(len)?)
    }

    /// The bytes of a slab of a tensor's image: lent where possible, otherwise in `scratch`.
    pub fn fetch<'a>(
        &'a self,
        tensor: &TensorInfo,
        slab: &Slab,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Staged<'a>> {
        self.fetch_inner(tensor, slab, scratch)
            .map_err(|e| e.in_tensor(&tensor.name).in_file(self.input.name()))
    }

    fn fetch_inner<'a>(
        &'a self,
        tensor: &TensorInfo,
        slab: &Slab,
        scratch: &'a mut Vec<u8>,
    ) -> Result<Staged<'a>> {
        self.check_readable(tensor)?;
        let span = span_of(slab)
            .filter(|span| slab.offset.checked_add(*span).is_some_and(|end| end <= tensor.bytes));
        let Some(span) = span else {
            return Err(Error::usage(format!("{slab:?} lies outside its {} bytes", tensor.bytes)));
        };
        let row_bytes = to_usize(slab.row_bytes)?;
        if span == 0 {
            // Nothing is wanted, so it does not matter where it would be.
            return Ok(Staged { bytes: &[], row_bytes, stride: to_usize(slab.stride)? });
        }
        if let (Some(base), Some(all)) = (tensor.file_offset(), self.input.lent()) {
            let start = to_usize(base.saturating_add(slab.offset))?;
            let end = start.saturating_add(to_usize(span)?);
            let bytes = all.get(start..end).ok_or_else(|| self.missing(tensor))?;
            return Ok(Staged { bytes, row_bytes, stride: to_usize(slab.stride)? });
        }
        let total = to_usize(slab.row_bytes.saturating_mul(slab.count))?;
        let more = total.saturating_sub(scratch.len());
        if scratch.try_reserve_exact(more).is_err() {
            return Err(Error::limit(format!("there is no memory for {total} bytes of it")));
        }
        scratch.resize(total, 0);
        if slab.stride == slab.row_bytes {
            self.read_image(tensor, slab.offset, scratch)?;
        } else if row_bytes > 0 {
            for (row, out) in (0..slab.count).zip(scratch.chunks_exact_mut(row_bytes)) {
                self.read_image(tensor, slab.offset + row * slab.stride, out)?;
            }
        }
        Ok(Staged { bytes: scratch, row_bytes, stride: row_bytes })
    }

    /// An error for a tensor that is not to be read.
    pub(crate) fn check_readable(&self, tensor: &TensorInfo) -> Result<()> {
        if let Some(reason) = &self.catalog.unsafe_to_read {
            return Err(Error::unsupported(reason.clone()).in_file(self.input.name()));
        }
        match &tensor.refused {
            Some(reason) => Err(Error::unsupported(reason.to_string()).in_tensor(&tensor.name)),
            None => Ok(()),
        }
    }

    fn missing(&self, tensor: &TensorInfo) -> Error {
        Error::malformed(format!(
            "its {} bytes are not all in the file, which has {}",
            tensor.bytes,
            self.file_bytes()
        ))
        .hint("the file was cut short; fetch it again")
    }

    /// Copies a stretch of a tensor's image.
    fn read_image(&self, tensor: &TensorInfo, offset: u64, out: &mut [u8]) -> Result<()> {
        let unit = unit_bytes(tensor);
        let start = offset / unit * unit;
        let end = (offset + out.len() as u64).div_ceil(unit) * unit;
        if start == offset && end == offset + out.len() as u64 {
            return self.read_units(tensor, start, out);
        }
        let mut units = vec![0; to_usize(end - start)?];
        self.read_units(tensor, start, &mut units)?;
        let skip = to_usize(offset - start)?;
        out.copy_from_slice(&units[skip..skip + out.len()]);
        Ok(())
    }

    /// Copies whole elements or blocks and turns them into image form.
    fn read_units(&self, tensor: &TensorInfo, offset: u64, out: &mut [u8]) -> Result<()> {
        match &tensor.place.order {
            Order::RowMajor => self.read_raw(tensor, offset, out)?,
            Order::Strided(strides) => self.gather(tensor, strides, offset, out)?,
        }
        match tensor.place.swap {
            Swap::None => {}
            Swap::Elements(width) => {
                out.chunks_exact_mut(usize::from(width)).for_each(<[u8]>::reverse);
            }
            Swap::Signs { width, imaginary } => {
                let step = usize::from(width).max(1) << u8::from(imaginary);
                for number in out.chunks_exact_mut(step) {
                    number[step - 1] ^= 0x80;
                }
            }
            Swap::Blocks(block) => {
                for bytes in out.chunks_exact_mut(block.bytes as usize) {
                    for &(at, width, count) in block.words {
                        let end = usize::from(at) + usize::from(width) * usize::from(count);
                        bytes[usize::from(at)..end]
                            .chunks_exact_mut(usize::from(width))
                            .for_each(<[u8]>::reverse);
                    }
                }
            }
        }
        Ok(())
    }

    /// Copies elements that are not in row-major order.
    ///
    /// The stored stretch that the wanted elements span is staged whole: reading elements one
    /// by one would cost a system call each.
    fn gather(
        &self,
        tensor: &TensorInfo,
        strides: &[u64],
        offset: u64,
        out: &mut [u8],
    ) -> Result<()> {
        let unit = to_usize(unit_bytes(tensor))?;
        let first = offset / unit as u64;
        let wanted = (out.len() / unit) as u64;
        if wanted == 0 {
            return Ok(());
        }
        let rows = row_range(&tensor.shape, first, wanted);
        let (low, high) = stored_range(&tensor.shape, strides, &rows);
        let span = (high - low + 1).saturating_mul(unit as u64);
        let mut staged = Vec::new();
        let stored: &[u8] = match (tensor.place.run, self.input.lent()) {
            (Run::At(base), Some(all)) => {
                let start = to_usize(base.saturating_add(low.saturating_mul(unit as u64)))?;
                all.get(start..start.saturating_add(to_usize(span)?))
                    .ok_or_else(|| self.missing(tensor))?
            }
            _ => {
                if span > self.limits.max_allocation {
                    return Err(Error::limit(format!(
                        "its elements are spread over {span} bytes, the limit for one buffer is {}",
                        self.limits.max_allocation
                    ))
                    .hint("raise max_allocation (--max-allocation), or let the file be mapped"));
                }
                staged.resize(to_usize(span)?, 0);
                self.read_raw(tensor, low * unit as u64, &mut staged)?;
                &staged
            }
        };
        copy_strided(&tensor.shape, strides, first, low, unit, stored, out)
            .ok_or_else(|| Error::malformed("its strides lead outside its storage"))
    }

    /// Copies bytes as they are stored, `offset` counted from the tensor's first byte.
    fn read_raw(&self, tensor: &TensorInfo, offset: u64, out: &mut [u8]) -> Result<()> {
        match tensor.place.run {
            _ if out.is_empty() => Ok(()),
            Run::At(base) => {
                let at = base.checked_add(offset).ok_or_else(|| self.missing(tensor))?;
                let end = at.checked_add(out.len() as u64);
                if self.input.len().is_some_and(|len| end.is_none_or(|end| end > len)) {
                    return Err(self.missing(tensor));
                }
                self.input.read_at(at, out)
            }
            Run::Inside { member, offset: base } => {
                let Some(member) = self.catalog.members.get(member as usize) else {
                    return Err(Error::malformed("its archive member does not exist"));
                };
                let mut slot = self.inflater.lock().unwrap_or_else(PoisonError::into_inner);
                let inflater = match &mut *slot {
                    Some(inflater) if inflater.is_for(member) => inflater,
                    other => other.insert(Inflater::new(member)),
                };
                inflater.read_at(&self.input, base.saturating_add(offset), out)
            }
            Run::Held { index, offset: base } => {
                let held = self.catalog.held.get(index as usize);
                let start = usize::try_from(base.saturating_add(offset)).ok();
                let bytes = held.and_then(|all| all.get(start?..start?.checked_add(out.len())?));
                out.copy_from_slice(bytes.ok_or_else(|| self.missing(tensor))?);
                Ok(())
            }
            Run::Nowhere => Err(Error::unsupported("the file holds no data for it")),
        }
    }
}

fn to_usize(value: u64) -> Result<usize> {
    usize::try_from(value).map_err(|_| Error::limit("more bytes than this machine can address"))
}

fn span_of(slab: &Slab) -> Option<u64> {
    match slab.count {
        0 => Some(0),
        count => (count - 1).checked_mul(slab.stride)?.checked_add(slab.row_bytes),
    }
}

/// Bytes that can only be read together: an element when elements are moved, a block or a swap
/// width when bytes are.
fn unit_bytes(tensor: &TensorInfo) -> u64 {
    let element = || match &tensor.stored {
        crate::dtype::StoredType::Element(dtype) => u64::from(dtype.bits() / 8).max(1),
        _ => 1,
    };
    match (&tensor.place.order, tensor.place.swap) {
        (Order::Strided(_), _) => element(),
        (_, Swap::Blocks(block)) => block.bytes.into(),
        (_, Swap::Elements(width)) => u64::from(width).max(1),
        (_, Swap::Signs { width, imaginary }) => u64::from(width).max(1) << u8::from(imaginary),
        (_, Swap::None) => 1,
    }
}

/// The outermost indexes that `wanted` elements from `first` on touch.
fn row_range(shape: &[u64], first: u64, wanted: u64) -> std::ops::Range<u64> {
    let row: u64 = shape.get(1..).unwrap_or_default().iter().product::<u64>().max(1);
    first / row..(first + wanted).div_ceil(row)
}

/// The lowest and highest stored element of some outermost indexes.
fn stored_range(shape: &[u64], strides: &[u64], rows: &std::ops::Range<u64>) -> (u64, u64) {
    let inner: u64 = shape
        .iter()
        .zip(strides)
        .skip(1)
        .map(|(&dim, &stride)| dim.saturating_sub(1).saturating_mul(stride))
        .fold(0, u64::saturating_add);
    let outer = strides.first().copied().unwrap_or(0);
    let low = rows.start.saturating_mul(outer);
    let high = rows.end.saturating_sub(1).saturating_mul(outer).saturating_add(inner);
    (low, high)
}

/// Copies row-major elements `first..` out of `stored`, whose first element is number `low`.
fn copy_strided(
    shape: &[u64],
    strides: &[u64],
    first: u64,
    low: u64,
    unit: usize,
    stored: &[u8],
    out: &mut [u8],
) -> Option<()> {
    let mut index: crate::catalog::Shape = shape.iter().map(|_| 0).collect();
    let mut rest = first;
    for (slot, &dim) in index.iter_mut().zip(shape).rev() {
        *slot = rest % dim.max(1);
        rest /= dim.max(1);
    }
    let start = index.iter().zip(strides).map(|(i, s)| i.wrapping_mul(*s));
    let mut at = start.fold(0u64, u64::wrapping_add);
    for element in out.chunks_exact_mut(unit) {
        let from = usize::try_from(at.checked_sub(low)?).ok()?.checked_mul(unit)?;
        element.copy_from_slice(stored.get(from..from.checked_add(unit)?)?);
        for d in (0..shape.len()).rev() {
            index[d] += 1;
            at = at.wrapping_add(strides[d]);
            if index[d] < shape[d] {
                break;
            }
            at = at.wrapping_sub(strides[d].wrapping_mul(shape[d]));
            index[d] = 0;
        }
    }
    Some(())
}
