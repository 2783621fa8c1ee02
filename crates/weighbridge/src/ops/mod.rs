//! Room 5: the verbs, one file each.

mod convert;
mod dequantize;
mod files;
mod identity;
mod inspect;
mod refusals;
mod target;

pub use crate::pipeline::OutputType;
pub use convert::{
    ConversionReport, ConvertOptions, ConvertReport, Progress, Tied, WrittenFile, convert,
};
pub use dequantize::dequantize;
pub use inspect::{
    DecodedBytes, Dropped, FileReport, InspectOptions, PartReport, Report, SchemeReport, Select,
    TensorReport, inspect,
};
