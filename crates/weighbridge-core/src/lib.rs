//! The foundation of weighbridge: bytes, types, errors, catalogs, sources and kernels.
//!
//! Nothing here depends on a format, a scheme or a family. Use this crate through `weighbridge`;
//! items that it does not export are not stable.

pub mod blocks;
pub mod bounds;
pub mod catalog;
pub mod change;
pub mod compare;
pub mod config;
pub mod crc;
pub mod cursor;
pub mod dtype;
pub mod error;
pub mod inflate;
pub mod input;
pub mod limits;
pub mod near;
#[cfg(any(test, feature = "testing"))]
pub mod noise;
pub mod number;
pub mod output;
pub mod shape;
pub mod simd;
pub mod source;
pub mod stop;
pub mod streams;
pub mod sys;
pub mod text;
pub mod unpack;
pub mod view;
pub mod warning;

pub use config::Config;
pub use dtype::{DType, StoredType};
pub use error::{Error, ErrorKind, Remedy, Result};
pub use input::{
    EntryKind, FileAccess, Folder, FolderEntry, LocalFolder, MemoryFolder, Need, ReadAt,
    ReadPattern, ReadRange, ReadSeek, Reading, Requests, Vouched, read_ranges_merged,
};
