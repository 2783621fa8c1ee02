//! Opcodes that push numbers, text and bytes.

use crate::error::{Error, Result};

use super::heap::{Node, Span};
use super::literal::{self, Integer};
use super::machine::Machine;
use super::opcode::*;

impl Machine<'_, '_> {
    pub(super) fn number(&mut self, op: u8) -> Result<()> {
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
            None => Err(Error::malformed("not a decimal integer")),
        }
    }

    pub(super) fn string(&mut self, op: u8) -> Result<()> {
        let node = match op {
            STRING => {
                let line = self.line()?;
                let bytes = self.heap.bytes(line);
                let inside = literal::unquoted(bytes).and_then(literal::unescape);
                let inside = inside.ok_or_else(|| Error::malformed("expected a quoted string"))?;
                Node::String(self.heap.keep(&inside, self.budget)?)
            }
            UNICODE => {
                let line = self.line()?;
                let text = literal::unescape_unicode(self.heap.bytes(line));
                let text = text.ok_or_else(|| Error::malformed("truncated escape sequence"))?;
                Node::Text(self.heap.keep(text.as_bytes(), self.budget)?)
            }
            BINSTRING | SHORT_BINSTRING => Node::String(self.counted(op)?),
            _ => Node::Bytes(self.counted(op)?),
        };
        self.push(node)
    }
}
