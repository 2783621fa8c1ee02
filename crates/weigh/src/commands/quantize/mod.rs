//! `weigh quantize MODEL -o OUT --type TYPE`: its arguments and its error report. `convert` does the
//! work.

mod args;
mod render;
mod unmatched;

pub(crate) use args::{How, Quantize};
pub(super) use render::write_cost;
