//! What a pickle leaves behind: flat tables of nodes that refer to each other by number.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::limits::Budget;

use super::known::Class;

/// The number of a node.
pub(crate) type Id = u32;

/// Nothing there.
const NIL: u32 = u32::MAX;

/// A stretch of the pickle, or of the scratch space behind it where text had to be unescaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    start: u32,
    len: u32,
}

/// A growing sequence: a chain of chunks in the shared pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seq {
    first: u32,
    last: u32,
}

impl Seq {
    pub(crate) const EMPTY: Self = Self { first: NIL, last: NIL };

    pub(crate) fn is_empty(self) -> bool {
        self.first == NIL
    }
}

#[derive(Clone, Copy, Debug)]
struct Chunk {
    start: u32,
    len: u32,
    next: u32,
}

/// One Python object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Node {
    None,
    Bool(bool),
    Int(i64),
    /// A whole number beyond 64 bits, in two's complement, lowest byte first.
    Big(Span),
    /// A whole number beyond 64 bits, as decimal text.
    BigText(Span),
    Float(f64),
    Text(Span),
    Bytes(Span),
    /// Python 2's `str`, which may be text or bytes.
    String(Span),
    Tuple {
        start: u32,
        len: u32,
    },
    List(Seq),
    /// Keys and values in turn.
    Dict(Seq),
    Set(Seq),
    /// Index into [`Heap::global`].
    Global(u32),
    /// Index into [`Heap::object`].
    Object(u32),
    /// Something outside the pickle, by its description.
    Persistent(Id),
}

/// A class or function that was named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Global {
    pub(crate) module: Span,
    pub(crate) name: Span,
    pub(crate) class: Class,
    /// Named by a protocol that spells modules as Python 2 did.
    pub(crate) python2: bool,
}

/// What a call would have made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    /// What would have been called: a [`Node::Global`] as a rule.
    pub(crate) class: Id,
    /// A tuple, as a rule.
    pub(crate) args: Id,
    /// Keyword arguments, where given.
    pub(crate) kwargs: Option<Id>,
    /// What `BUILD` handed it.
    pub(crate) state: Option<Id>,
    /// What was appended to it.
    pub(crate) items: Seq,
    /// What was set in it, keys and values in turn.
    pub(crate) entries: Seq,
}

/// Everything one pickle made.
#[derive(Default)]
pub(crate) struct Heap<'a> {
    bytes: &'a [u8],
    scratch: Vec<u8>,
    nodes: Vec<Node>,
    pool: Vec<Id>,
    chunks: Vec<Chunk>,
    objects: Vec<Object>,
    globals: Vec<Global>,
}

/// Appends to a table whose memory is charged as it grows.
#[inline]
pub(crate) fn grow<T>(table: &mut Vec<T>, value: T, budget: &Budget) -> Result<()> {
    if table.len() == table.capacity() {
        reserve(table, 1, budget)?;
    }
    table.push(value);
    Ok(())
}

/// Reserves memory for `wanted` more values.
#[cold]
fn reserve<T>(table: &mut Vec<T>, wanted: usize, budget: &Budget) -> Result<()> {
    let more = table.len().max(wanted).max(256);
    let bytes = (more as u64).saturating_mul(size_of::<T>() as u64);
    budget.check_allocation(bytes.saturating_mul(2), "the pickle's objects")?;
    budget.charge(bytes, "the pickle's objects")?;
    table.reserve_exact(more);
    Ok(())
}

fn number(len: usize) -> Result<u32> {
    u32::try_from(len)
        .ok()
        .filter(|&n| n < NIL)
        .ok_or_else(|| Error::limit("the pickle has more than 4 billion objects or bytes"))
}

