//! The verdict on quantized weights, in both directions: what a canonical quantizer made of a
//! matrix is within its precision, and a change that is planted into the matrix is found.

mod changes;
mod few_rows;
mod matrices;
mod rates;
mod schemes;
mod steps;

use std::collections::BTreeMap;
use std::sync::Mutex;

use changes::{CHANGES, Change, Rows};
use matrices::{Matrix, changed_model, folder, model_of, originals, stored};
use rates::least_percent;
use weighbridge::ops::{DiffOptions, DiffReport, DiffTensor, Status};
use weighbridge::{DType, Model, ops};

use crate::common::in_parallel;

/// How many times a change of a single place is planted into each matrix.
const TRIALS: u64 = 6;

/// Matrices that changes are planted into. The others are there because they are hard to store.
const PLANTED: [&str; 2] = ["normal", "heavy"];

fn compare(original: &Model, stored: &Model, is_reversed: bool) -> DiffReport {
    let (a, b) = if is_reversed { (stored, original) } else { (original, stored) };
    ops::diff(a, b, &DiffOptions::default()).unwrap()
}

fn is_fine(tensor: &DiffTensor) -> bool {
    matches!(
        tensor.status,
        Status::Identical | Status::EqualAfterRounding | Status::WithinPrecision
    )
}

/// The type of a weight as the table of rates has it: ggml's name for it, or the sample's.
fn kind<'a>(sample: &'a str, name: &'a str) -> &'a str {
    name.split_once('.').map(|(_, kind)| kind).filter(|kind| *kind != "weight").unwrap_or(sample)
}

#[test]
fn what_a_quantizer_made_of_a_matrix_is_within_its_precision() {
    let mut alarms = Vec::new();
    for (sample, stored) in stored() {
        for dtype in [DType::F32, DType::BF16] {
            let original = model_of(&stored, &originals(), dtype);
            for is_reversed in [false, true] {
                let report = compare(&original, &stored, is_reversed);
                assert_eq!(report.summary.missing, 0, "{sample}");
                for tensor in report.tensors.iter().filter(|tensor| !is_fine(tensor)) {
                    let kind = kind(&sample, &tensor.name_a);
                    let has_verdict = least_percent(kind, false, 0).is_some();
                    if has_verdict || tensor.status != Status::Unjudged {
                        alarms.push(format!(
                            "{sample} {dtype} {}: {:?} {:?} {:?} {:?}",
                            tensor.name_a,
                            tensor.status,
                            tensor.outside,
                            tensor.outside_rows,
                            tensor.places.first()
                        ));
                    }
                }
            }
        }
    }
    assert!(alarms.is_empty(), "{} false alarms:\n{}", alarms.len(), alarms.join("\n"));
}

/// How many changes of a kind were planted, found, and found in the wrong row.
#[derive(Clone, Copy, Default)]
struct Tally {
    planted: u32,
    found: u32,
    misplaced: u32,
}

impl Tally {
    fn percent(self) -> u32 {
        100 * self.found / self.planted.max(1)
    }
}

/// Plants a change several times into every matrix that a file stores, and counts.
fn plant(sample: &str, stored: &Model, change: &Change) -> BTreeMap<String, Tally> {
    let (originals, mut tallies) = (originals(), BTreeMap::<String, Tally>::new());
    for trial in 0..if change.is_everywhere { 1 } else { TRIALS } {
        let mut rows = BTreeMap::new();
        let altered = changed_model(stored, &PLANTED, DType::F32, |name, weight| {
            let mut matrix: Matrix = originals[name.split_once('.').unwrap().0].clone();
            let changed = change.apply(&mut matrix, kind(sample, name), weight, trial);
            rows.insert(name.to_owned(), changed);
            matrix
        });
        let report = compare(&altered, stored, trial % 2 == 1);
        for tensor in &report.tensors {
            let tally = tallies.entry(kind(sample, &tensor.name_a).to_owned()).or_default();
            let is_found = tensor.status == Status::Changed;
            tally.planted += 1;
            tally.found += u32::from(is_found);
            tally.misplaced += u32::from(is_found && !is_placed(tensor, &rows[&tensor.name_a]));
        }
    }
    tallies
}

/// Whether every place that is named lies in a row that was changed.
fn is_placed(tensor: &DiffTensor, rows: &Rows) -> bool {
    !tensor.places.is_empty()
        && tensor.outside_rows.is_some_and(|count| (1..=rows.count()).contains(&count))
        && tensor.places.iter().all(|place| rows.contains(place.index[0]))
}

#[test]
fn changes_are_found_as_often_as_the_table_says() {
    let (stored, wrong) = (stored(), Mutex::new(Vec::new()));
    let columns: Vec<usize> = (0..CHANGES.len()).collect();
    in_parallel(&columns, |&column| {
        for (sample, stored) in &stored {
            let found = missed(sample, stored, column);
            wrong.lock().unwrap().extend(found);
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// The types in which a change is found too rarely, or in the wrong row.
fn missed(sample: &str, stored: &Model, column: usize) -> Vec<String> {
    let (change, by_importance) = (&CHANGES[column], sample == "importance");
    let is_wrong = |(kind, tally): (String, Tally)| {
        let least = least_percent(&kind, by_importance, column)?;
        // A large block is found by the size of the whole weight, which has no place.
        let is_by_size = by_importance && kind == "Q4_0" && change.name == "256 times 1.5";
        let is_misplaced = tally.misplaced > 0 && !is_by_size;
        (tally.percent() < least || is_misplaced).then(|| {
            let (name, percent, misplaced) = (change.name, tally.percent(), tally.misplaced);
            format!("{sample} {kind}, {name}: {percent} %, not {least}; {misplaced} misplaced")
        })
    };
    plant(sample, stored, change).into_iter().filter_map(is_wrong).collect()
}

/// The same precision on both sides hides nothing.
#[test]
fn every_change_is_found_where_both_sides_hold_the_same_precision() {
    let original = Model::open(folder().join("original.safetensors")).unwrap();
    let originals = originals();
    for dtype in [DType::F32, DType::BF16, DType::F16] {
        let before = changed_model(&original, &PLANTED, dtype, |name, _| originals[name].clone());
        for change in &CHANGES {
            for trial in 0..TRIALS {
                let mut rows = BTreeMap::new();
                let after = changed_model(&original, &PLANTED, dtype, |name, weight| {
                    let mut matrix = originals[name].clone();
                    let changed = change.apply(&mut matrix, "plain", weight, trial);
                    rows.insert(name.to_owned(), changed);
                    matrix
                });
                let report = compare(&before, &after, trial % 2 == 1);
                assert_eq!(report.tensors.len(), PLANTED.len());
                assert!(!report.ok, "{dtype} {}", change.name);
                for tensor in &report.tensors {
                    let is_right = tensor.status == Status::Changed
                        && is_placed(tensor, &rows[&tensor.name_a]);
                    assert!(is_right, "{dtype} {}: {tensor:?}", change.name);
                }
            }
        }
    }
}
