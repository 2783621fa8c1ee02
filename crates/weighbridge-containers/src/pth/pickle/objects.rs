//! Opcodes that put values together: tuples, lists, dictionaries, and calls that are noted down
//! instead of made.

use crate::error::{Error, Result};

use super::heap::{Id, Node, Seq, grow};
use super::known::Class;
use super::machine::{Machine, cut_short};
use super::opcode::*;

impl Machine<'_, '_> {
    pub(super) fn gather(&mut self, op: u8) -> Result<()> {
        let from = match op {
            EMPTY_TUPLE => self.stack.len(),
            TUPLE1 | TUPLE2 | TUPLE3 => {
                let wanted = usize::from(op.saturating_sub(TUPLE1)).saturating_add(1);
                let available = self.stack.len().saturating_sub(self.mark_height());
                if available < wanted {
                    return Err(Error::malformed("a tuple needs more items than the stack has"));
                }
                self.stack.len().saturating_sub(wanted)
            }
            _ => self.unmark()?,
        };
        let items = self.stack.get(from..).unwrap_or_default();
        let id = match op {
            LIST | DICT | FROZENSET => {
                let seq = self.heap.extend(Seq::EMPTY, items, self.budget)?;
                let node = match op {
                    LIST => Node::List(seq),
                    DICT => Node::Dict(seq),
                    _ => Node::Set(seq),
                };
                self.heap.add(node, self.budget)?
            }
            _ => self.heap.add_tuple(items, self.budget)?,
        };
        self.stack.truncate(from);
        grow(&mut self.stack, id, self.budget)
    }

    pub(super) fn fill(&mut self, op: u8) -> Result<()> {
        let from = match op {
            APPEND => self.stack.len().saturating_sub(1),
            SETITEM => self.stack.len().saturating_sub(2),
            _ => self.unmark()?,
        };
        let target = from.checked_sub(1).filter(|&place| place >= self.mark_height());
        let target = target.and_then(|place| self.stack.get(place)).copied();
        let target = target.ok_or_else(|| {
            Error::malformed("the pickle adds items without an object to hold them")
        })?;
        let items = self.stack.get(from..).unwrap_or_default();
        let keyed = matches!(op, SETITEM | SETITEMS);
        let (heap, budget) = (&mut self.heap, self.budget);
        let filled = match heap.node(target) {
            Node::List(seq) if !keyed => Node::List(heap.extend(seq, items, budget)?),
            Node::Set(seq) if !keyed => Node::Set(heap.extend(seq, items, budget)?),
            Node::Dict(seq) if keyed => Node::Dict(heap.extend(seq, items, budget)?),
            same @ Node::Object(_) => {
                let Some(&object) = heap.object(target) else { return Err(cut_short()) };
                let seq = if keyed { object.entries } else { object.items };
                let seq = heap.extend(seq, items, budget)?;
                if let Some(object) = heap.object_mut(target) {
                    *(if keyed { &mut object.entries } else { &mut object.items }) = seq;
                }
                same
            }
            _ => {
                let why = "the pickle adds items to an object that cannot hold them";
                return Err(Error::malformed(why));
            }
        };
        heap.replace(target, filled);
        self.stack.truncate(from);
        Ok(())
    }

    pub(super) fn call(&mut self, op: u8) -> Result<()> {
        if op == BUILD {
            let state = self.pop()?;
            let target = self.top()?;
            // Plain containers may be handed attributes (`_metadata` of a state dict); those
            // are not among their contents.
            if let Some(object) = self.heap.object_mut(target) {
                object.state = Some(state);
            }
            return self.skip_array(target);
        }
        let kwargs = if op == NEWOBJ_EX { Some(self.pop()?) } else { None };
        let (class, args) = match op {
            REDUCE | NEWOBJ | NEWOBJ_EX => {
                let args = self.pop()?;
                (self.pop()?, args)
            }
            OBJ => {
                let from = self.unmark()?;
                let Some(&class) = self.stack.get(from) else {
                    return Err(Error::malformed("the pickle creates an object without a class"));
                };
                let args = self.tuple_from(from.saturating_add(1))?;
                self.stack.truncate(from);
                (class, args)
            }
            _ => {
                let (module, name) = (self.line()?, self.line()?);
                let from = self.unmark()?;
                let args = self.tuple_from(from)?;
                (self.name_global(module, name)?, args)
            }
        };
        self.make(class, args, kwargs)
    }

    /// Takes what is above a height off the stack, as a tuple.
    fn tuple_from(&mut self, from: usize) -> Result<Id> {
        let items = self.stack.get(from..).unwrap_or_default();
        let id = self.heap.add_tuple(items, self.budget)?;
        self.stack.truncate(from);
        Ok(id)
    }

    fn make(&mut self, class: Id, args: Id, kwargs: Option<Id>) -> Result<()> {
        let known = self.class(class);
        if known == Some(Class::Dict) && self.heap.tuple(args).is_some_and(<[Id]>::is_empty) {
            return self.push(Node::Dict(Seq::EMPTY));
        }
        if known == Some(Class::GetAttr) && self.spells_a_name(args) {
            self.attribute_uses = self.attribute_uses.saturating_sub(1);
        }
        let id = self.heap.add_object(class, args, self.budget)?;
        if let (Some(_), Some(object)) = (kwargs, self.heap.object_mut(id)) {
            object.kwargs = kwargs;
        }
        grow(&mut self.stack, id, self.budget)
    }

    pub(super) fn persistent(&mut self, op: u8) -> Result<()> {
        let note = if op == BINPERSID {
            self.pop()?
        } else {
            let line = self.line()?;
            self.heap.add(Node::Text(line), self.budget)?
        };
        self.push(Node::Persistent(note))
    }
}
