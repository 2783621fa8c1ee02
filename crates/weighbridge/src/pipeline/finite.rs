//! Rejects what cannot be stored as finite numbers: NaN and infinite values of the source, and
//! finite values that overflow in the type they are stored in.
//!
//! An encoder follows its reference, which may overflow: one value of 1e6 makes the half-precision
//! scale of its block infinite, and every value of the block NaN. The output is therefore decoded
//! before it is written.

use std::ops::Range;

use super::Job;
use super::encoding::Encoding;
use super::tiling::steps_of;
use crate::compare::{NonFinite, count_non_finite};
use crate::dtype::StoredType;
use crate::error::{Error, Remedy, Result};
use crate::model::Weight;
use crate::schemes::{EncodedTensor, Groups};
use crate::shape::coordinates;

/// Numbers that are searched together for the largest of them.
const STEP: u64 = 1 << 18;

/// A number and its index.
type Found = (u64, f32);

/// Returns an error if a number to be encoded is NaN or infinite.
pub(super) fn check_source(job: &Job, elements: &Range<u64>, values: &[f32]) -> Result<()> {
    let Some(at) = first_non_finite(values) else { return Ok(()) };
    let at_source = place(elements.start + at as u64, job);
    refused(job, format!("element {at_source} is {}, which cannot be quantized", values[at]))
}

/// Returns an error for numbers that an encoder made NaN or infinite, all of them finite before.
/// `decoded` are `values` after decoding. It names the largest value that shares a scale with the
/// first of them; `by_weight` if the whole weight shares one.
pub(super) fn refuse_encoded(
    (job, encoding): (&Job, &Encoding),
    elements: &Range<u64>,
    (values, decoded): (&[f32], &[f32]),
    by_weight: bool,
) -> Result<()> {
    let at = first_non_finite(decoded).unwrap_or(0);
    let (block, element) = (block_len(encoding), elements.start + at as u64);
    let (shares, (largest, value)) = if by_weight {
        ("weight", largest_of(job.weight()?)?)
    } else {
        let start = (element - element % block).max(elements.start);
        let end = (start + block).min(elements.end);
        let offset = |element: u64| usize::try_from(element - elements.start).unwrap_or(0);
        ("block", largest(start, values.get(offset(start)..offset(end)).unwrap_or_default()))
    };
    let name = encoding.encoder.name();
    let becomes = decoded.get(at).copied().unwrap_or(f32::NAN);
    let mut message =
        format!("{name} overflows: element {} becomes {becomes}", place(element, job));
    if largest == element {
        message = format!("{message}, and was {}", shown(value));
    } else {
        let place = place(largest, job);
        message =
            format!("{message}; the largest value of its {shares} is {} at {place}", shown(value));
    }
    if encoding.encoder.uses_importance() {
        message.push_str(", weighted by importance");
    }
    refused(job, message)
}

/// Returns an error if a float tensor of an encoder that cannot decode has a NaN or infinite value.
pub(super) fn check_stored(job: &Job, encoding: &Encoding, outs: &[&[u8]]) -> Result<()> {
    let is_bad = |(tensor, bytes): (&EncodedTensor, &&[u8])| {
        let StoredType::Element(dtype) = tensor.stored else { return false };
        let found = count_non_finite(dtype, bytes).unwrap_or_default();
        found != NonFinite::default()
    };
    if !encoding.tensors.iter().zip(outs).any(is_bad) {
        return Ok(());
    }
    let (largest, value) = largest_of(job.weight()?)?;
    let (name, place) = (encoding.encoder.name(), place(largest, job));
    refused(job, format!("{name} overflows: its largest value is {} at {place}", shown(value)))
}

/// Counts finite numbers that became infinite in a plain type, by their places among `elements`.
/// Returns an error at the first if the job does not accept them.
pub(super) fn overflowed(
    job: &Job,
    elements: &Range<u64>,
    mut places: impl Iterator<Item = usize>,
) -> Result<u64> {
    if job.takes_non_finite {
        return Ok(places.count() as u64);
    }
    let Some(first) = places.next() else { return Ok(0) };
    let name = job.outputs.first().map_or("", |output| output.stored.name());
    let element = elements.start + first as u64;
    let (place, value) = (place(element, job), shown(number_at(job.weight()?, element)?));
    refused(job, format!("{name} overflows: element {place} becomes infinite, and was {value}"))?;
    Ok(1)
}

/// One number of a weight.
fn number_at(weight: &Weight, element: u64) -> Result<f32> {
    let (_, columns) = weight.rows_and_columns();
    let (row, column) = (element / columns.max(1), element % columns.max(1));
    let mut values = vec![0f32; usize::try_from(columns).unwrap_or(0)];
    weight.decode_rows(row..row + 1, &mut values)?;
    Ok(usize::try_from(column).ok().and_then(|at| values.get(at).copied()).unwrap_or(f32::NAN))
}

fn refused(job: &Job, mut message: String) -> Result<()> {
    let remedy = match job.refuses_non_finite() {
        None => Remedy::AllowNonFinite,
        Some(reason) => {
            message = format!("{message}; {reason}");
            Remedy::KeepWeight
        }
    };
    let error = Error::malformed(message).in_tensor(job.source_name());
    Err(error.in_file(job.weight()?.model_path()).remedy(remedy))
}

/// The coordinates of an element, as `[row, column]`.
fn place(element: u64, job: &Job) -> String {
    format!("{:?}", coordinates(element, job.shape()))
}

/// Large numbers have an exponent: `1e30` instead of 31 digits.
fn shown(value: f32) -> String {
    if value.abs() < 1e7 { value.to_string() } else { format!("{value:e}") }
}

/// How many elements share a scale.
fn block_len(encoding: &Encoding) -> u64 {
    let of = |tensor: &EncodedTensor| match (&tensor.stored, tensor.groups) {
        (StoredType::Block(block), _) => u64::from(block.elements),
        (_, Groups::Of { elements, .. }) => elements,
        (_, Groups::Once) => 1,
    };
    encoding.tensors.iter().map(of).max().unwrap_or(1).max(1)
}

/// The place of the first number that is NaN or infinite.
fn first_non_finite(values: &[f32]) -> Option<usize> {
    // Without a branch for each.
    let any = values.iter().fold(false, |any, value| any | !value.is_finite());
    if any { values.iter().position(|value| !value.is_finite()) } else { None }
}

/// The number of the largest magnitude.
fn largest(first: u64, values: &[f32]) -> Found {
    let larger = |most: Found, next: Found| if next.1.abs() > most.1.abs() { next } else { most };
    (first..).zip(values.iter().copied()).fold((first, 0.0), larger)
}

/// The number of the largest magnitude of a weight.
fn largest_of(weight: &Weight) -> Result<Found> {
    let (rows, columns) = weight.rows_and_columns();
    let (mut most, mut values): (Found, _) = ((0, 0.0), Vec::new());
    for some in steps_of(0..rows, STEP / columns.max(1)) {
        let too_large = |_| Error::limit("a row exceeds this machine's address space");
        let count = usize::try_from((some.end - some.start) * columns).map_err(too_large)?;
        values.resize(count, 0f32);
        let first = some.start * columns;
        weight.decode_rows(some, &mut values)?;
        let next = largest(first, &values);
        most = if next.1.abs() > most.1.abs() { next } else { most };
    }
    Ok(most)
}
