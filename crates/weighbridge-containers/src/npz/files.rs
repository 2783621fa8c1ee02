//! How numpy's files are named and found.

use super::header::MAGIC;
use crate::conventions::{Configs, Conventions, Extension, Header, Magic};

/// What NPZ says about its files.
pub(super) static NPZ: Conventions = Conventions {
    name: "npz",
    label: "NPZ",
    promise: "an NPZ archive, which begins with `PK`",
    extensions: &[Extension::new("npz", Configs::IfPacked)],
    header: Header::Last(64 << 10),
    preference: 3,
    magic: &[Magic::start(b"PK\x03\x04")],
    ..Conventions::USUAL
};

/// What NPY says about its files: a file holds one array, and all of a directory are one model.
pub(super) static NPY: Conventions = Conventions {
    name: "npy",
    label: "NPY",
    promise: "a NumPy array, which begins with `\\x93NUMPY`",
    extensions: &[Extension::new("npy", Configs::Never)],
    preference: 4,
    magic: &[Magic::start(MAGIC)],
    together: &["*"],
    ..Conventions::USUAL
};
