//! Room 5: the verbs, one file each.

mod identity;
mod inspect;

pub use inspect::{
    DecodedBytes, Dropped, FileReport, InspectOptions, PartReport, Report, SchemeReport, Select,
    TensorReport, inspect,
};
