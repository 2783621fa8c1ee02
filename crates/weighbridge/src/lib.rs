//! Inspects, converts, quantizes, dequantizes and compares model weight files.
//!
//! # Read a weight
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
//! [`Model`] and [`Weight`] are cheap handles: clone them, store them, send them to other threads.
//!
//! # Quantize a model
//!
//! ```no_run
//! # #[cfg(feature = "families")] {
//! use weighbridge::{Model, ops};
//! let model = Model::open("Qwen3-8B/")?;
//! let options = ops::ConvertOptions::new("Qwen3-8B-Q4_K_M.gguf");
//! ops::quantize(&model, &options, &ops::QuantizeOptions::new("Q4_K_M"))?;
//! # }
//! # Ok::<(), weighbridge::Error>(())
//! ```
//!
//! # Operations
//!
//! | function | purpose |
//! |---|---|
//! | [`ops::inspect`] | lists files, weights, schemes, metadata and problems |
//! | [`ops::Window`] | shows a slice of one weight |
//! | [`ops::read`] | decodes many weights into buffers, in parallel |
//! | [`ops::stats`] | computes statistics and warns about suspicious weights |
//! | [`ops::hash`] | hashes stored bytes or decoded values |
//! | `ops::convert` | converts between formats and types |
//! | `ops::dequantize` | decodes quantized weights and updates the configs |
//! | `ops::quantize` | quantizes weights and measures the error |
//! | `ops::verify` | checks an output against its source |
//! | `ops::diff` | compares two models |
//!
//! Every [`Error`] has a kind, a reason, the file and tensor it is about, and usually a hint.
//!
//! # Features
//!
//! - `families` (default): enables convert, dequantize, quantize, verify and diff. Includes the tensor
//!   names, metadata and tokenizers of model families.
//! - `encoders` (default): enables the encoders that `quantize` needs.
//! - `remote`: opens models at `hf://`, `https://`, `s3://`, `gs://` and `az://`.
//!
//! With `default-features = false`, the library opens, inspects and decodes every format and scheme.
//!
//! ARCHITECTURE.md describes how the library is built.
// Without `families`, parts of the pipeline have no caller.
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
    blocks, bounds, compare, config, crc, cursor, dtype, error, inflate, input, limits, near,
    number, shape, simd, source, stop, sys, text, view, warning,
};
#[cfg(feature = "families")]
use weighbridge_families::{families, names, projectors, tokenizer};
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
    ReadPattern, ReadRange, ReadSeek, Reading, Requests, Vouched, read_ranges_merged,
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

/// An empty stand-in for the network settings of the feature `remote`.
#[cfg(not(feature = "remote"))]
#[derive(Clone, Debug, Default)]
struct Remote;
