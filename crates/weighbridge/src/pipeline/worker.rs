//! What a worker does with a tile: fetch it, decode it, pass it to the sink.

use std::ops::Range;

use half::{bf16, f16};
use smallvec::SmallVec;

use super::cost::Cost;
use super::encoding::Encoding;
use super::finite;
use super::first_pass::FirstPass;
use super::job::{Action, Job, OutputTensor};
use super::jobs::Turn;
use super::rearranging::{PanelBuffers, Rearranging};
use super::sink::Tile;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Scratch;
use crate::schemes::{Decoded, Element, EncodedTensor, Recipe, plain};
use crate::source::Slab;

/// A worker's buffers, kept from one tile to the next.
#[derive(Default)]
pub struct Buffers {
    scratch: Scratch,
    staging: Vec<u8>,
    bytes: Vec<u8>,
    f32: Vec<f32>,
    bf16: Vec<bf16>,
    f16: Vec<f16>,
    decoded: Decoded,
    panel: PanelBuffers,
}

impl Buffers {
    /// Writes one tile. Gives the number of finite values that became infinite.
    pub fn write(&mut self, turn: &Turn<'_>) -> Result<u64> {
        let job = turn.of.job;
        match (&job.action, job.dtype()) {
            (Action::Encode(encoding), _) => self.encode(turn, encoding),
            (Action::Rearrange(rearranging), _) => self.rearrange(turn, rearranging),
            (Action::Copy, _) => self.copy(turn),
            (_, Some(DType::F32)) => self.convert::<f32>(turn),
            (_, Some(DType::BF16)) => self.convert::<bf16>(turn),
            (_, Some(DType::F16)) => self.convert::<f16>(turn),
            _ => Err(Error::unsupported("weights cannot be decoded to this type")
                .in_tensor(job.source_name())),
        }
    }

    /// Shows some pieces to their encoder.
    pub fn see(&mut self, job: &Job, pieces: Range<u64>, pass: &FirstPass) -> Result<()> {
        let elements = self.numbers(job, &pieces)?;
        pass.encoder.see(elements, &self.f32);
        pass.tile_is_seen();
        Ok(())
    }

    /// Decodes some pieces into the buffer of single-precision numbers.
    fn numbers(&mut self, job: &Job, pieces: &Range<u64>) -> Result<Range<u64>> {
        self.f32.resize(job.cut.count(pieces)?, 0.0);
        job.cut.decode(job.weight()?, pieces.clone(), &mut self.f32, &mut self.scratch)?;
        Ok(job.cut.elements(pieces))
    }

    /// Some pieces as the tensors that their encoder makes of them.
    fn encode(&mut self, turn: &Turn<'_>, encoding: &Encoding) -> Result<u64> {
        let of = turn.of;
        let named = |error: Error| error.in_tensor(of.job.source_name());
        let missing = || named(Error::usage("its encoder was not started"));
        let pass = of.pass.ok_or_else(missing)?;
        pass.wait()?;
        let elements = self.numbers(of.job, &turn.pieces)?;
        let (ranges, mut outs) = divided(&encoding.tensors, &elements, &mut self.bytes)?;
        if !of.job.takes_non_finite {
            finite::check_source(of.job, &elements, &self.f32)?;
        }
        pass.encoder.encode(elements, &self.f32, &mut outs).map_err(named)?;
        // Of a weight that is encoded once for each of its tensors, the first counts.
        let is_first = of.job.outputs.first().is_some_and(|output| output.index == 0);
        if is_first {
            let numbers = (&self.f32[..], &mut self.decoded);
            decode_again(turn, (encoding, pass), numbers, &outs)?;
        }
        write_each(turn, &ranges, &outs)
    }

    /// Some pieces as the tensors of another layout.
    fn rearrange(&mut self, turn: &Turn<'_>, rearranging: &Rearranging) -> Result<u64> {
        let job = turn.of.job;
        let elements = job.cut.elements(&turn.pieces);
        let (ranges, mut outs) = divided(&rearranging.tensors, &elements, &mut self.bytes)?;
        let kept = (&mut self.panel, &mut self.scratch);
        rearranging.pack(job.weight()?, &elements, &mut outs, kept)?;
        write_each(turn, &ranges, &outs)
    }

