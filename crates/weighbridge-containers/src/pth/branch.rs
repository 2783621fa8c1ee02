//! Which part of a checkpoint is the model: a wrapper left off, or a branch asked for.

use crate::error::{Error, Result};
use crate::text::shortened;

use super::expand::{Children, Key};
use super::pickle::Id;
use super::reader::Reader;
use super::value::key_text;
use super::walk::Trail;

/// Keys that only say "here is the model".
const WRAPPERS: [&str; 4] = ["state_dict", "model_state_dict", "model", "module"];

/// Keys of what training keeps beside the model, which is nothing to load it with.
const BESIDE: &[&str] = names! {
    optimizer, optimizers, optimizer_state_dict, optimizer_states, optim, optim_state_dict,
    lr_scheduler, lr_schedulers, scheduler, scheduler_state_dict, scaler, grad_scaler, callbacks,
    loops, rng_state, rng_states,
};

/// Branches that an error message names.
const SHOWN: usize = 20;

/// A branch of the top object, and its key.
type Branch = (u32, String);

/// Where the model is in a checkpoint.
struct Wrapped {
    /// The branch that holds it, and its key.
    branch: u32,
    name: String,
    /// Other branches that hold tensors, with their keys.
    beside: Vec<Branch>,
}

impl Reader<'_, '_> {
    /// Leaves off the wrapper where it alone holds tensors, but for what training keeps beside the
    /// model: that is left out. The tensors of this walk are those from the `first` on.
    pub(super) fn unwrap(&mut self, root: Id, first: usize, trail: &mut Trail) -> Result<()> {
        let Some(Wrapped { branch, name, beside }) = self.wrapped(root, trail)? else {
            return Ok(());
        };
        let left_out = self.leave_out(&beside, first, trail);
        let cut = name.len().saturating_add(1);
        let tensors = self.catalog.tensors.iter_mut().skip(first);
        for (tensor, _) in tensors.zip(&trail.branches).filter(|(_, (at, _))| *at == branch) {
            if let Some(short) = tensor.name.get(cut..) {
                tensor.name = short.into();
            }
        }
        for finding in &mut self.catalog.findings {
            let inside =
                finding.tensor.as_ref().and_then(|t| t.strip_prefix(&*name)?.strip_prefix('.'));
            if let Some(short) = inside.map(str::to_owned) {
                finding.tensor = Some(short);
            }
        }
        for found in trail.values.iter_mut().filter(|found| found.branch == branch) {
            if let Some(short) = found.name.get(cut..).map(str::to_owned) {
                found.name = short;
            }
        }
        self.catalog.notes.push(if left_out.is_empty() {
            format!("all tensors are under `{name}`; names omit this prefix")
        } else {
            format!(
                "training checkpoint: the model's tensors are under `{name}`, and names omit \
                     this prefix; not listed unless chosen as the root: {}",
                left_out.join(", ")
            )
        });
        Ok(())
    }

    /// The branch of the model, if the names of all branches with tensors say which that is.
    fn wrapped(&mut self, root: Id, trail: &Trail) -> Result<Option<Wrapped>> {
        let counted = trail.branches.iter().filter(|(_, counts)| *counts);
        let mut counted: Vec<u32> = counted.map(|(branch, _)| *branch).collect();
        counted.dedup();
        if counted.is_empty() || !self.is_mapping(root) {
            return Ok(None);
        }
        let mut children = Children::new();
        self.expand(root, &mut children)?;
        let (mut model, mut beside) = (None, Vec::new());
        for branch in counted {
            let Some(&(Key::Node(key), value)) = children.get(branch as usize) else {
                return Ok(None);
            };
            let Some(name) = self.heap.text_of(key) else { return Ok(None) };
            match (WRAPPERS.contains(&&*name), BESIDE.contains(&&*name), &model) {
                (true, _, None) if self.tensor(value)?.is_none() => {
                    model = Some((branch, name.to_string()));
                }
                (_, true, _) => beside.push((branch, name.to_string())),
                _ => return Ok(None),
            }
        }
        Ok(model.map(|(branch, name)| Wrapped { branch, name, beside }))
    }

