//! The verbs, one file or folder each: inspect, convert, dequantize, verify, diff.

mod compared;
mod convert;
mod convert_options;
mod convert_report;
mod dequantize;
mod diff;
mod identity;
mod inspect;
mod reach;
mod refusals;
mod repository;
mod verify;
mod work;

pub use crate::pipeline::OutputType;
pub use convert::{Conversion, convert, convert_to};
pub use convert_options::{ConvertOptions, Rename};
pub use convert_report::{ConversionReport, ConvertReport, LeftBehind, Tied, WrittenFile};
pub use dequantize::dequantize;
pub use diff::{
    Changed, DiffMetadata, DiffOptions, DiffPlace, DiffReport, DiffSummary, DiffTensor, Explained,
    FailOver, Metric, Status, Values, Worst, WorstTensor, diff,
};
pub use inspect::{
    DecodedBytes, Dropped, FileReport, InspectOptions, PartReport, Report, SchemeReport,
    TensorReport, inspect,
};
pub use verify::{Mismatch, VerifyReport, verify, verify_dequantized};
pub use work::{OnProgress, Progress, Work};
