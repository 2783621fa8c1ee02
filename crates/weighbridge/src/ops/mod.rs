//! Room 5: the verbs, one file each.

mod compared;
mod convert;
mod convert_options;
mod convert_report;
mod dequantize;
mod files;
mod identity;
mod inspect;
mod refusals;
mod target;
mod verify;

pub use crate::pipeline::OutputType;
pub use convert::{convert, convert_to};
pub use convert_options::{ConvertOptions, Progress, Rename};
pub use convert_report::{ConversionReport, ConvertReport, Tied, WrittenFile};
pub use dequantize::dequantize;
pub use inspect::{
    DecodedBytes, Dropped, FileReport, InspectOptions, PartReport, Report, SchemeReport, Select,
    TensorReport, inspect,
};
pub use verify::{Mismatch, VerifyReport, verify, verify_dequantized};
