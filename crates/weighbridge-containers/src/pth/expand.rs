//! What is inside an object, and under which names.

use std::collections::HashMap;

use crate::error::Result;

use super::pickle::{Class, Id, Node, Object, grow};
use super::reader::Reader;

/// The name of something inside an object.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key {
    /// A dict key or an attribute.
    Node(Id),
    /// A position.
    Index(u32),
    /// None of its own: it goes by the name of the object.
    Same,
}

/// Things to visit, by name.
pub(super) type Children = Vec<(Key, Id)>;

/// Up to this many keys are compared each with each.
const FEW: usize = 12;

impl Reader<'_, '_> {
    /// Adds what is inside a node.
    pub(super) fn expand(&self, id: Id, out: &mut Children) -> Result<()> {
        let heap = self.heap;
        match heap.node(id) {
            Node::List(seq) | Node::Set(seq) => self.positions(heap.items(seq), out),
            Node::Tuple { .. } => {
                self.positions(heap.tuple(id).unwrap_or_default().iter().copied(), out)
            }
            Node::Dict(_) => self.keyed(id, out),
            Node::Object(_) => match heap.object(id) {
                Some(object) => self.expand_object(id, object, out),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn expand_object(&self, id: Id, object: &Object, out: &mut Children) -> Result<()> {
        let heap = self.heap;
        let args = heap.tuple(object.args).unwrap_or_default();
        match heap.class(object.class) {
            Some(Class::Dict) => return self.keyed(id, out),
            Some(Class::Size | Class::Device | Class::Scalar | Class::Encode | Class::Bytes) => {
                return Ok(());
            }
            Some(Class::List) => {
                if let Some(&first) = args.first() {
                    grow(out, (Key::Same, first), self.budget)?;
                }
                return self.positions(heap.items(object.items), out);
            }
            Some(Class::Reconstructor) => {
                // (class, base, state of the base)
                if let Some(&base) = args.get(2) {
                    grow(out, (Key::Same, base), self.budget)?;
                }
            }
            _ => {
                if let Some(state) = object.state
                    && self.expand_module(state, out)?
                {
                    return Ok(());
                }
                self.positions(args.iter().copied(), out)?;
            }
        }
        self.expand_rest(object, out)
    }

    /// What was put into an object after it was made.
    fn expand_rest(&self, object: &Object, out: &mut Children) -> Result<()> {
        self.positions(self.heap.items(object.items), out)?;
        self.add_pairs(self.heap.pairs(object.entries), out)?;
        for part in [object.kwargs, object.state].into_iter().flatten() {
            self.expand_state(part, out)?;
        }
        Ok(())
    }

    /// Attributes: a dict, or a pair of dicts where the class has slots.
    fn expand_state(&self, state: Id, out: &mut Children) -> Result<()> {
        let heap = self.heap;
        let attributes = |id: Id| matches!(heap.node(id), Node::Dict(_) | Node::None);
        match heap.node(state) {
            Node::Dict(_) => self.keyed(state, out),
            Node::Tuple { .. } => match heap.tuple(state) {
                Some(&[dict, slots]) if attributes(dict) && attributes(slots) => {
                    self.keyed(dict, out)?;
                    self.keyed(slots, out)
                }
                _ => grow(out, (Key::Same, state), self.budget),
            },
            _ => grow(out, (Key::Same, state), self.budget),
        }
    }

    fn positions(&self, items: impl Iterator<Item = Id>, out: &mut Children) -> Result<()> {
        for (place, item) in items.enumerate() {
            self.work(1)?;
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            grow(out, (Key::Index(place), item), self.budget)?;
        }
        Ok(())
    }

    /// The entries of a dict; of a key given twice the last value counts, as in Python.
    fn keyed(&self, id: Id, out: &mut Children) -> Result<()> {
        let from = out.len();
        self.pairs_of(id, out)?;
        self.drop_overwritten(from, out)
    }

    /// Adds the pairs of anything that behaves like a dict, in order.
    pub(super) fn pairs_of(&self, id: Id, out: &mut Children) -> Result<()> {
        let heap = self.heap;
        if let Node::Dict(seq) = heap.node(id) {
            return self.add_pairs(heap.pairs(seq), out);
        }
        let Some(object) = heap.object(id) else { return Ok(()) };
        for &argument in heap.tuple(object.args).unwrap_or_default() {
            self.argument_pairs(argument, out)?;
        }
        self.add_pairs(heap.pairs(object.entries), out)
    }

    /// `OrderedDict([(key, value), ..])`, `Counter({key: value, ..})`.
    fn argument_pairs(&self, argument: Id, out: &mut Children) -> Result<()> {
        let heap = self.heap;
        let seq = match heap.node(argument) {
            Node::Dict(seq) => return self.add_pairs(heap.pairs(seq), out),
            Node::List(seq) => seq,
            _ => return Ok(()),
        };
        let pairs = heap.items(seq).filter_map(|item| match heap.node(item) {
            Node::Tuple { .. } => match heap.tuple(item)? {
                &[key, value] => Some((key, value)),
                _ => None,
            },
            Node::List(inner) => {
                let mut items = heap.items(inner);
                Some((items.next()?, items.next()?)).filter(|_| items.next().is_none())
            }
            _ => None,
        });
        self.add_pairs(pairs, out)
    }

    fn add_pairs(&self, pairs: impl Iterator<Item = (Id, Id)>, out: &mut Children) -> Result<()> {
        for (key, value) in pairs {
            self.work(1)?;
            grow(out, (Key::Node(key), value), self.budget)?;
        }
        Ok(())
    }

    fn drop_overwritten(&self, from: usize, out: &mut Children) -> Result<()> {
        let added = out.get_mut(from..).unwrap_or_default();
        let mut kept = 0usize;
        let mut seen = HashMap::<&[u8], usize, foldhash::fast::RandomState>::default();
        let many = added.len() > FEW;
        for at in 0..added.len() {
            let Some(&(key, value)) = added.get(at) else { break };
            // One long key may be used for many entries.
            self.work(self.key_bytes(key).map_or(0, |bytes| (bytes.len() / 64).saturating_add(1)))?;
            let earlier = match self.key_bytes(key) {
                None => None,
                Some(bytes) if many => {
                    Some(*seen.entry(bytes).or_insert(kept)).filter(|&place| place < kept)
                }
                Some(bytes) => added
                    .get(..kept)
                    .unwrap_or_default()
                    .iter()
                    .position(|&(other, _)| self.key_bytes(other) == Some(bytes)),
            };
            match earlier.and_then(|earlier| added.get_mut(earlier)) {
                Some(slot) => slot.1 = value,
                None => {
                    if let Some(slot) = added.get_mut(kept) {
                        *slot = (key, value);
                    }
                    kept = kept.saturating_add(1);
                }
            }
        }
        out.truncate(from.saturating_add(kept));
        Ok(())
    }

    pub(super) fn key_bytes(&self, key: Key) -> Option<&[u8]> {
        let Key::Node(key) = key else { return None };
        self.heap.text_bytes(key)
    }
}
