//! Which tensor goes where, in which type, and what stands against it.

use std::sync::Arc;

use smallvec::smallvec;

use super::announce::held_by_job;
use super::cut::{Cut, check_memory};
use super::encoding::{Encoding, additions};
use super::job::{Action, Job, Origin, OutputTensor};
use super::memory::{self, Memory};
use super::metadata::set_entry;
use super::rearranging::Rearranging;
use super::shards::Spread;
use super::ties::{Tied, take_ties};
use crate::catalog::{Run, TensorInfo, Value};
use crate::containers::writing::{Entries, FileContext, Layout, MetadataValue, Planned, Writer};
use crate::dtype::DType;
use crate::error::Result;
use crate::model::{Model, Weight};
use crate::schemes::{Encoder, Groups, PackedWeight, TensorId};
use crate::source::Source;
use crate::text::escaped;

/// What the output should be.
pub struct PlanOptions<'a> {
    /// The format.
    pub writer: &'static dyn Writer,
    /// Whether the metadata says all that the file needs, and is written as it is.
    pub is_described: bool,
    /// Whether stored tensors are copied, undecoded.
    pub is_as_stored: bool,
    /// How weights are encoded.
    pub encoding: HowEncoded,
    /// What a tensor is called in the output.
    pub rename: &'a dyn Fn(&str) -> String,
    /// Into how many files they go.
    pub spread: Spread,
    /// What the files of a directory are called.
    pub stem: String,
    /// Whether the output can only be written front to back.
    pub streamed: bool,
    /// The most workers at once.
    pub workers: usize,
    /// The most memory that they may take together.
    pub max_memory: Option<u64>,
}

/// What is written of a weight, or of a stored tensor.
#[derive(Clone)]
pub enum Assigned {
    /// Numbers of this type; `None` if its own type has no name.
    Numbers(Option<DType>),
    /// What an encoder gives.
    Encoded(Arc<dyn Encoder>),
    /// The one tensor that it is stored in, as it is.
    AsStored,
    /// Its codes and factors, laid out in another way.
    Rearranged(PackedWeight),
}

/// How weights are encoded.
#[derive(Clone, Copy, Debug, Default)]
pub struct HowEncoded {
    /// Whether it is measured what that costs.
    pub is_measured: bool,
    /// Whether NaN and infinite values are accepted, in the source and in the output.
    pub takes_non_finite: bool,
}

impl HowEncoded {
    /// For conversions, which count what overflows and write it.
    pub const CONVERT: Self = Self { is_measured: false, takes_non_finite: true };
}

/// One file to be written.
pub struct PlannedFile {
    /// Its name, where it is one of several; otherwise the output has a name of its own.
    pub name: String,
    /// What its tensors are made from, in the order of the source.
    pub jobs: Vec<Job>,
    /// The bytes around them.
    pub layout: Layout,
}

/// The files to be written.
pub struct Plan {
    /// At least one.
    pub files: Vec<PlannedFile>,
    /// The index of several files: its name and its text.
    pub index: Option<(String, String)>,
    /// Names that are not written, because another name shares their numbers.
    pub ties: Vec<Tied>,
    /// The metadata, if it belongs to what was asked for and is to be verified too.
    pub described: Option<Entries>,
    /// The number of workers, and the memory they need.
    pub memory: Memory,
}

impl Plan {
    /// Bytes of each weight that have to be held at once while it is read over a network.
    pub fn held(&self) -> impl Iterator<Item = (u64, &str)> {
        let jobs = self.files.iter().flat_map(|file| &file.jobs);
        jobs.map(|job| (held_by_job(job), job.source_name()))
    }

    /// Every tensor, in the order of the source.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.files.iter().flat_map(|file| &file.jobs)
    }

    /// Puts its files into a folder of the output.
    pub fn move_into(&mut self, folder: &str) {
        let names = self.files.iter_mut().map(|file| &mut file.name);
        let index = self.index.as_mut().map(|(name, _)| name);
        names.chain(index).for_each(|name| *name = format!("{folder}/{name}"));
    }

    /// Bytes of all tensors: what progress counts to.
    pub fn data_bytes(&self) -> u64 {
        self.jobs().map(Job::bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.layout.len).fold(0, u64::saturating_add)
    }
}

