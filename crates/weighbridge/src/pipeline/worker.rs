//! What a worker does with a tile: fetch it, decode it, pass it to the sink.

use std::ops::Range;

use half::{bf16, f16};
use smallvec::SmallVec;

use super::cost::Cost;
use super::encoding::Encoding;
use super::first_pass::FirstPass;
use super::job::{Action, Job, OutputTensor};
use super::jobs::JobTiles;
use super::rearranging::{PanelBuffers, Rearranging};
use super::sink::{Sink, Tile};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::model::Scratch;
use crate::schemes::{Decoded, Element, Elements, EncodedTensor, plain};
use crate::source::Slab;

/// Takes the bytes of a finished tile.
type HandOn<'a> = &'a dyn Fn(&[u8]) -> Result<()>;

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
    /// Writes one tile: some pieces of a job, in that turn. Gives the number of finite values that
    /// became infinite.
    pub fn write(&mut self, of: &JobTiles<'_>, pieces: Range<u64>, turn: &Tile) -> Result<u64> {
        let (job, sink) = (of.job, of.sink);
        if let Action::Encode(encoding) = &job.action {
            let missing =
                || Error::usage("its encoder was not started").in_tensor(job.source_name());
            return self.encode(of, pieces, turn, encoding, of.pass.ok_or_else(missing)?);
        }
        if let Action::Rearrange(rearranging) = &job.action {
            return self.rearrange(of, &pieces, turn, rearranging);
        }
        let Some(output) = job.outputs.first() else { return Ok(0) };
        let tile = placed(turn, output, output.bytes_of(&job.cut.elements(&pieces)).start);
        if job.cut.part < pieces.end - pieces.start {
            return match job.dtype() {
                Some(DType::F32) => self.convert_in_steps::<f32>(job, pieces, &tile, sink),
                Some(DType::BF16) => self.convert_in_steps::<bf16>(job, pieces, &tile, sink),
                _ => self.convert_in_steps::<f16>(job, pieces, &tile, sink),
            };
        }
        let hand_on = &|bytes: &[u8]| sink.write(&tile, bytes);
        match (&job.action, job.dtype()) {
            (Action::Copy, _) => self.copy(job, &pieces, hand_on),
            (_, Some(DType::F32)) => self.convert::<f32>(job, pieces, hand_on),
            (_, Some(DType::BF16)) => self.convert::<bf16>(job, pieces, hand_on),
            (_, Some(DType::F16)) => self.convert::<f16>(job, pieces, hand_on),
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
    fn encode(
        &mut self,
        of: &JobTiles<'_>,
        pieces: Range<u64>,
        turn: &Tile,
        encoding: &Encoding,
        pass: &FirstPass,
    ) -> Result<u64> {
        pass.wait()?;
        let elements = self.numbers(of.job, &pieces)?;
        let (ranges, mut outs) = divided(&encoding.tensors, &elements, &mut self.bytes)?;
        if !encoding.takes_non_finite {
            refuse_non_finite(of.job, &elements, &self.f32)?;
        }
        let named = |error: Error| error.in_tensor(of.job.source_name());
        pass.encoder.encode(elements, &self.f32, &mut outs).map_err(named)?;
        // Of a weight that is encoded once for each of its tensors, the first counts.
        let is_first = of.job.outputs.first().is_some_and(|output| output.index == 0);
        let tile = turn.turn - of.first_turn;
        // What is verified is encoded once more, and was measured before.
        if let Some(sum) = encoding.cost.as_ref().filter(|sum| is_first && sum.misses(tile)) {
            let encoded: SmallVec<[&[u8]; 4]> = outs.iter().map(|out| &**out).collect();
            self.decoded.start(self.f32.len());
            if pass.encoder.decode(&encoded, &mut self.decoded).map_err(named)? {
                sum.add(tile, Cost::of(&self.f32, &self.decoded), Cost::plus);
            }
        }
        write_each(of, turn, &ranges, &outs)
    }

    /// Some pieces as the tensors of another layout.
    fn rearrange(
        &mut self,
        of: &JobTiles<'_>,
        pieces: &Range<u64>,
        turn: &Tile,
        rearranging: &Rearranging,
    ) -> Result<u64> {
        let elements = of.job.cut.elements(pieces);
        let (ranges, mut outs) = divided(&rearranging.tensors, &elements, &mut self.bytes)?;
        let kept = (&mut self.panel, &mut self.scratch);
        rearranging.pack(of.job.weight()?, &elements, &mut outs, kept)?;
        write_each(of, turn, &ranges, &outs)
    }

    /// Bytes of a plain tensor as they are, or as they would be in row-major little-endian order.
    fn copy(&mut self, job: &Job, bytes: &Range<u64>, hand_on: HandOn<'_>) -> Result<u64> {
        let (source, info) = job.only_part()?;
        let slab = Slab::whole(0, bytes.start, bytes.end - bytes.start);
        hand_on(source.fetch(info, &slab, &mut self.staging)?.bytes())?;
        Ok(0)
    }

    fn convert<T: Number>(
        &mut self,
        job: &Job,
        pieces: Range<u64>,
        hand_on: HandOn<'_>,
    ) -> Result<u64> {
        // Taken out while it is in use.
        let mut tile = std::mem::take(T::kept(self));
        tile.resize(job.cut.count(&pieces)?, T::default());
        let overflowed = match &job.action {
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

    /// A tile that is read at once, then decoded and written a few rows at a time.
    fn convert_in_steps<T: Number>(
        &mut self,
        job: &Job,
        rows: Range<u64>,
        tile: &Tile,
        sink: &dyn Sink,
    ) -> Result<u64> {
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
                overflowed += infinities(part).filter(is_finite).count() as u64;
            }
            let more = (rows.start - first) * width;
            let place = Tile { at: tile.at + more, offset: tile.offset + more, ..*tile };
            sink.write(&place, T::to_bytes(part, bytes))
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
        Elements::decode(&plain, &[staged], elements.clone(), T::out(tile))?;
        let is_finite = |index| plain.is_finite(staged.bytes(), index);
        Ok(match any_infinite(tile) {
            true => infinities(tile).filter(|&index| is_finite(index)).count() as u64,
            false => 0,
        })
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
        Ok(infinities(tile).filter(is_finite).count() as u64)
    }
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
    let too_large = |_| Error::limit("a tile is larger than this machine can address");
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
fn write_each(
    of: &JobTiles<'_>,
    turn: &Tile,
    ranges: &[Range<u64>],
    outs: &[&mut [u8]],
) -> Result<u64> {
    for (tensor, output) in (0..).zip(&of.job.outputs) {
        let (Some(range), Some(bytes)) = (ranges.get(output.index), outs.get(output.index)) else {
            continue;
        };
        let turn = Tile { tensor: turn.tensor + tensor, ..*turn };
        of.sink.write(&placed(&turn, output, range.start), bytes)?;
    }
    Ok(0)
}

/// An error if a number that is to be encoded is NaN or infinite.
fn refuse_non_finite(job: &Job, elements: &Range<u64>, values: &[f32]) -> Result<()> {
    let is_odd = |value: &f32| !value.is_finite();
    // Without a branch for each.
    if !values.iter().fold(false, |any, value| any | is_odd(value)) {
        return Ok(());
    }
    let Some(at) = values.iter().position(is_odd) else { return Ok(()) };
    let (element, value) = (elements.start + at as u64, values[at]);
    let message = format!("element {element} is {value}, which cannot be stored in fewer bits");
    let error = Error::malformed(message).in_tensor(job.source_name());
    Err(error.in_file(job.weight()?.model_path()).remedy(Remedy::AllowNonFinite))
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
