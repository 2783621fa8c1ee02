//! The tiles: fetched, decoded, written at their places, one after the other.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use half::{bf16, f16};

use super::cut::{Cut, TILE_ELEMENTS};
use super::{Action, Job, Plan};
use crate::catalog::{Order, TensorInfo};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Scratch;
use crate::output::Output;
use crate::schemes::{Element, Elements, plain};
use crate::source::{Slab, Source};

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

/// Elements of a tile whose elements lie scattered over the file: each tile may have to read all
/// of the tensor, so there must be few.
const SCATTERED_ELEMENTS: u64 = 2 << 20;

/// Writes what was planned, and gives the number of finite values that became infinite. Stops
/// with an error soon after `cancel` is set.
pub fn write(plan: &Plan<'_>, output: &Output, cancel: Option<&AtomicBool>) -> Result<u64> {
    output.write_at(0, &plan.header)?;
    let mut worker =
        Worker { output, cancel, scratch: Scratch::default(), buffers: Default::default() };
    let mut overflowed = 0;
    for job in &plan.jobs {
        overflowed += match (job.action, job.dtype) {
            (Action::Copy, _) => worker.copy(job)?,
            (_, DType::F16) => worker.convert::<f16>(job)?,
            (_, DType::BF16) => worker.convert::<bf16>(job)?,
            (_, DType::F32) => worker.convert::<f32>(job)?,
            (_, other) => {
                return Err(Error::unsupported(format!("nothing can be decoded to {other}"))
                    .in_tensor(job.weight.name()));
            }
        };
    }
    Ok(overflowed)
}

/// The ranges of at most `step` that cover `0..len`.
fn ranges(len: u64, step: u64) -> impl Iterator<Item = Range<u64>> {
    let step = step.max(1);
    (0..len.div_ceil(step)).map(move |index| index * step..((index + 1) * step).min(len))
}

struct Worker<'a> {
    output: &'a Output,
    cancel: Option<&'a AtomicBool>,
    scratch: Scratch,
    /// Bytes on their way in and out.
    buffers: [Vec<u8>; 2],
}

impl Worker<'_> {
    fn go_on(&self) -> Result<()> {
        match self.cancel.is_some_and(|cancel| cancel.load(Ordering::Relaxed)) {
            true => {
                let stop =
                    std::io::Error::new(std::io::ErrorKind::Interrupted, "nothing was written");
                Err(Error::io(stop, "stopped"))
            }
            false => Ok(()),
        }
    }

    /// The bytes of a plain tensor as they are, or as they would be in row-major little-endian
    /// order.
    fn copy(&mut self, job: &Job<'_>) -> Result<u64> {
        let (source, info) = only_part(job)?;
        let element = u64::from(job.dtype.bits().div_ceil(8));
        let step = if is_scattered(info) { SCATTERED_ELEMENTS * element } else { COPY_BYTES };
        for range in ranges(job.bytes, step) {
            self.go_on()?;
            let slab = Slab::whole(0, range.start, range.end - range.start);
            let staged = source.fetch(info, &slab, &mut self.buffers[0])?;
            self.output.write_at(job.offset + range.start, staged.bytes())?;
        }
        Ok(0)
    }

    fn convert<T: Number>(&mut self, job: &Job<'_>) -> Result<u64> {
        match job.action {
            Action::Cast => self.cast::<T>(job),
            _ => self.decode::<T>(job),
        }
    }

    /// Plain numbers in another type. Rows do not matter here, so a tile is as long as it likes.
    fn cast<T: Number>(&mut self, job: &Job<'_>) -> Result<u64> {
        let (source, info) = only_part(job)?;
        let plain = plain::recipe(info).map_err(|e| Error::unsupported(e).in_tensor(&info.name))?;
        let step = if is_scattered(info) { SCATTERED_ELEMENTS } else { TILE_ELEMENTS };
        let (mut tile, mut overflowed) = (Vec::<T>::new(), 0);
        for range in ranges(info.elements(), step) {
            self.go_on()?;
            tile.resize(length(&range, 1)?, T::default());
            let [staging, bytes] = &mut self.buffers;
            let staged = source.fetch(info, &plain.slab(&range), staging)?;
            Elements::decode(&plain, &[staged], range.clone(), T::out(&mut tile))?;
            let is_finite = |index| plain.is_finite(staged.bytes(), index);
            overflowed += infinities(&tile).filter(|&index| is_finite(index)).count() as u64;
            T::store(&tile, bytes);
            self.output.write_at(job.offset + range.start * T::BYTES, bytes)?;
        }
        Ok(overflowed)
    }

    /// A weight that its scheme decodes.
    fn decode<T: Number>(&mut self, job: &Job<'_>) -> Result<u64> {
        let (cut, weight) = (Cut::of(&job.weight), &job.weight);
        let (mut tile, mut exact, mut overflowed) = (Vec::<T>::new(), Vec::<f32>::new(), 0);
        for range in ranges(cut.pieces, cut.step) {
            self.go_on()?;
            tile.resize(length(&range, cut.piece)?, T::default());
            cut.decode(weight, range.clone(), &mut tile, &mut self.scratch)?;
            if T::DTYPE != DType::F32 && infinities(&tile).next().is_some() {
                // Rare enough to decode once more: what was it before it was rounded?
                exact.resize(tile.len(), 0.0);
                cut.decode(weight, range.clone(), &mut exact, &mut self.scratch)?;
                let is_finite = |&index: &usize| exact[index].is_finite();
                overflowed += infinities(&tile).filter(is_finite).count() as u64;
            }
            T::store(&tile, &mut self.buffers[1]);
            let offset = job.offset + range.start * cut.piece * T::BYTES;
            self.output.write_at(offset, &self.buffers[1])?;
        }
        Ok(overflowed)
    }
}