/// A tensor that cannot be written, and why.
pub struct Obstacle {
    /// Its name in the source.
    pub name: String,
    /// The kind within its scheme.
    pub variant: String,
    /// Why it cannot be written.
    pub reason: String,
    /// Whether another name would help.
    pub is_name: bool,
}

/// What is assigned to tensors, without their places; the error lists all that cannot be written.
pub fn jobs(
    tensors: &[(Origin, Assigned)],
    options: &PlanOptions<'_>,
) -> Result<Vec<Job>, Vec<Obstacle>> {
    let (mut jobs, mut obstacles) = (Vec::with_capacity(tensors.len()), Vec::new());
    for (origin, assigned) in tensors {
        let (name, variant) = origin.name_and_kind();
        let renamed = (options.rename)(name);
        let refused_name = options.writer.refuses_name(&renamed);
        match job(origin, assigned, renamed, options) {
            Ok(job) => jobs.push(job),
            Err(reason) => {
                let is_name = refused_name.as_ref() == Some(&reason);
                let (name, variant) = (name.to_owned(), variant.to_owned());
                obstacles.push(Obstacle { name, variant, reason, is_name });
            }
        }
    }
    if obstacles.is_empty() { Ok(jobs) } else { Err(obstacles) }
}

/// What a job costs in the plan, beside its names: itself, in tables that grow and are divided into
/// files, its entry in the header of its file, and its line in reports.
const PLANNED: u64 = (2 * size_of::<Job>() + 300) as u64;

/// Copies of a name in the plan: the job, the header, the index, and a text that is being made.
const NAMES: u64 = 4;

/// An error if the plan of a model's weights, or of its stored tensors, would take more memory than
/// the model's limits leave.
pub fn check_cost(model: &Model, is_as_stored: bool) -> Result<()> {
    const WHAT: &str = "the plan";
    if !is_as_stored {
        return model.check_list(PLANNED, NAMES, WHAT);
    }
    let names = stored(model).map(|id| model.stored(id).1.name.len() as u64);
    let costs = names.map(|name| PLANNED.saturating_add(name.saturating_mul(NAMES)));
    model.check_beside(costs.fold(0, u64::saturating_add), WHAT)
}

/// Every stored tensor.
pub fn stored(model: &Model) -> impl Iterator<Item = TensorId> {
    let of = |(source, tensors): (u32, usize)| {
        (0..u32::try_from(tensors).unwrap_or(u32::MAX))
            .map(move |tensor| TensorId { source, tensor })
    };
    (0..).zip(model.sources().iter().map(|source| source.catalog().tensors.len())).flat_map(of)
}

/// Places tensors in files, with this metadata and what their encoders add to it.
pub fn plan(mut jobs: Vec<Job>, mut metadata: Entries, options: &PlanOptions<'_>) -> Result<Plan> {
    for job in jobs.iter().filter(|job| job.leaves_its_scheme()) {
        check_memory(job.weight()?, &job.cut)?;
    }
    if options.streamed {
        jobs = jobs.into_iter().flat_map(one_job_a_tensor).collect();
    }
    let memory = memory::fit(&mut jobs, options.workers, options.max_memory)?;
    let ties = if options.writer.ties() { take_ties(&mut jobs) } else { Vec::new() };
    for (key, text) in additions(jobs.iter()).iter().flat_map(|additions| &additions.metadata) {
        set_entry(&mut metadata, key, Value::text(&**text));
    }
    let noted =
        ties.iter().map(|tie| (tie.name.clone(), MetadataValue::Value(Value::text(&*tie.to))));
    metadata.extend(noted);
    let planned: Vec<Planned<'_>> = tensors_of(&jobs).map(OutputTensor::planned).collect();
    let metadata = options.writer.metadata(
        metadata,
        &planned,
        options.is_described || options.is_as_stored,
    )?;
    let spread = if options.writer.splits() { options.spread } else { Spread::OneFile };
    let ranges = spread.files(&jobs.iter().map(Job::bytes).collect::<Vec<_>>());
    let (count, tensors) = (ranges.len(), tensors_of(&jobs).count());
    let mut jobs = jobs.into_iter();
    let mut files = Vec::with_capacity(count);
    for (index, range) in ranges.into_iter().enumerate() {
        let part = (index, count);
        let context =
            FileContext { metadata: &metadata, part, tensors, streamed: options.streamed };
        let jobs = jobs.by_ref().take(range.len()).collect();
        files.push(file(options, jobs, &context)?);
    }
    let index = index(&files, options).filter(|_| count > 1);
    let described = options.is_described.then_some(metadata);
    Ok(Plan { files, index, ties, described, memory })
}

