//! Whole modules, pickled as objects: what `state_dict()` would name.
//!
//! ```text
//! state of a module: {"_parameters": {name: tensor or None}, "_buffers": {name: tensor or None},
//!                     "_modules": {name: module or None}, "_non_persistent_buffers_set": {name, ..}, ..}
//! ```

use crate::error::Result;

use super::expand::{Children, Key};
use super::pickle::{Class, Id, Node, grow};
use super::reader::Reader;

/// The parts of a module that its state dict is made of.
pub(super) struct Module {
    parameters: Id,
    modules: Id,
    buffers: Option<Id>,
    passing: Option<Id>,
}

impl Reader<'_, '_> {
    /// Reads an object's state as that of a module.
    pub(super) fn module(&self, state: Id) -> Option<Module> {
        let find = |key| self.heap.lookup(state, key);
        let parameters = find("_parameters").filter(|&id| self.is_dict(id))?;
        let modules = find("_modules").filter(|&id| self.is_dict(id))?;
        let buffers = find("_buffers").filter(|&id| self.is_dict(id));
        Some(Module { parameters, modules, buffers, passing: find("_non_persistent_buffers_set") })
    }

    fn is_dict(&self, id: Id) -> bool {
        match self.heap.node(id) {
            Node::Dict(_) => true,
            Node::Object(index) => {
                let class = self.heap.object(index).and_then(|o| self.heap.class_of(o.class));
                class.is_some_and(|global| global.class == Class::Dict)
            }
            _ => false,
        }
    }

    /// Parameters, then buffers, then modules, as `state_dict` does.
    pub(super) fn expand_module(&self, module: &Module, out: &mut Children) -> Result<()> {
        let mut pairs = Vec::new();
        self.pairs_of(module.parameters, &mut pairs)?;
        let first_buffer = pairs.len();
        if let Some(buffers) = module.buffers {
            self.pairs_of(buffers, &mut pairs)?;
        }
        let after_buffers = pairs.len();
        self.pairs_of(module.modules, &mut pairs)?;
        let passing = self.passing_names(module.passing);
        for (place, (key, value)) in pairs.into_iter().enumerate() {
            let is_buffer = (first_buffer..after_buffers).contains(&place);
            let is_passing = || passing.iter().any(|&name| self.same_text(name, key));
            if matches!(self.heap.node(value), Node::None) || (is_buffer && is_passing()) {
                continue;
            }
            grow(out, (Key::Node(key), value), self.budget)?;
        }
        Ok(())
    }

    /// Names of buffers that are not saved.
    fn passing_names(&self, set: Option<Id>) -> Vec<Id> {
        let heap = self.heap;
        let Some(set) = set else { return Vec::new() };
        let seq = match heap.node(set) {
            Node::Set(seq) => seq,
            // set([..]) as protocols before 4 spell it
            Node::Object(index) => {
                let first =
                    heap.object(index).and_then(|object| heap.tuple(object.args)?.first().copied());
                match first.map(|first| heap.node(first)) {
                    Some(Node::List(seq) | Node::Set(seq)) => seq,
                    _ => return Vec::new(),
                }
            }
            _ => return Vec::new(),
        };
        // A module with thousands of passing buffers does not exist.
        heap.items(seq).take(4096).collect()
    }

    fn same_text(&self, a: Id, b: Id) -> bool {
        match (self.heap.node(a), self.heap.node(b)) {
            (Node::Text(a) | Node::String(a), Node::Text(b) | Node::String(b)) => {
                self.heap.bytes(a) == self.heap.bytes(b)
            }
            _ => false,
        }
    }
}
