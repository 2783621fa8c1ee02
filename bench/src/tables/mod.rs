//! One file per table.

pub mod convert;
pub mod convert_memory;
pub mod diff;
pub mod gguf_decode;
pub mod gguf_open;
pub mod growth_tensors;
pub mod growth_threads;
pub mod hash;
pub mod header_cost;
pub mod npz_read;
pub mod pth_open;
pub mod quantize;
pub mod questions;
pub mod safetensors_open;
pub mod scheme_decode;
pub mod stats;
pub mod to_gguf;

use std::path::Path;

use weighbridge::ops::{InspectOptions, Report, inspect};
use weighbridge::{FileAccess, OpenOptions};

/// Our whole `inspect`, from path to report.
pub fn ours(path: &Path, access: FileAccess) -> Report {
    let model = OpenOptions::new().access(access).open(path).expect("it opens");
    inspect(&model, &InspectOptions::default()).expect("it can be inspected")
}

/// The same through a plain `File` as a reader.
pub fn ours_by_reader(path: &Path) -> Report {
    let file = std::fs::File::open(path).expect("it opens");
    let name = path.to_string_lossy();
    let model = OpenOptions::new().open_reader(file, &name).expect("it opens");
    inspect(&model, &InspectOptions::default()).expect("it can be inspected")
}
