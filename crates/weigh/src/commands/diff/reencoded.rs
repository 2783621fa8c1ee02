//! The result of `--reencode`: whether encoding the original again gives the stored bytes. If not,
//! the error of the stored bytes relative to that of the encoder.

use std::cmp::Ordering;
use std::io::{self, Write};

use weighbridge::ops::{DiffReport, DiffTensor, Reencoded};

use super::render::named;
use crate::render::units::{grouped, plural};

/// Writes a summary line, then a line for each weight with different bytes, worst first.
pub(super) fn write(out: &mut dyn Write, report: &DiffReport, limit: usize) -> io::Result<()> {
    let Some(summary) = &report.summary.reencoded else { return Ok(()) };
    if summary.compared == 0 {
        return writeln!(out, "  re-encoded: 0 weights; none has both an original and an encoder");
    }
    let all = || report.tensors.iter().filter_map(|one| Some((one, one.reencoded.as_ref()?)));
    let mut others: Vec<_> = all().filter(|(_, one)| one.identical_blocks < one.blocks).collect();
    others.sort_by(|(_, a), (_, b)| by_ratio(a, b));
    let (same, compared) = (grouped(summary.same_bytes), plural(summary.compared, "weight"));
    let have = if summary.compared == 1 { "has" } else { "have" };
    let maker = maker(all());
    write!(out, "  re-encoded: {same} of {compared} {have} the bytes of {maker}")?;
    match others.first().and_then(|(_, one)| one.error_ratio) {
        Some(ratio) => writeln!(out, "; at worst {} its error", times(ratio))?,
        None => writeln!(out)?,
    }
    for (tensor, one) in others.iter().take(limit) {
        write_one(out, tensor, one)?;
    }
    match others.len().saturating_sub(limit) {
        0 => Ok(()),
        more => writeln!(out, "  and {} more with different bytes", grouped(more as u64)),
    }
}

/// Largest error first; unknown errors last.
fn by_ratio(a: &Reencoded, b: &Reencoded) -> Ordering {
    let ratio = |one: &Reencoded| one.error_ratio.unwrap_or(f64::NEG_INFINITY);
    ratio(b).total_cmp(&ratio(a))
}

/// The name of the quantizer, from the scheme of the stored sides.
fn maker<'r>(mut all: impl Iterator<Item = (&'r DiffTensor, &'r Reencoded)>) -> String {
    let scheme = |(tensor, one): (&'r DiffTensor, &'r Reencoded)| match one.side {
        "a" => tensor.scheme_a,
        _ => tensor.scheme_b,
    };
    match all.next().map(scheme) {
        Some(first) if all.all(|one| scheme(one) == first) => format!("{first}'s quantizer"),
        _ => "the quantizer of its type".to_owned(),
    }
}

fn write_one(out: &mut dyn Write, tensor: &DiffTensor, one: &Reencoded) -> io::Result<()> {
    let (name, encoder) = (named(tensor), one.encoder);
    let others = grouped(one.blocks - one.identical_blocks);
    let blocks = plural(one.blocks, "block");
    match one.error_ratio {
        Some(ratio) => {
            let times = times(ratio);
            writeln!(out, "  {name}: {others} of {blocks} differ, {times} the error of {encoder}")
        }
        None => writeln!(out, "  {name}: {others} of {blocks} differ from {encoder}"),
    }
}

/// `1.31x`. A ratio that rounds to 1 is marked as larger or smaller.
fn times(ratio: f64) -> String {
    let rounded = format!("{ratio:.2}x");
    match (rounded.as_str(), ratio) {
        ("1.00x", ratio) if ratio > 1.0 => ">1.00x".to_owned(),
        ("1.00x", ratio) if ratio < 1.0 => "<1.00x".to_owned(),
        _ => rounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_one_only_if_it_is() {
        assert_eq!(times(1.0), "1.00x");
        assert_eq!(times(1.000_1), ">1.00x");
        assert_eq!(times(0.999_9), "<1.00x");
        assert_eq!(times(1.314), "1.31x");
    }
}
