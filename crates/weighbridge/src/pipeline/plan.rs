//! Which tensor goes where, in which type, and what stands against it.

use super::cut::{Cut, check_memory};
use super::job::{Action, Job, Origin};
use super::memory::{self, Memory};
use super::shards::Spread;
use super::ties::{Tie, take_ties};
use super::{OutputType, Types};
use crate::catalog::{Run, TensorInfo, Value};
use crate::containers::writing::{About, Entries, Held, Layout, Planned, Writer};
use crate::dtype::StoredType;
use crate::error::Result;
use crate::model::{Model, Weight};
use crate::schemes::plain;
use crate::source::Source;
use crate::text::escaped;

/// What is asked for.
pub struct Wishes<'a> {
    /// The format.
    pub writer: &'static dyn Writer,
    /// The types of the numbers.
    pub types: Types<'a>,
    /// What a tensor is called in the output.
    pub rename: &'a dyn Fn(&str) -> String,
    /// Which tensors are wanted, by their names in the source.
    pub select: &'a dyn Fn(&str) -> bool,
    /// Into how many files they go.
    pub spread: Spread,
    /// What the files of a directory are called.
    pub stem: String,
    /// Whether the output can only be written front to back.
    pub streamed: bool,
    /// How many may work at once.
    pub workers: usize,
    /// The most memory that they may take together.
    pub max_memory: Option<u64>,
}

/// One file to be written.
pub struct PlannedFile<'m> {
    /// Its name, where it is one of several; otherwise the output has a name of its own.
    pub name: String,
    /// Its tensors, in the order of the source.
    pub jobs: Vec<Job<'m>>,
    /// What stands around them.
    pub layout: Layout,
}

/// The files to be written.
pub struct Plan<'m> {
    /// At least one.
    pub files: Vec<PlannedFile<'m>>,
    /// The index of several files: its name and its text.
    pub index: Option<(String, String)>,
    /// Names that are not written, because another name stands for the same numbers.
    pub ties: Vec<Tie>,
    /// How many work at it, and what they need.
    pub memory: Memory,
}

impl<'m> Plan<'m> {
    /// Every tensor, in the order of the source.
    pub fn jobs(&self) -> impl Iterator<Item = &Job<'m>> {
        self.files.iter().flat_map(|file| &file.jobs)
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
    /// What stands against it.
    pub reason: String,
}

/// The tensors that are wanted, without their places; the error lists all that cannot be written.
pub fn jobs<'m>(model: &'m Model, wishes: &Wishes<'_>) -> Result<Vec<Job<'m>>, Vec<Obstacle>> {
    let origins: Vec<Origin<'m>> = match wishes.types.of {
        OutputType::Keep => stored(model).map(|(s, info)| Origin::Stored(s, info)).collect(),
        _ => model.weights().map(Origin::Weight).collect(),
    };
    let (mut jobs, mut obstacles) = (Vec::new(), Vec::new());
    for origin in origins {
        let (name, variant) = match &origin {
            Origin::Weight(weight) => (weight.name(), weight.variant()),
            Origin::Stored(_, info) => (&*info.name, info.stored.name()),
        };
        if !(wishes.select)(name) {
            continue;
        }
        match job(&origin, (wishes.rename)(name), wishes) {
            Ok(job) => jobs.push(job),
            Err(reason) => {
                let (name, variant) = (name.to_owned(), variant.to_owned());
                obstacles.push(Obstacle { name, variant, reason });
            }
        }
    }
    if obstacles.is_empty() { Ok(jobs) } else { Err(obstacles) }
}

/// Every stored tensor with its file.
fn stored(model: &Model) -> impl Iterator<Item = (&Source, &TensorInfo)> {
    let of = |source| Source::catalog(source).tensors.iter().map(move |info| (source, info));
    model.sources().iter().flat_map(of)
}

