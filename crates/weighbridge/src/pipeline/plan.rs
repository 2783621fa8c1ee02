//! Which weight goes where, in which type, and what stands against it.

use super::Types;
use super::cut::{Cut, check_memory};
use super::shards::{Spread, index, shard_name};
use crate::catalog::{Run, TensorInfo};
use crate::containers::safetensors;
use crate::dtype::DType;
use crate::error::Result;
use crate::model::Weight;
use crate::schemes::plain;
use crate::source::Source;
use crate::text::escaped;

/// How a weight becomes its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its bytes stay as they are.
    Copy,
    /// Plain numbers in another type.
    Cast,
    /// A scheme's recipe turns its parts into numbers.
    Decode,
}

/// One weight on its way into the output.
pub struct Job<'m> {
    /// The weight.
    pub weight: Weight<'m>,
    /// The type it is written in.
    pub dtype: DType,
    /// How it gets there.
    pub action: Action,
    /// Where its first byte goes in the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub bytes: u64,
    /// How it is cut into tiles.
    pub cut: Cut,
}

/// One file to be written.
pub struct PlannedFile<'m> {
    /// Its name, where it is one of several; otherwise the output has a name of its own.
    pub name: String,
    /// Its weights, in the order of the source.
    pub jobs: Vec<Job<'m>>,
    /// What comes before the data.
    pub header: Vec<u8>,
    /// Length of the whole file.
    pub len: u64,
}

/// The files to be written.
pub struct Plan<'m> {
    /// At least one.
    pub files: Vec<PlannedFile<'m>>,
    /// The index of several files.
    pub index: Option<String>,
}

impl<'m> Plan<'m> {
    /// Every weight, in the order of the source.
    pub fn jobs(&self) -> impl Iterator<Item = &Job<'m>> {
        self.files.iter().flat_map(|file| &file.jobs)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.len).fold(0, u64::saturating_add)
    }
}

/// A weight that cannot be written, and why.
pub type Obstacle<'m> = (Weight<'m>, String);

/// Plans safetensors files of these weights; the inner error lists all that cannot be written.
pub fn plan<'m>(
    weights: &[Weight<'m>],
    types: Types,
    metadata: &[(String, String)],
    spread: Spread,
) -> Result<Result<Plan<'m>, Vec<Obstacle<'m>>>> {
    let (mut jobs, mut obstacles) = (Vec::new(), Vec::new());
    for weight in weights {
        match job(weight, types) {
            Ok(job) => jobs.push(job),
            Err(reason) => obstacles.push((*weight, reason)),
        }
    }
    if !obstacles.is_empty() {
        return Ok(Err(obstacles));
    }
    for job in jobs.iter().filter(|job| job.action == Action::Decode) {
        check_memory(&job.weight, &job.cut)?;
    }
    let ranges = spread.files(&jobs.iter().map(|job| job.bytes).collect::<Vec<_>>());
    let count = ranges.len();
    let mut jobs = jobs.into_iter();
    let files = ranges
        .into_iter()
        .enumerate()
        .map(|(at, range)| file(shard_name(at, count), jobs.by_ref().take(range.len()), metadata))
        .collect::<Result<Vec<_>>>()?;
    let index = (count > 1).then(|| {
        let jobs = || files.iter().flat_map(|file| file.jobs.iter().map(move |job| (file, job)));
        let bytes = jobs().map(|(_, job)| job.bytes).fold(0, u64::saturating_add);
        let elements = jobs().map(|(_, job)| job.weight.elements()).fold(0, u64::saturating_add);
        index(jobs().map(|(file, job)| (job.weight.name(), &*file.name)), bytes, elements)
    });
    Ok(Ok(Plan { files, index }))
}

/// Lays out one file.
fn file<'m>(
    name: String,
    jobs: impl Iterator<Item = Job<'m>>,
    metadata: &[(String, String)],
) -> Result<PlannedFile<'m>> {
    let mut jobs: Vec<Job<'m>> = jobs.collect();
    let planned: Vec<_> = jobs
        .iter()
        .map(|job| safetensors::Planned {
            name: job.weight.name().to_owned(),
            dtype: job.dtype,
            shape: job.weight.shape().into(),
        })
        .collect();
    let file = safetensors::plan(&planned, metadata)?;
    for (job, &(offset, bytes)) in jobs.iter_mut().zip(&file.places) {
        (job.offset, job.bytes) = (offset, bytes);
    }
    Ok(PlannedFile { name, jobs, header: file.header, len: file.len })
}

/// What is to be done with a weight, without its place; or why nothing can be.
fn job<'m>(weight: &Weight<'m>, types: Types) -> Result<Job<'m>, String> {
    if let Some(reason) = unreadable_part(weight) {
        return Err(reason);
    }
    let not_a_number =
        || weight.undecodable().unwrap_or_else(|| "its type is not known".to_owned());
    let dtype = types.of(weight).ok_or_else(not_a_number)?;
    let action = match (weight.scheme() == plain::NAME, weight.native() == Some(dtype)) {
        (true, true) => Action::Copy,
        (true, false) => Action::Cast,
        (false, _) => Action::Decode,
    };
    match weight.undecodable() {
        Some(reason) if action != Action::Copy => Err(reason),
        _ if !safetensors::can_express(dtype) => Err(format!("safetensors has no type {dtype}")),
        _ => {
            let cut = Cut::of(weight, action, dtype);
            // What cannot be counted is refused with its name when the file is laid out.
            let bytes = dtype.bytes_for(weight.elements()).unwrap_or(u64::MAX);
            Ok(Job { weight: *weight, dtype, action, offset: 0, bytes, cut })
        }
    }
}

/// Why a weight has no bytes to give, naming the part that has none.
fn unreadable_part(weight: &Weight<'_>) -> Option<String> {
    weight.parts().find_map(|(role, source, info)| {
        let reason = unreadable(source, info)?;
        Some(match *info.name == *weight.name() {
            true => reason,
            false => format!("its {role} {}: {reason}", escaped(&info.name)),
        })
    })
}

/// Why a stored tensor has no bytes to give.
fn unreadable(source: &Source, info: &TensorInfo) -> Option<String> {
    let nowhere = info.place.run == Run::Nowhere && info.bytes > 0;
    let reason = source.catalog().unsafe_to_read.as_deref().or(info.refused.as_deref());
    reason.or(nowhere.then_some("the file holds no data for it")).map(str::to_owned)
}
