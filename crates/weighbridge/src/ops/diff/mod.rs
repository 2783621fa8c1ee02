//! Compares two models: names, shapes and types, metadata, then values.
//!
//! Cheapest first. Pairs are found by name ([`names`](crate::names)); those that differ in shape, or
//! cannot be decoded, are settled without reading them. Pairs that are stored the same way are
//! compared as bytes. All others are decoded on both sides, tile by tile, by all workers; a worker
//! holds one tile of each side.

use std::collections::{HashMap, HashSet};

use crate::catalog::Finding;
use crate::compare::Outside;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::{Model, Weight};
use crate::names::{self, Named, Pair, Pairing, View, Which};
use crate::pipeline::{Memory, Pool};

mod bytes;
mod change;
mod computed;
mod figure;
mod judge;
mod metadata;
mod options;
mod order;
mod piece;
mod precision;
mod reencode;
mod report;
mod rules;
mod second_look;
mod settings;
mod side;
mod summary;
mod tensor;
mod values;

pub use judge::Status;
pub use options::{DiffOptions, Values};
pub use report::{
    Changed, DiffMetadata, DiffReport, DiffSummary, Explained, ReencodedSummary, Setting, Worst,
    WorstTensor,
};
pub use rules::{FailOver, Metric};
pub use tensor::{DiffPlace, DiffTensor, Reencoded};

use super::Dropped;
use super::refusals::{problems_by_weight, unreadable};
use bytes::Bytes;
use change::Described;
use side::Side;
use summary::Whole;
use values::Outcome;

/// How many changed weights are looked at again; in a fine-tuned model, all weights change.
const DESCRIBED: usize = 256;

/// Compares two models weight by weight.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let (a, b) = (Model::open("original/")?, Model::open("quantized.gguf")?);
/// let report = ops::diff(&a, &b, &ops::DiffOptions::default())?;
/// println!("{} of {} weights changed", report.summary.changed, report.summary.compared);
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn diff(a: &Model, b: &Model, options: &DiffOptions) -> Result<DiffReport> {
    if options.reencode && options.values == Values::None {
        return Err(Error::usage("re-encoding needs a comparison of values"));
    }
    let mut comparison = Comparison::of(a, b, options)?;
    if options.values != Values::None {
        a.will_need_all();
        b.will_need_all();
        let done = comparison.compare_bytes()?;
        comparison.compare_values(done)?;
        comparison.explain_zero_biases()?;
        comparison.note_copies();
        if options.reencode {
            comparison.reencode()?;
        }
        for read in [a, b] {
            read.check_sums(&|| options.work.refuse_cancelled())?;
            read.refuse_changed()?;
        }
    }
    Ok(comparison.report())
}

/// An error if pairing the models would take more memory than the limits of either leave.
fn check_cost(a: &Model, b: &Model) -> Result<()> {
    const WHAT: &str = "the comparison";
    // A weight's handle, what it is looked up by, and its pair in the report.
    let each = (2 * size_of::<DiffTensor>() + 2 * size_of::<Weight>() + 300) as u64;
    a.check_list(each, 6, WHAT)?;
    b.check_list(each, 6, WHAT)
}

/// Two models that are being compared.
struct Comparison<'m> {
    models: [&'m Model; 2],
    weights: [Vec<Weight>; 2],
    /// The weights of each pair in the shape and order that both sides share.
    seen: [Vec<Weight>; 2],
    options: &'m DiffOptions,
    pairing: Pairing,
    tensors: Vec<DiffTensor>,
    /// Weights that cannot be read, and take no part in it.
    skipped: Vec<Explained>,
    /// Pairs whose stored bytes are the same.
    same_bytes: Vec<usize>,
    /// What lies outside, for each pair whose numbers were compared.
    outside: Vec<(usize, Outside)>,
    /// Pairs of which only rows were judged: their columns may be rescaled.
    may_be_rescaled: Vec<usize>,
    /// Pairs that are the same only if one side was copied to a coarser type before the other was
    /// made from it: the side that was made, and the type.
    copied: Vec<(usize, usize, DType)>,
    whole: Whole,
}

