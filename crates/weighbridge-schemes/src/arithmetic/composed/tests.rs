//! Any stretch of a composed weight is that part of the whole, wherever it is cut.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use half::{bf16, f16};

use super::*;
use crate::arithmetic::{FlatCodes, WithCodes};
use crate::change::Change;
use crate::dtype::DType;
use crate::framework::{Extract, Kind, Taker};
use crate::view::{Matrix, Rows, View};

/// A weight whose numbers say where they lie. Every few rows share a number that is added, from a
/// second part.
struct Counting {
    row: u64,
    shared_by: u64,
}

/// A recipe that decodes whole rows only.
struct CountingRows(Counting);

const SHARED: [f32; 40] = {
    let mut all = [0.0; 40];
    let mut at = 0;
    while at < 40 {
        all[at] = 10_000.0 * at as f32;
        at += 1;
    }
    all
};

/// What such weights are stored as.
static PARTS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    [
        (0..20_000).flat_map(|at: u16| f32::from(at).to_le_bytes()).collect(),
        SHARED.iter().flat_map(|shared| shared.to_le_bytes()).collect(),
    ]
});

impl Counting {
    fn of(&self, element: u64) -> f32 {
        element as f32 + SHARED[length(element / self.row / self.shared_by)]
    }
}

impl Recipe for Counting {
    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        let rows = elements.start / self.row..elements.end.div_ceil(self.row);
        let shared = rows.start / self.shared_by..rows.end.div_ceil(self.shared_by);
        slabs.push(Slab::whole(0, elements.start * 4, (elements.end - elements.start) * 4));
        slabs.push(Slab::whole(1, shared.start * 4, (shared.end - shared.start) * 4));
    }

    fn decode(&self, staged: &[Staged<'_>], elements: Range<u64>, out: Out<'_>) -> Result<()> {
        let read = |bytes: &[u8], at: u64| {
            f32::from_le_bytes(bytes[4 * length(at)..][..4].try_into().unwrap())
        };
        assert_eq!(staged.len(), 2);
        assert_eq!(staged[0].bytes().len(), 4 * out.len());
        let first = elements.start / self.row / self.shared_by;
        out.fill_with(|index| {
            let element = elements.start + index as u64;
            let shared = element / self.row / self.shared_by - first;
            read(staged[0].bytes(), index as u64) + read(staged[1].bytes(), shared)
        });
        Ok(())
    }
}

impl Recipe for CountingRows {
    fn inner(&self) -> Option<&dyn Recipe> {
        Some(&self.0)
    }

    fn has_element_access(&self) -> bool {
        false
    }

    fn needs(&self, elements: Range<u64>, slabs: &mut Vec<Slab>) {
        assert!(
            elements.start.is_multiple_of(self.0.row) && elements.end.is_multiple_of(self.0.row)
        );
        self.0.needs(elements, slabs);
    }
}

/// Decodes elements, from bytes that are copied together or lent as they lie.
fn decoded(composed: &dyn Recipe, elements: Range<u64>, is_lent: bool) -> (Vec<f32>, usize) {
    let parts = &*PARTS;
    let mut slabs = Vec::new();
    composed.needs(elements.clone(), &mut slabs);
    let piece = |slab: &Slab, index: u64| {
        let start = length(slab.offset + index * slab.stride);
        start..start + length(slab.row_bytes)
    };
    let copied: Vec<Vec<u8>> = slabs
        .iter()
        .map(|slab| (0..slab.count).flat_map(|at| &parts[slab.part % 2][piece(slab, at)]).copied())
        .map(Iterator::collect)
        .collect();
    let staged: Vec<Staged<'_>> = (slabs.iter().zip(&copied))
        .map(|(slab, copied)| {
            if is_lent {
                let all = &parts[slab.part % 2];
                let span = piece(slab, 0).start..piece(slab, slab.count - 1).end;
                Staged::with_stride(&all[span], length(slab.row_bytes), length(slab.stride))
            } else {
                Staged::of_rows(copied, length(slab.row_bytes))
            }
        })
        .collect();
    let mut out = vec![-1.0; length(elements.end - elements.start)];
    composed.decode(&staged, elements, Out::F32(&mut out)).unwrap();
    (out, slabs.len())
}

fn stretch(order: Rows, rows: u64, row: u64, recipe_row: u64) -> Stretch {
    Stretch {
        recipe: Arc::new(Counting { row: recipe_row, shared_by: 4 }),
        recipe_row,
        first_part: 0,
        view: View { rows: order, ..View::whole(&[rows, row]) },
        in_half: false,
    }
}

fn heads(start: u64, head_rows: u64, to_halves: bool) -> Rows {
    Rows::Heads { start, heads: 2, head_rows, to_halves }
}

/// Rows that are columns of a matrix.
fn across(first: u64, columns: u64, mut of: Stretch) -> Stretch {
    of.view.transposed = Some(Matrix { first, columns });
    of
}

