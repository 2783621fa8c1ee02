//! The corridor: a plan, then tiles, then files.
//!
//! A [`Plan`] is the catalog of the file to be written: every weight with its output type and
//! its place, known before a byte is decoded. A tile is a stretch of output elements small enough
//! to stay in the cache (whole rows, where a scheme needs them); each is fetched, decoded into one reused buffer and written at its planned
//! offset. Weights that stay as they are go through as ranges of bytes.

mod cut;
mod metadata;
mod output_type;
mod plan;
mod write;

pub use metadata::{Kept, kept_metadata};
pub use output_type::OutputType;
pub use plan::{Action, Job, Plan, plan};
pub use write::write;
