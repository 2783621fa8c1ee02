//! How APR files are named and found.

use crate::conventions::{Configs, Conventions, Extension, Magic};

/// What the format says about its files.
pub(super) static FILES: Conventions = Conventions {
    name: "apr",
    label: "APR",
    promise: "an APR file, which begins with `APR`",
    extensions: &[Extension::new("apr", Configs::Never)],
    preference: 5,
    magic: &[Magic::start(b"APR")],
    ..Conventions::USUAL
};