    /// Takes branches out of the list; gives their names with what they held.
    fn leave_out(&mut self, beside: &[Branch], first: usize, trail: &mut Trail) -> Vec<String> {
        if beside.is_empty() {
            return Vec::new();
        }
        let is_out = |branch: u32| beside.iter().any(|(out, _)| *out == branch);
        let mut of = trail.branches.iter().map(|(branch, _)| is_out(*branch));
        let mut at = 0usize;
        self.catalog.tensors.retain(|_| {
            let is_older = at < first;
            at = at.saturating_add(1);
            is_older || !of.next().unwrap_or(false)
        });
        let held = |(branch, name): &Branch| {
            let count = trail.branches.iter().filter(|(at, _)| at == branch).count();
            let tensors = if count == 1 { "tensor" } else { "tensors" };
            format!("`{name}` ({count} {tensors})")
        };
        let counts = beside.iter().map(held).collect();
        trail.branches.retain(|(branch, _)| !is_out(*branch));
        let is_inside = |tensor: &str| {
            let after = |(_, name): &Branch| tensor.strip_prefix(&**name);
            beside.iter().filter_map(after).any(|rest| rest.starts_with('.'))
        };
        self.catalog.findings.retain(|finding| !finding.tensor.as_deref().is_some_and(is_inside));
        counts
    }

    fn is_mapping(&self, root: Id) -> bool {
        self.is_dict(root)
            || self.heap.object(root).is_some_and(|object| !object.entries.is_empty())
    }

    /// The object that a dotted path leads to.
    pub(super) fn follow(&self, root: Id, path: &str) -> Result<Id> {
        let mut at = root;
        let mut rest = path;
        loop {
            let children = self.named_children(at)?;
            let fits = |name: &str| {
                rest.strip_prefix(name).filter(|after| after.is_empty() || after.starts_with('.'))
            };
            let best = children
                .iter()
                .filter_map(|(name, id)| Some((name.len(), fits(name)?, *id)))
                .max_by_key(|(len, ..)| *len);
            match best {
                None => return Err(no_branch(path, rest, &children)),
                Some((_, "", id)) => return Ok(id),
                Some((_, after, id)) => (rest, at) = (after.get(1..).unwrap_or_default(), id),
            }
        }
    }

    fn named_children(&self, id: Id) -> Result<Vec<(String, Id)>> {
        let mut children = Children::new();
        self.expand(id, &mut children)?;
        let mut named = Vec::new();
        let mut looked_into = 0usize;
        let mut at = 0usize;
        while let Some(&(key, child)) = children.get(at) {
            at = at.saturating_add(1);
            match key {
                Key::Node(key) => {
                    let name = key_text(self.heap, key).into_owned();
                    self.budget.charge(name.len() as u64, "the branch names")?;
                    named.push((name, child));
                }
                Key::Index(place) => named.push((place.to_string(), child)),
                Key::Same if looked_into < 16 => {
                    looked_into = looked_into.saturating_add(1);
                    self.expand(child, &mut children)?;
                }
                Key::Same => {}
            }
        }
        Ok(named)
    }
}

fn no_branch(path: &str, rest: &str, children: &[(String, Id)]) -> Error {
    let mut names: Vec<_> =
        children.iter().take(SHOWN).map(|(name, _)| format!("`{}`", shortened(name, 60))).collect();
    if children.len() > SHOWN {
        names.push(format!("{} more", children.len().saturating_sub(SHOWN)));
    }
    let end = path.len().checked_sub(rest.len().saturating_add(1));
    let place = match end.and_then(|end| path.get(..end)) {
        Some(before) if !before.is_empty() => format!("below `{}`", shortened(before, 60)),
        _ => "at the top level".to_owned(),
    };
    let there = if names.is_empty() {
        "nothing is named".to_owned()
    } else {
        format!("there are {}", names.join(", "))
    };
    Error::usage(format!("no branch `{}` in the file: {place} {there}", shortened(path, 80)))
}
