//! The statistics of a weight as text.

use std::io::{self, Write};

use weighbridge::ops::{Bars, Figures};

use crate::render::lists::labelled;
use crate::render::units::{figure, grouped};
use crate::render::{LABEL, Page};
use crate::terminal;

/// Length of the longest bar, in columns.
const LONGEST: usize = 30;

pub(super) fn write(out: &mut dyn Write, figures: &Figures) -> io::Result<()> {
    let number = |value: Option<f64>| value.map_or("none".to_owned(), figure);
    let at = |index: &Option<Vec<u64>>| match index {
        Some(index) => format!(" at {index:?}"),
        None => String::new(),
    };
    let counted = |count: u64, index: &Option<Vec<u64>>| match index {
        Some(index) => format!("{}, first at {index:?}", grouped(count)),
        None => grouped(count),
    };
    let is_partly_known = figures.rank_error > 0.0 && figures.outliers > 0;
    let least = if is_partly_known { "at least " } else { "" };
    let mut facts = vec![
        ("values", grouped(figures.elements)),
        ("mean", number(figures.mean)),
        ("deviation", number(figures.deviation)),
        ("min", format!("{}{}", number(figures.min), at(&figures.min_index))),
        ("max", format!("{}{}", number(figures.max), at(&figures.max_index))),
        ("zeros", grouped(figures.zeros)),
        ("nan", counted(figures.nan, &figures.first_nan)),
        ("infinite", counted(figures.infinite, &figures.first_infinite)),
        ("outliers", format!("{least}{}", grouped(figures.outliers))),
    ];
    let quantiles = [1, 5, 25, 50, 75, 95, 99]
        .map(|percent| format!("{percent}% {}", number(figures.quantiles.percent(percent))));
    let sampled = if figures.rank_error > 0.0 {
        let (counted, error) = (grouped(figures.counted), figures.rank_error * 100.0);
        format!(" (of {counted} values; rank error at most {error:.2}%)")
    } else {
        String::new()
    };
    facts.push(("quantiles", format!("{}{sampled}", quantiles.join(", "))));
    writeln!(out)?;
    labelled(out, &Page::on_terminal(false), &facts)?;
    match &figures.histogram {
        Some(histogram) => bars(out, histogram, terminal::speaks_unicode()),
        None => Ok(()),
    }
}

/// Writes a line for each bin: its start, a bar and its share.
#[allow(clippy::cast_precision_loss)] // A dozen bars.
fn bars(out: &mut dyn Write, histogram: &Bars, unicode: bool) -> io::Result<()> {
    writeln!(out)?;
    let most = histogram.shares.iter().copied().fold(0.0, f64::max);
    let step = (histogram.to - histogram.from) / histogram.shares.len() as f64;
    for (index, &share) in histogram.shares.iter().enumerate() {
        let from = figure(histogram.from + step * index as f64);
        let (bar, percent) = (bar(share / most, unicode), share * 100.0);
        writeln!(out, "  {LABEL}{from:>10}{LABEL:#}  {bar:<LONGEST$} {percent:5.1} %")?;
    }
    Ok(())
}

/// A bar for a share of the longest, to an eighth of a column in Unicode.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn bar(share: f64, unicode: bool) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if unicode {
        let eighths = (share * LONGEST as f64 * 8.0).round() as usize;
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
    } else {
        "#".repeat((share * LONGEST as f64).round() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_fine_as_the_characters_there_are() {
        assert_eq!(bar(1.0, true), "█".repeat(LONGEST));
        assert_eq!(bar(0.5 / 30.0, true), "▌");
        assert_eq!(bar(0.0, true), "");
        assert_eq!(bar(2.4 / 30.0, false), "##");
    }
}
