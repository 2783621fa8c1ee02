//! A weight that is put together from others: rows of one after rows of another, the rows of heads
//! in another order, a constant added.
//!
//! Nothing is decoded in another way than its own recipe has it; this only says which stretch of
//! which weight comes where.

use std::ops::Range;
use std::sync::Arc;

use half::f16;

use super::recipe::elements_of;
use super::{Element, Elements, Out, Recipe};
use crate::error::Result;
use crate::source::{Slab, Staged};

/// Which rows of a weight a stretch shows, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowOrder {
    /// As they are, from this one on.
    From(u64),
    /// From this one on, with the two halves of each head interleaved.
    Interleaved {
        /// The first row.
        start: u64,
        /// Rows of a head.
        head_rows: u64,
    },
}

/// What is added to every number, and in which type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Added {
    /// Nothing.
    Nothing,
    /// A constant, in f32.
    Single(f32),
    /// A constant, in f16: the sum is rounded to that type.
    Half(f32),
}

/// Some rows of a weight.
pub(crate) struct Stretch {
    /// How the weight is decoded.
    pub(crate) recipe: Arc<dyn Recipe>,
    /// Where its parts begin among all parts of the composed weight.
    pub(crate) first_part: usize,
    /// Elements of a row.
    pub(crate) row: u64,
    /// How many rows.
    pub(crate) rows: u64,
    /// Which ones.
    pub(crate) order: RowOrder,
    /// What is added.
    pub(crate) added: Added,
}

/// The stretches of a weight, one after the other.
pub(crate) struct Composed {
    stretches: Vec<Stretch>,
    /// Elements of a row of the outermost dimension.
    columns: u64,
    /// Whether all recipes decode any stretch of elements.
    has_element_access: bool,
}

/// Neighbouring elements of a weight, and where they go.
struct Run {
    source: Range<u64>,
    /// Where the first piece goes in the output.
    at: usize,
    /// Elements of a piece.
    piece: usize,
    /// From the start of one piece in the output to the next.
    every: usize,
}

impl Composed {
    /// A weight of these stretches.
    pub(crate) fn new(stretches: Vec<Stretch>, columns: u64) -> Self {
        let has_element_access =
            stretches.iter().all(|stretch| stretch.recipe.elements().is_some());
        Self { stretches, columns, has_element_access }
    }

    /// Calls `take` with each run of `elements`, in order.
    fn each_run<'s>(
        &'s self,
        elements: &Range<u64>,
        mut take: impl FnMut(&'s Stretch, Run) -> Result<()>,
    ) -> Result<()> {
        let mut first = 0u64;
        for stretch in &self.stretches {
            let len = stretch.rows.saturating_mul(stretch.row);
            let start = elements.start.max(first) - first;
            let end = elements.end.min(first + len).max(first) - first;
            if start < end {
                let at = length(first + start - elements.start);
                stretch.each_run(start..end, at, &mut |run| take(stretch, run))?;
            }
            first += len;
        }
        Ok(())
    }

    fn slabs(&self, elements: &Range<u64>, slabs: &mut Vec<Slab>) {
        // Listing what is needed does not fail.
        _ = self.each_run(elements, |stretch, run| {
            stretch.needs(&run.source, slabs);
            Ok(())
        });
    }

