//! What every block type provides, and the loops that drive it.
//!
//! A block type is a [`Blocks`]: its scalar [`define`](Blocks::define) is the definition, and all
//! that an architecture without kernels of its own runs; [`decode`](Blocks::decode) names the form
//! of it that a set of instructions may have (`simd/blocks.rs`). To add a type: its row in
//! `blocks.rs`, its `Blocks` in a file of this folder, and its line in that file's `KERNELS`.
//!
//! How numbers are stored in a type is an [`Encodes`]: its family's, or its own.

use std::marker::PhantomData;

use half::{bf16, f16};

use crate::number::Out;
use crate::simd::{self, Isa, Level, Number, Task};

/// The most elements a block has.
pub(crate) const MOST_ELEMENTS: usize = 256;

/// One block type: `BYTES` bytes hold `ELEMENTS` numbers.
pub(super) trait Blocks<const BYTES: usize, const ELEMENTS: usize> {
    /// Its name in `blocks.rs`.
    const NAME: &'static str;

    /// The definition.
    fn define(block: &[u8; BYTES], out: &mut [f32; ELEMENTS]);

    /// Decodes a block to any output type with a set of instructions, by its form of this type.
    ///
    /// Must be `#[inline(always)]`, so that it is compiled with those instructions.
    fn decode<I: Isa, T: Number>(isa: I, block: &[u8; BYTES], out: &mut [T; ELEMENTS]);
}

/// Rows of numbers that become blocks. Blocks do not cross the ends of rows.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// Whole rows, one after the other.
    pub(crate) values: &'a [f32],
    /// Numbers of a row, which are whole blocks.
    pub(crate) columns: usize,
    /// How much each column matters, if that is known.
    pub(crate) importance: Option<&'a [f32]>,
}

impl<'a> Rows<'a> {
    /// Each row.
    #[inline(always)]
    pub(super) fn each(self) -> impl Iterator<Item = &'a [f32]> {
        self.values.chunks_exact(self.columns)
    }
}

/// The form that decodes a block: its bytes and elements, its name in `simd/blocks.rs`, and what it
/// takes beside the block.
macro_rules! decoded_by {
    ($bytes:literal => $elements:literal: $form:ident($block:ident $(, $argument:expr)*)) => {
        #[inline(always)]
        fn decode<I: crate::simd::Isa, T: crate::simd::Number>(
            isa: I,
            $block: &[u8; $bytes],
            out: &mut [T; $elements],
        ) {
            isa.$form($block, $($argument,)* out, |values| Self::define($block, values));
        }
    };
}
pub(super) use decoded_by;

/// A way to store numbers in blocks of the type `B`, as ggml's `quantize_*` does.
///
/// Every operation rounds to f32, sums are made in ggml's order, nothing is fused: the bytes are
/// those of ggml built for a CPU without fused multiply-add.
pub(super) trait Encodes<B, const BYTES: usize, const ELEMENTS: usize>: Sized {
    /// Whether ggml refuses it without importance.
    const NEEDS_IMPORTANCE: bool = false;

    /// The definition, for one row and its blocks, which every level is held against. Where all
    /// levels run the same code, it is that.
    #[cfg(test)]
    fn define_encoding(row: &[f32], importance: Option<&[f32]>, out: &mut [[u8; BYTES]]) {
        let rows = Rows { values: row, columns: row.len(), importance };
        let task = Encode::<Self, B, BYTES, ELEMENTS> { rows, out, of: PhantomData };
        simd::run(Level::BASELINE, task);
    }

