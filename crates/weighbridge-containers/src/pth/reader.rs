//! One pickle, the file it came from, and the catalog being made of them.

use std::cell::Cell;
use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::catalog::{Catalog, Finding, LISTED, Run, SummedMember, TensorInfo};
use crate::error::{Error, Remedy, Result};
use crate::limits::Budget;

use super::draft::Draft;
use super::pickle::{Heap, Span};
use super::storage::Store;

/// Turns the objects of one pickle into catalog entries.
pub(super) struct Reader<'h, 'p> {
    pub(super) heap: &'h Heap<'p>,
    pub(super) store: &'h mut dyn Store,
    pub(super) budget: &'h Budget,
    pub(super) catalog: Catalog,
    /// Where the bytes that text stands for were put.
    pub(super) unpacked: HashMap<Span, (Run, u64), RandomState>,
    /// How much was done so far, in children looked at and the like.
    work: Cell<u64>,
}

/// Work that is always allowed; beyond it no object is entered twice.
pub(super) const FREE_WORK: u64 = 1 << 22;

/// What one listed tensor costs beside its name.
const RECORD: u64 = LISTED.saturating_add(size_of::<SummedMember>() as u64);

impl<'h, 'p> Reader<'h, 'p> {
    /// A reader that has read nothing yet.
    pub(super) fn new(
        heap: &'h Heap<'p>,
        store: &'h mut dyn Store,
        budget: &'h Budget,
        catalog: Catalog,
    ) -> Self {
        Self { heap, store, budget, catalog, unpacked: HashMap::default(), work: Cell::new(0) }
    }

    /// Counts work. A pickle of few steps can share its objects so that walking them all never
    /// ends; an honest one is walked in about as many steps as it has.
    pub(super) fn work(&self, amount: usize) -> Result<()> {
        let most = self.budget.limits().max_pickle_steps;
        let done = self.work.get().saturating_add(amount as u64);
        self.work.set(done);
        if done > most.saturating_add(FREE_WORK) {
            return Err(Error::limit(format!(
                "the pickle shares objects so often that listing them needs more than {done} \
                     steps"
            ))
            .remedy(Remedy::RaiseLimit("max_pickle_steps")));
        }
        Ok(())
    }

    /// What was done so far.
    pub(super) fn work_done(&self) -> u64 {
        self.work.get()
    }

    /// Puts a tensor into the catalog.
    pub(super) fn list(&mut self, name: &str, draft: Draft) -> Result<()> {
        let cost = RECORD.saturating_add(name.len() as u64);
        crate::charge_item(self.budget, cost, "the tensor list")?;
        if let (Some(kind), Some(reason)) = (draft.problem, &draft.refused) {
            self.problem(name, kind, reason.to_string())?;
        }
        let Draft { shape, stored, bytes, place, refused, .. } = draft;
        let reason = refused.as_deref().map_or(0, str::len);
        self.budget.charge(reason as u64, "the tensor list")?;
        let tensor = TensorInfo { name: name.into(), shape, stored, bytes, place, refused };
        self.catalog.tensors.push(tensor);
        Ok(())
    }

    /// Reports what is wrong with a tensor that is listed.
    pub(super) fn problem(&mut self, name: &str, kind: &'static str, why: String) -> Result<()> {
        let finding = Finding::of(name, kind, why);
        self.budget.charge(finding.cost(), "the problem list")?;
        self.catalog.findings.push(finding);
        Ok(())
    }
}