/// Lays out one file.
fn file(
    options: &PlanOptions<'_>,
    mut jobs: Vec<Job>,
    context: &FileContext<'_>,
) -> Result<PlannedFile> {
    let planned: Vec<_> = tensors_of(&jobs).map(OutputTensor::planned).collect();
    let layout = options.writer.lay_out(&planned, context)?;
    let tensors = jobs.iter_mut().flat_map(|job| &mut job.outputs);
    for (tensor, &offset) in tensors.zip(&layout.places) {
        tensor.offset = offset;
    }
    Ok(PlannedFile { name: options.writer.file_name(&options.stem, context.part), jobs, layout })
}

fn index(files: &[PlannedFile], options: &PlanOptions<'_>) -> Option<(String, String)> {
    let jobs = || files.iter().flat_map(|file| &file.jobs);
    let bytes = jobs().map(Job::bytes).fold(0, u64::saturating_add);
    let elements = jobs().map(Job::elements).fold(0, u64::saturating_add);
    let tensors = files.iter().flat_map(|file| tensors_of(&file.jobs).map(move |of| (file, of)));
    let map = tensors.map(|(file, tensor)| (&*tensor.name, &*file.name)).collect();
    options.writer.index(&options.stem, map, bytes, elements)
}

fn tensors_of(jobs: &[Job]) -> impl Iterator<Item = &OutputTensor> {
    jobs.iter().flat_map(|job| &job.outputs)
}

/// A stream takes one tensor after the other: a weight that becomes several is encoded once for
/// each of them.
fn one_job_a_tensor(mut job: Job) -> impl Iterator<Item = Job> {
    let outputs = std::mem::take(&mut job.outputs);
    outputs.into_iter().map(move |output| Job { outputs: smallvec![output], ..job.clone() })
}

/// The job of a tensor, without its offset; or why it cannot be written.
fn job(
    origin: &Origin,
    assigned: &Assigned,
    name: String,
    options: &PlanOptions<'_>,
) -> Result<Job, String> {
    let mut job = match (origin, assigned) {
        (Origin::Stored(model, id), _) => stored_job(model, *id, name)?,
        (Origin::Weight(weight), Assigned::Numbers(dtype)) => weight_job(weight, name, *dtype)?,
        (Origin::Weight(weight), Assigned::AsStored) => kept_job(weight, name)?,
        (Origin::Weight(weight), Assigned::Encoded(encoder)) => {
            encoded_job(weight, &name, encoder.clone(), options.encoding.is_measured)?
        }
        (Origin::Weight(weight), Assigned::Rearranged(packed)) => {
            refuse_undecodable(weight)?;
            Rearranging::job(weight, packed.clone())?
        }
    };
    job.takes_non_finite = options.encoding.takes_non_finite && job.refuses_non_finite().is_none();
    reshape(&mut job, options.writer)?;
    if options.streamed {
        job.cut = job.cut.undivided();
    }
    let refused = job.outputs.iter().find_map(|output| options.writer.refuses(&output.planned()));
    refused.map_or(Ok(job), Err)
}

/// Gives a tensor that was stored in another shape than its own the right one for the output: its
/// own, or in a file of the same format the stored one, beside the metadata that says so.
fn reshape(job: &mut Job, writer: &dyn Writer) -> Result<(), String> {
    let (model, id) = match &job.origin {
        Origin::Stored(model, id) => (model, Some(*id)),
        Origin::Weight(weight) => (weight.model(), weight.first_part()),
    };
    let Some((id, own)) = id.and_then(|id| Some((id, model.original_shape(id)?))) else {
        return Ok(());
    };
    let ((source, info), [output]) = (model.stored(id), &mut job.outputs[..]) else {
        return Ok(());
    };
    let is_same_format = source.format() == writer.format();
    let is_kept = matches!(job.origin, Origin::Stored(..));
    output.shape = match (is_same_format, *output.name == *info.name) {
        (true, true) => info.shape.clone(),
        (true, false) if is_kept => {
            let reason =
                "the metadata states its shape by name, so it cannot be renamed and kept as stored";
            return Err(reason.to_owned());
        }
        _ => own.clone(),
    };
    Ok(())
}

