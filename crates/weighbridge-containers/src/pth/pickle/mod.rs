//! The pickle machine: reads what Python's `pickle` wrote, and runs nothing.
//!
//! ```text
//! a pickle is a program for a stack machine, one opcode a byte, arguments behind it:
//!   80 02            PROTO 2
//!   7d               EMPTY_DICT         push {}
//!   28               MARK
//!   58 u32 text      BINUNICODE         push "w"
//!   63 line line     GLOBAL             push a class or function by its name
//!   ..  29  52       EMPTY_TUPLE REDUCE call it
//!   75               SETITEMS           everything down to the mark goes into the dict
//!   2e               STOP               the top of the stack is the object
//! ```
//!
//! Python's own machine imports what `GLOBAL` names and calls it. This one writes down that it
//! was named ([`Global`]) and what it would have been called with ([`Object`]). The result is a
//! [`Heap`]: flat tables of nodes that refer to each other by number, so that objects may contain
//! themselves or nest without end and neither walking nor dropping them needs the call stack.
//! Text and bytes stay in the pickle and are pointed at.
//!
//! All opcodes of protocols 0 to 5 are read, but for two kinds that name something outside the
//! file: extension codes (a registry of the writing program) and out-of-band buffers.

mod danger;
mod element;
mod extent;
mod heap;
mod joblib;
mod known;
mod literal;
mod machine;
mod naming;
mod objects;
mod opcode;
#[cfg(test)]
mod tests;
mod values;
mod wrappers;

pub(super) use danger::{is_dangerous, python3_name};
pub(super) use element::Element;
pub(super) use extent::{Extent, extent};
pub(super) use heap::{Global, Heap, Id, Node, Object, Span, grow};
pub(super) use joblib::is_joblib;
pub(super) use known::{Class, Rebuild};
pub(super) use machine::{Program, run};
pub(super) use wrappers::{Wrapped, wrapped};
