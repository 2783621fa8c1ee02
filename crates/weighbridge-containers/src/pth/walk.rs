//! The way through the objects of a pickle: every tensor by its dotted name.
//!
//! Objects may contain each other in circles and may be shared; nothing here recurses. An object
//! that is being visited is not entered again below itself. If a graph is so tangled that this
//! would take for ever, each object is entered only once from then on. A tensor nested deeper than
//! the limit is an error; anything else down there is passed over.

use crate::catalog::{Finding, Value};
use crate::error::Result;

use super::expand::{Children, Key};
use super::pickle::{Id, Node, grow};
use super::reader::{FREE_WORK, Reader};
use super::value::{is_simple, key_text};

/// How many metadata entries are kept.
const MAX_VALUES: u64 = 1000;

const ON_PATH: u8 = 1;
const SEEN: u8 = 2;
/// Nothing below it was a tensor.
const NO_TENSORS: u8 = 4;
/// Nothing below it was a tensor or a value.
const EMPTY: u8 = 8;

struct Frame {
    node: Id,
    next: usize,
    end: usize,
    name_len: usize,
    depth: u32,
    tensors: usize,
    values: u64,
    /// Something below was left out because it is above.
    circular: bool,
}

/// A metadata entry and the branch of the top object it is in.
pub(super) struct NamedValue {
    pub(super) name: String,
    pub(super) value: Value,
    pub(super) branch: u32,
}

/// What the walk gave beside the tensors in the catalog.
#[derive(Default)]
pub(super) struct Trail {
    /// For each tensor of this walk: its branch of the top object, and whether it counts.
    pub(super) branches: Vec<(u32, bool)>,
    pub(super) values: Vec<NamedValue>,
    values_seen: u64,
    /// Objects with tensors in them that were met again and not entered again.
    left_out: u64,
}

struct Walk<'w, 'h, 'p> {
    reader: &'w mut Reader<'h, 'p>,
    stem: &'w str,
    frames: Vec<Frame>,
    todo: Children,
    flags: Vec<u8>,
    name: String,
    /// The part of the name that is not UTF-8: where it starts in the name, and in the pickle.
    not_text: Option<(usize, Option<u64>)>,
    trail: Trail,
}

/// Lists everything below `root`; a tensor without a name gets `stem`.
pub(super) fn walk(
    reader: &mut Reader<'_, '_>,
    root: Id,
    prefix: &str,
    stem: &str,
) -> Result<Trail> {
    let nodes = reader.heap.len();
    reader.budget.charge(nodes as u64, "the pickle's objects")?;
    let mut walk = Walk {
        reader,
        stem,
        frames: Vec::new(),
        todo: Vec::new(),
        flags: vec![0; nodes],
        name: prefix.to_owned(),
        not_text: None,
        trail: Trail::default(),
    };
    walk.visit(root, u32::from(!prefix.is_empty()), 0)?;
    while walk.step()? {}
    let trail = walk.trail;
    note_losses(reader, &trail);
    Ok(trail)
}

fn note_losses(reader: &mut Reader<'_, '_>, trail: &Trail) {
    if trail.values_seen > MAX_VALUES {
        let more = trail.values_seen.saturating_sub(MAX_VALUES);
        reader.catalog.notes.push(format!("{more} more non-tensor values are not shown"));
    }
    if trail.left_out > 0 {
        let message = format!(
            "{} heavily shared objects are listed under only one of their names",
            trail.left_out
        );
        reader.catalog.findings.push(Finding::general("incomplete-list", message));
    }
}