/// Every cut of a weight against the elements that make it up.
fn check(stretches: fn() -> Vec<Stretch>, elements: &[u64], of: &Counting) {
    let wanted: Vec<f32> = elements.iter().map(|&element| of.of(element)).collect();
    for by_rows in [false, true] {
        let mut stretches = stretches();
        for stretch in stretches.iter_mut().filter(|_| by_rows) {
            let Stretch { recipe_row: row, .. } = *stretch;
            stretch.recipe = Arc::new(CountingRows(Counting { row, shared_by: of.shared_by }));
        }
        let composed = Composed::new(stretches);
        for start in 0..=wanted.len() {
            for end in start..=wanted.len() {
                for is_lent in [false, true] {
                    let (part, _) = decoded(&composed, start as u64..end as u64, is_lent);
                    assert_eq!(part, wanted[start..end], "{start}..{end}, rows: {by_rows}");
                }
            }
        }
    }
}

fn rows_of(rows: &[u64], row: u64) -> Vec<u64> {
    rows.iter().flat_map(|at| (0..row).map(move |column| at * row + column)).collect()
}

const OF: Counting = Counting { row: 3, shared_by: 4 };

#[test]
fn halves_are_interleaved() {
    let stretches = || {
        let order = heads(2, 6, false);
        vec![stretch(order, 12, 3, 3), stretch(Rows::From(1), 2, 3, 3)]
    };
    let rows = [2, 5, 3, 6, 4, 7, 8, 11, 9, 12, 10, 13, 1, 2];
    check(stretches, &rows_of(&rows, 3), &OF);
}

#[test]
fn halves_are_taken_apart() {
    let stretches = || vec![stretch(heads(2, 6, true), 12, 3, 3)];
    check(stretches, &rows_of(&[2, 4, 6, 3, 5, 7, 8, 10, 12, 9, 11, 13], 3), &OF);
}

#[test]
fn runs_are_picked() {
    let stretches = || vec![stretch(Rows::Runs { start: 1, run: 2, period: 5 }, 6, 3, 3)];
    check(stretches, &rows_of(&[1, 2, 6, 7, 11, 12], 3), &OF);
}

/// Numbers of a vector that take turns, seen as a column.
#[test]
fn numbers_are_picked() {
    let of = Counting { row: 9, shared_by: 4 };
    let stretches = || vec![stretch(Rows::Runs { start: 1, run: 1, period: 2 }, 20, 1, 9)];
    check(stretches, &(0..20).map(|at| 1 + 2 * at).collect::<Vec<_>>(), &of);
}

/// Numbers of two or three stretches, one of each after the other.
#[test]
fn numbers_take_turns() {
    let firsts = [0, 5, 9];
    for turns in [2, 3] {
        let stretches = firsts[..turns].iter().map(|&first| stretch(Rows::From(first), 4, 3, 3));
        let whole = Composed::new(stretches.collect());
        let in_turn = InTurn::new(whole, turns as u64);
        let each = |at: u64| firsts[..turns].iter().map(move |first| OF.of(first * 3 + at));
        let wanted: Vec<f32> = (0..12).flat_map(each).collect();
        for start in 0..=wanted.len() {
            for end in start..=wanted.len() {
                let (part, _) = decoded(&in_turn, start as u64..end as u64, false);
                assert_eq!(part, wanted[start..end], "{start}..{end} of {turns}");
            }
        }
    }
}

/// Runs that are too far from each other to be decoded together.
#[test]
fn distant_runs_are_read_together() {
    let of = Counting { row: 3, shared_by: 4 };
    let stretches = || vec![stretch(Rows::Runs { start: 0, run: 1, period: 30 }, 5, 3, 3)];
    check(stretches, &rows_of(&[0, 30, 60, 90, 120], 3), &of);
}

