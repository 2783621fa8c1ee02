//! `weigh quantize MODEL -o OUT --type TYPE`: what it takes, and how its cost is shown. The work is
//! that of `convert`.

mod args;
mod render;

pub(crate) use args::{How, Quantize};
pub(super) use render::write_cost;
