//! The changes in single weights: extent, places and cause.

use std::borrow::Cow;
use std::io::{self, Write};

use weighbridge::internals::text::escaped;
use weighbridge::ops::{DiffPlace, DiffTensor};

use super::render::named;
use crate::render::units::{grouped, plural};

/// Writes a line on a changed weight, then a line for each of its first places.
pub(super) fn write(out: &mut dyn Write, tensor: &DiffTensor, places: usize) -> io::Result<()> {
    let said = [&tensor.change, &tensor.message].map(|said| said.as_deref().map(escaped));
    let said = said.into_iter().flatten().map(Cow::into_owned);
    let parts: Vec<String> = extent(tensor).into_iter().chain(said).collect();
    writeln!(out, "  {}: {}", named(tensor), parts.join("; "))?;
    for place in tensor.places.iter().take(places) {
        writeln!(out, "    {}", placed(place, tensor))?;
    }
    Ok(())
}

/// `16 of 256 elements, in 1 row`; `all 256 elements`.
fn extent(tensor: &DiffTensor) -> Option<String> {
    let has_rows = tensor.shape_a.len() > 1;
    let rows = tensor.outside_rows.filter(|rows| has_rows && *rows > 0);
    let rows = rows.map(|rows| format!("in {}", plural(rows, "row")));
    match tensor.outside.filter(|count| *count > 0) {
        Some(count) if count >= tensor.elements && count > 1 => {
            Some(format!("all {}", plural(tensor.elements, "element")))
        }
        Some(count) => {
            let of = plural(tensor.elements, "element");
            let rows = rows.map_or(String::new(), |rows| format!(", {rows}"));
            Some(format!("{} of {of}{rows}", grouped(count)))
        }
        None => rows.map(|rows| format!("changed {rows}")),
    }
}

/// `[100, 37]: 0.5 in A, -0.5 in B, 12.3 half-gaps`.
fn placed(place: &DiffPlace, of: &DiffTensor) -> String {
    let value = |value: Option<f64>, nan, infinite| {
        value.map_or_else(|| not_finite(nan, infinite).to_owned(), number)
    };
    let far = match place.half_gaps {
        Some(gaps) if gaps < 100.0 => format!(", {gaps:.1} half-gaps"),
        Some(gaps) if gaps < 1e6 => format!(", {gaps:.0} half-gaps"),
        Some(gaps) => format!(", {gaps:.1e} half-gaps"),
        None => String::new(),
    };
    let (a, b) = (value(place.a, of.nan_a, of.inf_a), value(place.b, of.nan_b, of.inf_b));
    format!("{:?}: {a} in A, {b} in B{far}", place.index)
}

/// Names a non-finite value, as precisely as the counts of its side allow.
fn not_finite(nan: Option<u64>, infinite: Option<u64>) -> &'static str {
    match (nan, infinite) {
        (Some(1..), Some(0)) => "NaN",
        (Some(0), Some(1..)) => "infinite",
        _ => "not finite",
    }
}

/// Formats a number with as many digits as distinguish it from its neighbours.
#[allow(clippy::cast_possible_truncation)] // Only where nothing is lost.
fn number(value: f64) -> String {
    let is_single = f64::from(value as f32) == value;
    let is_long = value != 0.0 && !(1e-4..1e7).contains(&value.abs());
    match (is_single, is_long) {
        (true, true) => format!("{:e}", value as f32),
        (true, false) => format!("{}", value as f32),
        (false, true) => format!("{value:e}"),
        (false, false) => format!("{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_need() {
        assert_eq!(number(0.5), "0.5");
        assert_eq!(number(f64::from(0.3f32)), "0.3");
        assert_eq!(number(0.3), "0.3");
        assert_eq!(number(f64::from(f32::from_bits(0.3f32.to_bits() + 1))), "0.30000004");
        assert_eq!(number(f64::from(1e-30f32)), "1e-30");
        assert_eq!(number(-0.0), "-0");
        assert_eq!(number(9_007_199_254_740_991.0), "9.007199254740991e15");
    }
}