    fn decode_as<T: Element>(
        &self,
        staged: &[Staged<'_>],
        elements: &Range<u64>,
        out: &mut [T],
    ) -> Result<()> {
        let (mut used, mut slabs) = (0, Vec::new());
        let (mut numbers, mut singles) = (Vec::new(), Vec::new());
        self.each_run(elements, |stretch, run| {
            slabs.clear();
            stretch.needs(&run.source, &mut slabs);
            let own = staged.get(used..used + slabs.len()).unwrap_or_default();
            used += slabs.len();
            let len = length(run.source.end - run.source.start);
            if run.piece == len {
                let out = &mut out[run.at..run.at + len];
                return stretch.decode(own, &run.source, out, &mut singles);
            }
            numbers.resize(len, T::default());
            stretch.decode(own, &run.source, &mut numbers, &mut singles)?;
            let places = out[run.at..].chunks_mut(run.every);
            for (place, piece) in places.zip(numbers.chunks(run.piece)) {
                place[..run.piece].copy_from_slice(piece);
            }
            Ok(())
        })
    }

    fn decode_elements(
        &self,
        staged: &[Staged<'_>],
        elements: &Range<u64>,
        out: Out<'_>,
    ) -> Result<()> {
        match out {
            Out::F32(out) => self.decode_as(staged, elements, out),
            Out::Bf16(out) => self.decode_as(staged, elements, out),
            Out::F16(out) => self.decode_as(staged, elements, out),
        }
    }
}

impl Stretch {
    /// Calls `take` with each run of some of its elements; the first goes to `at` of the output.
    fn each_run(
        &self,
        elements: Range<u64>,
        at: usize,
        take: &mut dyn FnMut(Run) -> Result<()>,
    ) -> Result<()> {
        let whole = |source: Range<u64>, at: usize| {
            let piece = length(source.end - source.start);
            Run { source, at, piece, every: piece }
        };
        let (start, head_rows) = match self.order {
            RowOrder::From(start) => {
                let first = start * self.row;
                return take(whole(first + elements.start..first + elements.end, at));
            }
            RowOrder::Interleaved { start, head_rows } => (start, head_rows),
        };
        let half = (head_rows / 2).max(1);
        let mut next = elements.start;
        while next < elements.end {
            let (row, column) = (next / self.row, next % self.row);
            let (head, in_head) = (row / (2 * half), row % (2 * half));
            let there = |in_head: u64| {
                (start + head * 2 * half + in_head % 2 * half + in_head / 2) * self.row
            };
            let here = at + length(next - elements.start);
            let rows = ((elements.end - next) / self.row).min(2 * half - in_head);
            if column > 0 || rows == 0 {
                // A part of a row.
                let len = (self.row - column).min(elements.end - next);
                let first = there(in_head) + column;
                take(whole(first..first + len, here))?;
                next += len;
                continue;
            }
            // Every second row of a head lies in the same half of it.
            for (in_head, count, skip) in
                [(in_head, rows.div_ceil(2), 0), (in_head + 1, rows / 2, 1)]
            {
                if count > 0 {
                    let first = there(in_head);
                    take(Run {
                        source: first..first + count * self.row,
                        at: here + skip * length(self.row),
                        piece: length(self.row),
                        every: 2 * length(self.row),
                    })?;
                }
            }
            next += rows * self.row;
        }
        Ok(())
    }

    /// What some elements of the weight need. Where the recipe decodes whole rows only, they are
    /// whole rows.
    fn needs(&self, source: &Range<u64>, slabs: &mut Vec<Slab>) {
        let before = slabs.len();
        match self.recipe.elements() {
            Some(elements) => elements.needs(source.clone(), slabs),
            None => self.recipe.needs(self.rows_of(source), slabs),
        }
        slabs[before..].iter_mut().for_each(|slab| slab.part += self.first_part);
    }

    fn decode<T: Element>(
        &self,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: &mut [T],
        singles: &mut Vec<f32>,
    ) -> Result<()> {
        if self.added == Added::Nothing {
            return self.decode_plainly(staged, source, T::out(out));
        }
        singles.resize(out.len(), 0.0);
        self.decode_plainly(staged, source, Out::F32(singles))?;
        let sum = |number: f32| match self.added {
            Added::Nothing => number,
            Added::Single(more) => number + more,
            Added::Half(more) => f16::from_f32(number + more).to_f32(),
        };
        T::out(out).fill_with(|index| sum(singles[index]));
        Ok(())
    }

    fn decode_plainly(
        &self,
        staged: &[Staged<'_>],
        source: &Range<u64>,
        out: Out<'_>,
    ) -> Result<()> {
        match self.recipe.elements() {
            Some(elements) => elements.decode(staged, source.clone(), out),
            None => self.recipe.decode(staged, self.rows_of(source), out),
        }
    }

    fn rows_of(&self, source: &Range<u64>) -> Range<u64> {
        let row = self.row.max(1);
        source.start / row..source.end / row
    }
}

/// A number of elements that are in memory.
fn length(elements: u64) -> usize {
    usize::try_from(elements).unwrap_or(usize::MAX)
}

impl Recipe for Composed {
    fn needs(&self, rows: Range<u64>, slabs: &mut Vec<Slab>) {
        self.slabs(&elements_of(&rows, self.columns), slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], rows: Range<u64>, out: Out<'_>) -> Result<()> {
        self.decode_elements(staged, &elements_of(&rows, self.columns), out)
    }

    fn is_transposed(&self) -> bool {
        self.stretches.iter().any(|stretch| stretch.recipe.is_transposed())
    }

    fn elements(&self) -> Option<&dyn Elements> {
        self.has_element_access.then_some(self as &dyn Elements)
    }
}

impl Elements for Composed {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        self.slabs(&elements, slabs);
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        self.decode_elements(staged, &elements, out)
    }

    fn batch(&self, most: u64) -> u64 {
        let batches = self.stretches.iter().filter_map(|stretch| stretch.recipe.elements());
        batches.map(|elements| elements.batch(most)).min().unwrap_or(most)
    }
}

/// Numbers that are in no file: they follow from the model's settings.
pub(crate) struct Computed {
    numbers: Vec<f32>,
}

impl Computed {
    /// These numbers.
    pub(crate) fn new(numbers: Vec<f32>) -> Self {
        Self { numbers }
    }
}

impl super::ByElements for Computed {
    fn row_elements(&self) -> u64 {
        1
    }
}

impl Elements for Computed {
    fn needs(&self, _: Range<u64>, _: &mut Vec<Slab>) {}

    fn decode(&self, _: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let first = length(elements.start);
        out.fill_with(|index| self.numbers.get(first + index).copied().unwrap_or(0.0));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::schemes::ByElements;

    /// A weight whose numbers say where they lie.
    struct Counting(u64);

    impl ByElements for Counting {
        fn row_elements(&self) -> u64 {
            self.0
        }
    }

    impl Elements for Counting {
        fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
            slabs.push(Slab::whole(0, elements.start, elements.end - elements.start));
        }

        fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
            assert_eq!(staged.len(), 1);
            out.fill_with(|index| (elements.start + index as u64) as f32);
            Ok(())
        }
    }

    fn decoded(composed: &Composed, elements: Range<u64>) -> (Vec<f32>, Vec<usize>) {
        let mut slabs = Vec::new();
        Elements::needs(composed, elements.clone(), &mut slabs);
        let staged: Vec<Staged<'_>> = slabs.iter().map(|_| Staged::over(&[])).collect();
        let mut out = vec![-1.0; length(elements.end - elements.start)];
        Elements::decode(composed, &staged, elements, Out::F32(&mut out)).unwrap();
        (out, slabs.iter().map(|slab| slab.part).collect())
    }

    fn stretch(order: RowOrder, rows: u64, row: u64, first_part: usize) -> Stretch {
        let recipe = Arc::new(Counting(row));
        Stretch { recipe, first_part, row, rows, order, added: Added::Nothing }
    }

    /// Any stretch of elements is that part of the whole, wherever it is cut.
    #[test]
    fn every_stretch_is_a_part_of_the_whole() {
        let interleaved = RowOrder::Interleaved { start: 2, head_rows: 6 };
        let composed = Composed::new(
            vec![stretch(interleaved, 12, 3, 0), stretch(RowOrder::From(1), 2, 3, 4)],
            3,
        );
        let (whole, parts) = decoded(&composed, 0..42);
        let rows = [2, 5, 3, 6, 4, 7, 8, 11, 9, 12, 10, 13, 1, 2];
        let wanted: Vec<f32> =
            rows.iter().flat_map(|row| (0..3).map(move |c| (row * 3 + c) as f32)).collect();
        assert_eq!(whole, wanted);
        assert_eq!(parts, [0, 0, 0, 0, 4]);
        for start in 0..42 {
            for end in start..=42 {
                let (part, _) = decoded(&composed, start as u64..end as u64);
                assert_eq!(part, whole[start..end], "{start}..{end}");
            }
        }
    }

    #[test]
    fn a_constant_is_added_in_the_type_that_is_asked_for() {
        let number = 0.1234;
        for (added, wanted) in [
            (Added::Single(1.0), number + 1.0),
            (Added::Half(1.0), f16::from_f32(number + 1.0).to_f32()),
        ] {
            let recipe = Arc::new(Computed::new(vec![number; 5]));
            let order = RowOrder::From(0);
            let stretch = Stretch { recipe, first_part: 0, row: 5, rows: 1, order, added };
            let composed = Composed::new(vec![stretch], 1);
            let mut out = [bf16::ZERO; 5];
            Recipe::decode(&composed, &[], 0..5, Out::Bf16(&mut out)).unwrap();
            assert_eq!(out, [bf16::from_f32(wanted); 5]);
        }
    }
}
