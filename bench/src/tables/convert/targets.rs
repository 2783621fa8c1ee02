//! The targets, judged by median.

use super::cases::{Case, Place};
use super::contest::{LIMITS, OURS, Outcome};
use super::peers::{AMN, PYTHON};
use crate::decoding::find;
use crate::harness::Row;
use crate::table::Table;
use crate::verdict::{Ratios, at_least, at_most};

/// The lines that compare two workers with one.
const ONE_TENSOR: &str = "fp8-one-tensor";
const TO_STDOUT: &str = "fp8-one-tensor-stdout";

/// The second's time as a multiple of the first's.
fn times(rows: &[Row], first: &str, second: &str) -> Option<f64> {
    Some(find(rows, second)?.median / find(rows, first)?.median)
}

/// Says of each target whether it was met.
pub fn judge(table: &mut Table, all: &[(&Case, Outcome)]) {
    let ratios =
        |keep: &dyn Fn(&Case) -> bool, ratio: &dyn Fn(&Outcome) -> Option<f64>| -> Ratios {
            let kept = all.iter().filter(|(case, _)| keep(case));
            kept.filter_map(|(case, outcome)| Some((case.name, ratio(outcome)?))).collect()
        };
    for bound in [1.3, 1.5] {
        for ((ours, _), (limit, _)) in OURS.into_iter().zip(LIMITS) {
            // Equal to the bit: each bound is written as one of these. Standard output is left out.
            let keep =
                |case: &Case| case.bound.to_bits() == f64::to_bits(bound) && case.output != "-";
            let found = ratios(&keep, &|outcome| times(&outcome.rows, limit, ours));
            at_most(table, format!("{ours}: at most {bound}x the limit"), &found, bound);
        }
    }
    let ours = OURS[0].0;
    let memory = |case: &Case| case.place == Place::Memory;
    for (peer, bound) in [(AMN, 2.5), (PYTHON, 5.0)] {
        let found = ratios(&memory, &|outcome| times(&outcome.rows, ours, peer));
        at_least(table, format!("{peer}: at least {bound}x as long as ours"), &found, bound);
    }
    let peaks = |outcome: &Outcome| Some(outcome.peak(AMN)? as f64 / outcome.peak(ours)? as f64);
    at_least(table, format!("{AMN}: at least 40x our peak memory"), &ratios(&memory, &peaks), 40.0);
    scaling(table, all);
}

fn scaling(table: &mut Table, all: &[(&Case, Outcome)]) {
    let of =
        |name: &str| all.iter().find(|(case, _)| case.name == name).map(|(_, outcome)| outcome);
    let scaling = |outcome: &Outcome, [two, one]: [(&str, usize); 2]| {
        times(&outcome.rows, two.0, one.0).unwrap_or(0.0)
    };
    if let Some(outcome) = of(ONE_TENSOR) {
        let share = scaling(outcome, OURS) / scaling(outcome, LIMITS);
        table.reaches(
            "one tensor: two workers gain at least 0.95 of what the copy loop gains",
            share,
            0.95,
        );
    }
    if let Some(outcome) = of(TO_STDOUT) {
        let gain = scaling(outcome, OURS);
        table.reaches(
            "one tensor to /dev/null: two workers at least 1.7x as fast as one",
            gain,
            1.7,
        );
    }
}
