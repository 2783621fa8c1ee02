//! Types for a size: each weight gets the type at which the bytes are worth the most.
//!
//! A sample of every weight is encoded in every type it could have. Then all weights start with the
//! smallest, and step by step the weight gets the next larger type whose error falls the most for
//! each byte, until no step fits any more. Errors count relative to the weight's own size, times the
//! number of its elements. Nothing of this depends on the number of threads.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::model::Weight;
use crate::ops::conversion::quantize_options::Goal;
use crate::schemes::{Decoded, Encoder};
use crate::stop;

/// Encoders of weights, by the places of these.
type Fitted = Vec<(usize, Arc<dyn Encoder>)>;

/// Elements of a weight that are encoded to see what a type costs.
const SAMPLE: u64 = 1 << 16;

/// Places that the sample is taken from.
const PLACES: u64 = 8;

/// The relative error of a type that overflows: worse than any that does not.
const OVERFLOWED: f64 = 1e9;

/// A weight that may have one of several types.
pub(super) struct Choice<'a> {
    /// Its place among all weights.
    pub(super) at: usize,
    pub(super) weight: &'a Weight,
    /// Its name in the output.
    pub(super) name: &'a str,
    pub(super) encoders: Vec<Arc<dyn Encoder>>,
}

/// A type that a weight could have.
#[derive(Clone, Debug)]
struct Step {
    encoder: usize,
    bytes: u64,
    /// The expected error.
    error: f64,
}

/// The types that each weight could have, from small to large: only what is worth its bytes.
pub(super) struct Ladders {
    /// The place of each weight among all, and its types.
    choices: Vec<(usize, Vec<Arc<dyn Encoder>>)>,
    ladders: Vec<Vec<Step>>,
    /// Bytes that other weights take.
    fixed: u64,
    /// Elements of all weights, and of those that have a choice.
    elements: u64,
    chosen_elements: u64,
}

impl Ladders {
    /// Measures what types cost; `fixed` bytes are taken by other weights, and `elements` is the
    /// number of all elements.
    pub(super) fn new(
        choices: Vec<Choice<'_>>,
        fixed: u64,
        elements: u64,
        workers: usize,
    ) -> Result<Self> {
        let ladders = ladders(&choices, workers)?;
        let chosen_elements = choices.iter().map(|choice| choice.weight.elements()).sum();
        let choices = choices.into_iter().map(|choice| (choice.at, choice.encoders)).collect();
        Ok(Self { choices, ladders, fixed, elements, chosen_elements })
    }

    /// The type of each weight, by its place, that serves a goal best, and what to tell users.
    pub(super) fn fit(&self, goal: Goal) -> Result<(Fitted, String)> {
        let Self { choices, ladders, fixed, elements, .. } = self;
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss
        )]
        let budget = match goal {
            Goal::Bits(bits) => (bits * *elements as f64 / 8.0) as u64,
            Goal::Bytes(bytes) => bytes,
        };
        let places =
            climb(ladders, *fixed, budget).map_err(|least| too_small(goal, least, *elements))?;
        let steps: Vec<&Step> =
            places.iter().zip(ladders).map(|(&place, ladder)| &ladder[place]).collect();
        let encoders: Vec<(usize, Arc<dyn Encoder>)> = steps
            .iter()
            .zip(choices)
            .map(|(step, (at, encoders))| (*at, encoders[step.encoder].clone()))
            .collect();
        let error = steps.iter().map(|step| step.error).sum();
        let note = self.explained(encoders.iter().map(|(_, encoder)| encoder.name()), error);
        Ok((encoders, note))
    }

    /// What users should know about the types that were chosen.
    fn explained<'e>(&self, names: impl Iterator<Item = &'e str>, error: f64) -> String {
        let mut counts = BTreeMap::<&str, usize>::new();
        names.for_each(|name| *counts.entry(name).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        let counts: Vec<String> =
            counts.into_iter().map(|(name, count)| format!("{count} x {name}")).collect();
        #[allow(clippy::cast_precision_loss)]
        let expected = -10.0 * (error / self.chosen_elements.max(1) as f64).log10();
        format!(
            "types chosen by the error on a sample of each weight (expected mean SNR \
             {expected:.1} dB): {}",
            counts.join(", ")
        )
    }
}