fn stored_job(model: &Model, id: TensorId, name: String) -> Result<Job, String> {
    let (source, info) = model.stored(id);
    unreadable(source, info).map_or(Ok(()), Err)?;
    let (stored, shape, bytes) = (info.stored.clone(), info.shape.clone(), info.bytes);
    let groups = Groups::Of { elements: 1, bytes: 1 };
    let output = OutputTensor { name, stored, shape, bytes, offset: 0, groups, index: 0 };
    let (origin, cut) = (Origin::Stored(model.clone(), id), Cut::of_stored(info));
    let (action, outputs) = (Action::Copy, smallvec![output]);
    Ok(Job { origin, action, outputs, cut, takes_non_finite: true })
}

fn weight_job(weight: &Weight, name: String, dtype: Option<DType>) -> Result<Job, String> {
    unreadable_part(weight).map_or(Ok(()), Err)?;
    let not_a_number = || weight.undecodable().unwrap_or_else(|| "its type is unknown".to_owned());
    let dtype = dtype.ok_or_else(not_a_number)?;
    let action = match (weight.is_plain(), weight.native() == Some(dtype)) {
        (true, true) => Action::Copy,
        (true, false) => Action::Cast,
        (false, _) => Action::Decode,
    };
    let is_copied = matches!(action, Action::Copy);
    weight.undecodable().filter(|_| !is_copied).map_or(Ok(()), Err)?;
    let bytes =
        dtype.bytes_for(weight.elements()).ok_or("its size is not a whole number of bytes")?;
    let width = if is_copied { 1 } else { u64::from(dtype.bits() / 8) };
    let (stored, groups) = (dtype.into(), Groups::Of { elements: 1, bytes: width });
    let shape = weight.shape().into();
    let output = OutputTensor { name, stored, shape, bytes, offset: 0, groups, index: 0 };
    let (origin, cut) = (Origin::Weight(weight.clone()), Cut::of(weight, &action, dtype));
    Ok(Job { origin, action, outputs: smallvec![output], cut, takes_non_finite: true })
}

/// A weight as it is stored, which must be one tensor.
fn kept_job(weight: &Weight, name: String) -> Result<Job, String> {
    let id = weight.first_part().filter(|_| weight.parts().count() == 1);
    let id = id.ok_or("it consists of several stored tensors and cannot be kept as stored")?;
    let job = stored_job(weight.model(), id, name)?;
    Ok(Job { origin: Origin::Weight(weight.clone()), ..job })
}

fn encoded_job(
    weight: &Weight,
    name: &str,
    encoder: Arc<dyn Encoder>,
    is_measured: bool,
) -> Result<Job, String> {
    refuse_undecodable(weight)?;
    let tensors: Arc<[_]> = encoder.outputs(name, weight.shape())?.into();
    let outputs = OutputTensor::all(&tensors).collect();
    let cost = is_measured.then(Arc::default);
    let action = Action::Encode(Encoding { encoder, tensors, cost });
    let cut = Cut::of(weight, &action, DType::F32);
    let origin = Origin::Weight(weight.clone());
    let job = Job { origin, action, outputs, cut, takes_non_finite: true };
    let elements = weight.elements();
    let odd = job.outputs.iter().find(|tensor| !tensor.is_made_of(elements)).map(|tensor| {
        let (name, bytes) = (escaped(&tensor.name), tensor.bytes);
        format!("its {elements} elements do not match the {bytes} bytes of {name}")
    });
    odd.map_or(Ok(job), Err)
}

/// An error unless a weight can be decoded.
fn refuse_undecodable(weight: &Weight) -> Result<(), String> {
    unreadable_part(weight).or_else(|| weight.undecodable()).map_or(Ok(()), Err)
}

/// Why a weight has no bytes to give, naming the part that has none.
fn unreadable_part(weight: &Weight) -> Option<String> {
    weight.parts().find_map(|(role, source, info)| {
        let reason = unreadable(source, info)?;
        Some(if *info.name == *weight.name() {
            reason
        } else {
            format!("its {role} {}: {reason}", escaped(&info.name))
        })
    })
}

/// Why a stored tensor has no bytes to give.
fn unreadable(source: &Source, info: &TensorInfo) -> Option<String> {
    let nowhere = info.place.run == Run::Nowhere && info.bytes > 0;
    let reason = source.catalog().unsafe_to_read.as_deref().or(info.refused.as_deref());
    reason.or(nowhere.then_some("the file has no data for it")).map(str::to_owned)
}
