//! How each block type chooses its codes, with constants that were measured on ggml's own output.
//!
//! IQ1_S and IQ1_M have no line here, and so no verdict: eight codes are chosen together from
//! three levels that all move up or down, and neither signs nor correlation have been measured
//! for them.

use super::scales::Layout;
use super::{Choice, Grid, Importance, Nearest, Numbers};

/// The steps of IQ4_NL and IQ4_XS.
static STEPS: [f32; 16] = [
    -127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0,
    89.0, 113.0,
];

/// Twice the four-bit floats.
static DOUBLED: [f32; 15] =
    [-12.0, -8.0, -6.0, -4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];

const IQ4: Numbers =
    Numbers { ends: [-127.0, 113.0], middling: 15.0, widest: 24.0, table: Some(&STEPS) };

const FP4: Numbers =
    Numbers { ends: [-12.0, 12.0], middling: 1.0, widest: 4.0, table: Some(&DOUBLED) };

/// Two numbers that are the same but for their signs.
const SIGNS: Numbers = Numbers { ends: [-1.0, 1.0], middling: 2.0, widest: 2.0, table: None };

/// Whole numbers from the first to the last.
const fn whole(first: f32, last: f32) -> Numbers {
    Numbers { ends: [first, last], middling: 1.0, widest: 1.0, table: None }
}

/// How the type of this name chooses its codes, where that is known.
pub(in crate::ggml) fn of_type(name: &str) -> Option<&'static Choice> {
    TYPES.iter().find(|(own, _)| *own == name).map(|(_, choice)| choice)
}

/// One scale a block, and no integers that it is multiplied by.
const fn single(numbers: Numbers, group: usize, importance: Importance) -> Nearest {
    Nearest {
        numbers,
        group,
        layout: Layout::ScaleFirst,
        most: [1.0, 0.0],
        is_before_rounding: true,
        clipped: 1.5,
        loses_zeros: false,
        importance,
    }
}

/// One scale and one minimum a block.
const fn with_minimum(last: f32, loose: f32) -> Nearest {
    Nearest {
        layout: Layout::ScaleAndMinimum,
        most: [1.0, 1.0],
        ..single(whole(0.0, last), 32, Importance::Refits(loose))
    }
}

/// Groups with whole numbers as scales. Codes are chosen under the scales as stored.
const fn grouped(numbers: Numbers, group: usize, layout: Layout, most: [f32; 2]) -> Nearest {
    Nearest { layout, most, is_before_rounding: false, ..single(numbers, group, Importance::Clips) }
}

/// Four-bit floats whose scales are not in half precision. Where scales are powers of two, numbers
/// may lie beyond the highest level by a third of it.
const fn small_floats(group: usize, layout: Layout, most: [f32; 2]) -> Nearest {
    Nearest { clipped: 4.05, importance: Importance::Ignored, ..grouped(FP4, group, layout, most) }
}

const fn grid(
    wrong_signs: [u32; 2],
    correlation: f64,
    gain: Option<[f64; 2]>,
    group: u64,
) -> Choice {
    Choice::Grid(Grid { wrong_signs, correlation, gain, group })
}

use Choice::Nearest as Near;
use Importance::{Ignored, Refits};

const Q2_K: Nearest =
    Nearest { loses_zeros: true, ..grouped(whole(0.0, 3.0), 16, Layout::Q2K, [15.0, 15.0]) };

const Q8_K: Nearest =
    Nearest { importance: Ignored, ..grouped(whole(-128.0, 127.0), 256, Layout::Q8K, [0.0, 0.0]) };

/// TQ1_0 and TQ2_0.
const TERNARY: Nearest =
    Nearest { layout: Layout::ScaleLast, ..single(whole(-1.0, 1.0), 256, Ignored) };

static TYPES: &[(&str, Choice)] = &[
    ("Q4_0", Near(single(whole(-8.0, 7.0), 32, Refits(9.0)))),
    ("Q4_1", Near(with_minimum(15.0, 7.0))),
    ("Q5_0", Near(single(whole(-16.0, 15.0), 32, Refits(9.0)))),
    ("Q5_1", Near(with_minimum(31.0, 8.0))),
    ("Q8_0", Near(single(whole(-128.0, 127.0), 32, Ignored))),
    ("Q8_1", Near(single(whole(-128.0, 127.0), 32, Ignored))),
    ("APR_Q4", Near(single(whole(-8.0, 7.0), 32, Ignored))),
    ("Q2_K", Near(Q2_K)),
    ("Q3_K", Near(grouped(whole(-4.0, 3.0), 16, Layout::Q3K, [32.0, 0.0]))),
    ("Q4_K", Near(grouped(whole(0.0, 15.0), 32, Layout::Q4K, [63.0, 63.0]))),
    ("Q5_K", Near(grouped(whole(0.0, 31.0), 32, Layout::Q4K, [63.0, 63.0]))),
    ("Q6_K", Near(grouped(whole(-32.0, 31.0), 16, Layout::Q6K, [128.0, 0.0]))),
    ("Q8_K", Near(Q8_K)),
    ("IQ4_NL", Near(single(IQ4, 32, Importance::Clips))),
    (
        "IQ4_XS",
        Near(Nearest { is_before_rounding: true, ..grouped(IQ4, 32, Layout::Iq4Xs, [32.0, 0.0]) }),
    ),
    ("TQ1_0", Near(TERNARY)),
    ("TQ2_0", Near(TERNARY)),
    // The scale is the mean of 128 magnitudes, none of which is larger than their sum.
    ("Q1_0", Near(Nearest { most: [64.0, 0.0], clipped: 64.0, ..single(SIGNS, 128, Ignored) })),
    ("Q2_0", Near(single(whole(-1.0, 2.0), 64, Ignored))),
    ("MXFP4", Near(small_floats(32, Layout::Mxfp4, [0.0, 0.0]))),
    // Rounding the scale moves either end by half of what it moves both.
    ("NVFP4", Near(small_floats(16, Layout::Nvfp4, [0.5, 0.0]))),
    // ggml makes these two only with an importance matrix, whether the file says so or not.
    ("IQ2_XXS", grid([2, 2], 0.45, None, 32)),
    ("IQ2_XS", grid([2, 2], 0.45, None, 16)),
    ("IQ2_S", grid([0, 0], 0.45, Some([0.60, 1.06]), 16)),
    ("IQ3_XXS", grid([1, 2], 0.65, Some([0.66, 1.06]), 32)),
    ("IQ3_S", grid([0, 0], 0.70, Some([0.72, 1.06]), 32)),
];
