//! How often each change is found in each type, at the least, in percent.

use super::changes::CHANGES;

/// Changes that are found in every type: a row negated, zeroed, exchanged or shifted, rows of heads
/// permuted.
const ALWAYS: usize = 5;

/// How often the others are, in the order of [`CHANGES`]: an element moved to 6 sigma and by 3
/// steps, 256 and 32 elements times 1.5, everything and a row times 1.04.
type Percent = [u32; CHANGES.len() - ALWAYS];

const ALL: Percent = [100; 6];
const NONE: Percent = [0; 6];

/// Types in which not everything is found, without an importance matrix and with one. What moves
/// no number past the middle between two levels cannot be found.
const RATES: &[(&str, Percent, Percent)] = &[
    ("Q4_0", [100, 100, 100, 100, 100, 25], [100, 100, 0, 0, 100, 0]),
    ("Q4_1", [100, 100, 100, 100, 100, 33], [100, 100, 100, 25, 100, 0]),
    ("Q5_0", ALL, [100, 100, 100, 91, 100, 0]),
    ("Q5_1", ALL, [100, 100, 100, 83, 100, 0]),
    ("Q2_K", [91, 75, 100, 100, 100, 100], [91, 66, 100, 91, 100, 100]),
    ("TQ1_0", [100, 100, 91, 75, 100, 91], NONE),
    ("TQ2_0", [100, 100, 91, 75, 100, 91], NONE),
    // Nothing but signs.
    ("Q1_0", [100, 58, 0, 0, 0, 0], NONE),
    ("Q2_0", [100, 100, 100, 75, 100, 100], NONE),
    ("IQ3_S", [100, 33, 100, 0, 0, 0], [100, 33, 0, 0, 0, 0]),
    ("IQ3_XXS", [33, 0, 100, 0, 0, 0], NONE),
    ("IQ2_S", [100, 58, 100, 0, 0, 0], [100, 50, 0, 0, 0, 0]),
    ("IQ2_XS", NONE, NONE),
    ("IQ2_XXS", NONE, NONE),
    ("mlx-affine2", [100, 100, 100, 100, 100, 91], NONE),
];

/// Types without a verdict.
const UNJUDGED: [&str; 2] = ["IQ1_S", "IQ1_M"];

/// How often a change must be found, by its place in [`CHANGES`]; none where there is no verdict.
pub fn least_percent(kind: &str, by_importance: bool, change: usize) -> Option<u32> {
    if UNJUDGED.contains(&kind) {
        return None;
    }
    let row = RATES.iter().find(|(name, ..)| *name == kind);
    let rates =
        row.map_or(ALL, |(_, plain, weighed)| if by_importance { *weighed } else { *plain });
    Some(change.checked_sub(ALWAYS).map_or(100, |column| rates[column]))
}
