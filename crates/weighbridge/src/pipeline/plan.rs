//! Which weight goes where, in which type, and what stands against it.

use super::OutputType;
use super::cut::{Cut, check_memory};
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

/// The file to be written.
pub struct Plan<'m> {
    /// Every weight, in the order of the source.
    pub jobs: Vec<Job<'m>>,
    /// What comes before the data.
    pub header: Vec<u8>,
    /// Length of the whole file.
    pub len: u64,
}

/// A weight that cannot be written, and why.
pub type Obstacle<'m> = (Weight<'m>, String);

/// Plans a safetensors file of these weights; the inner error lists all that cannot be written.
pub fn plan<'m>(
    weights: &[Weight<'m>],
    output_type: OutputType,
    metadata: &[(String, String)],
) -> Result<Result<Plan<'m>, Vec<Obstacle<'m>>>> {
    let (mut jobs, mut obstacles) = (Vec::new(), Vec::new());
    for weight in weights {
        match job(weight, output_type) {
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
    Ok(Ok(Plan { jobs, header: file.header, len: file.len }))
}

/// What is to be done with a weight, without its place; or why nothing can be.
fn job<'m>(weight: &Weight<'m>, output_type: OutputType) -> Result<Job<'m>, String> {
    if let Some(reason) = unreadable_part(weight) {
        return Err(reason);
    }
    let not_a_number =
        || weight.undecodable().unwrap_or_else(|| "its type is not known".to_owned());
    let dtype = output_type.of(weight).ok_or_else(not_a_number)?;
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
            Ok(Job { weight: *weight, dtype, action, offset: 0, bytes: 0, cut })
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
