//! The targets, judged by median.

use super::Measured;
use super::canonical::{CANONICAL, NATIVE};
use super::peers::WHOLE;
use crate::anamnesis::ANAMNESIS;
use crate::decoding::{OURS, find, over_limit};
use crate::harness::Row;
use crate::table::Table;
use crate::verdict::{Ratios, at_least, at_most, mean};

/// How close to the limit a scheme must come.
pub struct Class {
    name: &'static str,
    /// Times the limit at f32, bf16 and f16.
    pub factors: [f64; 3],
}

impl Class {
    /// Whether both are the same class.
    pub fn is(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Stored in the order of the result.
pub static ROWS_CLASS: Class = Class { name: "stored by rows", factors: [1.5, 1.7, 1.5] };
/// Stored by columns of the result: transposing is part of decoding.
pub static COLUMNS_CLASS: Class = Class { name: "GPTQ and AWQ", factors: [2.2, 2.2, 2.2] };

/// A peer as a multiple of ours in the same contest, by median and by best.
pub fn peer_over_ours(rows: &[Row], peer: &str, ours: &str) -> Option<(f64, f64)> {
    let (ours, peer) = (find(rows, ours)?, find(rows, peer)?);
    Some((peer.median / ours.median, peer.best / ours.best))
}

/// Says of each target whether it was met.
pub fn judge(table: &mut Table, all: &[Measured]) {
    for class in [&ROWS_CLASS, &COLUMNS_CLASS] {
        for (output, factor) in OURS.into_iter().zip(class.factors) {
            let of_class = all.iter().filter(|one| one.case.class.is(class));
            let ratios: Ratios = of_class
                .filter_map(|one| Some((one.case.name, over_limit(&one.own, output)?.0)))
                .collect();
            let what = format!("{} at {}: at most {factor}x the limit", class.name, output.0);
            at_most(table, what, &ratios, factor);
        }
    }
    judge_anamnesis(table, all);
    let python = |one: &Measured| Some(peer_over_ours(&one.canonical.rows, CANONICAL, NATIVE)?.0);
    let ratios = all.iter().filter_map(|one| Some((one.case.name, python(one)?))).collect();
    at_least(table, format!("{CANONICAL}: at least 5x ours"), &ratios, 5.0);
}

fn judge_anamnesis(table: &mut Table, all: &[Measured]) {
    let over = |peer: &'static str| -> Ratios {
        let ratio = |one: &Measured| Some(peer_over_ours(&one.anamnesis, peer, "bf16")?.0);
        all.iter().filter_map(|one| Some((one.case.name, ratio(one)?))).collect()
    };
    let [default, default_warm, _, warm] = ANAMNESIS;
    let inverse = |ratios: Ratios| ratios.into_iter().map(|(name, r)| (name, 1.0 / r)).collect();
    let what = format!("no scheme over 1.05x of {warm}, which does not transpose");
    at_most(table, what, &inverse(over(warm)), 1.05);
    at_most(table, format!("none over 1.05x of {WHOLE}"), &inverse(over(WHOLE)), 1.05);
    for (peer, factor) in [(warm, 1.8), (default, 4.0), (default_warm, 4.0)] {
        let ratios = over(peer);
        let count = ratios.len();
        let what = format!("{peer}: at least {factor}x ours in the geometric mean of {count}");
        mean(table, what, &ratios, factor);
    }
}
