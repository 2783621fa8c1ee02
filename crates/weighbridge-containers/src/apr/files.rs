//! How APR files are named and found.

use crate::conventions::{Configs, Conventions, Extension, Magic};

/// What the format says about its files.
pub(super) static FILES: Conventions = Conventions {
    preference: 5,
    magic: &[Magic::start(b"APR")],
    ..Conventions::new(
        "apr",
        "APR",
        "an APR file, which begins with `APR`",
        &[Extension::new("apr", Configs::Never)],
    )
};