    /// Bytes of a plain tensor as they are, or as they would be in row-major little-endian order.
    fn copy(&mut self, turn: &Turn<'_>) -> Result<u64> {
        let (source, info) = turn.of.job.only_part()?;
        let slab = Slab::whole(0, turn.pieces.start, turn.pieces.end - turn.pieces.start);
        turn.write(source.fetch(info, &slab, &mut self.staging)?.bytes(), 0)
    }

    fn convert<T: Number>(&mut self, turn: &Turn<'_>) -> Result<u64> {
        let (job, pieces) = (turn.of.job, &turn.pieces);
        if job.cut.part < pieces.end - pieces.start {
            return self.convert_in_steps::<T>(turn);
        }
        // Taken out while it is in use.
        let mut tile = std::mem::take(T::kept(self));
        tile.resize(job.cut.count(pieces)?, T::default());
        let overflowed = match &job.action {
            Action::Cast => self.cast(job, pieces, &mut tile),
            _ => self.decode(job, pieces, &mut tile),
        };
        let written = overflowed.and_then(|overflowed| {
            turn.write(T::to_bytes(&tile, &mut self.bytes), 0)?;
            Ok(overflowed)
        });
        *T::kept(self) = tile;
        written
    }

    /// A tile that is read at once, then decoded and written a few rows at a time.
    fn convert_in_steps<T: Number>(&mut self, turn: &Turn<'_>) -> Result<u64> {
        let (job, rows) = (turn.of.job, turn.pieces.clone());
        let weight = job.weight()?;
        let mut part = std::mem::take(T::kept(self));
        let width = u64::from(T::DTYPE.bits() / 8) * job.cut.piece;
        let (mut overflowed, first) = (0, rows.start);
        let (f32, bytes) = (&mut self.f32, &mut self.bytes);
        let mut each = |rows: Range<u64>, part: &[T]| {
            if T::DTYPE != DType::F32 && any_infinite(part) {
                f32.resize(part.len(), 0.0);
                weight.decode_rows(rows.clone(), f32)?;
                let is_finite = |&index: &usize| f32[index].is_finite();
                let infinite = infinities(part).filter(is_finite);
                overflowed += finite::overflowed(job, &job.cut.elements(&rows), infinite)?;
            }
            turn.write(T::to_bytes(part, bytes), (rows.start - first) * width).map(drop)
        };
        let (step, scratch) = (job.cut.part, &mut self.scratch);
        let done = weight.decode_rows_in_steps(rows, step, &mut part, scratch, &mut each);
        *T::kept(self) = part;
        done.map(|()| overflowed)
    }

    /// Plain numbers in another type.
    fn cast<T: Number>(&mut self, job: &Job, elements: &Range<u64>, tile: &mut [T]) -> Result<u64> {
        let (source, info) = job.only_part()?;
        let plain = plain::recipe(info).map_err(|e| Error::unsupported(e).in_tensor(&info.name))?;
        let staged = source.fetch(info, &plain.slab(elements), &mut self.staging)?;
        plain.decode(&[staged], elements.clone(), T::out(tile))?;
        let is_finite = |index| plain.is_finite(staged.bytes(), index);
        if !any_infinite(tile) {
            return Ok(0);
        }
        finite::overflowed(job, elements, infinities(tile).filter(|&index| is_finite(index)))
    }

    /// A weight that its scheme decodes.
    fn decode<T: Number>(&mut self, job: &Job, pieces: &Range<u64>, tile: &mut [T]) -> Result<u64> {
        job.cut.decode(job.weight()?, pieces.clone(), tile, &mut self.scratch)?;
        if T::DTYPE == DType::F32 || !any_infinite(tile) {
            return Ok(0);
        }
        // Rare enough to decode again, to see which values were finite before rounding.
        self.f32.resize(tile.len(), 0.0);
        job.cut.decode(job.weight()?, pieces.clone(), &mut self.f32, &mut self.scratch)?;
        let is_finite = |&index: &usize| self.f32[index].is_finite();
        finite::overflowed(job, &job.cut.elements(pieces), infinities(tile).filter(is_finite))
    }
}

