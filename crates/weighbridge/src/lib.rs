//! Open any model weight file, say exactly what is inside, and turn it into plain numbers.
//!
//! ```no_run
//! let model = weighbridge::Model::open("Qwen3-8B-GPTQ/")?;
//! for weight in model.weights() {
//!     println!("{} {:?} {}", weight.name(), weight.shape(), weight.scheme());
//! }
//! let weight = model.weight("model.layers.0.mlp.up_proj.weight")?;
//! let mut out = vec![0f32; weight.len()];
//! weight.decode_into(&mut out)?;
//! # Ok::<(), weighbridge::Error>(())
//! ```
//!
//! The rooms are described in ARCHITECTURE.md: [`containers`] turn files into stored tensors,
//! [`schemes`] turn stored tensors into numbers, [`ops`] are the verbs.

pub mod blocks;
pub mod catalog;
mod compare;
pub mod config;
pub mod containers;
pub mod cursor;
pub mod dtype;
mod error;
pub mod inflate;
pub mod input;
mod limits;
mod model;
pub mod names;
mod number;
pub mod ops;
pub mod output;
mod output_folder;
pub mod pipeline;
pub mod schemes;
pub mod simd;
pub mod source;
mod sys;
pub mod text;

pub use dtype::DType;
pub use error::{Error, ErrorKind, Remedy, Result};
pub use half::{bf16, f16};
pub use input::FileAccess;
pub use limits::{Budget, Limits};
pub use model::{Model, OpenOptions, Scratch, Stores, Weight};
