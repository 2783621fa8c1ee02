//! What every block type provides, and the loops that drive it.
//!
//! A block type is a [`Blocks`]: its scalar [`define`](Blocks::define) is the definition, and all
//! that an architecture without kernels of its own runs. [`avx2`](Blocks::avx2) is by default the
//! same function compiled again for that level; a type overrides it where that is measurably
//! faster. Adding a type is its row in `blocks.rs`, its `Blocks` in a file of this folder, and
//! its line in that file's `KERNELS`.
#![allow(unsafe_code)] // The AVX2 forms; each is reached only where the CPU has that level.

use half::{bf16, f16};

use crate::schemes::Out;
use crate::simd::{Level, Number, Set};

/// The most elements a block has.
pub(crate) const MOST_ELEMENTS: usize = 256;

/// One block type: `BYTES` bytes hold `ELEMENTS` numbers.
pub(super) trait Blocks<const BYTES: usize, const ELEMENTS: usize> {
    /// Its name in `blocks.rs`.
    const NAME: &'static str;

    /// The definition.
    fn define(block: &[u8; BYTES], out: &mut [f32; ELEMENTS]);

    /// The same at the AVX2 level, in any output type.
    ///
    /// Must be `#[inline(always)]`, so that it is compiled with that level's instructions.
    ///
    /// # Safety
    ///
    /// The CPU has AVX2 and F16C.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn avx2<T: Number>(block: &[u8; BYTES], out: &mut [T; ELEMENTS]) {
        // SAFETY: the caller saw to the CPU.
        unsafe { T::through_lanes(out, |values| Self::define(block, values)) }
    }
}

/// A block type with its size forgotten: what the table holds.
pub(crate) struct Kernel {
    /// The block type's name in `blocks.rs`.
    pub(crate) name: &'static str,
    f32: fn(Level, &[u8], &mut [f32]),
    bf16: fn(Level, &[u8], &mut [bf16]),
    f16: fn(Level, &[u8], &mut [f16]),
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
    }
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
    match level.set() {
        // SAFETY: a level comes from `simd::level` or `Level::available`: the CPU has it.
        #[cfg(target_arch = "x86_64")]
        Set::Avx2 => unsafe { decode_avx2::<B, T, BYTES, ELEMENTS>(blocks, out) },
        _ => decode_baseline::<B, T, BYTES, ELEMENTS>(blocks, out),
    }
}

#[inline(never)]
fn decode_baseline<
    B: Blocks<BYTES, ELEMENTS>,
    T: Number,
    const BYTES: usize,
    const ELEMENTS: usize,
>(
    blocks: &[[u8; BYTES]],
    out: &mut [[T; ELEMENTS]],
) {
    for (block, out) in blocks.iter().zip(out) {
        T::through(out, |values| B::define(block, values));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(never)]
#[target_feature(enable = "avx2,f16c")]
unsafe fn decode_avx2<
    B: Blocks<BYTES, ELEMENTS>,
    T: Number,
    const BYTES: usize,
    const ELEMENTS: usize,
>(
    blocks: &[[u8; BYTES]],
    out: &mut [[T; ELEMENTS]],
) {
    for (block, out) in blocks.iter().zip(out) {
        // SAFETY: the caller saw to the CPU.
        unsafe { B::avx2(block, out) }
    }
}

/// The half-precision number at byte `at` of a block.
#[inline(always)]
pub(super) fn half_at(block: &[u8], at: usize) -> f32 {
    crate::simd::half_to_f32(u16::from_le_bytes([block[at], block[at + 1]]))
}
