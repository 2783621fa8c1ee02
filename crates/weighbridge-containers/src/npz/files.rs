//! How numpy's files are named and found.

use super::header::MAGIC;
use crate::conventions::{Configs, Conventions, Extension, Header, Magic};

/// What NPZ says about its files.
pub(super) static NPZ: Conventions = Conventions {
    header: Header::Last(64 << 10),
    preference: 3,
    magic: &[Magic::start(b"PK\x03\x04")],
    ..Conventions::new(
        "npz",
        "NPZ",
        "an NPZ archive, which begins with `PK`",
        &[Extension::new("npz", Configs::IfPacked)],
    )
};

/// What NPY says about its files: a file holds one array, and all of a directory are one model.
pub(super) static NPY: Conventions = Conventions {
    preference: 4,
    magic: &[Magic::start(MAGIC)],
    together: &["*"],
    ..Conventions::new(
        "npy",
        "NPY",
        "a NumPy array, which begins with `\\x93NUMPY`",
        &[Extension::new("npy", Configs::Never)],
    )
};