fn only_part<'m>(job: &Job<'m>) -> Result<(&'m Source, &'m TensorInfo)> {
    let part = job.weight.parts().next().map(|(_, source, info)| (source, info));
    part.ok_or_else(|| Error::usage("it is made of nothing").in_tensor(job.weight.name()))
}

fn is_scattered(info: &TensorInfo) -> bool {
    info.place.order != Order::RowMajor
}

fn length(pieces: &Range<u64>, each: u64) -> Result<usize> {
    let elements = (pieces.end - pieces.start).checked_mul(each).map(usize::try_from);
    match elements {
        Some(Ok(elements)) => Ok(elements),
        _ => Err(Error::limit("a row is larger than this machine can address")),
    }
}

fn infinities<T: Number>(tile: &[T]) -> impl Iterator<Item = usize> {
    tile.iter().enumerate().filter(|(_, value)| value.is_infinite()).map(|(index, _)| index)
}

/// A number that knows its bytes on disk.
trait Number: Element {
    /// How many they are.
    const BYTES: u64;
    /// Fills `bytes` with the numbers in little-endian order.
    fn store(tile: &[Self], bytes: &mut Vec<u8>);
    /// Whether it is one of the infinities.
    fn is_infinite(self) -> bool;
}

macro_rules! number {
    ($($type:ty, $bytes:literal),*) => {
        $(impl Number for $type {
            const BYTES: u64 = $bytes;
            fn store(tile: &[Self], bytes: &mut Vec<u8>) {
                bytes.resize(tile.len() * $bytes, 0);
                for (out, value) in bytes.as_chunks_mut::<$bytes>().0.iter_mut().zip(tile) {
                    *out = value.to_le_bytes();
                }
            }
            fn is_infinite(self) -> bool {
                <$type>::is_infinite(self)
            }
        })*
    };
}

number!(f32, 4, bf16, 2, f16, 2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_everything_once() {
        for (len, step) in [(0, 5), (1, 1), (7, 1 << 20), (1000, 300), (1000, 500), (5, 0)] {
            let mut next = 0;
            for range in ranges(len, step) {
                assert_eq!(range.start, next);
                assert!(range.end > range.start);
                next = range.end;
            }
            assert_eq!(next, len);
        }
    }
}