fn too_small(goal: Goal, least: u64, elements: u64) -> Error {
    #[allow(clippy::cast_precision_loss)]
    let message = match goal {
        Goal::Bits(bits) => {
            let least = least as f64 * 8.0 / elements.max(1) as f64;
            format!("{bits} bits per weight are too few: the smallest types need {least:.3}")
        }
        Goal::Bytes(bytes) => {
            format!("{bytes} bytes are too few: the smallest types need {least} bytes")
        }
    };
    Error::usage(message)
}

/// The place in its ladder that each weight gets, or the bytes that the lowest places take if these
/// are too many.
fn climb(ladders: &[Vec<Step>], fixed: u64, budget: u64) -> Result<Vec<usize>, u64> {
    let mut places = vec![0; ladders.len()];
    let lowest = |ladder: &Vec<Step>| ladder.first().map_or(0, |step| step.bytes);
    let mut total = ladders.iter().map(lowest).fold(fixed, u64::saturating_add);
    if total > budget {
        return Err(total);
    }
    // A step that does not fit will not fit later.
    let mut is_done: Vec<bool> = ladders.iter().map(|ladder| ladder.len() < 2).collect();
    loop {
        let next = (0..ladders.len()).filter(|&at| !is_done[at]).max_by(|&a, &b| {
            let worth = |at: usize| slope(&ladders[at][places[at]], &ladders[at][places[at] + 1]);
            // Of two that are worth the same, the first.
            worth(a).total_cmp(&worth(b)).then(b.cmp(&a))
        });
        let Some(at) = next else { return Ok(places) };
        let (ladder, place) = (&ladders[at], places[at]);
        let more = ladder[place + 1].bytes - ladder[place].bytes;
        if total + more > budget {
            is_done[at] = true;
            continue;
        }
        total += more;
        places[at] += 1;
        is_done[at] = places[at] + 1 == ladder.len();
    }
}

/// What each weight could have, from small to large: only what is worth its bytes.
fn ladders(choices: &[Choice<'_>], workers: usize) -> Result<Vec<Vec<Step>>> {
    let next = AtomicUsize::new(0);
    let found: Vec<OnceLock<_>> = choices.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        while let at = next.fetch_add(1, Ordering::Relaxed)
            && let Some(choice) = choices.get(at)
        {
            found[at].get_or_init(|| steps(choice).map(hull));
        }
    };
    let listening = stop::here();
    let other = || listening.clone().during(work);
    std::thread::scope(|scope| {
        (1..workers.max(1)).for_each(|_| drop(scope.spawn(other)));
        work();
    });
    let ladders = found.into_iter().map(OnceLock::into_inner);
    ladders.map(|ladder| ladder.unwrap_or_else(|| Ok(Vec::new()))).collect()
}

/// What every type costs a weight.
fn steps(choice: &Choice<'_>) -> Result<Vec<Step>> {
    let (values, shape) = sample(choice.weight)?;
    let squares: f64 = values.iter().map(|value| f64::from(*value).powi(2)).sum();
    let mut steps = Vec::new();
    for (encoder, of) in choice.encoders.iter().enumerate() {
        let Ok(outputs) = of.outputs(choice.name, choice.weight.shape()) else { continue };
        let bytes = outputs.iter().map(|output| output.bytes).sum();
        let error = squared_error(of.as_ref(), &values, shape, choice.name)?;
        #[allow(clippy::cast_precision_loss)]
        let relative = if squares > 0.0 { error / squares } else { 0.0 };
        // A type that overflows loses the whole weight, and is rejected when it is written.
        let relative = if relative.is_finite() { relative } else { OVERFLOWED };
        #[allow(clippy::cast_precision_loss)]
        steps.push(Step { encoder, bytes, error: relative * choice.weight.elements() as f64 });
    }
    if steps.is_empty() {
        let message = "no type fits its row length";
        return Err(Error::unsupported(message).in_tensor(choice.weight.name()));
    }
    Ok(steps)
}

