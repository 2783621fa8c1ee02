//! What a worker does with a tile: fetch it, decode it, hand it on.

use std::ops::Range;

use half::{bf16, f16};

use super::job::{Action, Job};
use super::sink::{Sink, Tile};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Scratch;
use crate::schemes::{Element, Elements, plain};
use crate::source::Slab;

/// Takes the bytes of a finished tile.
type HandOn<'a> = &'a dyn Fn(&[u8]) -> Result<()>;

/// What a worker keeps from one tile to the next.
#[derive(Default)]
pub struct Buffers {
    scratch: Scratch,
    staging: Vec<u8>,
    bytes: Vec<u8>,
    f32: Vec<f32>,
    bf16: Vec<bf16>,
    f16: Vec<f16>,
}

impl Buffers {
    /// Does one tile: `pieces` of the job. Gives the number of finite values that became infinite.
    pub fn work(
        &mut self,
        job: &Job<'_>,
        pieces: Range<u64>,
        tile: &Tile,
        sink: &dyn Sink,
    ) -> Result<u64> {
        if job.cut.part < pieces.end - pieces.start {
            return match job.dtype() {
                DType::F32 => self.panel::<f32>(job, pieces, tile, sink),
                DType::BF16 => self.panel::<bf16>(job, pieces, tile, sink),
                _ => self.panel::<f16>(job, pieces, tile, sink),
            };
        }
        let hand_on = &|bytes: &[u8]| sink.write(tile, bytes);
        match (job.action, job.dtype()) {
            (Action::Copy, _) => self.copy(job, &pieces, hand_on),
            (_, DType::F32) => self.convert::<f32>(job, pieces, hand_on),
            (_, DType::BF16) => self.convert::<bf16>(job, pieces, hand_on),
            (_, DType::F16) => self.convert::<f16>(job, pieces, hand_on),
            (_, other) => Err(Error::unsupported(format!("nothing can be decoded to {other}"))
                .in_tensor(job.source_name())),
        }
    }

    /// Bytes of a plain tensor as they are, or as they would be in row-major little-endian order.
    fn copy(&mut self, job: &Job<'_>, bytes: &Range<u64>, hand_on: HandOn<'_>) -> Result<u64> {
        let (source, info) = job.only_part()?;
        let slab = Slab::whole(0, bytes.start, bytes.end - bytes.start);
        hand_on(source.fetch(info, &slab, &mut self.staging)?.bytes())?;
        Ok(0)
    }

    fn convert<T: Number>(
        &mut self,
        job: &Job<'_>,
        pieces: Range<u64>,
        hand_on: HandOn<'_>,
    ) -> Result<u64> {
        // Taken out while it is in use.
        let mut tile = std::mem::take(T::kept(self));
        tile.resize(job.cut.elements(&pieces)?, T::default());
        let overflowed = match job.action {
            Action::Cast => self.cast(job, &pieces, &mut tile),
            _ => self.decode(job, &pieces, &mut tile),
        };
        let written = overflowed.and_then(|overflowed| {
            hand_on(T::to_bytes(&tile, &mut self.bytes))?;
            Ok(overflowed)
        });
        *T::kept(self) = tile;
        written
    }

    /// A tile that is read at once, and decoded and handed on part by part.
    fn panel<T: Number>(
        &mut self,
        job: &Job<'_>,
        rows: Range<u64>,
        tile: &Tile,
        sink: &dyn Sink,
    ) -> Result<u64> {
        let weight = job.weight()?;
        let mut part = std::mem::take(T::kept(self));
        let (mut overflowed, first) = (0, job.cut.offset(rows.start, job.dtype()));
        let (f32, bytes) = (&mut self.f32, &mut self.bytes);
        let mut each = |rows: Range<u64>, part: &[T]| {
            if T::DTYPE != DType::F32 && any_infinite(part) {
                f32.resize(part.len(), 0.0);
                weight.decode_rows(rows.clone(), f32)?;
                let is_finite = |&index: &usize| f32[index].is_finite();
                overflowed += infinities(part).filter(is_finite).count() as u64;
            }
            let more = job.cut.offset(rows.start, job.dtype()) - first;
            let place = Tile { at: tile.at + more, offset: tile.offset + more, ..*tile };
            sink.write(&place, T::to_bytes(part, bytes))
        };
        let (step, scratch) = (job.cut.part, &mut self.scratch);
        let done = weight.decode_panel(rows, step, &mut part, scratch, &mut each);
        *T::kept(self) = part;
        done.map(|()| overflowed)
    }

    /// Plain numbers in another type.
    fn cast<T: Number>(
        &mut self,
        job: &Job<'_>,
        elements: &Range<u64>,
        tile: &mut [T],
    ) -> Result<u64> {
        let (source, info) = job.only_part()?;
        let plain = plain::recipe(info).map_err(|e| Error::unsupported(e).in_tensor(&info.name))?;
        let staged = source.fetch(info, &plain.slab(elements), &mut self.staging)?;
        Elements::decode(&plain, &[staged], elements.clone(), T::out(tile))?;
        let is_finite = |index| plain.is_finite(staged.bytes(), index);
        Ok(match any_infinite(tile) {
            true => infinities(tile).filter(|&index| is_finite(index)).count() as u64,
            false => 0,
        })
    }

    /// A weight that its scheme decodes.
    fn decode<T: Number>(
        &mut self,
        job: &Job<'_>,
        pieces: &Range<u64>,
        tile: &mut [T],
    ) -> Result<u64> {
        job.cut.decode(job.weight()?, pieces.clone(), tile, &mut self.scratch)?;
        if T::DTYPE == DType::F32 || !any_infinite(tile) {
            return Ok(0);
        }
        // Rare enough to decode once more: what was it before it was rounded?
        self.f32.resize(tile.len(), 0.0);
        job.cut.decode(job.weight()?, pieces.clone(), &mut self.f32, &mut self.scratch)?;
        let is_finite = |&index: &usize| self.f32[index].is_finite();
        Ok(infinities(tile).filter(is_finite).count() as u64)
    }
}

/// Looks at all of them, without a branch for each.
fn any_infinite<T: Number>(tile: &[T]) -> bool {
    tile.iter().fold(false, |any, value| any | value.is_infinite())
}

fn infinities<T: Number>(tile: &[T]) -> impl Iterator<Item = usize> {
    tile.iter().enumerate().filter(|(_, value)| value.is_infinite()).map(|(index, _)| index)
}

/// A number that knows its bytes on disk.
trait Number: Element + bytemuck::Pod {
    /// Where a worker keeps a tile of them.
    fn kept(buffers: &mut Buffers) -> &mut Vec<Self>;
    /// The numbers in little-endian order; in `swapped`, where the machine has another.
    fn to_bytes<'a>(tile: &'a [Self], swapped: &'a mut Vec<u8>) -> &'a [u8];
    /// Whether it is one of the infinities.
    fn is_infinite(self) -> bool;
}

macro_rules! number {
    ($($type:ident),*) => {
        $(impl Number for $type {
            fn kept(buffers: &mut Buffers) -> &mut Vec<Self> {
                &mut buffers.$type
            }
            fn to_bytes<'a>(tile: &'a [Self], swapped: &'a mut Vec<u8>) -> &'a [u8] {
                if cfg!(target_endian = "little") {
                    return bytemuck::cast_slice(tile);
                }
                swapped.clear();
                swapped.extend(tile.iter().flat_map(|value| value.to_le_bytes()));
                swapped
            }
            fn is_infinite(self) -> bool {
                <$type>::is_infinite(self)
            }
        })*
    };
}

number!(f32, bf16, f16);
