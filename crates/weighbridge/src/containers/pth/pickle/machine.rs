//! The interpreter.

use foldhash::fast::RandomState;
use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::limits::Budget;

use super::heap::{Heap, Id, Node, Seq, Span, grow};
use super::known::Class;
use super::literal::{self, Integer};
use super::opcode::*;

/// What running a pickle gave.
pub(crate) struct Program<'a> {
    /// Everything it made, also where it broke off.
    pub(crate) heap: Heap<'a>,
    /// The object, unless the pickle is broken.
    pub(crate) root: Option<Id>,
    /// Where the pickle ended, or broke off.
    pub(crate) end: usize,
    /// Why there is no object.
    pub(crate) failure: Option<Error>,
}

/// Runs the pickle at the start of `bytes`; `base` is where they start in the file, for messages.
///
/// A pickle that is broken gives what it made so far; one that costs too much is an error.
pub(crate) fn run<'a>(bytes: &'a [u8], base: u64, budget: &Budget) -> Result<Program<'a>> {
    // Numbers of nodes and bytes have 32 bits; no header comes near that.
    let bytes = bytes.get(..u32::MAX as usize / 2).unwrap_or(bytes);
    let mut machine = Machine {
        heap: Heap::new(bytes),
        bytes,
        at: 0,
        base,
        stack: Vec::new(),
        marks: Vec::new(),
        memo: Vec::new(),
        far_memo: HashMap::default(),
        memoized: 0,
        protocol: 0,
        attribute_uses: 0,
        budget,
    };
    let result = machine.run();
    machine.settle_attributes();
    let (root, failure) = match result {
        Ok(root) => (Some(root), None),
        Err(error) if error.kind() == ErrorKind::Malformed => {
            (None, Some(machine.error_at(machine.at, error)))
        }
        Err(error) => return Err(error),
    };
    Ok(Program { heap: machine.heap, root, end: machine.at, failure })
}

pub(super) struct Machine<'a, 'b> {
    pub(super) heap: Heap<'a>,
    bytes: &'a [u8],
    at: usize,
    base: u64,
    pub(super) stack: Vec<Id>,
    /// Heights of the stack at each mark.
    marks: Vec<u32>,
    memo: Vec<Id>,
    /// Memo entries whose numbers are far from the others.
    far_memo: HashMap<u32, Id, RandomState>,
    /// How many were memoized: protocol 4 counts them itself.
    memoized: u32,
    pub(super) protocol: u8,
    /// How often `getattr` was named or pushed less how often it was called harmlessly.
    pub(super) attribute_uses: u64,
    pub(super) budget: &'b Budget,
}

/// A memo slot nobody wrote to.
const VACANT: Id = Id::MAX;

