//! The figures of a window onto a weight.

use super::figures::{Figures, Whole};
use super::gauge::{Gauge, Rows};
use super::job::rows_of;
use super::sample::Sample;
use super::tally::Tally;
use crate::dtype::DType;
use crate::error::Result;
use crate::ops::{Numbers, Window, Work};

impl Window {
    /// The figures of its numbers. Coordinates are those of the window.
    pub fn figures(&self, work: &Work) -> Result<Figures> {
        if self.is_whole() {
            let all = super::measured(vec![self.weight().clone()], work)?;
            self.check()?;
            return Ok(all.into_iter().next().map_or_else(|| nothing(&[]), |(_, figures)| figures));
        }
        let rows = rows_of(self.shape());
        let (mut gauge, mut whole, mut tally) =
            (Gauge::default(), Whole::default(), Tally::default());
        let (mut rest, mut at) = (Vec::new(), 0);
        let row = usize::try_from(rows.len.unwrap_or(1)).unwrap_or(1);
        let wide = self.in_type_for_figures();
        wide.read(&mut |bytes| {
            rest.extend(doubles(wide.dtype(), bytes));
            // Rows are whole before the next ones are begun.
            let len = rest.len() / row * row;
            gauge.begin(rows, at, Sample::Whole);
            gauge.take_wide(&rest[..len]);
            rest.drain(..len);
            at += len as u64;
            tally.plus(&gauge.tally);
            whole.add(&gauge);
            Ok(())
        })?;
        Ok(Figures::of(self.shape(), rows, &tally, &whole))
    }

    /// This window in the type that statistics are computed in.
    fn in_type_for_figures(&self) -> Self {
        let stored = self.weight().native().filter(|_| self.weight().is_plain());
        let is_shown = |dtype: &DType| Numbers::of_bytes(*dtype, &[]).is_some();
        self.in_type(stored.filter(is_shown).unwrap_or(DType::F32))
    }
}

#[allow(clippy::cast_precision_loss)] // As numpy does.
fn doubles(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    match Numbers::of_bytes(dtype, bytes) {
        Some(Numbers::F64(all)) => all,
        Some(Numbers::F32(all)) => all.into_iter().map(f64::from).collect(),
        Some(Numbers::F16(all)) => all.into_iter().map(f64::from).collect(),
        Some(Numbers::Bf16(all)) => all.into_iter().map(f64::from).collect(),
        Some(Numbers::Signed(all)) => all.into_iter().map(|x| x as f64).collect(),
        Some(Numbers::Unsigned(all)) => all.into_iter().map(|x| x as f64).collect(),
        Some(Numbers::Bool(all)) => all.into_iter().map(|x| f64::from(u8::from(x))).collect(),
        None => Vec::new(),
    }
}

/// The figures of no numbers.
pub(super) fn nothing(shape: &[u64]) -> Figures {
    Figures::of(shape, Rows::default(), &Tally::default(), &Whole::default())
}
