//! Whole-file tests of the library. A module is a file or folder beside this one.

#[path = "../common/mod.rs"]
mod common;

mod apr_values;
mod architecture;
mod bids;
mod convert;
mod corruption;
mod diff;
mod directories;
mod forms;
mod ggml;
mod limits;
mod locate;
mod names;
mod plain;
mod pth;
mod samples;
mod schemes;
mod stores;
mod traps;
mod walk;
mod written;