    /// Encodes rows with a set of instructions.
    ///
    /// Must be `#[inline(always)]`, so that it is compiled with those instructions.
    fn encode<I: Isa>(isa: I, rows: Rows<'_>, out: &mut [[u8; BYTES]]);
}

/// How numbers become blocks of one type.
#[derive(Clone, Copy)]
pub(crate) struct Coding {
    /// Whether ggml refuses it without importance.
    pub(crate) needs_importance: bool,
    /// Encodes whole rows into exactly their blocks.
    pub(crate) encode: fn(Level, Rows<'_>, &mut [u8]),
    /// The scalar definition. Every CPU level is tested against it.
    #[cfg(test)]
    pub(crate) define: fn(Rows<'_>, &mut [u8]),
}

/// A block type with its size forgotten: what the table holds.
pub(crate) struct Kernel {
    /// The block type's name in `blocks.rs`.
    pub(crate) name: &'static str,
    f32: fn(Level, &[u8], &mut [f32]),
    bf16: fn(Level, &[u8], &mut [bf16]),
    f16: fn(Level, &[u8], &mut [f16]),
    /// How numbers are stored in it, if they can be.
    pub(crate) coding: Option<Coding>,
}

/// The table's line of a block type.
pub(super) const fn kernel<
    B: Blocks<BYTES, ELEMENTS>,
    const BYTES: usize,
    const ELEMENTS: usize,
>() -> Kernel {
    const { assert!(ELEMENTS <= MOST_ELEMENTS && ELEMENTS.is_multiple_of(16)) };
    Kernel {
        name: B::NAME,
        f32: decode::<B, f32, BYTES, ELEMENTS>,
        bf16: decode::<B, bf16, BYTES, ELEMENTS>,
        f16: decode::<B, f16, BYTES, ELEMENTS>,
        coding: None,
    }
}

/// A kernel of a block type with an encoder `E`.
pub(super) const fn coder<
    B: Blocks<BYTES, ELEMENTS>,
    E: Encodes<B, BYTES, ELEMENTS>,
    const BYTES: usize,
    const ELEMENTS: usize,
>() -> Kernel {
    #[cfg(feature = "encoders")]
    let coding = Some(Coding {
        needs_importance: E::NEEDS_IMPORTANCE,
        encode: encode::<B, E, BYTES, ELEMENTS>,
        #[cfg(test)]
        define: define::<B, E, BYTES, ELEMENTS>,
    });
    #[cfg(not(feature = "encoders"))]
    let coding = None;
    Kernel { coding, ..kernel::<B, BYTES, ELEMENTS>() }
}

impl Kernel {
    /// Decodes whole blocks; `out` holds exactly their elements.
    pub(crate) fn decode(&self, level: Level, blocks: &[u8], out: Out<'_>) {
        match out {
            Out::F32(out) => (self.f32)(level, blocks, out),
            Out::Bf16(out) => (self.bf16)(level, blocks, out),
            Out::F16(out) => (self.f16)(level, blocks, out),
        }
    }
}

fn decode<B: Blocks<BYTES, ELEMENTS>, T: Number, const BYTES: usize, const ELEMENTS: usize>(
    level: Level,
    blocks: &[u8],
    out: &mut [T],
) {
    let (blocks, out) = (blocks.as_chunks().0, out.as_chunks_mut().0);
    debug_assert_eq!(blocks.len(), out.len());
    simd::run(level, Decode::<B, T, BYTES, ELEMENTS> { blocks, out, of: PhantomData });
}

fn encode<B, E: Encodes<B, BYTES, ELEMENTS>, const BYTES: usize, const ELEMENTS: usize>(
    level: Level,
    rows: Rows<'_>,
    out: &mut [u8],
) {
    let out = out.as_chunks_mut().0;
    debug_assert_eq!(out.len() * ELEMENTS, rows.values.len());
    simd::run(level, Encode::<E, B, BYTES, ELEMENTS> { rows, out, of: PhantomData });
}

#[cfg(test)]
fn define<B, E: Encodes<B, BYTES, ELEMENTS>, const BYTES: usize, const ELEMENTS: usize>(
    rows: Rows<'_>,
    out: &mut [u8],
) {
    let out = out.as_chunks_mut().0;
    for (row, out) in rows.each().zip(out.chunks_exact_mut(rows.columns / ELEMENTS)) {
        E::define_encoding(row, rows.importance, out);
    }
}

/// Rows that are to be encoded.
struct Encode<'a, E, B, const BYTES: usize, const ELEMENTS: usize> {
    rows: Rows<'a>,
    out: &'a mut [[u8; BYTES]],
    of: PhantomData<(E, B)>,
}

impl<B, E: Encodes<B, BYTES, ELEMENTS>, const BYTES: usize, const ELEMENTS: usize> Task
    for Encode<'_, E, B, BYTES, ELEMENTS>
{
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        E::encode(isa, self.rows, self.out);
    }
}

/// Whole blocks that are to be decoded.
struct Decode<'a, B, T, const BYTES: usize, const ELEMENTS: usize> {
    blocks: &'a [[u8; BYTES]],
    out: &'a mut [[T; ELEMENTS]],
    of: PhantomData<B>,
}

impl<B: Blocks<BYTES, ELEMENTS>, T: Number, const BYTES: usize, const ELEMENTS: usize> Task
    for Decode<'_, B, T, BYTES, ELEMENTS>
{
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self, isa: I) {
        for (block, out) in self.blocks.iter().zip(self.out) {
            B::decode(isa, block, out);
        }
    }
}

/// The half-precision number at byte `at` of a block.
#[inline(always)]
pub(super) fn half_at(block: &[u8], at: usize) -> f32 {
    crate::simd::half_to_f32(u16::from_le_bytes([block[at], block[at + 1]]))
}
