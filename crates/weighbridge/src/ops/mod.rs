//! The verbs, one file or folder each: inspect, show, read, stats, convert, dequantize, quantize,
//! verify, diff, hash.

mod compared;
mod convert;
mod convert_modelfile;
mod convert_options;
mod convert_report;
mod dequantize;
mod diff;
mod elsewhere;
mod expansion;
mod fates;
mod hash;
mod identity;
mod inspect;
mod planned_report;
mod quantize;
mod reach;
mod read;
mod rearrange;
mod refusals;
mod repacked;
mod repository;
mod show;
mod stats;
mod translate;
mod verify;
mod verify_files;
mod work;

pub use crate::pipeline::OutputType;
pub use convert::{Conversion, convert, convert_to};
pub use convert_options::{ConvertOptions, Rename};
pub use convert_report::{
    ChangedKey, ConversionReport, ConvertReport, DecodedAs, LeftBehind, RewrittenFile, Tied,
    WrittenFile,
};
pub use dequantize::{dequantize, dequantize_pipeline};
pub use diff::{
    Changed, DiffMetadata, DiffOptions, DiffPlace, DiffReport, DiffSummary, DiffTensor, Explained,
    FailOver, Metric, Reencoded, ReencodedSummary, Status, Values, Worst, WorstTensor, diff,
};
pub use hash::{HashOptions, HashReport, HashedPart, HashedWeight, hash};
pub use inspect::{
    DecodedBytes, Dropped, FileReport, InspectOptions, PartReport, Report, SchemeReport,
    TensorReport, inspect,
};
pub use planned_report::{PlanReport, PlannedTensor};
pub use quantize::{
    CostReport, QuantizeOptions, QuantizeReport, QuantizedWeight, TypeReport, quantize,
    quantize_to, quantizers,
};
pub use read::{ReadInto, read};
pub use rearrange::layouts;
pub use refusals::refuse_unreadable;
pub use show::{Numbers, ShowOptions, Slice, Window};
pub use stats::{
    Bars, Figures, Oddity, Quantiles, RowFigures, StatsOptions, StatsReport, WeightStats, stats,
};
pub use translate::Names;
pub use verify::{
    Mismatch, VerifyReport, verify, verify_dequantized, verify_pipeline, verify_quantized,
};
pub use verify_files::{WrongFile, was_dequantized};
pub use work::{OnProgress, Progress, Work};
