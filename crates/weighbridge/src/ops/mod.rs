//! Room 5: the verbs, one file each.

mod inspect;

pub use inspect::{InspectOptions, Report, inspect};
