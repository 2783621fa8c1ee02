//! Open any model weight file, say exactly what is inside, and turn it into plain numbers.
//!
//! ```no_run
//! let model = weighbridge::Model::open("Qwen3-8B-GPTQ/")?;
//! for weight in model.weights() {
//!     println!("{} {:?} {}", weight.name(), weight.shape(), weight.scheme());
//! }
//! let weight = model.weight("model.layers.0.mlp.up_proj.weight")?;
//! let numbers: Vec<f32> = weight.decode_to_vec()?;
//! # Ok::<(), weighbridge::Error>(())
//! ```
//!
//! A [`Model`] is a cheap handle and so is a [`Weight`]; both can be cloned, kept and sent to other
//! threads. [`ops`] are the verbs: inspect, show, stats, convert, dequantize, verify, diff, hash. Every
//! [`Error`] says whose fault it is, where, and what can be done about it.
//!
//! How the library is built is described in ARCHITECTURE.md.

#[doc(hidden)]
pub mod internals;
mod model;
pub mod ops;
mod pipeline;

use weighbridge_containers as containers;
use weighbridge_core::{
    blocks, bounds, change, compare, config, crc, cursor, dtype, error, inflate, input, limits,
    number, simd, source, stop, sys, text,
};
pub use weighbridge_core::{catalog, output};
use weighbridge_families::{names, tokenizer};
#[cfg(feature = "remote")]
use weighbridge_remote as remote;
use weighbridge_schemes as schemes;

pub use config::Config;
pub use dtype::{DType, StoredType};
pub use error::{Error, ErrorKind, Remedy, Result};
pub use half::{bf16, f16};
pub use input::{
    EntryKind, FileAccess, Folder, FolderEntry, LocalFolder, MemoryFolder, Need, ReadAt,
    ReadPattern, ReadRange, ReadSeek, Reading, Requests, read_ranges_merged,
};
pub use limits::Limits;
pub use model::{
    ImportanceMatrix, Model, OpenOptions, Scratch, Select, SelectedWeights, Stores, Weight, Weights,
};
pub use number::Element;
#[cfg(feature = "remote")]
pub use remote::Remote;
/// Nothing is to be said about networks where none is reached.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Debug, Default)]
struct Remote;
pub use schemes::Importance;
pub use source::Source;
