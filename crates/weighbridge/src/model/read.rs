//! Reading with a type that is chosen at run time, into bytes of the caller.

use std::ops::Range;
use std::thread;

use half::{bf16, f16};

use super::side_by_side::side_by_side;
use super::weight::check_inside;
use super::{Scratch, Weight};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::number::Element;
use crate::schemes::Entry;
use crate::simd;
use crate::source::Slab;

/// Bytes of output that are worth starting a thread for.
const WORTH_A_THREAD: usize = 4 << 20;

/// Bytes of output that a thread makes at once, so that its input buffers stay small.
const STEP: u64 = 1 << 20;

/// Makes some rows, into the slice that holds them.
type MakeRows<'a, T> = &'a mut dyn FnMut(Range<u64>, &mut [T]) -> Result<()>;

/// Makes some rows, into a slice that holds exactly those.
type Make<'a, T> = &'a (dyn Fn(Range<u64>, &mut [T]) -> Result<()> + Sync);

impl Weight {
    /// Reads all of it as `dtype` into `out`, in row-major order and little-endian, on several
    /// threads where it is large.
    ///
    /// Every weight that can be decoded can be read as `F32`, `BF16` or `F16`; a plain one, be it
    /// of integers, booleans or complex numbers, also as the type it is stored in. `out` need not
    /// be aligned.
    pub fn read_into(&self, dtype: DType, out: &mut [u8]) -> Result<()> {
        self.read_rows_into(0..self.rows_and_columns().0, dtype, out)
    }

    /// Reads some rows of the outermost dimension, as [`read_into`](Self::read_into) reads all.
    pub fn read_rows_into(&self, rows: Range<u64>, dtype: DType, out: &mut [u8]) -> Result<()> {
        self.named(|| {
            let (all, columns) = self.rows_and_columns();
            check_inside("rows", &rows, all)?;
            let elements = (rows.end - rows.start).saturating_mul(columns);
            if dtype.bytes_for(elements) != Some(out.len() as u64) {
                return Err(Error::usage(format!(
                    "rows {rows:?} as {dtype} do not fill a buffer of {} bytes",
                    out.len()
                )));
            }
            if self.is_plain() && self.native() == Some(dtype) {
                return self.read_stored(rows, dtype, out);
            }
            match dtype {
                DType::F32 => self.read_decoded::<f32>(rows, out),
                DType::BF16 => self.read_decoded::<bf16>(rows, out),
                DType::F16 => self.read_decoded::<f16>(rows, out),
                _ => Err(Error::usage(format!(
                    "it is stored as {} and cannot be read as {dtype}",
                    self.variant()
                ))),
            }
        })
    }

    /// Reads some elements, counted through the whole weight, as [`read_into`](Self::read_into) reads
    /// all of it. Where only whole rows can be decoded, those that the elements are in are.
    pub(crate) fn read_elements_into(
        &self,
        elements: Range<u64>,
        dtype: DType,
        out: &mut [u8],
    ) -> Result<()> {
        self.named(|| {
            if let (Entry::Plain(id), true) = (self.entry(), self.native() == Some(dtype)) {
                self.model().refuse_unlike_twins(self)?;
                let (source, info) = self.model().stored(*id);
                source.check_readable(info)?;
                let start = dtype.bytes_for(elements.start);
                let start = start
                    .ok_or_else(|| Error::usage("the elements do not start at a byte boundary"))?;
                return source.copy(info, &Slab::whole(0, start, out.len() as u64), out);
            }
            match dtype {
                DType::F32 => self.read_decoded_elements::<f32>(elements, out),
                DType::BF16 => self.read_decoded_elements::<bf16>(elements, out),
                _ => self.read_decoded_elements::<f16>(elements, out),
            }
        })
    }

    fn read_decoded_elements<T: Element>(
        &self,
        elements: Range<u64>,
        out: &mut [u8],
    ) -> Result<()> {
        let count = out.len() / size_of::<T>();
        let mut numbers = vec![T::default(); count];
        if self.has_element_access() {
            self.decode_elements_with(elements, &mut numbers, &mut Scratch::default())?;
        } else {
            let columns = self.rows_and_columns().1.max(1);
            let rows = elements.start / columns..elements.end.div_ceil(columns);
            let all = (rows.end - rows.start).saturating_mul(columns);
            self.check_new_buffer(all.saturating_mul(size_of::<T>() as u64))?;
            let first = usize::try_from(elements.start - rows.start * columns).unwrap_or(0);
            let mut whole = zeros::<T>(usize::try_from(all).unwrap_or(usize::MAX))?;
            self.decode_rows(rows, &mut whole)?;
            numbers.copy_from_slice(&whole[first..][..count]);
        }
        write_numbers(&numbers, out);
        Ok(())
    }

    /// Reads all of it as `dtype` into a new vector, as [`read_into`](Self::read_into) does.
    pub fn read_to_vec(&self, dtype: DType) -> Result<Vec<u8>> {
        let bytes = dtype.bytes_for(self.elements()).and_then(|bytes| usize::try_from(bytes).ok());
        let bytes = bytes.unwrap_or(usize::MAX);
        self.check_new_buffer(bytes as u64)?;
        let mut out = zeros(bytes).map_err(|e| e.in_tensor(self.name()))?;
        self.read_into(dtype, &mut out)?;
        Ok(out)
    }

