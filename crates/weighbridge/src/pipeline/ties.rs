//! Names that share the same stored numbers.
//!
//! A checkpoint of torch may hold one storage under several names (an embedding and the head tied
//! to it). A safetensors file must not: as its own library does it, the first name in order is
//! written, and the metadata says of the others which one that is.

use std::collections::HashMap;

use super::job::Job;
use crate::catalog::{Run, TensorInfo};
use crate::dtype::StoredType;
use crate::source::Source;

/// A name that is not written, and the name that is written instead.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Tied {
    /// The name.
    pub name: String,
    /// The name that is written.
    pub to: String,
}

/// Removes all but one of the names that share the same numbers.
pub fn take_ties(jobs: &mut Vec<Job>) -> Vec<Tied> {
    let kept = kept_names(jobs, copied_place, name, |a, b| stored(a) == stored(b));
    let mut ties = Vec::new();
    let names: Vec<String> =
        kept.iter().map(|&at| jobs.get(at).map_or(String::new(), |job| name(job).into())).collect();
    let mut index = 0;
    jobs.retain(|job| {
        let (own, to) = (index, &names[index]);
        index += 1;
        if kept[own] != own {
            ties.push(Tied { name: name(job).to_owned(), to: to.clone() });
        }
        kept[own] == own
    });
    ties
}

/// The name of a job's first tensor; of one that is copied or cast, the only one.
fn name(job: &Job) -> &str {
    job.outputs.first().map_or("", |output| &output.name)
}

fn stored(job: &Job) -> Option<&StoredType> {
    job.outputs.first().map(|output| &output.stored)
}

/// Where the numbers of a tensor lie that is copied or cast.
fn copied_place(job: &Job) -> Option<(&Source, &TensorInfo)> {
    job.only_part().ok().filter(|_| !job.leaves_its_scheme())
}

/// Whether each starts behind the start of the one before, so that no two are the same bytes: as
/// in almost every file.
fn is_one_behind_the_other<'m>(places: impl Iterator<Item = (&'m Source, &'m TensorInfo)>) -> bool {
    let mut last = None;
    for (source, info) in places.filter(|(_, info)| info.bytes > 0) {
        let Run::At(offset) = info.place.run else { return false };
        let here = Some((std::ptr::from_ref(source) as usize, offset));
        if last >= here {
            return false;
        }
        last = here;
    }
    true
}

/// For each item, the index of the one that is kept: itself, or the first by name of those that have
/// the same bytes of the same file.
pub fn kept_names<'m, T>(
    things: &'m [T],
    place: impl Fn(&'m T) -> Option<(&'m Source, &'m TensorInfo)>,
    name: impl Fn(&T) -> &str,
    alike: impl Fn(&T, &T) -> bool,
) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..things.len()).collect();
    if is_one_behind_the_other(things.iter().filter_map(&place)) {
        return kept;
    }
    let mut groups: HashMap<_, Vec<usize>, foldhash::fast::RandomState> = HashMap::default();
    for (index, thing) in things.iter().enumerate() {
        let Some((source, info)) = place(thing).filter(|(_, info)| info.bytes > 0) else {
            continue;
        };
        let run = match info.place.run {
            Run::At(offset) => (0, 0, offset),
            Run::Inside { member, offset } => (1, member, offset),
            Run::Inline { index, offset } => (2, index, offset),
            Run::Nowhere => continue,
        };
        groups.entry((std::ptr::from_ref(source) as usize, run)).or_default().push(index);
    }
    for mut group in groups.into_values().filter(|group| group.len() > 1) {
        group.sort_by(|&a, &b| name(&things[a]).cmp(name(&things[b])));
        for (at, &index) in group.iter().enumerate() {
            let same = |&&other: &&usize| {
                let (a, b) = (&things[index], &things[other]);
                let equal = |(_, a): (_, &TensorInfo), (_, b): (_, &TensorInfo)| {
                    a.place == b.place && a.shape == b.shape && a.stored == b.stored
                };
                alike(a, b) && place(a).zip(place(b)).is_some_and(|(a, b)| equal(a, b))
            };
            if let Some(&first) = group[..at].iter().find(same) {
                kept[index] = first;
            }
        }
    }
    kept
}