impl<'a> Machine<'a, '_> {
    fn run(&mut self) -> Result<Id> {
        let most = self.budget.limits().max_pickle_steps;
        let mut steps = 0u64;
        loop {
            let start = self.at;
            let op = self.u8()?;
            if op == STOP {
                return self.pop();
            }
            steps = steps.saturating_add(1);
            if steps > most {
                return Err(self.error_at(
                    start,
                    Error::limit(format!("the pickle has more than {most} steps"))
                        .remedy(Remedy::RaiseLimit("max_pickle_steps")),
                ));
            }
            self.step(op).map_err(|e| self.error_at(start, e))?;
        }
    }

    /// Constants and the most frequent rest; the other opcodes by group.
    fn step(&mut self, op: u8) -> Result<()> {
        match op {
            BINGET | LONG_BINGET | GET => self.recall(op),
            BINPUT | LONG_BINPUT | PUT | MEMOIZE => self.remember(op),
            BININT1 => {
                let value = self.u8()?;
                self.push(Node::Int(value.into()))
            }
            BINUNICODE | SHORT_BINUNICODE | BINUNICODE8 => {
                let span = self.counted(op)?;
                self.push(Node::Text(span))
            }
            MARK => {
                let height = self.height();
                grow(&mut self.marks, height, self.budget)
            }
            NONE => self.push(Node::None),
            NEWTRUE => self.push(Node::Bool(true)),
            NEWFALSE => self.push(Node::Bool(false)),
            EMPTY_DICT => self.push(Node::Dict(Seq::EMPTY)),
            EMPTY_LIST => self.push(Node::List(Seq::EMPTY)),
            EMPTY_SET => self.push(Node::Set(Seq::EMPTY)),
            TUPLE | EMPTY_TUPLE | TUPLE1 | TUPLE2 | TUPLE3 | LIST | DICT | FROZENSET => {
                self.gather(op)
            }
            APPEND | APPENDS | SETITEM | SETITEMS | ADDITEMS => self.fill(op),
            GLOBAL | STACK_GLOBAL => self.global(op),
            REDUCE | NEWOBJ | NEWOBJ_EX | OBJ | INST | BUILD => self.call(op),
            PERSID | BINPERSID => self.persistent(op),
            BININT2 | BININT | LONG1 | LONG4 | BINFLOAT | INT | LONG | FLOAT => self.number(op),
            BINSTRING | SHORT_BINSTRING | BINBYTES | SHORT_BINBYTES | BINBYTES8 | BYTEARRAY8
            | STRING | UNICODE => self.string(op),
            PROTO => self.set_protocol(),
            // Only says how many bytes follow; a reader that has them all need not care.
            FRAME => self.take(8).map(|_| ()),
            DUP => self.top().and_then(|top| self.push_id(top)),
            POP => self.pop_or_unmark(),
            POP_MARK => {
                let height = self.unmark()?;
                self.stack.truncate(height);
                Ok(())
            }
            _ => Err(refuse(op)),
        }
    }

    fn set_protocol(&mut self) -> Result<()> {
        self.protocol = self.u8()?;
        match self.protocol {
            0..=5 => Ok(()),
            other => Err(Error::malformed(format!("pickle protocol {other} does not exist"))),
        }
    }

    // ---- bytes

    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.saturating_add(len);
        let bytes = self.bytes.get(self.at..end).ok_or_else(cut_short)?;
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(<[u8; N]>::try_from(self.take(N)?).unwrap_or([0; N]))
    }

    fn u8(&mut self) -> Result<u8> {
        let byte = *self.bytes.get(self.at).ok_or_else(cut_short)?;
        self.at = self.at.saturating_add(1);
        Ok(byte)
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A line of protocol 0, without its end.
    pub(super) fn line(&mut self) -> Result<Span> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let len = rest.iter().position(|&byte| byte == b'\n').ok_or_else(cut_short)?;
        let span = self.heap.span(self.at, len)?;
        self.at = self.at.saturating_add(len).saturating_add(1);
        Ok(span)
    }

    /// Bytes behind a length of 1, 4 or 8 bytes.
    fn counted(&mut self, op: u8) -> Result<Span> {
        let len = match op {
            SHORT_BINUNICODE | SHORT_BINBYTES | SHORT_BINSTRING | LONG1 => self.u8()?.into(),
            BINUNICODE8 | BINBYTES8 | BYTEARRAY8 => u64::from_le_bytes(self.array()?),
            _ => self.u32()?.into(),
        };
        let len = usize::try_from(len).map_err(|_| cut_short())?;
        let start = self.at;
        self.take(len)?;
        self.heap.span(start, len)
    }

    fn error_at(&self, at: usize, error: Error) -> Error {
        error.at(self.base.saturating_add(at as u64))
    }

    // ---- stack

    fn height(&self) -> u32 {
        u32::try_from(self.stack.len()).unwrap_or(u32::MAX)
    }

    /// What the innermost mark keeps out of reach.
    fn floor(&self) -> usize {
        self.marks.last().map_or(0, |&height| height as usize)
    }

    fn push(&mut self, node: Node) -> Result<()> {
        let id = self.heap.add(node, self.budget)?;
        grow(&mut self.stack, id, self.budget)
    }

    /// Pushes a node once more.
    fn push_id(&mut self, id: Id) -> Result<()> {
        if self.class(id) == Some(Class::GetAttr) {
            self.attribute_uses = self.attribute_uses.saturating_add(1);
        }
        grow(&mut self.stack, id, self.budget)
    }

    pub(super) fn pop(&mut self) -> Result<Id> {
        if self.stack.len() <= self.floor() {
            return Err(Error::malformed("the pickle takes more off its stack than it put there"));
        }
        self.stack.pop().ok_or_else(cut_short)
    }

    fn top(&self) -> Result<Id> {
        match self.stack.last() {
            Some(&top) if self.stack.len() > self.floor() => Ok(top),
            _ => Err(Error::malformed("the pickle uses the top of an empty stack")),
        }
    }

    fn pop_or_unmark(&mut self) -> Result<()> {
        if self.stack.len() == self.floor() && self.marks.pop().is_some() {
            return Ok(());
        }
        self.pop().map(|_| ())
    }

    /// Takes the innermost mark away and says how high the stack was there.
    fn unmark(&mut self) -> Result<usize> {
        let height =
            self.marks.pop().ok_or_else(|| Error::malformed("the pickle has no mark here"))?;
        Ok((height as usize).min(self.stack.len()))
    }

    // ---- memo

    fn recall(&mut self, op: u8) -> Result<()> {
        let index = self.memo_index(op)?;
        let near = self.memo.get(index as usize).copied().filter(|&id| id != VACANT);
        match near.or_else(|| self.far_memo.get(&index).copied()) {
            Some(id) => self.push_id(id),
            None => {
                Err(Error::malformed(format!("the pickle recalls number {index}, never stored")))
            }
        }
    }

    fn memo_index(&mut self, op: u8) -> Result<u32> {
        match op {
            BINGET | BINPUT => Ok(self.u8()?.into()),
            LONG_BINGET | LONG_BINPUT => self.u32(),
            MEMOIZE => Ok(self.memoized),
            _ => {
                let line = self.line()?;
                match literal::integer(self.heap.bytes(line)) {
                    Some(Integer::Small(value)) => u32::try_from(value).ok(),
                    _ => None,
                }
                .ok_or_else(|| Error::malformed("a memo number is not a number"))
            }
        }
    }

    fn remember(&mut self, op: u8) -> Result<()> {
        let index = self.memo_index(op)?;
        let top = self.top()?;
        self.memoized = self.memoized.saturating_add(1);
        let place = index as usize;
        if let Some(slot) = self.memo.get_mut(place) {
            *slot = top;
            return Ok(());
        }
        // Writers count up, so a table serves; a number out of line must not make it long.
        if place <= self.memo.len().saturating_add(64) {
            while self.memo.len() < place {
                grow(&mut self.memo, VACANT, self.budget)?;
            }
            return grow(&mut self.memo, top, self.budget);
        }
        self.budget.charge(32, "the objects of a pickle")?;
        self.far_memo.insert(index, top);
        Ok(())
    }

    // ---- values

    fn number(&mut self, op: u8) -> Result<()> {
        let node = match op {
            BININT2 => Node::Int(u16::from_le_bytes(self.array()?).into()),
            BININT => Node::Int(i32::from_le_bytes(self.array()?).into()),
            BINFLOAT => Node::Float(f64::from_be_bytes(self.array()?)),
            LONG1 | LONG4 => {
                let span = self.counted(op)?;
                self.long(span)
            }
            _ => {
                let line = self.line()?;
                self.text_number(op, line)?
            }
        };
        self.push(node)
    }

    fn long(&self, span: Span) -> Node {
        let bytes = self.heap.bytes(span);
        if bytes.len() > 8 {
            return Node::Big(span);
        }
        let negative = bytes.last().is_some_and(|&top| top & 0x80 != 0);
        let mut wide = if negative { [0xff; 8] } else { [0; 8] };
        wide.iter_mut().zip(bytes).for_each(|(to, &from)| *to = from);
        Node::Int(i64::from_le_bytes(wide))
    }

    fn text_number(&mut self, op: u8, line: Span) -> Result<Node> {
        let bytes = self.heap.bytes(line);
        if op == FLOAT {
            let value = literal::float(bytes);
            return value.map(Node::Float).ok_or_else(|| Error::malformed("not a decimal number"));
        }
        match (op, bytes) {
            (INT, b"00") => return Ok(Node::Bool(false)),
            (INT, b"01") => return Ok(Node::Bool(true)),
            _ => {}
        }
        match literal::integer(bytes) {
            Some(Integer::Small(value)) => Ok(Node::Int(value)),
            Some(Integer::Large(_)) => Ok(Node::BigText(line)),
            None => Err(Error::malformed("not a whole number in decimal")),
        }
    }

    fn string(&mut self, op: u8) -> Result<()> {
        let node = match op {
            STRING => {
                let line = self.line()?;
                let bytes = self.heap.bytes(line);
                let inside = literal::unquoted(bytes).and_then(literal::unescape);
                let inside =
                    inside.ok_or_else(|| Error::malformed("a quoted string is expected"))?;
                Node::String(self.heap.keep(&inside, self.budget)?)
            }
            UNICODE => {
                let line = self.line()?;
                let text = literal::unescape_unicode(self.heap.bytes(line));
                let text = text.ok_or_else(|| Error::malformed("an escape is cut short"))?;
                Node::Text(self.heap.keep(text.as_bytes(), self.budget)?)
            }
            BINSTRING | SHORT_BINSTRING => Node::String(self.counted(op)?),
            _ => Node::Bytes(self.counted(op)?),
        };
        self.push(node)
    }

    // ---- containers

    fn gather(&mut self, op: u8) -> Result<()> {
        let from = match op {
            EMPTY_TUPLE => self.stack.len(),
            TUPLE1 | TUPLE2 | TUPLE3 => {
                let wanted = usize::from(op.saturating_sub(TUPLE1)).saturating_add(1);
                let available = self.stack.len().saturating_sub(self.floor());
                if available < wanted {
                    return Err(Error::malformed("a tuple wants more than the stack holds"));
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

    fn fill(&mut self, op: u8) -> Result<()> {
        let from = match op {
            APPEND => self.stack.len().saturating_sub(1),
            SETITEM => self.stack.len().saturating_sub(2),
            _ => self.unmark()?,
        };
        let target = from.checked_sub(1).filter(|&place| place >= self.floor());
        let target = target.and_then(|place| self.stack.get(place)).copied();
        let target = target.ok_or_else(|| Error::malformed("there is nothing here to fill"))?;
        let items = self.stack.get(from..).unwrap_or_default();
        let keyed = matches!(op, SETITEM | SETITEMS);
        let (heap, budget) = (&mut self.heap, self.budget);
        match heap.node(target) {
            Node::List(seq) if !keyed => {
                let seq = heap.extend(seq, items, budget)?;
                heap.replace(target, Node::List(seq));
            }
            Node::Set(seq) if !keyed => {
                let seq = heap.extend(seq, items, budget)?;
                heap.replace(target, Node::Set(seq));
            }
            Node::Dict(seq) if keyed => {
                let seq = heap.extend(seq, items, budget)?;
                heap.replace(target, Node::Dict(seq));
            }
            Node::Object(index) => {
                let Some(&object) = heap.object(index) else { return Err(cut_short()) };
                let seq = if keyed { object.entries } else { object.items };
                let seq = heap.extend(seq, items, budget)?;
                if let Some(object) = heap.object_mut(index) {
                    *(if keyed { &mut object.entries } else { &mut object.items }) = seq;
                }
            }
            _ => return Err(Error::malformed("values are put into something that holds none")),
        }
        self.stack.truncate(from);
        Ok(())
    }

    // ---- calls

    fn call(&mut self, op: u8) -> Result<()> {
        if op == BUILD {
            let state = self.pop()?;
            let target = self.top()?;
            // Plain containers may be handed attributes (`_metadata` of a state dict); those
            // are not among their contents.
            if let Node::Object(index) = self.heap.node(target)
                && let Some(object) = self.heap.object_mut(index)
            {
                object.state = Some(state);
            }
            return Ok(());
        }
        let mut kwargs = None;
        let (class, args) = match op {
            REDUCE | NEWOBJ => {
                let args = self.pop()?;
                (self.pop()?, args)
            }
            NEWOBJ_EX => {
                kwargs = Some(self.pop()?);
                let args = self.pop()?;
                (self.pop()?, args)
            }
            OBJ => {
                let from = self.unmark()?;
                let Some((&class, args)) = self.stack.get(from..).unwrap_or_default().split_first()
                else {
                    return Err(Error::malformed("an object without a class"));
                };
                let args = self.heap.add_tuple(args, self.budget)?;
                self.stack.truncate(from);
                (class, args)
            }
            _ => {
                let (module, name) = (self.line()?, self.line()?);
                let from = self.unmark()?;
                let items = self.stack.get(from..).unwrap_or_default();
                let args = self.heap.add_tuple(items, self.budget)?;
                self.stack.truncate(from);
                (self.name_global(module, name)?, args)
            }
        };
        self.make(class, args, kwargs)
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
        if let (Some(_), Node::Object(index)) = (kwargs, self.heap.node(id))
            && let Some(object) = self.heap.object_mut(index)
        {
            object.kwargs = kwargs;
        }
        grow(&mut self.stack, id, self.budget)
    }

    fn persistent(&mut self, op: u8) -> Result<()> {
        let note = if op == BINPERSID {
            self.pop()?
        } else {
            let line = self.line()?;
            self.heap.add(Node::Text(line), self.budget)?
        };
        self.push(Node::Persistent(note))
    }
}

fn cut_short() -> Error {
    Error::malformed("the pickle is cut short")
}
