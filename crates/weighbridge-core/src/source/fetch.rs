//! Fetches several slabs at once, so that a source with latency gets one call instead of many.

use smallvec::SmallVec;

use super::row_major::{LONG, swap, unit_bytes};
use super::{Slab, Source, Staged, to_usize};
use crate::catalog::{Order, Run, TensorInfo};
use crate::error::{Error, Result};
use crate::input::ReadRange;

/// A list as long as decoders usually need.
type Few<T> = SmallVec<[T; 8]>;

/// A slab of a tensor.
pub struct Wanted<'a> {
    /// The file that holds the tensor.
    pub source: &'a Source,
    /// The tensor.
    pub tensor: &'a TensorInfo,
    /// What is wanted of it.
    pub slab: &'a Slab,
    /// Where it goes, unless it can be lent.
    pub buffer: &'a mut Vec<u8>,
}

/// Fetches slabs in the order given: lent where possible, the others with one call a file.
pub fn fetch_all<'a, C: FromIterator<Staged<'a>>>(
    wanted: impl Iterator<Item = Result<Wanted<'a>>>,
) -> Result<C> {
    let mut fetches = Few::new();
    for wanted in wanted {
        fetches.push(Fetch::new(wanted?)?);
    }
    read_together(&mut fetches)?;
    fetches.into_iter().map(Fetch::staged).collect()
}

struct Fetch<'a> {
    wanted: Wanted<'a>,
    /// Where its bytes lie in the file, if they only need to be copied from there.
    offset: Option<u64>,
    /// Whether that has been done.
    is_read: bool,
}

impl<'a> Fetch<'a> {
    fn new(wanted: Wanted<'a>) -> Result<Self> {
        let offset = wanted.offset().map_err(|error| wanted.named(error))?;
        Ok(Self { wanted, offset, is_read: false })
    }

    /// Its bytes, read now unless they have been.
    fn staged(self) -> Result<Staged<'a>> {
        let Wanted { source, tensor, slab, buffer } = self.wanted;
        if self.is_read {
            source.fetched(tensor, slab, buffer)
        } else {
            source.fetch(tensor, slab, buffer)
        }
    }
}

impl Wanted<'_> {
    /// Where the bytes of the slab lie, if they only need to be copied from there, piece by piece.
    fn offset(&self) -> Result<Option<u64>> {
        let (tensor, slab, input) = (self.tensor, self.slab, &self.source.input);
        let (Run::At(base), Order::RowMajor) = (tensor.place.run, &tensor.place.order) else {
            return Ok(None);
        };
        if input.lent().is_some() {
            return Ok(None);
        }
        let span = self.source.check_slab(tensor, slab)?;
        let unit = unit_bytes(tensor);
        let is_whole = [slab.offset, slab.row_bytes, slab.stride].iter().all(|at| at % unit == 0);
        // Short pieces are gathered with longer reads, unless the source has latency.
        let is_long = slab.stride == slab.row_bytes || slab.count == 1 || slab.row_bytes >= LONG;
        if span == 0 || !is_whole || !(is_long || input.has_latency()) {
            return Ok(None);
        }
        let offset = base.checked_add(slab.offset);
        let end = offset.and_then(|offset| offset.checked_add(span));
        match end {
            Some(end) if input.len().is_none_or(|len| end <= len) => Ok(offset),
            _ => Err(self.source.missing(tensor)),
        }
    }

    /// The pieces of the slab, in the buffer.
    fn ranges(&mut self, offset: u64) -> Result<impl Iterator<Item = ReadRange<'_>>> {
        self.source.input.will_need_stretch(self.slab.row_bytes.saturating_mul(self.slab.count));
        super::resize(self.buffer, self.slab)?;
        let is_dense = self.slab.stride == self.slab.row_bytes;
        let piece = if is_dense { self.buffer.len() } else { to_usize(self.slab.row_bytes)? };
        let stride = self.slab.stride;
        // The span of the slab lies inside the file, so no offset overflows.
        let range = move |(row, out)| ReadRange { offset: offset + row * stride, out };
        Ok((0..).zip(self.buffer.chunks_mut(piece)).map(range))
    }

    /// Takes account of the pieces in the buffer, before their bytes are swapped.
    fn saw(&self) -> Result<()> {
        let stride = to_usize(self.slab.row_bytes)?;
        self.source.saw_slab(self.tensor, self.slab, self.buffer, stride)
    }

    fn named(&self, error: Error) -> Error {
        self.source.named(self.tensor, error)
    }
}

/// Reads what only needs to be copied, with one call a file.
fn read_together(fetches: &mut [Fetch<'_>]) -> Result<()> {
    let mut done = 0;
    while let Some(first) = fetches[done..].iter().position(|fetch| fetch.offset.is_some()) {
        done += first;
        let input = &fetches[done].wanted.source.input;
        let is_here = |fetch: &Fetch<'_>| {
            std::ptr::eq(&raw const fetch.wanted.source.input, input) && fetch.offset.is_some()
        };
        let mut ranges: Few<ReadRange<'_>> = SmallVec::new();
        for fetch in fetches[done..].iter_mut().filter(|fetch| is_here(fetch)) {
            if let Some(offset) = fetch.offset {
                ranges.extend(fetch.wanted.ranges(offset)?);
            }
        }
        // After a failure each is read again on its own, which tells what is wrong and where.
        let is_read = input.read_ranges(&mut ranges).is_ok();
        drop(ranges);
        for fetch in fetches[done..].iter_mut().filter(|fetch| is_here(fetch)) {
            fetch.offset = None;
            fetch.is_read = is_read;
            if is_read {
                fetch.wanted.saw().map_err(|error| fetch.wanted.named(error))?;
                swap(fetch.wanted.tensor.place.swap, fetch.wanted.buffer);
            }
        }
    }
    Ok(())
}