impl<'m> Comparison<'m> {
    /// Pairs the weights, and settles what headers can settle.
    fn of(a: &'m Model, b: &'m Model, options: &'m DiffOptions) -> Result<Self> {
        check_cost(a, b)?;
        let mut weights = [a.weights().collect::<Vec<_>>(), b.weights().collect()];
        let skipped = if options.skip_unreadable {
            skip_unreadable([a, b], &mut weights, options)?
        } else {
            Vec::new()
        };
        let mut pairing =
            names::pair(&named(a, &weights[0]), &named(b, &weights[1]), &options.rules);
        keep_selected(&mut pairing, &weights, options);
        let reads_values = options.values != Values::None;
        computed::check([a, b], &mut weights, &mut pairing, reads_values)?;
        let problems = [problems_by_weight(a, &weights[0])?, problems_by_weight(b, &weights[1])?];
        let tensor = |pair: &Pair| {
            let (a, b) = (&weights[0][pair.a], &weights[1][pair.b]);
            let mut tensor = DiffTensor::new(a, b, pair);
            settle(&mut tensor, pair, [a, b], &problems);
            tensor
        };
        let tensors = pairing.pairs.iter().map(tensor).collect();
        let pairs = pairing.pairs.iter();
        let seen = [
            a.seen(pairs.clone().map(|pair| (&weights[0][pair.a], &pair.view_a)))?,
            b.seen(pairs.map(|pair| (&weights[1][pair.b], &pair.view_b)))?,
        ];
        Ok(Self {
            models: [a, b],
            weights,
            seen,
            options,
            pairing,
            tensors,
            skipped,
            same_bytes: Vec::new(),
            outside: Vec::new(),
            may_be_rescaled: Vec::new(),
            copied: Vec::new(),
            whole: Whole::default(),
        })
    }

