//! Reads the numbers of a window, and only those.
#![allow(clippy::single_range_in_vec_init)] // Lists of stretches, of which there may be one.

use std::ops::Range;

use super::{Numbers, Window};
use crate::error::{Error, Result};
use crate::pipeline::steps_of;

/// Elements that are read at once.
const STEP: u64 = 1 << 20;

/// Takes little-endian bytes, front to back.
type Take<'a> = &'a mut dyn FnMut(&[u8]) -> Result<()>;

impl Window {
    /// All numbers, row by row.
    pub fn numbers(&self) -> Result<Numbers> {
        let bytes = self.elements().saturating_mul(self.width());
        self.weight.model().check_beside(bytes.saturating_mul(2), "the numbers of the weight")?;
        let mut all = Vec::new();
        self.read(&mut |bytes| {
            all.extend_from_slice(bytes);
            Ok(())
        })?;
        self.of_bytes(&all)
    }

    /// The numbers at the corners: of each dimension that has more than `2 * edge` entries, the first
    /// and the last `edge`.
    pub fn corners(&self, edge: u64) -> Result<Numbers> {
        let mut all = Vec::new();
        let mut buffer = Vec::new();
        for row in self.shown_rows(edge) {
            for columns in ends(row.end - row.start, edge) {
                let elements = row.start + columns.start..row.start + columns.end;
                all.extend_from_slice(self.elements_as_bytes(elements, &mut buffer)?);
            }
        }
        self.of_bytes(&all)
    }

    /// All numbers as little-endian bytes, row by row, a stretch at a time.
    pub fn read(&self, take: Take<'_>) -> Result<()> {
        let mut buffer = Vec::new();
        if self.weight.has_element_access() {
            for stretch in self.stretches() {
                for elements in steps_of(stretch, STEP) {
                    take(self.elements_as_bytes(elements, &mut buffer)?)?;
                }
            }
            return self.check();
        }
        // What is decoded by rows is decoded by many of them: each may cost as much as all.
        let row = self.weight.rows_and_columns().1.max(1);
        let most = if self.weight.is_transposed() { 4 * STEP } else { STEP };
        for rows in steps_of(self.rows.clone(), most / row) {
            let bytes = (rows.end - rows.start).saturating_mul(row).saturating_mul(self.width());
            self.weight.model().check_beside(bytes, "some rows of the weight")?;
            buffer.resize(len(bytes)?, 0);
            self.weight.read_rows_into(rows.clone(), self.dtype, &mut buffer)?;
            let base = rows.start * row;
            for stretch in self.stretches_of(&rows) {
                let [start, end] =
                    [stretch.start, stretch.end].map(|at| len((at - base) * self.width()));
                take(&buffer[start?..end?])?;
            }
        }
        self.check()
    }

    /// An error if what was read is not what was stored.
    pub(in crate::ops) fn check(&self) -> Result<()> {
        let model = self.weight.model();
        model.check_sums(&|| Ok(()))?;
        model.refuse_changed()
    }

    fn of_bytes(&self, bytes: &[u8]) -> Result<Numbers> {
        Numbers::of_bytes(self.dtype, bytes)
            .ok_or_else(|| Error::unsupported(format!("values cannot be shown as {}", self.dtype)))
    }

    fn elements_as_bytes<'b>(
        &self,
        elements: Range<u64>,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        let bytes = (elements.end - elements.start).saturating_mul(self.width());
        buffer.resize(len(bytes)?, 0);
        self.weight.read_elements_into(elements, self.dtype, buffer)?;
        Ok(buffer)
    }

    /// Bytes of a number. No type that is shown is smaller than a byte.
    fn width(&self) -> u64 {
        u64::from(self.dtype.bits() / 8)
    }

    /// Elements of the last dimension of the weight.
    fn last(&self) -> u64 {
        self.weight.shape().last().copied().unwrap_or(1)
    }

    /// The elements of the weight that the window has, in stretches.
    fn stretches(&self) -> Vec<Range<u64>> {
        self.stretches_of(&self.rows)
    }

    /// Reads some rows.
    fn stretches_of(&self, rows: &Range<u64>) -> Vec<Range<u64>> {
        if self.elements() == 0 {
            return Vec::new();
        }
        if self.weight.shape().len() < 2 {
            return vec![rows.clone()];
        }
        let (row, last) = (self.weight.rows_and_columns().1, self.last());
        if self.columns == (0..last) {
            vec![rows.start * row..rows.end * row]
        } else {
            let starts = (rows.start * row..rows.end * row)
                .step_by(usize::try_from(last).unwrap_or(usize::MAX));
            starts.map(|at| at + self.columns.start..at + self.columns.end).collect()
        }
    }

    /// The elements of the weight in each innermost row that is shown at the corners.
    fn shown_rows(&self, edge: u64) -> Vec<Range<u64>> {
        if self.elements() == 0 {
            return Vec::new();
        }
        let Some((_, outer)) = self.shape.split_last() else { return vec![0..1] };
        let mut places = vec![0];
        for (axis, &len) in outer.iter().enumerate() {
            let (first, all) =
                (if axis == 0 { self.rows.start } else { 0 }, self.weight.shape()[axis]);
            let along = || ends(len, edge).into_iter().flatten();
            let below = |place: u64| along().map(move |at| place * all + first + at);
            places = places.into_iter().flat_map(below).collect();
        }
        let last = self.last();
        let row = |place: u64| place * last + self.columns.start..place * last + self.columns.end;
        places.into_iter().map(row).collect()
    }
}

/// The first and the last `edge` places of a dimension; all, where these would be all.
fn ends(len: u64, edge: u64) -> Vec<Range<u64>> {
    if len > 2 * edge { vec![0..edge, len - edge..len] } else { vec![0..len] }
}

fn len(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::limit("it exceeds this machine's address space"))
}
