//! How the figures of a conversion are written.

use super::cases::Case;
use super::contest::{CP, LIMITS, OURS, Outcome};
use crate::decoding::find;

/// How to read them.
pub const LEGEND: &str = "Seconds are of the whole child program, median with the best in brackets; \
     GB/s counts what is read and what is written; `x limit` is times the copy loop with as many \
     threads (2 for the others), by median with the best in brackets, bold over its target; \
     CPU is user and system time of the median turn, peak the largest resident set of all turns, \
     read and written are what went through system calls (what is mapped is not counted); \
     `x ours` is times `weigh -j 2`. The limit reads every byte of the input and writes as many bytes as the \
     output has, in pieces of 1 MiB. amn and Python have fewer turns, whoever takes \
     over ten seconds has one. amn writes one file and nothing to the standard output, so it cannot reshard.";

/// The columns.
pub fn head() -> Vec<String> {
    let costs = ["CPU s", "peak MiB", "read GB", "written GB"];
    let head = ["conversion", "who", "seconds", "GB/s", "x limit"].into_iter().chain(costs);
    head.chain(["x ours", "x peak"]).map(str::to_owned).collect()
}

/// The line of one contestant.
pub fn line(case: &Case, outcome: &Outcome, index: usize) -> Vec<String> {
    let row = &outcome.rows[index];
    let one = [LIMITS[1].0, OURS[1].0].contains(&row.contestant.as_str());
    let limit = find(&outcome.rows, LIMITS[usize::from(one)].0).expect("it always runs");
    let ours = find(&outcome.rows, OURS[0].0).expect("it always runs");
    let over = row.median / limit.median;
    let is_ours = OURS.iter().any(|(name, _)| *name == row.contestant);
    let mark = if is_ours && over > case.bound { "**" } else { "" };
    let peak = outcome.peak(&row.contestant).unwrap_or(0);
    vec![
        case.name.to_owned(),
        row.contestant.clone(),
        format!("{:.3} ({:.3})", row.median, row.best),
        // `cp` moves a different number of bytes than the rest.
        match row.contestant.as_str() {
            CP => "-".into(),
            _ => format!("{:.2}", outcome.bytes as f64 / row.median / 1e9),
        },
        format!("{mark}{over:.2}{mark} ({:.2})", row.best / limit.best),
        format!("{:.2}", outcome.cpu(index)),
        format!("{:.1}", peak as f64 / f64::from(1 << 20)),
        outcome.moved(index, |moved| moved.read),
        outcome.moved(index, |moved| moved.written),
        format!("{:.2} ({:.2})", row.median / ours.median, row.best / ours.best),
        format!("{:.1}", peak as f64 / outcome.peak(OURS[0].0).unwrap_or(1) as f64),
    ]
}
