//! Whole-file tests of the library. A module is a file or folder beside this one.

#[path = "../common/mod.rs"]
mod common;

mod apr_values;
mod architecture;
mod bids;
mod convert;
mod diff;
mod directories;
mod existing;
mod foreign_source;
mod ggml;
mod limits;
mod locate;
mod memory_folder;
mod names;
mod plain;
mod pth;
mod stores;
mod unfinished;
mod verdict;
mod walk;
