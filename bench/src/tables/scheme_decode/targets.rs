//! What is asked of the figures, by median.

use super::Measured;
use crate::decoding::{OURS, over_limit};
use crate::table::Table;
use crate::verdict::{Ratios, at_most};

/// How near to the limit a scheme must come.
pub struct Class {
    name: &'static str,
    /// Times the limit at f32, bf16 and f16.
    pub factors: [f64; 3],
}

/// Stored in the order of the result.
pub static ROWS_CLASS: Class = Class { name: "stored by rows", factors: [1.5, 1.7, 1.5] };
/// Stored by columns of the result: the transposition is a part of decoding.
pub static COLUMNS_CLASS: Class = Class { name: "GPTQ and AWQ", factors: [2.2, 2.2, 2.2] };

/// Says of each target whether it was met.
pub fn judge(table: &mut Table, all: &[Measured]) {
    for class in [&ROWS_CLASS, &COLUMNS_CLASS] {
        for (output, factor) in OURS.into_iter().zip(class.factors) {
            let of_class = all.iter().filter(|one| one.case.class.name == class.name);
            let ratios: Ratios = of_class
                .filter_map(|one| Some((one.case.name, over_limit(&one.own, output)?.0)))
                .collect();
            let what = format!("{} at {}: at most {factor}x the limit", class.name, output.0);
            at_most(table, what, &ratios, factor);
        }
    }
}
