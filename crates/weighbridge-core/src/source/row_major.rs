//! Stored bytes become row-major and little-endian.

use smallvec::smallvec;

use super::gather::{Dimension, FAR, NEAR, Region, gather, regions};
use super::{Slab, Source, to_usize};
use crate::catalog::{Order, Run, Swap, TensorInfo};
use crate::dtype::StoredType;
use crate::error::{Error, Result};
use crate::input::range_of;

/// Pieces of a slab from this length on are read one by one, into their place.
pub(super) const LONG: u64 = 16 << 10;

impl Source {
    /// Copies the pieces of a slab one behind the other. They lie inside the tensor.
    pub(super) fn read_slab(&self, tensor: &TensorInfo, slab: &Slab, out: &mut [u8]) -> Result<()> {
        if slab.stride == slab.row_bytes || slab.count == 1 {
            return self.read_row_major(tensor, slab.offset, out);
        }
        let unit = unit_bytes(tensor);
        let whole = [slab.offset, slab.row_bytes, slab.stride].iter().all(|at| at % unit == 0);
        let short = slab.row_bytes < LONG && tensor.place.order == Order::RowMajor;
        if short && whole && slab.row_bytes > 0 {
            let row_bytes = to_usize(slab.row_bytes)?;
            let rows = Dimension { count: to_usize(slab.count)?, from: slab.stride, to: row_bytes };
            let bytes = Dimension { count: row_bytes, from: 1, to: 1 };
            let last = slab.offset + (slab.count - 1) * slab.stride + slab.row_bytes - 1;
            let region = Region { base: slab.offset, at: 0, last, sides: smallvec![rows, bytes] };
            self.gather(tensor, &region, 1, out)?;
            swap(tensor.place.swap, out);
            return Ok(());
        }
        let rows = out.chunks_exact_mut(to_usize(slab.row_bytes)?.max(1));
        for (row, out) in (0..slab.count).zip(rows) {
            self.read_row_major(tensor, slab.offset + row * slab.stride, out)?;
        }
        Ok(())
    }

    /// Copies a stretch of a tensor's row-major bytes.
    fn read_row_major(&self, tensor: &TensorInfo, offset: u64, out: &mut [u8]) -> Result<()> {
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

    /// Copies whole elements or blocks, and swaps their bytes where the file is big-endian.
    fn read_units(&self, tensor: &TensorInfo, offset: u64, out: &mut [u8]) -> Result<()> {
        match &tensor.place.order {
            Order::RowMajor => self.read_raw(tensor, offset, out)?,
            Order::Strided(strides) => self.read_strided(tensor, strides, offset, out)?,
        }
        swap(tensor.place.swap, out);
        Ok(())
    }

    /// Copies elements that are not in row-major order.
    fn read_strided(
        &self,
        tensor: &TensorInfo,
        strides: &[u64],
        offset: u64,
        out: &mut [u8],
    ) -> Result<()> {
        let outside = || Error::malformed("the strides reach outside the storage");
        let unit = unit_bytes(tensor);
        let wanted = offset / unit..(offset + out.len() as u64) / unit;
        let stored = self.lent_storage(tensor);
        let length = to_usize(unit)?;
        for region in regions(&tensor.shape, strides, &wanted).ok_or_else(outside)? {
            let end = region.last.checked_add(1).and_then(|end| end.checked_mul(unit));
            let end = end.ok_or_else(outside)?;
            match stored {
                Some(stored) => {
                    let stored = stored.get(..to_usize(end)?).ok_or_else(|| self.missing(tensor));
                    region.copy(length, stored?, out);
                }
                None => self.gather(tensor, &region, length, out)?,
            }
        }
        Ok(())
    }

    /// Copies a region out of what is stored.
    fn gather(&self, t: &TensorInfo, region: &Region, unit: usize, out: &mut [u8]) -> Result<()> {
        let reach = if self.input.has_latency() { FAR } else { NEAR };
        gather(reach, region, unit, out, &mut |at, bytes| self.read_raw(t, at, bytes))
    }

    /// What lies from a tensor's first byte on, where it is in memory.
    fn lent_storage(&self, tensor: &TensorInfo) -> Option<&[u8]> {
        match tensor.place.run {
            Run::At(base) => self.input.lent()?.get(usize::try_from(base).ok()?..),
            Run::Inline { index, offset } => {
                self.catalog.inline_data.get(index as usize)?.get(usize::try_from(offset).ok()?..)
            }
            _ => None,
        }
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
                self.input.read_only_at(at, out)?;
                self.sums.saw(&self.catalog, &self.input, at, out)
            }
            Run::Inside { member, offset: base } => {
                let member = (&self.catalog.members[..], member as usize);
                let at = base.saturating_add(offset);
                self.members.read_at(&self.input, member, &self.limits, at, out)
            }
            Run::Inline { index, offset: base } => {
                let inline = self.catalog.inline_data.get(index as usize);
                let at = base.saturating_add(offset);
                let bytes = inline.and_then(|all| range_of(all, at, out.len()));
                out.copy_from_slice(bytes.ok_or_else(|| self.missing(tensor))?);
                Ok(())
            }
            Run::Nowhere => Err(Error::unsupported("the file holds no data for it")),
        }
    }
}

/// Reverses the bytes inside elements or blocks.
pub(super) fn swap(swap: Swap, out: &mut [u8]) {
    match swap {
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
}

/// Bytes that can only be read together: an element when elements are moved, a block or a swap
/// width when bytes are.
pub(super) fn unit_bytes(tensor: &TensorInfo) -> u64 {
    let element = || match &tensor.stored {
        StoredType::Element(dtype) => u64::from(dtype.bits() / 8).max(1),
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