    /// A side of a pair.
    fn side(&self, index: usize, side: usize) -> Side<'_> {
        let pair = &self.pairing.pairs[index];
        let (weight, view) = match side {
            0 => (pair.a, &pair.view_a),
            _ => (pair.b, &pair.view_b),
        };
        let seen = self.seen[side][index].clone();
        Side::new(&self.weights[side][weight], seen, view.clone())
    }

    /// Both sides of a pair.
    fn sides(&self, index: usize) -> [Side<'_>; 2] {
        [0, 1].map(|side| self.side(index, side))
    }

    /// Stored bytes of all pairs: the total that progress counts to.
    fn total(&self) -> u64 {
        let of = |pair: &Pair| {
            let [a, b] = [&self.weights[0][pair.a], &self.weights[1][pair.b]];
            a.stored_bytes().saturating_add(b.stored_bytes())
        };
        self.pairing.pairs.iter().map(of).fold(0, u64::saturating_add)
    }

    /// Finds the pairs whose stored bytes are the same; gives the number of those bytes.
    fn compare_bytes(&mut self) -> Result<u64> {
        let same_description = bytes::same_description(self.models[0], self.models[1]);
        let mut jobs = Vec::new();
        for (index, pair) in self.pairing.pairs.iter().enumerate() {
            let (a, b) = (&self.weights[0][pair.a], &self.weights[1][pair.b]);
            let is_undecided =
                matches!(self.tensors[index].status, Status::Uncompared | Status::Undecoded);
            let is_whole = [(&pair.view_a, a), (&pair.view_b, b)]
                .iter()
                .all(|(view, weight)| **view == View::whole(weight.shape()));
            // One of its files may agree with the other model while another does not.
            let is_certain = [(self.models[0], a), (self.models[1], b)]
                .iter()
                .all(|(model, weight)| model.refuse_unlike_twins(weight).is_ok());
            let is_asked = is_undecided && is_whole && is_certain;
            let job = Bytes::of(a, b, same_description).filter(|_| is_asked);
            jobs.extend(job.map(|job| (index, job)));
        }
        let (work, report_progress) =
            (&self.options.work, self.options.work.reporter(self.total()));
        work.pool(work.workers(), &report_progress).run(jobs.iter().map(|(_, job)| job))?;
        let mut done = 0;
        for (index, job) in jobs.into_iter().filter(|(_, job)| job.are_same()) {
            let pair = &self.pairing.pairs[index];
            done += 2 * self.weights[0][pair.a].stored_bytes();
            self.tensors[index].set_same(job.non_finite());
            self.tensors[index].message = None;
            self.same_bytes.push(index);
        }
        Ok(done)
    }

    /// Decodes and compares all other pairs, and those with the same bytes if their figures are needed.
    fn compare_values(&mut self, done: u64) -> Result<()> {
        let is_same = |index: &usize| self.same_bytes.binary_search(index).is_ok();
        let all = self.options.wants_all()
            || (0..self.tensors.len())
                .any(|index| self.tensors[index].status == Status::Uncompared && !is_same(&index));
        let (mut jobs, mut failed, work) = (Vec::new(), Vec::new(), &self.options.work);
        let mut budget = work.budget(&self.models)?;
        for (index, pair) in self.pairing.pairs.iter().enumerate() {
            let (a, b) = (&self.weights[0][pair.a], &self.weights[1][pair.b]);
            let job = match self.tensors[index].status {
                Status::Identical if all && a.undecodable().is_none() => {
                    values::Values::new(self.side(index, 0), None)
                }
                Status::Uncompared => {
                    values::Values::new(self.side(index, 0), Some(self.side(index, 1)))
                }
                Status::Shape if is_transposed(pair) => {
                    let Some(view) = pair.view_b.transpose() else { continue };
                    let b = Side::of(b, view);
                    b.and_then(|b| values::Values::new(self.side(index, 0), Some(b)))
                }
                _ => continue,
            };
            let fitting = job.and_then(|job| {
                budget.make_room(a.name(), job.needed_bytes()?)?;
                Ok(job)
            });
            match fitting {
                Ok(job) => jobs.push((index, job)),
                Err(error) => failed.push((index, Err(error))),
            }
        }
        let report_progress = work.reporter(self.total());
        let Memory { workers, bytes } = budget.memory();
        work.grant_ahead(&self.models, bytes, jobs.iter().map(|(_, job)| job.held()))?;
        let pool = Pool { done_before: done, ..work.pool(workers, &report_progress) };
        pool.run(jobs.iter().map(|(_, job)| job))?;
        let outcomes = jobs.into_iter().map(|(index, job)| (index, job.outcome()));
        let outcomes: Vec<_> = outcomes.chain(failed).collect();
        for (index, outcome) in outcomes {
            self.settle_values(index, outcome);
        }
        self.look_for_other_orders(workers)?;
        self.look_for_rescaled()?;
        self.describe_changes()
    }

    /// Says what kind of change it is, for weights whose change is not described yet.
    fn describe_changes(&mut self) -> Result<()> {
        let is_told = |tensor: &DiffTensor| {
            let known = tensor.change.as_deref();
            tensor.status == Status::Changed && known.is_none_or(|said| said == order::SAME_FIGURES)
        };
        let changed = self.outside.iter().filter(|(index, _)| is_told(&self.tensors[*index]));
        let mut said = Vec::new();
        for (index, outside) in changed.take(DESCRIBED) {
            said.push((*index, change::describe(&self.sides(*index), outside.shown())?));
        }
        for (index, Described { kind, places }) in said {
            let (tensor, shape) =
                (&mut self.tensors[index], &self.pairing.pairs[index].view_a.shape);
            tensor.change = kind.or(tensor.change.take());
            // Where whole rows are judged, no single element was found outside.
            if tensor.places.is_empty() {
                tensor.places = places.iter().map(|place| DiffPlace::of(place, shape)).collect();
            }
        }
        Ok(())
    }

    /// Checks whether weights that differ hold the same numbers in another order.
    fn look_for_other_orders(&mut self, workers: usize) -> Result<()> {
        let mut jobs = Vec::new();
        for (index, (pair, tensor)) in self.pairing.pairs.iter().zip(&mut self.tensors).enumerate()
        {
            if !order::may_be_reordered(tensor) {
                continue;
            }
            tensor.change = Some(order::SAME_FIGURES.to_owned());
            let (a, b) = (&self.weights[0][pair.a], &self.weights[1][pair.b]);
            for ([view_a, view_b], words) in order::other_orders(pair) {
                let sides = Side::of(a, view_a).and_then(|a| Ok((a, Side::of(b, view_b)?)));
                let job = sides.and_then(|(a, b)| values::Values::new(a, Some(b)));
                jobs.extend(job.ok().map(|job| (index, words, job)));
            }
        }
        let pool = self.options.work.pool(workers, &|_| {});
        pool.run(jobs.iter().map(|(.., job)| job))?;
        for (index, words, job) in jobs {
            if let Ok(outcome) = job.outcome() {
                let tensor = &mut self.tensors[index];
                tensor.change = order_message(&outcome, words).or(tensor.change.take());
            }
        }
        Ok(())
    }

    fn settle_values(&mut self, index: usize, outcome: Result<Outcome>) {
        let tensor = &mut self.tensors[index];
        match (tensor.status, outcome) {
            (Status::Shape, Ok(outcome)) => {
                tensor.message = order_message(&outcome, order::TRANSPOSED);
            }
            (Status::Shape, Err(_)) => {}
            (_, Ok(outcome)) => {
                let shape = &self.pairing.pairs[index].view_a.shape;
                tensor.set_figures(&outcome, shape);
                self.whole.stats.plus(&outcome.stats);
                if outcome.may_be_rescaled {
                    self.may_be_rescaled.push(index);
                }
                let copied = outcome.outside.copied_as().zip(outcome.judge.bounded());
                if let Some((dtype, side)) =
                    copied.filter(|_| tensor.status == Status::WithinPrecision)
                {
                    self.copied.push((index, side, dtype));
                }
                self.outside.push((index, outcome.outside));
                // Its numbers are known now.
                if let Ok(place) = self.same_bytes.binary_search(&index) {
                    self.same_bytes.remove(place);
                }
            }
            (Status::Identical, Err(_)) => {}
            (_, Err(error)) => {
                tensor.status = Status::Undecoded;
                tensor.message = Some(error.to_string());
            }
        }
    }

    fn report(mut self) -> DiffReport {
        for &index in &self.same_bytes {
            self.whole.add_same(self.tensors[index].elements);
        }
        let rule = self.options.fail_over.as_ref();
        for tensor in &mut self.tensors {
            tensor.failed = tensor.is_failure(rule, self.options.exact);
        }
        let [a, b] = self.models;
        let name = |which: usize, index: usize| self.weights[which][index].name().to_owned();
        let missing = self.pairing.only_a.len() + self.pairing.only_b.len();
        let mut summary = summary::summary(&self.tensors, missing, &self.whole, rule);
        summary.reencoded = self.options.reencode.then(|| reencode::summary(&self.tensors));
        let explained = |(which, index, reason): &(Which, usize, String)| Explained {
            side: if *which == Which::A { "a" } else { "b" },
            name: name(usize::from(*which == Which::B), *index),
            reason: reason.clone(),
        };
        let settings = settings::compare(a, b);
        let differ = !self.options.weights_only && settings.settings.iter().any(|one| one.counts);
        DiffReport {
            a: a.path().to_string_lossy().into_owned(),
            b: b.path().to_string_lossy().into_owned(),
            ok: summary.failed == 0 && summary.missing == 0 && !differ,
            only_a: self.pairing.only_a.iter().map(|&index| name(0, index)).collect(),
            only_b: self.pairing.only_b.iter().map(|&index| name(1, index)).collect(),
            explained: self.pairing.explained.iter().map(explained).collect(),
            skipped: self.skipped,
            notes: hazards_of([a, b]).chain(self.pairing.notes).chain(settings.notes).collect(),
            settings: settings.settings,
            metadata: metadata::compare(a, b),
            summary,
            tensors: self.tensors,
        }
    }
}

