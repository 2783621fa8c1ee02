//! What looks wrong in the figures of a weight.

use super::figures::{EXPLODED, Figures, OUTLIER};
use crate::dtype::DType;
use crate::model::Weight;
use crate::ops::reports::reports;

reports! {
    /// Something that looks wrong with a weight.
    #[derive(Clone)]
    pub struct Oddity {
        /// A stable word for it.
        pub kind: &'static str,
        pub message: String,
    }
}

/// The kinds of [`Oddity`], the worst first.
pub const ODDITY_KINDS: [&str; 9] = [
    "nan",
    "infinite",
    "exploded-rows",
    "saturated",
    "all-zero",
    "constant",
    "dead-rows",
    "dead-columns",
    "outliers",
];

/// How bad it is: the worst are lowest.
pub(super) fn rank(oddities: &[Oddity]) -> usize {
    let places =
        oddities.iter().filter_map(|one| ODDITY_KINDS.iter().position(|kind| *kind == one.kind));
    places.min().unwrap_or(ODDITY_KINDS.len())
}

/// Codes of fewer bits have so few levels that the largest is common in any weight.
const LEAST_BITS: u64 = 8;

/// Of so many numbers, one that is as large as the largest of its row is one too many.
const SATURATED: u64 = 100;

/// What looks wrong. Integers and booleans are no weights to be judged.
pub(super) fn oddities(weight: &Weight, figures: &Figures) -> Vec<Oddity> {
    let is_float = !weight.is_plain() || weight.native().is_some_and(DType::is_float);
    let mut all = Vec::new();
    let mut say = |kind, message: String| all.push(Oddity { kind, message });
    if figures.nan > 0 {
        let first = figures.first_nan.clone().unwrap_or_default();
        say("nan", format!("{} NaN, the first at {first:?}", are(figures.nan)));
    }
    if figures.infinite > 0 {
        let first = figures.first_infinite.clone().unwrap_or_default();
        say("infinite", format!("{} infinite, the first at {first:?}", are(figures.infinite)));
    }
    if !is_float || figures.elements < 2 {
        return all;
    }
    if figures.zeros == figures.elements {
        say("all-zero", "all values are zero".to_owned());
        return all;
    }
    if figures.nan + figures.infinite == 0 && figures.min == figures.max {
        let value = figures.min.unwrap_or_default();
        say("constant", format!("all values are {value}"));
        return all;
    }
    if let Some(rows) = &figures.rows {
        if rows.exploded > 0 {
            let at = figures.max.zip(figures.min).map_or(&figures.max_index, |(max, min)| {
                if max.abs() >= min.abs() { &figures.max_index } else { &figures.min_index }
            });
            say(
                "exploded-rows",
                format!(
                    "{} of {} rows have values over {EXPLODED} times those of the median row, the \
                     largest at {:?}",
                    rows.exploded,
                    rows.count,
                    at.clone().unwrap_or_default()
                ),
            );
        }
        let has_levels = weight.stored_bytes().saturating_mul(8) >= figures.elements * LEAST_BITS;
        if has_levels && rows.repeated_extremes > figures.elements / SATURATED {
            #[allow(clippy::cast_precision_loss)] // A percentage.
            let share = rows.repeated_extremes as f64 * 100.0 / figures.elements as f64;
            say("saturated", format!("{share:.1}% of the values repeat the largest of their row"));
        }
        if rows.dead > 0 {
            let first = named(&rows.first_dead, rows.dead);
            say("dead-rows", format!("{} of {} rows are zero: {first}", rows.dead, rows.count));
        }
        if let Some(dead) = rows.dead_columns.filter(|dead| *dead > 0) {
            let first = named(&rows.first_dead_columns, dead);
            say("dead-columns", format!("{dead} of {} columns are zero: {first}", rows.elements));
        }
    }
    if figures.outliers > 0 {
        let least = if figures.rank_error > 0.0 { "at least " } else { "" };
        let are = are(figures.outliers);
        say(
            "outliers",
            format!("{least}{are} more than {OUTLIER} standard deviations from the mean"),
        );
    }
    all
}

/// `1 value is`, `3 values are`.
fn are(count: u64) -> String {
    if count == 1 { "1 value is".to_owned() } else { format!("{count} values are") }
}

/// `3, 17, 18 and others`.
fn named(first: &[u64], all: u64) -> String {
    let names: Vec<String> = first.iter().map(u64::to_string).collect();
    let others = if all > first.len() as u64 { " and others" } else { "" };
    format!("{}{others}", names.join(", "))
}