/// Columns 1, 3, .. or 1, 2, .. of a matrix of seven rows and nine columns in the middle of a
/// weight, and the whole of another.
#[test]
fn matrices_are_transposed() {
    let of = Counting { row: 9, shared_by: 4 };
    let element = |row: u64, column: u64| (2 + column) * 9 + row;
    let seen = |rows: &[u64]| -> Vec<u64> {
        rows.iter().flat_map(|&row| (0..7).map(move |column| element(row, column))).collect()
    };
    check(
        || {
            let order = Rows::Runs { start: 1, run: 1, period: 2 };
            let stretches = [stretch(order, 4, 7, 9), stretch(Rows::From(0), 9, 7, 9)];
            stretches.map(|one| across(2, 9, one)).into()
        },
        &seen(&[1, 3, 5, 7, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        &of,
    );
    check(
        || vec![across(2, 9, stretch(heads(1, 4, true), 8, 7, 9))],
        &seen(&[1, 3, 2, 4, 5, 7, 6, 8]),
        &of,
    );
}

/// A large matrix is read in few pieces, and a tile of it in no more.
#[test]
fn a_transposed_matrix_is_read_in_bands() {
    let recipe = Arc::new(Counting { row: 130, shared_by: 50 });
    let whole = Stretch { recipe, ..stretch(Rows::From(10), 120, 150, 130) };
    let whole = across(0, 130, whole);
    let composed = Composed::new(vec![whole]);
    let of = Counting { row: 130, shared_by: 50 };
    let (some, slabs) = decoded(&composed, 150..150 * 100, false);
    // Three bands, each with the number that its rows share.
    assert_eq!(slabs, 6);
    for (at, number) in (150u64..).zip(some) {
        assert_eq!(number, of.of(at % 150 * 130 + 10 + at / 150), "{at}");
    }
    assert!(Recipe::is_transposed(&composed));
    assert_eq!(composed.batch(1000), 900);
    assert_eq!(composed.batch(100), 100);
}

#[test]
fn a_value_is_changed_in_the_type_that_is_asked_for() {
    let number = 0.1234;
    for (change, in_half, wanted) in [
        (Change::Add(1.0), false, number + 1.0),
        (Change::Add(1.0), true, f16::from_f32(number + 1.0).to_f32()),
        (Change::MinusExp, false, -number.exp()),
    ] {
        let recipe = Arc::new(Computed::new(vec![number; 5]));
        let view = View { change, ..View::whole(&[1, 5]) };
        let stretch = Stretch { recipe, in_half, view, ..stretch(Rows::From(0), 1, 5, 5) };
        let composed = Composed::new(vec![stretch]);
        let mut out = [bf16::ZERO; 5];
        Recipe::decode(&composed, &[], 0..5, Out::Bf16(&mut out)).unwrap();
        assert_eq!(out, [bf16::from_f32(wanted); 5]);
    }
}

/// Codes of a composed weight are those of its rows, wherever they are cut.
#[test]
fn codes_are_put_together_as_they_are() {
    let codes = FlatCodes::new(&[7, 8], (4, DType::F8_E4M3), true);
    let of = |order, rows| Stretch {
        recipe: Arc::new(WithCodes { recipe: Counting { row: 8, shared_by: 4 }, codes }),
        ..stretch(order, rows, 8, 8)
    };
    let halved = heads(0, 4, true);
    let picked = Rows::Runs { start: 1, run: 1, period: 2 };
    let rows = [0, 2, 1, 3, 1, 3, 5, 5, 6];
    let composed = Composed::new(vec![of(halved, 4), of(picked, 3), of(Rows::From(5), 2)]);
    let coded = Recipe::codes(&composed).unwrap();
    let form = coded.form(Taker::Blocks).unwrap();
    assert_eq!((form.group, form.scale), (4, DType::F8_E4M3));
    assert!(coded.form(Taker::Layout).is_err());
    // Seven rows of four bytes of codes and two scales.
    let parts: [Vec<u8>; 2] = [(0..28).collect(), (100..114).collect()];
    let wanted = |part: usize, each: usize| -> Vec<u8> {
        rows.iter().flat_map(|row| &parts[part][row * each..(row + 1) * each]).copied().collect()
    };
    // Cells and bytes: how many elements each has.
    let read = |kind, range: &Range<usize>, [cell, byte]: [usize; 2]| {
        let across = (range.start / cell) as u64..(range.end / cell) as u64;
        let (mut slabs, of) = (Vec::new(), Extract { rows: 0..1, across });
        coded.needs(kind, &of, &mut slabs);
        let staged: Vec<Staged<'_>> = slabs
            .iter()
            .map(|slab| {
                let (first, stride) = (length(slab.offset), length(slab.stride));
                let bytes = length(slab.row_bytes);
                let last = first + length(slab.count - 1) * stride + bytes;
                Staged::with_stride(&parts[slab.part][first..last], bytes, stride)
            })
            .collect();
        let mut out = vec![0; range.len() / byte];
        coded.read(kind, &of, &staged, &mut out).unwrap();
        out
    };
    for start in (0..=72).step_by(4) {
        for end in (start..=72).step_by(4) {
            let codes = read(Kind::Codes, &(start..end), [1, 2]);
            let scales = read(Kind::Scales, &(start..end), [4, 4]);
            assert_eq!(codes, wanted(0, 4)[start / 2..end / 2], "{start}..{end}");
            assert_eq!(scales, wanted(1, 2)[start / 4..end / 4], "{start}..{end}");
        }
    }
}

/// What is changed, transposed or of another kind cannot be had as codes.
#[test]
fn codes_that_change_are_decoded() {
    let codes = FlatCodes::new(&[2, 8], (4, DType::F8_E4M3), true);
    let other = FlatCodes::new(&[2, 8], (8, DType::F8_E4M3), true);
    let of = |codes, row| {
        let recipe = Arc::new(WithCodes { recipe: Counting { row, shared_by: 4 }, codes });
        Stretch { recipe, ..stretch(Rows::From(0), 2, row, row) }
    };
    let has_codes = |stretches| Recipe::codes(&Composed::new(stretches)).is_ok();
    assert!(has_codes(vec![of(codes, 8), of(codes, 16)]));
    assert!(!has_codes(vec![of(codes, 8), of(other, 8)]));
    assert!(!has_codes(vec![of(codes, 6)]));
    let mut changed = of(codes, 8);
    changed.view.change = Change::Add(1.0);
    assert!(!has_codes(vec![changed]));
    assert!(!has_codes(vec![across(0, 8, of(codes, 8))]));
}