/// The dangerous files in the directories of the models, each with its model.
fn hazards_of(models: [&Model; 2]) -> impl Iterator<Item = String> {
    let of = |model: &Model| {
        let path = model.path().to_string_lossy().into_owned();
        let note = |hazard: &Finding| format!("{path}: {}", hazard.message);
        model.hazards().iter().map(note).collect::<Vec<_>>()
    };
    models.into_iter().flat_map(of)
}

/// Leaves the weights that are to be compared.
fn keep_selected(pairing: &mut Pairing, weights: &[Vec<Weight>; 2], options: &DiffOptions) {
    let name = |which: usize, index: usize| weights[which][index].name();
    pairing.pairs.retain(|pair| options.select.wants_any(&[name(0, pair.a), name(1, pair.b)]));
    pairing.only_a.retain(|&index| options.select.wants(name(0, index)));
    pairing.only_b.retain(|&index| options.select.wants(name(1, index)));
    pairing.explained.retain(|(which, index, _)| {
        options.select.wants(name(usize::from(*which == Which::B), *index))
    });
}

/// Takes out weights that cannot be read; gives them with the reasons.
fn skip_unreadable(
    models: [&Model; 2],
    weights: &mut [Vec<Weight>; 2],
    options: &DiffOptions,
) -> Result<Vec<Explained>> {
    let mut skipped = Vec::new();
    for (side, (model, weights)) in ["a", "b"].into_iter().zip(models.into_iter().zip(weights)) {
        let unreadable = unreadable(model, &options.select, false)?;
        let names: HashSet<&str> = unreadable.iter().map(|one| &*one.name).collect();
        weights.retain(|weight| !names.contains(weight.name()));
        let explained = |one: Dropped| Explained { side, name: one.name, reason: one.reason };
        skipped.extend(unreadable.into_iter().map(explained));
    }
    Ok(skipped)
}