/// The squared error of some rows in a type.
fn squared_error(
    encoder: &dyn Encoder,
    values: &[f32],
    shape: [u64; 2],
    name: &str,
) -> Result<f64> {
    let failed = |reason: String| Error::unsupported(reason).in_tensor(name);
    let outputs = encoder.outputs(name, &shape).map_err(failed)?;
    let (work, elements) = (encoder.begin(&shape), 0..shape[0] * shape[1]);
    if work.needs_first_pass() {
        work.see(elements.clone(), values);
    }
    let size = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
    let mut bytes: Vec<Vec<u8>> = outputs.iter().map(|of| vec![0; size(of.bytes)]).collect();
    let mut outs: Vec<&mut [u8]> = bytes.iter_mut().map(Vec::as_mut_slice).collect();
    work.encode(elements.clone(), values, &mut outs)?;
    let mut decoded = Decoded::default();
    decoded.start(values.len());
    let encoded: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
    work.decode(elements, &encoded, &mut decoded)?;
    let error = |(a, b): (&f32, &f32)| (f64::from(*a) - f64::from(*b)).powi(2);
    Ok(values.iter().zip(&decoded.numbers).map(error).sum())
}

/// Rows of a weight from several places, and how many rows and columns they are.
fn sample(weight: &Weight) -> Result<(Vec<f32>, [u64; 2])> {
    let columns = weight.shape().last().copied().unwrap_or(1).max(1);
    // The rows of the outermost dimension may be matrices.
    let (outer, row) = weight.rows_and_columns();
    let wanted = (SAMPLE / row.max(1)).clamp(1, outer.max(1));
    let each = wanted.div_ceil(PLACES.min(wanted));
    let mut values = Vec::new();
    for place in 0..wanted.div_ceil(each) {
        let start = (outer - each) * place / wanted.div_ceil(each).saturating_sub(1).max(1);
        let rows: Range<u64> = start..(start + each).min(outer);
        let too_large = |_| Error::limit("a row exceeds this machine's address space");
        let count = usize::try_from((rows.end - rows.start) * row).map_err(too_large)?;
        let at = values.len();
        values.resize(at + count, 0f32);
        weight.decode_rows(rows, &mut values[at..])?;
    }
    let rows = values.len() as u64 / columns;
    Ok((values, [rows, columns]))
}

/// The lower convex hull: from each step to the next, every byte is worth less.
fn hull(mut steps: Vec<Step>) -> Vec<Step> {
    steps.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.error.total_cmp(&b.error)));
    let mut hull: Vec<Step> = Vec::new();
    for step in steps {
        if hull.last().is_some_and(|last| step.error >= last.error || step.bytes == last.bytes) {
            continue;
        }
        hull.push(step);
        while let [.., a, b, c] = &hull[..]
            && slope(a, b) <= slope(b, c)
        {
            let middle = hull.len() - 2;
            hull.remove(middle);
        }
    }
    hull
}

#[allow(clippy::cast_precision_loss)]
fn slope(a: &Step, b: &Step) -> f64 {
    (a.error - b.error) / (b.bytes - a.bytes).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(of: &[(u64, f64)]) -> Vec<Step> {
        let step =
            |(encoder, &(bytes, error)): (usize, &(u64, f64))| Step { encoder, bytes, error };
        of.iter().enumerate().map(step).collect()
    }

    #[test]
    fn what_is_not_worth_its_bytes_is_left_out() {
        let hull = hull(steps(&[(30, 1.0), (10, 10.0), (20, 9.0), (40, 1.5), (20, 9.5)]));
        let kept: Vec<_> = hull.iter().map(|step| (step.bytes, step.encoder)).collect();
        assert_eq!(kept, [(10, 1), (30, 0)]);
    }

    #[test]
    fn bytes_go_where_they_are_worth_the_most() {
        let ladders = [steps(&[(10, 10.0), (20, 1.0)]), steps(&[(10, 10.0), (20, 5.0)])];
        assert_eq!(climb(&ladders, 5, 34), Ok(vec![0, 0]));
        assert_eq!(climb(&ladders, 5, 35), Ok(vec![1, 0]));
        assert_eq!(climb(&ladders, 5, 45), Ok(vec![1, 1]));
        assert_eq!(climb(&ladders, 5, 24), Err(25));
    }

    #[test]
    fn a_step_that_does_not_fit_leaves_room_for_smaller_ones() {
        let ladders = [steps(&[(10, 10.0), (100, 1.0)]), steps(&[(10, 10.0), (12, 9.9)])];
        assert_eq!(climb(&ladders, 0, 25), Ok(vec![0, 1]));
    }
}
