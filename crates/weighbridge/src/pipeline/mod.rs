//! The corridor: a plan, then tiles, then files.
//!
//! A [`Plan`] is the catalog of the files to be written: every weight with its output type and
//! its place, known before a byte is decoded. A tile is a stretch of output elements small enough
//! to stay in the cache (some whole rows, where a scheme needs them). Workers take one tile after
//! the other, in the order of the output: each is fetched, decoded into a buffer that is kept, and
//! written at its planned offset. Weights that stay as they are go through as ranges of bytes.

mod cut;
mod desk;
mod engine;
mod job;
mod memory;
mod metadata;
mod output_type;
mod plan;
mod shards;
mod sink;
mod sums;
mod ties;

pub use cut::Cut;
pub use engine::{Work, run};
pub use job::{Action, Job, Origin};
pub use memory::Memory;
pub use metadata::{Kept, kept_metadata};
pub use output_type::{Cast, OutputType, Types};
pub use plan::{Obstacle, Plan, PlannedFile, Wishes, jobs, plan};
pub use shards::Spread;
pub use sink::{Sink, Stream, Tile};
pub use sums::{Summed, Sums};
pub use ties::{Tie, kept_names};
