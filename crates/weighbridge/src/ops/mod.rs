//! Operations on models: inspect, show, read, stats, hash, convert, dequantize, quantize, verify and
//! diff.

mod adapter;
#[cfg(feature = "families")]
mod conversion;
#[cfg(feature = "families")]
mod diff;
#[cfg(feature = "families")]
mod families;
mod hash;
mod identity;
mod inspect;
mod read;
mod refusals;
mod reports;
mod show;
mod stats;
mod work;

pub use crate::pipeline::OutputType;
pub use crate::warning::Warning;
pub use adapter::AdapterReport;
#[cfg(feature = "families")]
pub use conversion::{
    ChangedKey, Conversion, ConversionReport, ConvertOptions, ConvertReport, CostReport, DecodedAs,
    LeftBehind, Mismatch, Mmproj, Names, NextLayers, PlanReport, PlannedTensor, QuantizeOptions,
    QuantizeReport, QuantizedWeight, Rename, RewrittenFile, Tied, TypeReport, VerifyReport,
    WrittenFile, WrongFile, convert, convert_to, dequantize, dequantize_pipeline, layouts,
    quantize, quantize_to, quantizers, verify, verify_dequantized, verify_pipeline,
    verify_quantized, was_dequantized,
};
#[cfg(feature = "families")]
pub use diff::{
    Changed, DiffMetadata, DiffOptions, DiffPlace, DiffReport, DiffSummary, DiffTensor, Explained,
    FailOver, Metric, Reencoded, ReencodedSummary, Setting, Status, Values, Worst, WorstTensor,
    diff,
};
#[cfg(feature = "families")]
pub use families::{FamiliesReport, FamilyReport, MissingClass, ProjectorReport, families};
pub use hash::{HashOptions, HashReport, HashedPart, HashedWeight, hash};
pub use inspect::{
    DecodedBytes, Dropped, FileReport, InspectOptions, PartReport, Report, SchemeReport,
    TensorReport, inspect,
};
pub use read::{ReadInto, read};
pub use refusals::refuse_unreadable;
pub use show::{Numbers, ShowOptions, Slice, Window};
pub use stats::{
    Bars, Figures, ODDITY_KINDS, Oddity, Quantiles, RowFigures, StatsOptions, StatsReport,
    WeightStats, stats,
};
pub use work::{OnProgress, Progress, Work};