    /// Decodes all of it into a new vector of `f32`, `bf16` or `f16`, on several threads where it
    /// is large.
    ///
    /// A vector of more than 1000 times the stored bytes is refused if it is also larger than
    /// [`Limits::max_allocation`](crate::Limits::max_allocation).
    pub fn decode_to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.check_new_buffer(self.elements().saturating_mul(size_of::<T>() as u64))?;
        let mut out = zeros(self.len()).map_err(|e| e.in_tensor(self.name()))?;
        let make = |rows: Range<u64>, out: &mut [T]| {
            let mut scratch = Scratch::default();
            let columns = out.len() as u64 / (rows.end - rows.start).max(1);
            self.in_steps(rows, columns * size_of::<T>() as u64, out, &mut |rows, out| {
                self.decode_rows_with(rows, out, &mut scratch)
            })
        };
        self.on_threads(0..self.rows_and_columns().0, &mut out, &make)?;
        Ok(out)
    }

    /// Copies rows of a plain weight in the type it is stored in.
    fn read_stored(&self, rows: Range<u64>, dtype: DType, out: &mut [u8]) -> Result<()> {
        let Entry::Plain(id) = self.entry() else { return Ok(()) };
        let (source, info) = self.model().stored(*id);
        let columns = self.rows_and_columns().1;
        let copy = |rows: Range<u64>, out: &mut [u8]| {
            let start = rows.start.checked_mul(columns).and_then(|first| dtype.bytes_for(first));
            let start =
                start.ok_or_else(|| Error::usage("the rows do not start at a byte boundary"))?;
            source.copy(info, &Slab::whole(0, start, out.len() as u64), out)
        };
        match dtype.bytes_for(columns) {
            Some(_) => self.on_threads(rows, out, &copy),
            // Rows of types smaller than a byte may share one.
            None => copy(rows, out),
        }
    }

    fn read_decoded<T: Element>(&self, rows: Range<u64>, out: &mut [u8]) -> Result<()> {
        let make = |rows: Range<u64>, out: &mut [u8]| {
            let (mut scratch, mut numbers) = (Scratch::default(), Vec::new());
            let row_bytes = out.len() as u64 / (rows.end - rows.start).max(1);
            self.in_steps(rows, row_bytes, out, &mut |rows, out| {
                self.decode_bytes::<T>(rows, out, &mut scratch, &mut numbers)
            })
        };
        self.on_threads(rows, out, &make)
    }

    /// Decodes rows to little-endian bytes, in place where they are aligned.
    fn decode_bytes<T: Element>(
        &self,
        rows: Range<u64>,
        out: &mut [u8],
        scratch: &mut Scratch,
        numbers: &mut Vec<T>,
    ) -> Result<()> {
        let is_little = cfg!(target_endian = "little");
        if let (true, Ok(out)) = (is_little, bytemuck::try_cast_slice_mut::<u8, T>(out)) {
            return self.decode_rows_with(rows, out, scratch);
        }
        numbers.resize(out.len() / size_of::<T>(), T::default());
        self.decode_rows_with(rows, numbers, scratch)?;
        write_numbers(numbers, out);
        Ok(())
    }

    /// Makes rows a few at a time.
    fn in_steps<T>(
        &self,
        rows: Range<u64>,
        row_bytes: u64,
        out: &mut [T],
        make: MakeRows<'_, T>,
    ) -> Result<()> {
        let count = rows.end - rows.start;
        // A few rows of a transposed weight are many small reads.
        let step = if self.is_transposed() { count } else { STEP / row_bytes.max(1) };
        let step = step.clamp(1, count.max(1));
        if out.is_empty() {
            return make(rows, out);
        }
        parts(rows, step, out).try_for_each(|(rows, out)| make(rows, out))
    }

    /// Makes rows on several threads, where there is enough work for them.
    fn on_threads<T: Send>(
        &self,
        rows: Range<u64>,
        out: &mut [T],
        make: Make<'_, T>,
    ) -> Result<()> {
        let count = rows.end - rows.start;
        let threads = self.threads_for(size_of_val(out)).min(usize::try_from(count).unwrap_or(1));
        if threads < 2 {
            return make(rows, out);
        }
        let level = simd::level();
        let shares = parts(rows, count.div_ceil(threads as u64), out).collect();
        let work = |(rows, out)| simd::with_level(level, || make(rows, out));
        side_by_side(shares, threads, work).map(drop)
    }

    fn threads_for(&self, bytes: usize) -> usize {
        if bytes < 2 * WORTH_A_THREAD || self.is_sequential() {
            return 1;
        }
        thread::available_parallelism().map_or(1, usize::from).min(bytes / WORTH_A_THREAD)
    }
}

/// So many rows at a time, with what they are made into.
fn parts<T>(
    rows: Range<u64>,
    step: u64,
    out: &mut [T],
) -> impl Iterator<Item = (Range<u64>, &mut [T])> {
    let len = out.len() as u64 / (rows.end - rows.start).max(1) * step;
    let starts = rows.clone().step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let outs = out.chunks_mut(usize::try_from(len).unwrap_or(usize::MAX).max(1));
    starts.zip(outs).map(move |(start, out)| (start..(start + step).min(rows.end), out))
}

fn write_numbers<T: Element>(numbers: &[T], out: &mut [u8]) {
    for (bytes, number) in out.chunks_exact_mut(size_of::<T>()).zip(numbers) {
        bytes.copy_from_slice(bytemuck::bytes_of(number));
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
    }
}

/// `len` zeros; an error if there is not enough memory.
fn zeros<T: Clone + Default>(len: usize) -> Result<Vec<T>> {
    let mut out = Vec::new();
    if out.try_reserve_exact(len).is_err() {
        return Err(Error::limit(format!("out of memory for {len} of its values")));
    }
    out.resize(len, T::default());
    Ok(out)
}