/// A model as the pairing of names takes it.
fn named<'m>(model: &'m Model, weights: &'m [Weight]) -> names::Side<'m> {
    let named = |weight: &'m Weight| Named { name: weight.name(), shape: weight.shape() };
    names::Side {
        weights: weights.iter().map(named).collect(),
        configs: model.configs(),
        metadata: model.metadata().into_iter().map(|(key, value, _)| (key, value)).collect(),
    }
}

/// Sets the status of a pair if no numbers are needed for it.
fn settle(
    tensor: &mut DiffTensor,
    pair: &Pair,
    weights: [&Weight; 2],
    problems: &[HashMap<&str, String>; 2],
) {
    if !same_shape(&pair.view_a.shape, &pair.view_b.shape) {
        tensor.status = Status::Shape;
        return;
    }
    for (side, (weight, problems)) in ["A", "B"].into_iter().zip(weights.iter().zip(problems)) {
        let reason = problems.get(weight.name()).cloned().or_else(|| weight.undecodable());
        if let Some(reason) = reason {
            tensor.status = Status::Undecoded;
            tensor.message = Some(format!("{side}: {reason}"));
            return;
        }
    }
}

/// Whether shapes are the same. GGUF has no scalars, and stores one as an array of one element.
fn same_shape(a: &[u64], b: &[u64]) -> bool {
    let is_one = |shape: &[u64]| shape.is_empty() || shape == [1];
    a == b || is_one(a) && is_one(b)
}

/// Whether two matrices would have the same shape if one were transposed.
fn is_transposed(pair: &Pair) -> bool {
    let is_whole = |view: &View| *view == View::whole(&view.shape);
    match (&pair.view_a.shape[..], &pair.view_b.shape[..]) {
        ([a, b], [c, d]) => {
            a == d && b == c && a != b && is_whole(&pair.view_a) && is_whole(&pair.view_b)
        }
        _ => false,
    }
}

/// The message for values that are equal in another order.
fn order_message(outcome: &Outcome, words: &str) -> Option<String> {
    let how = match outcome.status() {
        Status::Identical => "are equal",
        Status::EqualAfterRounding => "are equal after rounding",
        Status::WithinPrecision => "are equal within the precision of the storage",
        _ => return None,
    };
    Some(format!("the values {how} {words}"))
}
