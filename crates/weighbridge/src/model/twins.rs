//! Tensors that lie in several files of a model under one name.
//!
//! If they have the same type and shape, only one thing can be meant: one of them is used, and the
//! others are its *twins*. That their bytes are the same is checked before values are read by an
//! operation; opening looks at headers only.

use std::collections::HashMap;

use super::locate::{self, Index};
use super::{Model, Weight};
use crate::catalog::{Finding, TensorInfo};
use crate::error::{Error, Result};
use crate::source::{Slab, Source};

/// Bytes of each that are compared at a time.
const PIECE: u64 = 1 << 20;

/// How many pairs of files are noted, and how many names for each.
const SHOWN: usize = 5;

/// A tensor that is not used, because another file has it too.
pub(super) struct Twin {
    /// The file that it is in.
    source: u32,
    info: TensorInfo,
    /// The file whose tensor of that name is used.
    used: u32,
}

type ByName<'a, T> = HashMap<&'a str, T, foldhash::fast::RandomState>;

/// Takes twins out of the catalogs. Of tensors with one name the one is used that is in the file
/// which the index names, or else the first.
pub(super) fn take(sources: &mut [Source], index: Option<&Index>) -> Vec<Twin> {
    let several = of_several_files(sources);
    if several.is_empty() {
        return Vec::new();
    }
    let promised: ByName<'_, &str> = index.into_iter().flat_map(Index::promises).collect();
    let mut taken: Vec<Vec<(usize, u32)>> = vec![Vec::new(); sources.len()];
    for (name, places) in &several {
        let info = |at: &(u32, usize)| &sources[at.0 as usize].catalog().tensors[at.1];
        let is_promised = |at: &&(u32, usize)| {
            let file = sources[at.0 as usize].input().name();
            promised.get(name).is_some_and(|promised| file.ends_with(promised))
        };
        let used = places.iter().find(is_promised).unwrap_or(&places[0]);
        if places.iter().all(|at| is_like(info(used), info(at))) {
            let others = places.iter().filter(|at| *at != used);
            others.for_each(|at| taken[at.0 as usize].push((at.1, used.0)));
        }
    }
    drop(several);
    let mut twins = Vec::new();
    for ((number, source), mut taken) in (0u32..).zip(sources).zip(taken) {
        taken.sort_unstable();
        let indices: Vec<usize> = taken.iter().map(|(index, _)| *index).collect();
        let infos = source.forget(&indices).into_iter().zip(taken);
        twins.extend(infos.map(|(info, (_, used))| Twin { source: number, info, used }));
    }
    twins
}

/// The places of every name that occurs more than once, file by file. Inside one file, a name that
/// occurs twice is that file's problem.
fn of_several_files(sources: &[Source]) -> ByName<'_, Vec<(u32, usize)>> {
    let mut first: ByName<'_, (u32, usize)> = HashMap::default();
    let mut several: ByName<'_, Vec<(u32, usize)>> = HashMap::default();
    for (number, source) in (0u32..).zip(sources) {
        for (index, info) in source.catalog().tensors.iter().enumerate() {
            let place = (number, index);
            let before = *first.entry(&info.name).or_insert(place);
            if before != place {
                several.entry(&info.name).or_insert_with(|| vec![before]).push(place);
            }
        }
    }
    several.retain(|_, places| {
        let mut files: Vec<u32> = places.iter().map(|(file, _)| *file).collect();
        files.dedup();
        files.len() == places.len()
    });
    several
}

/// Whether two tensors can be the same.
fn is_like(a: &TensorInfo, b: &TensorInfo) -> bool {
    (&a.stored, &a.shape, a.bytes, a.refused.is_some())
        == (&b.stored, &b.shape, b.bytes, b.refused.is_some())
}

/// What was decided about them.
pub(super) fn notes(twins: &[Twin], sources: &[Source]) -> Vec<String> {
    let mut by_files: Vec<([u32; 2], Vec<&str>)> = Vec::new();
    for twin in twins {
        let files = [twin.used, twin.source];
        match by_files.iter_mut().find(|(known, _)| *known == files) {
            Some((_, names)) => names.push(&twin.info.name),
            None => by_files.push((files, vec![&twin.info.name])),
        }
    }
    let note = |(files, names): &([u32; 2], Vec<&str>)| {
        let [used, other] =
            files.map(|at| sources.get(at as usize).map(super::file_name).unwrap_or_default());
        format!(
            "in both {used} and {other}, with equal types and shapes: {}; {used} is used, after a \
             check that the bytes are equal",
            locate::some_of(names, SHOWN)
        )
    };
    let mut notes: Vec<String> = by_files.iter().take(SHOWN).map(note).collect();
    if let Some(more @ 1..) = by_files.len().checked_sub(SHOWN) {
        notes.push(format!("{more} more pairs of files share tensors"));
    }
    notes
}

impl Model {
    /// A finding for each twin whose bytes are others than those of the tensor that is used.
    pub(crate) fn unlike_twins(&self) -> Result<&[Finding]> {
        if let Some(known) = self.0.files.unlike_twins.get() {
            return Ok(known);
        }
        let mut findings = Vec::new();
        let used = self.used_beside_twins();
        for twin in self.0.files.twins.iter() {
            let info = used.get(&(twin.used, &*twin.info.name)).copied();
            if !info.map_or(Ok(true), |info| self.is_equal(info, twin))? {
                let [used, other] = [twin.used, twin.source]
                    .map(|at| super::file_name(&self.sources()[at as usize]));
                let message = format!(
                    "it is in both {used} and {other}, with different bytes; the right one is unknown"
                );
                findings.push(Finding::of(&twin.info.name, "duplicate-tensor", message));
            }
        }
        Ok(self.0.files.unlike_twins.get_or_init(|| findings))
    }

    /// An error if a part of a weight is in several files with different bytes.
    pub(crate) fn refuse_unlike_twins(&self, weight: &Weight) -> Result<()> {
        if self.0.files.twins.is_empty() {
            return Ok(());
        }
        let unlike = self.unlike_twins()?;
        let found = weight.parts().find_map(|(_, _, info)| {
            unlike.iter().find(|finding| finding.tensor.as_deref() == Some(&*info.name))
        });
        found.map_or(Ok(()), |finding| Err(Error::unsupported(finding.message.clone())))
    }

    /// The tensors that are used instead of twins, by file and name.
    fn used_beside_twins(&self) -> HashMap<(u32, &str), &TensorInfo> {
        let mut files: Vec<u32> = self.0.files.twins.iter().map(|twin| twin.used).collect();
        files.sort_unstable();
        files.dedup();
        let tensors = |file: u32| {
            let tensors = &self.sources()[file as usize].catalog().tensors;
            tensors.iter().map(move |info| ((file, &*info.name), info))
        };
        files.into_iter().flat_map(tensors).collect()
    }

    fn is_equal(&self, info: &TensorInfo, twin: &Twin) -> Result<bool> {
        if twin.info.refused.is_some() {
            return Ok(true);
        }
        let [used, other] = [twin.used, twin.source].map(|at| &self.sources()[at as usize]);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < info.bytes {
            let slab = Slab::whole(0, at, PIECE.min(info.bytes - at));
            let one = used.fetch(info, &slab, &mut a)?;
            let two = other.fetch(&twin.info, &slab, &mut b)?;
            if one.bytes() != two.bytes() {
                return Ok(false);
            }
            at += slab.row_bytes;
        }
        Ok(true)
    }
}
