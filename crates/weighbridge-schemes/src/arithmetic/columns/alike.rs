//! What all weights of a model must have in common where one config speaks of all of them.

use crate::framework::{CodedWeight, Unfit};

/// The bits of all codes, and the inputs of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    /// Bits of a code.
    pub bits: u32,
    /// Inputs of a group; `None` if there is one for all inputs of each weight.
    pub group: Option<u64>,
}

impl Alike {
    /// What the weights have in common; otherwise those that are unlike the first.
    pub(crate) fn of(weights: &[CodedWeight<'_>]) -> Result<Self, Vec<Unfit>> {
        let bits = weights.first().map_or(4, |weight| weight.form.bits());
        let grouped = weights.iter().find(|weight| weight.form.groups() > 1);
        let alike = Self { bits, group: grouped.map(|weight| weight.form.group) };
        let unlike = weights.iter().enumerate().filter(|(_, weight)| !alike.fits(weight));
        let unfit: Vec<Unfit> =
            unlike.map(|(weight, of)| Unfit { weight, reason: alike.unlike(of) }).collect();
        if unfit.is_empty() { Ok(alike) } else { Err(unfit) }
    }

    fn fits(&self, weight: &CodedWeight<'_>) -> bool {
        let form = &weight.form;
        form.bits() == self.bits && self.group.is_none_or(|group| form.group == group)
    }

    fn unlike(&self, weight: &CodedWeight<'_>) -> String {
        let said = |bits: u32, group: Option<u64>| match group {
            Some(group) => format!("{bits} bits, group size {group}"),
            None => format!("{bits} bits"),
        };
        let form = &weight.form;
        format!(
            "its codes have {}, those of other weights {}; this layout needs the same for all \
             weights",
            said(form.bits(), Some(form.group)),
            said(self.bits, self.group)
        )
    }

    /// The group size as configs have it.
    pub(crate) fn group_size(&self) -> i64 {
        self.group.and_then(|group| i64::try_from(group).ok()).unwrap_or(-1)
    }
}
