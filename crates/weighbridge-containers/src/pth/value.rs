//! Keys as text, and what stands beside tensors as metadata.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::catalog::Value;
use crate::text::shortened;

use super::pickle::{Class, Heap, Id, Node};
use super::reader::Reader;

/// Longer lists are summed up.
const MAX_LIST: usize = 32;

/// Longer text is cut.
const MAX_TEXT: usize = 1000;

/// As many bytes as that many characters can take, and one character more.
const MAX_TEXT_BYTES: u32 = 4004;

/// How deep tuples inside keys may nest; real files stay below this.
const MAX_KEY_DEPTH: usize = 4;

/// Keys that are tuples are not written further than this.
const MAX_KEY: usize = 4096;

/// A dict key as a part of a name: what Python's `str` gives.
pub(super) fn key_text<'h>(heap: &'h Heap<'_>, key: Id) -> Cow<'h, str> {
    match heap.node(key) {
        Node::Text(span) | Node::String(span) => heap.text(span),
        Node::Int(value) => Cow::Owned(value.to_string()),
        _ => {
            let mut out = String::new();
            write_key(heap, key, &mut out, 0);
            Cow::Owned(out)
        }
    }
}

fn write_key(heap: &Heap<'_>, key: Id, out: &mut String, depth: usize) {
    // Tuples may hold one long text many times over.
    if out.len() > MAX_KEY {
        if !out.ends_with('…') {
            out.push('…');
        }
        return;
    }
    let _ = match heap.node(key) {
        Node::None => write!(out, "None"),
        Node::Bool(true) => write!(out, "True"),
        Node::Bool(false) => write!(out, "False"),
        Node::Int(value) => write!(out, "{value}"),
        Node::Float(value) => write!(out, "{value:?}"),
        Node::Big(span) => write!(out, "{}", big_text(heap.bytes(span))),
        Node::BigText(span) => write!(out, "{}", shortened(&heap.text_start(span, 1000), 40)),
        Node::Text(span) | Node::String(span) => write!(out, "'{}'", heap.text(span)),
        Node::Bytes(span) => write!(out, "b'{}'", heap.bytes(span).escape_ascii()),
        Node::Global(index) => match heap.global(index) {
            Some(global) => write!(out, "{}", heap.path_of(global)),
            None => Ok(()),
        },
        Node::Tuple { .. } if depth < MAX_KEY_DEPTH => {
            let items = heap.tuple(key).unwrap_or_default();
            out.push('(');
            for (place, &item) in items.iter().take(MAX_LIST).enumerate() {
                if place > 0 {
                    out.push_str(", ");
                }
                write_key(heap, item, out, depth.saturating_add(1));
            }
            out.push_str(if items.len() == 1 { ",)" } else { ")" });
            Ok(())
        }
        Node::Object(_) => match heap.object(key).and_then(|o| heap.class_of(o.class)) {
            Some(global) => write!(out, "<{}>", heap.path_of(global)),
            None => write!(out, "<object>"),
        },
        _ => write!(out, "<object>"),
    };
}

/// A whole number of any length, lowest byte first, in two's complement.
fn big_text(bytes: &[u8]) -> String {
    let negative = bytes.last().is_some_and(|&top| top & 0x80 != 0);
    let mut wide = if negative { [0xff; 16] } else { [0; 16] };
    match wide.get_mut(..bytes.len()) {
        Some(slot) => {
            slot.copy_from_slice(bytes);
            i128::from_le_bytes(wide).to_string()
        }
        None => format!("<integer of {} bytes>", bytes.len()),
    }
}

impl Reader<'_, '_> {
    /// A node as metadata; `None` if it has to be looked into.
    pub(super) fn value(&self, id: Id) -> Option<Value> {
        let heap = self.heap;
        match heap.node(id) {
            Node::List(seq) | Node::Set(seq) => self.items_value(heap.items(seq)),
            Node::Tuple { .. } => self.items_value(heap.tuple(id)?.iter().copied()),
            Node::Object(_) => {
                let object = heap.object(id)?;
                let args = heap.tuple(object.args)?;
                match heap.class(object.class)? {
                    Class::Size => super::geometry::sizes(heap, id).map(|sizes| {
                        Value::List(sizes.iter().map(|&size| Value::Unsigned(64, size)).collect())
                    }),
                    Class::Device => {
                        let name = heap.text_of(*args.first()?)?;
                        Some(match args.get(1).and_then(|&index| heap.int(index)) {
                            Some(index) => Value::text(format!("{}:{index}", shortened(&name, 40))),
                            None => Value::text(shortened(&name, 40)),
                        })
                    }
                    Class::Scalar => self.scalar(args),
                    _ => None,
                }
            }
            _ => self.simple(id),
        }
    }

    /// Values without structure stay together; long lists are summed up.
    fn items_value(&self, items: impl Iterator<Item = Id>) -> Option<Value> {
        let (mut values, mut count, mut element) = (Vec::new(), 0u64, None);
        for item in items {
            self.work(1).ok()?;
            let node = self.heap.node(item);
            if values.len() < MAX_LIST {
                values.push(self.simple(item)?);
            } else if !is_simple(node) {
                return None;
            }
            count = count.saturating_add(1);
            let kind = kind(node);
            element = Some(if element.is_none_or(|same| same == kind) { kind } else { "mixed" });
        }
        if values.len() as u64 == count {
            return element.map(|_| Value::List(values));
        }
        // In the form of arrays that other headers leave in the file.
        let entries = [("array", Value::text(element?)), ("length", Value::Unsigned(64, count))];
        Some(Value::Map(entries.map(|(key, value)| (key.into(), value)).into()))
    }

    fn simple(&self, id: Id) -> Option<Value> {
        let heap = self.heap;
        Some(match heap.node(id) {
            Node::None => Value::Null,
            Node::Bool(value) => Value::Bool(value),
            Node::Int(value) => Value::Signed(64, value),
            Node::Float(value) => Value::F64(value),
            Node::Big(span) => Value::text(big_text(heap.bytes(span))),
            Node::BigText(span) => Value::text(shortened(&heap.text_start(span, 1000), 100)),
            Node::Text(span) | Node::String(span) => {
                Value::text(cut(&heap.text_start(span, MAX_TEXT_BYTES)))
            }
            Node::Bytes(span) => Value::text(format!("{} bytes", heap.bytes(span).len())),
            Node::Global(index) => {
                Value::text(shortened(&heap.path_of(heap.global(index)?), MAX_TEXT))
            }
            _ => return None,
        })
    }
}

/// What a list is a list of.
fn kind(node: Node) -> &'static str {
    match node {
        Node::Bool(_) => "bool",
        Node::Int(_) => "i64",
        Node::Float(_) => "f64",
        Node::Text(_) | Node::String(_) => "string",
        _ => "mixed",
    }
}

/// Whether a node is a value without structure.
pub(super) fn is_simple(node: Node) -> bool {
    !matches!(
        node,
        Node::Tuple { .. }
            | Node::List(_)
            | Node::Set(_)
            | Node::Dict(_)
            | Node::Object(_)
            | Node::Persistent(_)
    )
}

/// Metadata is shown escaped by whoever shows it; here it is only kept short.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
