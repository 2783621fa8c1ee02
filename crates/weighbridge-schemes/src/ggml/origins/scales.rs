//! The scales of every block type, and how far they may be from what they were rounded from.

use crate::ggml::codebook::group_scales;
use crate::ggml::fp4::{half_power, half_scales};
use crate::ggml::kernel::half_at;
use crate::ggml::{k_minimum, k_signed};

/// The most groups that a block has.
const GROUPS: usize = 16;

/// Where the scales of a block are. Not a function each: a function that is called through a pointer
/// is not compiled for the CPU's level.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// A scale at the front and nothing else.
    ScaleFirst,
    /// A scale at the end and nothing else.
    ScaleLast,
    /// A scale and a minimum at the front.
    ScaleAndMinimum,
    Q2K,
    Q3K,
    /// Q4_K and Q5_K.
    Q4K,
    Q6K,
    /// A scale in single precision.
    Q8K,
    Iq4Xs,
    Mxfp4,
    Nvfp4,
}

impl Layout {
    /// Reads the scales of a block.
    #[inline(always)]
    pub(super) fn read(self, block: &[u8], scales: &mut Scales) {
        match self {
            Self::ScaleFirst => scales.set_one(half_at(block, 0), None),
            Self::ScaleLast => scales.set_one(half_at(block, block.len() - 2), None),
            Self::ScaleAndMinimum => scales.set_one(half_at(block, 0), Some(half_at(block, 2))),
            Self::Q2K => {
                let (d, m) = (half_at(block, 80), half_at(block, 82));
                scales.set(d, Some(m), 16, |group| {
                    [d * f32::from(block[group] & 15), -m * f32::from(block[group] >> 4)]
                });
            }
            Self::Q3K => {
                let (d, factors) = (half_at(block, 108), k_signed::six_bits(&block[96..108]));
                scales.set(d, None, 16, |group| [d * (f32::from(factors[group]) - 32.0), 0.0]);
            }
            Self::Q4K => {
                let (d, m) = (half_at(block, 0), half_at(block, 2));
                let [factors, minimums] = k_minimum::six_bits(&block[4..16]);
                scales.set(d, Some(m), 8, |group| {
                    [d * f32::from(factors[group]), -m * f32::from(minimums[group])]
                });
            }
            Self::Q6K => {
                let d = half_at(block, 208);
                let factor = |group: usize| f32::from(block[192 + group].cast_signed());
                scales.set(d, None, 16, |group| [d * factor(group), 0.0]);
            }
            Self::Q8K => {
                scales.scales[0] = f32::from_le_bytes([block[0], block[1], block[2], block[3]]);
            }
            Self::Iq4Xs => {
                let factors = group_scales(&block.as_chunks().0[0]);
                scales.set(half_at(block, 0), None, 8, |group| [factors[group], 0.0]);
            }
            // Powers of two; codes were chosen under these very scales.
            Self::Mxfp4 => scales.scales[0] = half_power(block[0]),
            // Codes are chosen under the scales as stored, which may have been rounded down to
            // zero, or cut off at the largest.
            Self::Nvfp4 => {
                scales.scales[..4].copy_from_slice(&half_scales(&block.as_chunks().0[0]));
                scales.is_largest = block[..4].iter().any(|scale| scale & 0x7f == 0x7e);
                scales.unsure[0] = if scales.is_largest { f32::INFINITY } else { SCALE_STEP / 2.0 };
            }
        }
    }
}

/// The smallest scale of NVFP4, and the step between small ones; halved, as all scales are.
const SCALE_STEP: f32 = 1.0 / (1 << 10) as f32;

/// What the numbers of a block's groups are multiplied by, and what is added.
#[derive(Default)]
pub(super) struct Scales {
    pub(super) scales: [f32; GROUPS],
    pub(super) zeros: [f32; GROUPS],
    /// The block's own scale and minimum, if they were rounded and nobody has asked how far.
    rounded: Option<(f32, Option<f32>)>,
    /// How far the block's own scale and minimum may be from what they were rounded from.
    pub(super) unsure: [f32; 2],
    /// The first of these, relative to the scale.
    pub(super) relative: f32,
    /// Whether a scale is the largest that can be stored: a larger one may have been wanted.
    is_largest: bool,
}

impl Scales {
    /// The scale of the block is `d`, its minimum, if it has one, `m`; groups have a scale and an
    /// offset each.
    #[inline(always)]
    fn set(&mut self, d: f32, m: Option<f32>, groups: usize, each: impl Fn(usize) -> [f32; 2]) {
        for group in 0..groups {
            [self.scales[group], self.zeros[group]] = each(group);
        }
        self.rounded = Some((d, m));
    }

    /// Handles a block that is one group.
    #[inline(always)]
    fn set_one(&mut self, d: f32, m: Option<f32>) {
        self.set(d, m, 1, |_| [d, m.unwrap_or(0.0)]);
    }

    /// Finds out how far scale and minimum may be from what they were rounded from. Most groups are
    /// judged without that, and a division is slow.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        if let Some((d, m)) = self.rounded.take() {
            self.unsure = [half_ulp(d), m.map_or(0.0, half_ulp)];
            // A scale of zero has one level, whatever it was rounded from.
            self.relative = if d == 0.0 { 0.0 } else { self.unsure[0] / d.abs() };
        }
    }

    /// Multiplies everything by the scale of a whole weight. That was chosen so that all others can
    /// be stored: the largest of them is then that of the largest number, and was not cut off.
    #[inline(always)]
    pub(super) fn multiply(&mut self, factor: f32) {
        self.settle();
        self.scales.iter_mut().for_each(|scale| *scale *= factor);
        self.zeros.iter_mut().for_each(|zero| *zero *= factor);
        if self.is_largest {
            self.unsure[0] = SCALE_STEP / 2.0;
        }
        self.unsure.iter_mut().for_each(|unsure| *unsure *= factor.abs());
    }
}

/// Half of the distance between two half-precision numbers of that size.
#[inline(always)]
fn half_ulp(number: f32) -> f32 {
    const SMALLEST_NORMAL: f32 = 1.0 / (1 << 14) as f32;
    let power = f32::from_bits(number.to_bits() & 0x7f80_0000);
    power.max(SMALLEST_NORMAL) / (1 << 11) as f32
}
