//! Whole-file tests of the library. A module is a file or folder beside this one.

#[path = "../common/mod.rs"]
mod common;

mod adapters;
mod apr_headers;
mod apr_values;
mod architecture;
mod bids;
mod convert;
mod damaged_archives;
mod dequantized;
mod diff;
mod directories;
mod encoded;
mod existing;
mod flattened;
mod foreign_source;
mod ggml;
mod hash;
mod layouts;
mod limits;
mod locate;
mod memory_folder;
mod mixtures;
mod names;
mod plain;
mod pth;
mod schemes;
mod show;
mod sizes;
mod stale;
mod stats;
mod stores;
mod to_gguf;
mod to_gguf_cases;
mod to_gguf_settings;
mod to_gguf_stored;
mod to_hf;
mod to_mmproj;
mod twins;
mod unfinished;
mod unreadable;
mod verdict;
mod walk;