impl Walk<'_, '_, '_> {
    /// Visits the next thing on the list; false when there is none.
    fn step(&mut self) -> Result<bool> {
        let Some(frame) = self.frames.last_mut() else { return Ok(false) };
        if frame.next == frame.end {
            self.leave();
            return Ok(true);
        }
        let at = frame.next;
        frame.next = at.saturating_add(1);
        let (name_len, mut depth) = (frame.name_len, frame.depth);
        let Some(&(key, id)) = self.todo.get(at) else { return Ok(true) };
        self.name.truncate(name_len);
        self.not_text = self.not_text.filter(|(start, _)| *start < name_len);
        if !matches!(key, Key::Same) {
            // Nothing is listed deeper than the limit, so names need not be made there.
            if !self.is_too_deep(depth) {
                self.push_key(key, depth > 0)?;
            }
            depth = depth.saturating_add(1);
        }
        let top = self.frames.first().map_or(0, |top| top.next.saturating_sub(1));
        let branch = u32::try_from(top).unwrap_or(u32::MAX);
        self.visit(id, depth, branch)?;
        Ok(true)
    }

    fn is_too_deep(&self, depth: u32) -> bool {
        depth > self.reader.budget.limits().max_depth
    }

    fn push_key(&mut self, key: Key, dotted: bool) -> Result<()> {
        let heap = self.reader.heap;
        if dotted {
            self.name.push('.');
        }
        match key {
            Key::Node(key) => {
                if let Node::Text(span) | Node::String(span) = heap.node(key)
                    && std::str::from_utf8(heap.bytes(span)).is_err()
                {
                    self.not_text.get_or_insert((self.name.len(), heap.offset(span)));
                }
                let text = key_text(heap, key);
                let len = self.name.len().saturating_add(text.len());
                self.reader.work(text.len() / 64)?;
                self.reader.budget.check_allocation(len as u64, "a tensor's name")?;
                self.name.push_str(&text);
            }
            Key::Index(place) => {
                use std::fmt::Write as _;
                let _ = write!(self.name, "{place}");
            }
            Key::Same => {}
        }
        Ok(())
    }

    fn visit(&mut self, id: Id, depth: u32, branch: u32) -> Result<()> {
        let node = self.reader.heap.node(id);
        if let Node::Object(_) = node
            && let Some(draft) = self.reader.tensor(id)?
        {
            self.reader.budget.depth(depth, "a tensor in nested objects")?;
            grow(&mut self.trail.branches, (branch, !draft.is_array), self.reader.budget)?;
            let inner = draft.inner;
            let name = if self.name.is_empty() { self.stem } else { &self.name };
            self.reader.list(name, draft)?;
            if let Some((_, at)) = self.not_text {
                let at = at.map_or(String::new(), |at| format!(" (byte {at} of the pickle)"));
                let message = format!(
                    "part of the name{at} is not UTF-8; it is shown with one character per \
                         byte"
                );
                self.reader.problem(name, "name-encoding", message)?;
            }
            return match inner {
                Some(inner) => self.enter(inner, depth),
                None => Ok(()),
            };
        }
        // What was entered before has no value; once there are enough values, none is made.
        let flags = self.flags.get(id as usize).copied().unwrap_or(0);
        if flags & SEEN != 0 {
            return self.enter(id, depth);
        }
        let is_full = self.trail.values_seen > MAX_VALUES;
        if is_full && (is_simple(node) || flags & NO_TENSORS != 0) {
            self.trail.values_seen = self.trail.values_seen.saturating_add(1);
            return Ok(());
        }
        match self.reader.value(id) {
            Some(_) if self.is_too_deep(depth) => Ok(()),
            Some(value) => {
                // Without structure there is no tensor in it.
                if let Some(flags) = self.flags.get_mut(id as usize) {
                    *flags |= NO_TENSORS;
                }
                self.keep(value, branch)
            }
            None => self.enter(id, depth),
        }
    }

    fn keep(&mut self, value: Value, branch: u32) -> Result<()> {
        self.trail.values_seen = self.trail.values_seen.saturating_add(1);
        if self.trail.values_seen > MAX_VALUES {
            return Ok(());
        }
        let name = if self.name.is_empty() { self.stem } else { &self.name };
        let text = value.as_str().map_or(0, str::len);
        let size = size_of::<NamedValue>().saturating_add(name.len()).saturating_add(text);
        self.reader.budget.charge(size as u64, "metadata")?;
        self.trail.values.push(NamedValue { name: name.to_owned(), value, branch });
        Ok(())
    }

    fn enter(&mut self, id: Id, depth: u32) -> Result<()> {
        let heap = self.reader.heap;
        let is_container = matches!(
            heap.node(id),
            Node::List(_) | Node::Set(_) | Node::Tuple { .. } | Node::Dict(_) | Node::Object(_)
        );
        let Some(flags) = self.flags.get_mut(id as usize).filter(|_| is_container) else {
            return Ok(());
        };
        if *flags & ON_PATH != 0 {
            if let Some(frame) = self.frames.last_mut() {
                frame.circular = true;
            }
            return Ok(());
        }
        let full = self.trail.values_seen > MAX_VALUES;
        let past_free_work = self.reader.work_done() > FREE_WORK;
        if *flags & EMPTY != 0
            || (full && *flags & NO_TENSORS != 0)
            || (past_free_work && *flags & SEEN != 0)
        {
            if *flags & NO_TENSORS == 0 {
                self.trail.left_out = self.trail.left_out.saturating_add(1);
            }
            return Ok(());
        }
        *flags |= ON_PATH | SEEN;
        self.reader.work(1)?;
        let next = self.todo.len();
        self.reader.expand(id, &mut self.todo)?;
        let frame = Frame {
            node: id,
            next,
            end: self.todo.len(),
            name_len: self.name.len(),
            depth,
            tensors: self.reader.catalog.tensors.len(),
            values: self.trail.values_seen,
            circular: false,
        };
        grow(&mut self.frames, frame, self.reader.budget)
    }

    fn leave(&mut self) {
        let Some(frame) = self.frames.pop() else { return };
        let start = self.frames.last().map_or(0, |frame| frame.end);
        self.todo.truncate(start);
        let no_tensors = frame.tensors == self.reader.catalog.tensors.len();
        if let Some(flags) = self.flags.get_mut(frame.node as usize) {
            *flags &= !ON_PATH;
            if no_tensors && !frame.circular {
                *flags |= NO_TENSORS;
                if frame.values == self.trail.values_seen {
                    *flags |= EMPTY;
                }
            }
        }
        if let (true, Some(parent)) = (frame.circular, self.frames.last_mut()) {
            parent.circular = true;
        }
    }
}
