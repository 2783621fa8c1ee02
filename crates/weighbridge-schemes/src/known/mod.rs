//! Unsupported schemes that are recognised by their tensors: named and counted, never guessed.
//!
//! Their files must not be read as plain numbers: packed indices copied as weights would be
//! silently wrong. So each group of tensors is one weight with its logical shape, if known. A
//! finding names the scheme, and decoding is an error with advice.
//!
//! Each scheme is one row of `table::KINDS`: the suffix and types of the tensor by which a weight
//! is found, its required and optional companions, the config's method if names alone are
//! ambiguous, and how the logical shape follows. A row applies unless a scheme has its name, or
//! reads models of a method of that name.

use std::collections::HashMap;

use crate::catalog::{Shape, TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::activation_scales::OF_ACTIVATIONS;
use crate::framework::{
    Bid, Bids, ConfigFile, Evidence, Method, Part, Registry, Roster, Scheme, Summary, TensorId,
};

mod details;
mod kind;
mod shapes;
mod table;

use kind::Kind;
use table::KINDS;

const NAME: &str = "known";

/// The scheme of recognised but unsupported formats.
pub struct Known;

impl Scheme for Known {
    fn name(&self) -> &'static str {
        NAME
    }

    fn methods(&self) -> &'static [Method] {
        table::METHODS
    }

    fn config_files(&self) -> &'static [ConfigFile] {
        &details::FILES
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        KINDS.iter().any(|kind| {
            let may = |suffix: &&str| summary.may_end_with(&[*suffix]);
            may(&kind.anchor) && kind.needs.iter().all(may) && !kind.is_decoded(summary.schemes())
        })
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        let mut by_ending: HashMap<&str, Vec<&Kind>, foldhash::fast::RandomState> =
            HashMap::default();
        for kind in undecoded(evidence.schemes()) {
            by_ending.entry(ending(kind.anchor)).or_default().push(kind);
        }
        let mut claimed = HashMap::<_, _, foldhash::fast::RandomState>::default();
        for &(id, info) in evidence.tensors() {
            let kinds = by_ending.get(ending(&info.name)).map_or(&[][..], Vec::as_slice);
            let group = kinds.iter().find_map(|kind| Group::of(kind, id, info, evidence));
            if let Some(group) = group.filter(|group| group.claim(&mut claimed)) {
                group.bid(bids);
            }
        }
    }
}

/// Returns every scheme that is recognised but not decoded: its name in variants, its description,
/// and advice.
pub fn kinds(
    schemes: Registry<'_>,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let roster = schemes.roster();
    let kinds = KINDS.iter().filter(move |kind| !kind.is_decoded(&roster));
    kinds.map(|kind| (kind.name, kind.title, kind.instead))
}

/// Returns the rows that no scheme decodes.
fn undecoded(schemes: &Roster) -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().filter(move |kind| !kind.is_decoded(schemes))
}

/// Returns the part of a name after the last dot.
fn ending(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, last)| last)
}

/// The tensors of one weight, and the row that they match.
struct Group<'g, 'a> {
    kind: &'static Kind,
    evidence: &'g Evidence<'a>,
    /// The module: the anchor's name without its suffix.
    module: &'a str,
    anchor: (TensorId, &'a TensorInfo),
    companions: Vec<(&'static str, TensorId, &'a TensorInfo)>,
}

impl<'g, 'a> Group<'g, 'a> {
    /// Returns the group around an anchor, if everything that the row requires is there.
    fn of(
        kind: &'static Kind,
        id: TensorId,
        info: &'a TensorInfo,
        evidence: &'g Evidence<'a>,
    ) -> Option<Self> {
        let element = info.stored.element()?;
        if !kind.types.is_empty() && !kind.types.contains(&element) {
            return None;
        }
        let module = info.name.strip_suffix(kind.anchor)?;
        let find = |suffix: &'static str| {
            let (id, info) = evidence.beside(module, suffix)?;
            Some((suffix, id, info))
        };
        let mut companions = Vec::new();
        for suffix in kind.needs {
            companions.push(find(suffix)?);
        }
        if !kind.method.is_empty() {
            let method = details::method(evidence)?;
            kind.method.contains(&method.as_str()).then_some(())?;
        }
        let group = Self { kind, evidence, module, anchor: (id, info), companions };
        if !(kind.fits)(&group) {
            return None;
        }
        let mut group = group;
        let more = kind.takes.split_whitespace().filter(|suffix| !kind.needs.contains(suffix));
        group.companions.extend(more.filter_map(find));
        Some(group)
    }

    /// Claims its tensors, unless an earlier group has one of them.
    fn claim(&self, claimed: &mut HashMap<TensorId, (), foldhash::fast::RandomState>) -> bool {
        let all = || self.companions.iter().map(|c| c.1).chain([self.anchor.0]);
        let free = all().all(|id| !claimed.contains_key(&id));
        if free {
            claimed.extend(all().map(|id| (id, ())));
        }
        free
    }

    fn companion(&self, suffix: &str) -> Option<&'a TensorInfo> {
        self.companions.iter().find(|c| c.0 == suffix).map(|c| c.2)
    }

    /// Returns the element type of a companion.
    fn type_of(&self, suffix: &str) -> Option<DType> {
        self.companion(suffix)?.stored.element()
    }

    /// Returns one dimension of a companion.
    fn side(&self, suffix: &str, dimension: usize) -> Option<u64> {
        self.companion(suffix)?.shape.get(dimension).copied()
    }

    /// Returns the number of elements of a companion.
    fn count(&self, suffix: &str) -> Option<u64> {
        element_count(&self.companion(suffix)?.shape)
    }

    /// Returns the two dimensions of the anchor.
    fn sides(&self) -> Option<(u64, u64)> {
        match self.anchor.1.shape[..] {
            [rows, columns] => Some((rows, columns)),
            _ => None,
        }
    }

    /// Returns the outputs, by the length of the bias.
    fn bias(&self) -> Option<u64> {
        let (_, bias) = self.evidence.find(&format!("{}.bias", self.module))?;
        match bias.shape[..] {
            [outputs] if outputs > 0 => Some(outputs),
            _ => None,
        }
    }

    fn bid(self, bids: &mut Bids) {
        let (id, info) = self.anchor;
        let shape: Shape = match (self.kind.shape)(&self) {
            Some(shape) if element_count(&shape).is_some() => shape,
            _ => info.shape.clone(),
        };
        let variant = match (self.kind.detail)(&self) {
            Some(detail) => format!("{}-{detail}", self.kind.name),
            None => self.kind.name.to_owned(),
        };
        let reason = format!("{} is not supported: {}", self.kind.title, self.kind.instead);
        let mut parts = vec![Part { role: role(self.kind.anchor), tensor: id }];
        parts.extend(self.companions.iter().map(|c| Part { role: role(c.0), tensor: c.1 }));
        for suffix in self.kind.drops {
            if let Some((id, _)) = self.evidence.find(&format!("{}{suffix}", self.module)) {
                bids.dropped.push((id, OF_ACTIVATIONS.to_owned()));
            }
        }
        let name = format!("{}.weight", self.module);
        let bid = Bid::refused(name, shape, parts, &reason);
        bids.refuse(info, "undecodable", Bid { variant: variant.into(), ..bid });
    }
}

/// Returns a suffix as a role: `q_scale` for `.q_scale`.
fn role(suffix: &'static str) -> &'static str {
    suffix.trim_start_matches('.')
}

#[cfg(test)]
mod tests;
