//! The interpreter.

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::mem::take;

use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::limits::Budget;

use super::heap::{Heap, Id, Node, Seq, Span, grow};
use super::known::Class;
use super::literal::{self, Integer};
use super::opcode::*;

/// What running a pickle gave.
pub(crate) struct Program<'a> {
    /// Everything it made, even if it broke off.
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
        nesting: 0,
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
    /// Pickles around this one.
    nesting: u32,
    pub(super) budget: &'b Budget,
}

/// Pickles in arrays in pickles.
const MAX_NESTING: u32 = 8;

/// A memo slot that was never written.
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

    /// Runs a pickle inside this one, with a stack and a memo of its own.
    pub(super) fn run_inner(&mut self) -> Result<()> {
        if self.nesting >= MAX_NESTING {
            return Err(Error::malformed("the pickle has too many nested pickles"));
        }
        let stack = take(&mut self.stack);
        let (marks, memo, far_memo) =
            (take(&mut self.marks), take(&mut self.memo), take(&mut self.far_memo));
        let (memoized, protocol) = (take(&mut self.memoized), self.protocol);
        self.nesting = self.nesting.saturating_add(1);
        self.run()?;
        self.nesting = self.nesting.saturating_sub(1);
        (self.stack, self.marks, self.memo, self.far_memo) = (stack, marks, memo, far_memo);
        (self.memoized, self.protocol) = (memoized, protocol);
        Ok(())
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
                let height = u32::try_from(self.stack.len()).unwrap_or(u32::MAX);
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
            // Only says how many bytes follow, which does not matter when all are in memory.
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

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.saturating_add(len);
        let bytes = self.bytes.get(self.at..end).ok_or_else(cut_short)?;
        self.at = end;
        Ok(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
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
    pub(super) fn counted(&mut self, op: u8) -> Result<Span> {
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

    /// How high the stack was at the innermost mark: nothing below may be popped.
    pub(super) fn mark_height(&self) -> usize {
        self.marks.last().map_or(0, |&height| height as usize)
    }

    pub(super) fn push(&mut self, node: Node) -> Result<()> {
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
        if self.stack.len() <= self.mark_height() {
            return Err(Error::malformed("stack underflow in the pickle"));
        }
        self.stack.pop().ok_or_else(cut_short)
    }

    pub(super) fn top(&self) -> Result<Id> {
        match self.stack.last() {
            Some(&top) if self.stack.len() > self.mark_height() => Ok(top),
            _ => Err(Error::malformed("the pickle reads the top of an empty stack")),
        }
    }

    fn pop_or_unmark(&mut self) -> Result<()> {
        if self.stack.len() == self.mark_height() && self.marks.pop().is_some() {
            return Ok(());
        }
        self.pop().map(|_| ())
    }

    /// Takes the innermost mark away and says how high the stack was there.
    pub(super) fn unmark(&mut self) -> Result<usize> {
        let height =
            self.marks.pop().ok_or_else(|| Error::malformed("missing mark in the pickle"))?;
        Ok((height as usize).min(self.stack.len()))
    }

    // ---- memo

    fn recall(&mut self, op: u8) -> Result<()> {
        let index = self.memo_index(op)?;
        let near = self.memo.get(index as usize).copied().filter(|&id| id != VACANT);
        match near.or_else(|| self.far_memo.get(&index).copied()) {
            Some(id) => self.push_id(id),
            None => Err(Error::malformed(format!(
                "the pickle reads memo entry {index}, which it never wrote"
            ))),
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
                .ok_or_else(|| Error::malformed("the memo index is not a number"))
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
        // Writers count up, so a table will do; one large number must not make it long.
        if place <= self.memo.len().saturating_add(64) {
            while self.memo.len() < place {
                grow(&mut self.memo, VACANT, self.budget)?;
            }
            return grow(&mut self.memo, top, self.budget);
        }
        self.budget.charge(32, "the pickle's objects")?;
        self.far_memo.insert(index, top);
        Ok(())
    }
}

pub(super) fn cut_short() -> Error {
    Error::malformed("the pickle is truncated")
}
