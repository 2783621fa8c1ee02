//! Whole modules, pickled as objects: what `state_dict()` would name.
//!
//! ```text
//! state of a module: {"_parameters": {name: tensor or None}, "_buffers": {name: tensor or None},
//!                     "_modules": {name: module or None}, "_non_persistent_buffers_set": {name, ..}, ..}
//! ```

use std::collections::HashSet;

use foldhash::fast::RandomState;

use crate::error::Result;

use super::expand::Children;
use super::pickle::{Class, Id, Node, grow};
use super::reader::Reader;

/// The parts of a module that its state dict is made of.
const PARTS: [&str; 4] = ["_parameters", "_modules", "_buffers", "_non_persistent_buffers_set"];

impl Reader<'_, '_> {
    /// Those parts of an object's state.
    fn module_parts(&self, state: Id) -> Result<[Option<Id>; 4]> {
        let mut found = [None; 4];
        let Node::Dict(seq) = self.heap.node(state) else { return Ok(found) };
        for (key, value) in self.heap.pairs(seq) {
            self.work(1)?;
            for (slot, name) in found.iter_mut().zip(PARTS) {
                if self.heap.is_text(key, name) {
                    *slot = Some(value);
                }
            }
        }
        Ok(found)
    }

    pub(super) fn is_dict(&self, id: Id) -> bool {
        let class = self.heap.object(id).and_then(|object| self.heap.class(object.class));
        matches!(self.heap.node(id), Node::Dict(_)) || class == Some(Class::Dict)
    }

    /// Reads an object's state as that of a module: parameters, then buffers, then modules, as
    /// `state_dict` does. False if it is none.
    pub(super) fn expand_module(&self, state: Id, out: &mut Children) -> Result<bool> {
        let [parameters, modules, buffers, temporary] = self.module_parts(state)?;
        let dict = |id: Option<Id>| id.filter(|&id| self.is_dict(id));
        let (Some(parameters), Some(modules)) = (dict(parameters), dict(modules)) else {
            return Ok(false);
        };
        let mut pairs = Children::new();
        self.pairs_of(parameters, &mut pairs)?;
        let first_buffer = pairs.len();
        if let Some(buffers) = dict(buffers) {
            self.pairs_of(buffers, &mut pairs)?;
        }
        let after_buffers = pairs.len();
        self.pairs_of(modules, &mut pairs)?;
        let temporary = self.temporary_names(temporary);
        for (place, (key, value)) in pairs.into_iter().enumerate() {
            let is_buffer = (first_buffer..after_buffers).contains(&place);
            let is_passing = || self.key_bytes(key).is_some_and(|text| temporary.contains(text));
            if matches!(self.heap.node(value), Node::None) || (is_buffer && is_passing()) {
                continue;
            }
            grow(out, (key, value), self.budget)?;
        }
        Ok(true)
    }

    /// Names of buffers that are not saved.
    fn temporary_names(&self, set: Option<Id>) -> HashSet<&[u8], RandomState> {
        let heap = self.heap;
        let seq = match set.map(|set| heap.node(set)) {
            Some(Node::Set(seq)) => Some(seq),
            // set([..]) as protocols before 4 spell it
            Some(Node::Object(_)) => {
                let object = set.and_then(|set| heap.object(set));
                let first = object.and_then(|object| heap.tuple(object.args)?.first());
                match first.map(|&first| heap.node(first)) {
                    Some(Node::List(seq) | Node::Set(seq)) => Some(seq),
                    _ => None,
                }
            }
            _ => None,
        };
        // No module has thousands of buffers that are not saved.
        let names = seq.into_iter().flat_map(|seq| heap.items(seq)).take(4096);
        names.filter_map(|name| self.heap.text_bytes(name)).collect()
    }
}
