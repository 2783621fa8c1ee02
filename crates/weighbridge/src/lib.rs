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

mod blocks;
mod bounds;
pub mod catalog;
mod change;
mod compare;
mod config;
mod containers;
mod crc;
mod cursor;
mod dtype;
mod error;
mod inflate;
mod input;
#[doc(hidden)]
pub mod internals;
mod limits;
mod model;
mod names;
mod number;
pub mod ops;
pub mod output;
mod pipeline;
#[cfg(feature = "remote")]
mod remote;
mod schemes;
mod shape;
mod simd;
mod source;
mod stop;
mod sys;
mod text;
mod tokenizer;
mod unpack;

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
pub use schemes::Importance;
pub use source::Source;