impl<'a> Heap<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// The pickle itself.
    pub(crate) fn source(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(super) fn add(&mut self, node: Node, budget: &Budget) -> Result<Id> {
        let id = number(self.nodes.len())?;
        grow(&mut self.nodes, node, budget)?;
        Ok(id)
    }

    /// The node of that number.
    #[inline]
    pub(crate) fn node(&self, id: Id) -> Node {
        self.nodes.get(id as usize).copied().unwrap_or(Node::None)
    }

    pub(super) fn replace(&mut self, id: Id, node: Node) {
        if let Some(slot) = self.nodes.get_mut(id as usize) {
            *slot = node;
        }
    }

    pub(crate) fn object(&self, id: Id) -> Option<&Object> {
        let Node::Object(index) = self.node(id) else { return None };
        self.objects.get(index as usize)
    }

    pub(super) fn object_mut(&mut self, id: Id) -> Option<&mut Object> {
        let Node::Object(index) = self.node(id) else { return None };
        self.objects.get_mut(index as usize)
    }

    pub(super) fn add_object(&mut self, class: Id, args: Id, budget: &Budget) -> Result<Id> {
        let index = number(self.objects.len())?;
        let (items, entries) = (Seq::EMPTY, Seq::EMPTY);
        let object = Object { class, args, kwargs: None, state: None, items, entries };
        grow(&mut self.objects, object, budget)?;
        self.add(Node::Object(index), budget)
    }

    pub(crate) fn globals(&self) -> &[Global] {
        &self.globals
    }

    pub(crate) fn global(&self, index: u32) -> Option<&Global> {
        self.globals.get(index as usize)
    }

    pub(super) fn globals_mut(&mut self) -> &mut [Global] {
        &mut self.globals
    }

    pub(super) fn add_global(&mut self, global: Global, budget: &Budget) -> Result<Id> {
        let index = number(self.globals.len())?;
        grow(&mut self.globals, global, budget)?;
        self.add(Node::Global(index), budget)
    }

    /// A span of the pickle itself.
    pub(super) fn span(&self, start: usize, len: usize) -> Result<Span> {
        Ok(Span { start: number(start)?, len: number(len)? })
    }

    /// A span of bytes that are not in the pickle as such.
    pub(super) fn keep(&mut self, bytes: &[u8], budget: &Budget) -> Result<Span> {
        let start = number(self.bytes.len().saturating_add(self.scratch.len()))?;
        if self.scratch.capacity().saturating_sub(self.scratch.len()) < bytes.len() {
            reserve(&mut self.scratch, bytes.len(), budget)?;
        }
        self.scratch.extend_from_slice(bytes);
        number(self.bytes.len().saturating_add(self.scratch.len()))?;
        Ok(Span { start, len: number(bytes.len())? })
    }

    /// The bytes of a span.
    #[inline]
    pub(crate) fn bytes(&self, span: Span) -> &[u8] {
        let (start, len) = (span.start as usize, span.len as usize);
        let (table, start) = match start.checked_sub(self.bytes.len()) {
            Some(start) if len > 0 => (&self.scratch[..], start),
            _ => (self.bytes, start),
        };
        table.get(start..start.saturating_add(len)).unwrap_or_default()
    }

    /// Where a span starts in the pickle, if it is there.
    pub(crate) fn offset(&self, span: Span) -> Option<u64> {
        ((span.start as usize) < self.bytes.len()).then_some(u64::from(span.start))
    }

    /// The text of a span: UTF-8, or one character a byte where it is not.
    pub(crate) fn text(&self, span: Span) -> Cow<'_, str> {
        let bytes = self.bytes(span);
        match std::str::from_utf8(bytes) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => Cow::Owned(bytes.iter().map(|&byte| char::from(byte)).collect()),
        }
    }

    /// The start of a span's text, at most about `limit` bytes of it.
    pub(crate) fn text_start(&self, span: Span, limit: u32) -> Cow<'_, str> {
        let mut len = span.len.min(limit);
        let bytes = self.bytes(span);
        // Characters are not cut through.
        while bytes.get(len as usize).is_some_and(|byte| byte & 0xC0 == 0x80) && len > 0 {
            len = len.saturating_sub(1);
        }
        self.text(Span { start: span.start, len })
    }

    /// Where a text is, or a string of Python 2.
    #[inline]
    pub(crate) fn text_span(&self, id: Id) -> Option<Span> {
        match self.node(id) {
            Node::Text(span) | Node::String(span) => Some(span),
            _ => None,
        }
    }

    /// The text of a node, when it is text.
    pub(crate) fn text_of(&self, id: Id) -> Option<Cow<'_, str>> {
        self.text_span(id).map(|span| self.text(span))
    }

    /// The bytes of a text or of a string of Python 2.
    #[inline]
    pub(crate) fn text_bytes(&self, id: Id) -> Option<&[u8]> {
        self.text_span(id).map(|span| self.bytes(span))
    }

    /// Whether a node is exactly this text.
    #[inline]
    pub(crate) fn is_text(&self, id: Id, text: &str) -> bool {
        self.text_bytes(id) == Some(text.as_bytes())
    }

    /// The items of a tuple, in place.
    #[inline]
    pub(crate) fn tuple(&self, id: Id) -> Option<&[Id]> {
        match self.node(id) {
            Node::Tuple { start, len } => self.pooled(start, len),
            _ => None,
        }
    }

    pub(super) fn add_tuple(&mut self, items: &[Id], budget: &Budget) -> Result<Id> {
        let (start, len) = self.put(items, budget)?;
        self.add(Node::Tuple { start, len }, budget)
    }

    /// Appends to the pool; gives the place and the number of the items there.
    fn put(&mut self, items: &[Id], budget: &Budget) -> Result<(u32, u32)> {
        let (start, len) = (number(self.pool.len())?, number(items.len())?);
        for &item in items {
            grow(&mut self.pool, item, budget)?;
        }
        Ok((start, len))
    }

    /// Items in the pool.
    #[inline]
    fn pooled(&self, start: u32, len: u32) -> Option<&[Id]> {
        let start = start as usize;
        self.pool.get(start..start.saturating_add(len as usize))
    }

    /// Appends to a sequence.
    pub(super) fn extend(&mut self, seq: Seq, items: &[Id], budget: &Budget) -> Result<Seq> {
        if items.is_empty() {
            return Ok(seq);
        }
        let (start, len) = self.put(items, budget)?;
        if let Some(last) = self.chunks.get_mut(seq.last as usize)
            && last.start.checked_add(last.len) == Some(start)
        {
            last.len = last.len.saturating_add(len);
            return Ok(seq);
        }
        let chunk = number(self.chunks.len())?;
        grow(&mut self.chunks, Chunk { start, len, next: NIL }, budget)?;
        match self.chunks.get_mut(seq.last as usize) {
            Some(last) => {
                last.next = chunk;
                Ok(Seq { first: seq.first, last: chunk })
            }
            None => Ok(Seq { first: chunk, last: chunk }),
        }
    }

    /// The items of a sequence.
    pub(crate) fn items(&self, seq: Seq) -> impl Iterator<Item = Id> + '_ {
        let chunks = std::iter::successors(self.chunks.get(seq.first as usize), |chunk| {
            self.chunks.get(chunk.next as usize)
        });
        chunks.flat_map(|chunk| self.pooled(chunk.start, chunk.len).unwrap_or_default()).copied()
    }

    /// The pairs of a sequence of keys and values in turn.
    pub(crate) fn pairs(&self, seq: Seq) -> impl Iterator<Item = (Id, Id)> + '_ {
        let mut items = self.items(seq);
        std::iter::from_fn(move || Some((items.next()?, items.next()?)))
    }

    /// Steps over a "module" note of old PyTorch files to the class it is about.
    pub(crate) fn class_of(&self, id: Id) -> Option<&Global> {
        let id = match self.node(id) {
            Node::Persistent(note) => match self.tuple(note)? {
                &[kind, class, ..] if self.is_text(kind, "module") => class,
                _ => return None,
            },
            _ => id,
        };
        match self.node(id) {
            Node::Global(index) => self.global(index),
            _ => None,
        }
    }

    /// What the class or function with this id is known as.
    pub(crate) fn class(&self, id: Id) -> Option<Class> {
        self.class_of(id).map(|global| global.class)
    }

    /// `module.name` of a global, cut where it is longer than any honest one.
    pub(crate) fn path_of(&self, global: &Global) -> String {
        const MOST: u32 = 500;
        format!("{}.{}", self.text_start(global.module, MOST), self.text_start(global.name, MOST))
    }

    /// Bytes, and whether they are spelled as text, a character a byte: protocol 2 has no bytes
    /// and calls `_codecs.encode(text, "latin1")`.
    pub(crate) fn raw_bytes(&self, id: Id) -> Option<(Span, bool)> {
        if let Node::Bytes(span) | Node::String(span) = self.node(id) {
            return Some((span, false));
        }
        let object = self.object(id)?;
        match (self.class(object.class)?, self.tuple(object.args)?) {
            (Class::Encode | Class::Bytes, &[text, encoding]) => match self.node(text) {
                Node::Text(span) if self.is_latin1(encoding) => Some((span, true)),
                _ => None,
            },
            (Class::Bytes, &[inner]) => match self.node(inner) {
                Node::Bytes(span) | Node::String(span) => Some((span, false)),
                _ => None,
            },
            (Class::Bytes, &[]) => Some((Span { start: 0, len: 0 }, false)),
            _ => None,
        }
    }

    fn is_latin1(&self, encoding: Id) -> bool {
        ["latin1", "latin-1", "iso-8859-1"].iter().any(|name| self.is_text(encoding, name))
    }

    /// A whole number.
    pub(crate) fn int(&self, id: Id) -> Option<i64> {
        match self.node(id) {
            Node::Int(value) => Some(value),
            Node::Bool(value) => Some(value.into()),
            _ => None,
        }
    }

    /// The value of a text key in a dict; of several the last, as in Python.
    pub(crate) fn lookup(&self, dict: Id, key: &str) -> Option<Id> {
        let Node::Dict(seq) = self.node(dict) else { return None };
        self.pairs(seq).filter(|&(k, _)| self.is_text(k, key)).last().map(|(_, value)| value)
    }
}