/// Places tensors in files, with this metadata.
pub fn plan<'m>(
    mut jobs: Vec<Job<'m>>,
    mut metadata: Entries,
    wishes: &Wishes<'_>,
) -> Result<Plan<'m>> {
    for job in jobs.iter().filter(|job| job.action == Action::Decode) {
        check_memory(job.weight()?, &job.cut)?;
    }
    let memory = memory::fit(&mut jobs, wishes.workers, wishes.max_memory)?;
    let ties = if wishes.writer.ties() { take_ties(&mut jobs) } else { Vec::new() };
    let noted = ties.iter().map(|tie| (tie.name.clone(), Held::Value(Value::text(&*tie.to))));
    metadata.extend(noted);
    let planned: Vec<Planned<'_>> = jobs.iter().map(Job::planned).collect();
    let metadata =
        wishes.writer.metadata(metadata, &planned, wishes.types.of == OutputType::Keep)?;
    let spread = if wishes.writer.splits() { wishes.spread } else { Spread::OneFile };
    let ranges = spread.files(&jobs.iter().map(|job| job.bytes).collect::<Vec<_>>());
    let (count, tensors) = (ranges.len(), jobs.len());
    let mut jobs = jobs.into_iter();
    let mut files = Vec::with_capacity(count);
    for (index, range) in ranges.into_iter().enumerate() {
        let part = (index, count);
        let about = About { metadata: &metadata, part, tensors, streamed: wishes.streamed };
        let jobs = jobs.by_ref().take(range.len()).collect();
        files.push(file(wishes, jobs, &about)?);
    }
    let index = index(&files, wishes).filter(|_| count > 1);
    Ok(Plan { files, index, ties, memory })
}

/// Lays out one file.
fn file<'m>(
    wishes: &Wishes<'_>,
    mut jobs: Vec<Job<'m>>,
    about: &About<'_>,
) -> Result<PlannedFile<'m>> {
    let planned: Vec<_> = jobs.iter().map(Job::planned).collect();
    let layout = wishes.writer.lay_out(&planned, about)?;
    for (job, &offset) in jobs.iter_mut().zip(&layout.places) {
        job.offset = offset;
    }
    Ok(PlannedFile { name: wishes.writer.file_name(&wishes.stem, about.part), jobs, layout })
}

fn index(files: &[PlannedFile<'_>], wishes: &Wishes<'_>) -> Option<(String, String)> {
    let jobs = || files.iter().flat_map(|file| file.jobs.iter().map(move |job| (file, job)));
    let bytes = jobs().map(|(_, job)| job.bytes).fold(0, u64::saturating_add);
    let elements = jobs().map(|(_, job)| job.elements()).fold(0, u64::saturating_add);
    let map = jobs().map(|(file, job)| (&*job.name, &*file.name)).collect();
    wishes.writer.index(&wishes.stem, map, bytes, elements)
}

/// What is to be done with a tensor, without its place; or why nothing can be.
fn job<'m>(origin: &Origin<'m>, name: String, wishes: &Wishes<'_>) -> Result<Job<'m>, String> {
    let job = match origin {
        Origin::Stored(source, info) => stored_job(source, info, name)?,
        Origin::Weight(weight) => weight_job(weight.clone(), name, wishes.types)?,
    };
    let cut = if wishes.streamed { job.cut.undivided() } else { job.cut };
    let job = Job { cut, ..job };
    match wishes.writer.refuses(&job.planned()) {
        Some(reason) => Err(reason),
        None => Ok(job),
    }
}

fn stored_job<'m>(
    source: &'m Source,
    info: &'m TensorInfo,
    name: String,
) -> Result<Job<'m>, String> {
    if let Some(reason) = unreadable(source, info) {
        return Err(reason);
    }
    Ok(Job {
        name,
        origin: Origin::Stored(source, info),
        stored: info.stored.clone(),
        action: Action::Copy,
        offset: 0,
        bytes: info.bytes,
        cut: Cut::of_stored(info),
    })
}

fn weight_job<'m>(weight: Weight, name: String, types: Types<'_>) -> Result<Job<'m>, String> {
    if let Some(reason) = unreadable_part(&weight) {
        return Err(reason);
    }
    let not_a_number =
        || weight.undecodable().unwrap_or_else(|| "its type is not known".to_owned());
    let dtype = types.of(&weight).ok_or_else(not_a_number)?;
    let action = match (weight.scheme() == plain::NAME, weight.native() == Some(dtype)) {
        (true, true) => Action::Copy,
        (true, false) => Action::Cast,
        (false, _) => Action::Decode,
    };
    if let Some(reason) = weight.undecodable().filter(|_| action != Action::Copy) {
        return Err(reason);
    }
    let bytes =
        dtype.bytes_for(weight.elements()).ok_or("its size is not a whole number of bytes")?;
    Ok(Job {
        name,
        cut: Cut::of(&weight, action, dtype),
        origin: Origin::Weight(weight),
        stored: StoredType::Element(dtype),
        action,
        offset: 0,
        bytes,
    })
}

/// Why a weight has no bytes to give, naming the part that has none.
fn unreadable_part(weight: &Weight) -> Option<String> {
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
