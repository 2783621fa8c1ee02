//! Nibbles that choose from a table of sixteen uneven steps.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | IQ4_NL | f16 `d`; 16 bytes of nibbles | d step(q) |
//! | IQ4_XS | f16 `d`; eight 2-bit upper parts of scales; eight 4-bit lower parts; eight times 16 bytes of nibbles | (d (s - 32)) step(q) |
//!
//! In each 16 bytes low nibbles are elements 0 to 15, high nibbles elements 16 to 31. A scale `s`
//! of IQ4_XS belongs to 32 elements.

use super::kernel::{Blocks, Kernel, coder, decoded_by, half_at};

pub(super) static KERNELS: &[Kernel] =
    &[coder::<Iq4Nl, Iq4Nl, 18, 32>(), coder::<Iq4Xs, Iq4Xs, 136, 256>()];

/// What the sixteen nibbles stand for.
pub(super) const STEPS: [i8; 16] =
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// Sixteen bytes of nibbles as steps times a scale.
#[inline(always)]
fn steps_times_scale(nibbles: &[u8; 16], scale: f32, out: &mut [f32; 32]) {
    let (low, high) = out.split_at_mut(16);
    for ((low, high), byte) in low.iter_mut().zip(high).zip(nibbles) {
        *low = scale * f32::from(STEPS[usize::from(byte & 15)]);
        *high = scale * f32::from(STEPS[usize::from(byte >> 4)]);
    }
}

pub(super) struct Iq4Nl;

impl Blocks<18, 32> for Iq4Nl {
    const NAME: &'static str = "IQ4_NL";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 32]) {
        steps_times_scale(&block[2..].as_chunks().0[0], half_at(block, 0), out);
    }

    decoded_by!(18 => 32: iq4_nl(block, &STEPS));
}

pub(super) struct Iq4Xs;

/// The scales of the eight groups of an IQ4_XS block.
#[inline(always)]
pub(super) fn group_scales(block: &[u8; 136]) -> [f32; 8] {
    let d = half_at(block, 0);
    let upper = u16::from_le_bytes([block[2], block[3]]);
    std::array::from_fn(|group| {
        let lower = block[4 + group / 2] >> (group % 2 * 4) & 15;
        let scale = i16::from(lower) | ((upper >> (group * 2) & 3) << 4).cast_signed();
        d * f32::from(scale - 32)
    })
}

impl Blocks<136, 256> for Iq4Xs {
    const NAME: &'static str = "IQ4_XS";

    #[inline(always)]
    fn define(block: &[u8; 136], out: &mut [f32; 256]) {
        let groups = block[8..].as_chunks().0.iter().zip(out.as_chunks_mut().0);
        for ((nibbles, out), scale) in groups.zip(group_scales(block)) {
            steps_times_scale(nibbles, scale, out);
        }
    }

    decoded_by!(136 => 256: iq4_xs(block, &STEPS));
}
