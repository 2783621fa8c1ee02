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
//! # Features
//!
//! - `families` (default): the verbs that relate two models: convert, dequantize, verify, diff. They know
//!   tensor names, metadata and tokenizers of model families.
//! - `encoders` (default): what `quantize` encodes with.
//! - `remote`: models at `hf://`, `https://`, `s3://`, `gs://` and `az://`.
//!
//! `default-features = false` opens, inspects and decodes every format and scheme.
//!
//! How the library is built is described in ARCHITECTURE.md.
// Verbs that are left out leave some of the pipeline without a caller.
#![cfg_attr(not(feature = "families"), allow(dead_code, unused_imports))]

#[doc(hidden)]
pub mod internals;
mod model;
pub mod ops;
mod pipeline;

use weighbridge_containers as containers;
#[doc(inline)]
pub use weighbridge_core::catalog;
#[doc(inline)]
/// ```no_run
/// # #[cfg(feature = "families")] {
/// use weighbridge::{Model, ops, output};
/// let (model, files) = (Model::open("model.gguf")?, output::Memory::default());
/// let options = ops::ConvertOptions::new("out");
/// ops::Conversion::plan_for(&model, &options, &files)?.run_into(&files)?;
/// for (name, bytes) in files.into_files() {
///     println!("{name}: {} bytes", bytes.len());
/// }
/// # }
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub use weighbridge_core::output;
use weighbridge_core::{
    blocks, bounds, compare, config, crc, cursor, dtype, error, inflate, input, limits, number,
    shape, simd, source, stop, sys, text, view,
};
#[cfg(feature = "families")]
use weighbridge_families::{families, names, tokenizer};
#[cfg(feature = "remote")]
use weighbridge_remote as remote;
use weighbridge_schemes as schemes;

#[doc(inline)]
pub use config::Config;
#[doc(inline)]
pub use dtype::{DType, StoredType};
#[doc(inline)]
pub use error::{Error, ErrorKind, Remedy, Result};
pub use half::{bf16, f16};
#[doc(inline)]
pub use input::{
    EntryKind, FileAccess, Folder, FolderEntry, LocalFolder, MemoryFolder, Need, ReadAt,
    ReadPattern, ReadRange, ReadSeek, Reading, Requests, read_ranges_merged,
};
#[doc(inline)]
/// ```
/// let limits = weighbridge::Limits::default().max_items(10_000).max_allocation(1 << 20);
/// ```
pub use limits::Limits;
pub use model::{
    ImportanceMatrix, Model, OpenOptions, Scratch, Select, SelectedWeights, Stores, Weight, Weights,
};
#[doc(inline)]
pub use number::Element;
#[doc(inline)]
#[cfg(feature = "remote")]
pub use remote::Remote;
#[doc(inline)]
pub use schemes::Importance;
#[doc(inline)]
pub use source::Source;

/// Nothing is to be said about networks where none is reached.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Debug, Default)]
struct Remote;
