//! Properties that all weights of a model must share if one config describes all of them.

use crate::framework::{CodedWeight, LayoutMismatch};

/// Bits per code and group size, the same for all weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    /// Bits per code.
    pub bits: u32,
    /// Group size; `None` if each weight has a single group.
    pub group: Option<u64>,
}

impl Alike {
    /// Returns the shared properties, or the weights that differ from the first.
    pub(crate) fn of(weights: &[CodedWeight<'_>]) -> Result<Self, Vec<LayoutMismatch>> {
        let bits = weights.first().map_or(4, |weight| weight.form.bits());
        let grouped = weights.iter().find(|weight| weight.form.groups() > 1);
        let alike = Self { bits, group: grouped.map(|weight| weight.form.group) };
        let unlike = weights.iter().enumerate().filter(|(_, weight)| !alike.fits(weight));
        let unfit: Vec<LayoutMismatch> = unlike
            .map(|(weight, of)| LayoutMismatch { weight, reason: alike.unlike(of) })
            .collect();
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

    /// Returns the group size as configs write it.
    pub(crate) fn group_size(&self) -> i64 {
        self.group.and_then(|group| i64::try_from(group).ok()).unwrap_or(-1)
    }
}
