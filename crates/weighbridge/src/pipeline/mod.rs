//! The corridor: a plan, then tiles, then files.
//!
//! A [`Plan`] is the catalog of the files to be written: every weight with its output type and
//! its place, known before a byte is decoded. A tile is a stretch of output elements small enough
//! to stay in the cache (some whole rows, where a scheme needs them). Workers take one tile after
//! the other, in the order of the output: each is fetched, decoded into a buffer that is kept, and
//! written at its planned offset. Weights that stay as they are go through as ranges of bytes.

mod announce;
mod checksums;
mod cost;
mod cut;
mod encoding;
mod files;
mod finite;
mod first_pass;
mod job;
mod jobs;
mod memory;
mod metadata;
mod ordered_sum;
mod output_type;
mod plan;
mod pool;
mod rearranging;
mod shards;
mod sink;
mod store_address;
mod target;
mod ties;
mod tiling;
mod vouched;
mod worker;

pub use announce::{
    Group, announce_part, announce_range, announce_weight, announce_weight_now, held_as_stored,
    held_at_once, held_by_job,
};
pub use checksums::Checksums;
pub use cost::Cost;
pub use cut::{Cut, check_memory};
pub use encoding::{Encoding, additions, formats_for, formats_of};
pub use files::{Contents, ExtraFile, Writing};
pub use job::{Action, Job, Origin, OutputTensor};
pub use jobs::run;
pub use memory::{Memory, MemoryBudget, check_whole_rows};
pub use metadata::{Kept, is_short, kept_metadata, set_entry, set_last};
pub use ordered_sum::OrderedSum;
pub use output_type::{Cast, OutputType, Types};
pub use plan::{
    Assigned, HowEncoded, Obstacle, Plan, PlanOptions, PlannedFile, check_cost, jobs, plan, stored,
};
pub use pool::{OnTile, Pool, Tiled};
pub use rearranging::Rearranging;
pub use shards::Spread;
pub use sink::{AtPlace, InTurn, Sink, Tile};
pub(crate) use target::{Place, Target, stem_of};
pub use ties::{Tied, kept_names};
pub use tiling::{CHUNK, Tiling, chunks, share_of, steps_of};