/// Decodes what an encoder made of some numbers, measures the error and rejects overflows.
fn decode_again(
    turn: &Turn<'_>,
    (encoding, pass): (&Encoding, &FirstPass),
    (values, decoded): (&[f32], &mut Decoded),
    outs: &[&mut [u8]],
) -> Result<()> {
    let (job, cost) = (turn.of.job, encoding.cost.as_ref());
    let (tile, is_checked) = (turn.place.turn - turn.of.first_turn, !job.takes_non_finite);
    // What is verified is encoded once more, and was measured and checked before.
    let is_new = cost.is_none_or(|sum| sum.misses(tile));
    if !is_new || !is_checked && cost.is_none() {
        return Ok(());
    }
    let encoded: SmallVec<[&[u8]; 4]> = outs.iter().map(|out| &**out).collect();
    decoded.start(values.len());
    let elements = job.cut.elements(&turn.pieces);
    let is_decoded = pass.encoder.decode(elements.clone(), &encoded, decoded);
    if !is_decoded.map_err(|error| error.in_tensor(job.source_name()))? {
        return if is_checked { finite::check_stored(job, encoding, &encoded) } else { Ok(()) };
    }
    let measured = Cost::of(values, decoded);
    if is_checked && measured.non_finite > 0 {
        let numbers = (values, &decoded.numbers[..]);
        let by_weight = pass.encoder.needs_first_pass();
        return finite::refuse_encoded((job, encoding), &elements, numbers, by_weight);
    }
    cost.inspect(|sum| sum.add(tile, measured, Cost::plus));
    Ok(())
}

/// The bytes of each of several tensors that some elements make.
type Outs<'a> = SmallVec<[&'a mut [u8]; 4]>;

/// Which bytes of each tensor some elements make, and a place for them.
fn divided<'a>(
    tensors: &[EncodedTensor],
    elements: &Range<u64>,
    bytes: &'a mut Vec<u8>,
) -> Result<(SmallVec<[Range<u64>; 4]>, Outs<'a>)> {
    let ranges: SmallVec<[Range<u64>; 4]> =
        tensors.iter().map(|tensor| tensor.groups.bytes_of(elements, tensor.bytes)).collect();
    let too_large = |_| Error::limit("a tile exceeds this machine's address space");
    let lengths = ranges.iter().map(|range| usize::try_from(range.end - range.start));
    let lengths = lengths.collect::<Result<SmallVec<[usize; 4]>, _>>().map_err(too_large)?;
    bytes.clear();
    bytes.resize(lengths.iter().sum(), 0);
    let (mut outs, mut rest) = (Outs::new(), &mut bytes[..]);
    for length in lengths {
        let (own, others) = rest.split_at_mut(length);
        outs.push(own);
        rest = others;
    }
    Ok((ranges, outs))
}

/// Passes the bytes of each tensor of a job to the sink.
fn write_each(turn: &Turn<'_>, ranges: &[Range<u64>], outs: &[&mut [u8]]) -> Result<u64> {
    for (tensor, output) in (0..).zip(&turn.of.job.outputs) {
        let (Some(range), Some(bytes)) = (ranges.get(output.index), outs.get(output.index)) else {
            continue;
        };
        let place = Tile { tensor: turn.place.tensor + tensor, ..turn.place };
        turn.of.sink.write(&placed(&place, output, range.start), bytes)?;
    }
    Ok(0)
}

impl Turn<'_> {
    /// Writes bytes of the only tensor, `more` bytes behind where the tile begins.
    fn write(&self, bytes: &[u8], more: u64) -> Result<u64> {
        let Some(output) = self.of.job.outputs.first() else { return Ok(0) };
        let start = output.bytes_of(&self.of.job.cut.elements(&self.pieces)).start;
        self.of.sink.write(&placed(&self.place, output, start + more), bytes).map(|()| 0)
    }
}

/// The place of a tile that begins at a byte of its tensor.
fn placed(turn: &Tile, output: &OutputTensor, at: u64) -> Tile {
    Tile { at, offset: output.offset + at, ..*turn }
}

/// Whether any number is infinite, without a branch for each.
fn any_infinite<T: Number>(tile: &[T]) -> bool {
    tile.iter().fold(false, |any, value| any | value.is_infinite())
}

fn infinities<T: Number>(tile: &[T]) -> impl Iterator<Item = usize> {
    tile.iter().enumerate().filter(|(_, value)| value.is_infinite()).map(|(index, _)| index)
}

/// A number type that can be written.
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
