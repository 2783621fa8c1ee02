//! A file of any kind, converted in memory: what is written opens again, is what the plan says, and
//! holds the same numbers.
//!
//! ```text
//! 1 byte   the format of the output, and the type of its numbers
//! rest     a file
//! ```

use std::num::NonZeroUsize;

use weighbridge::ops::{self, ConvertOptions, DiffOptions, OutputType};
use weighbridge::{Model, OpenOptions};

use crate::limits;

const FORMATS: [&str; 4] = ["safetensors", "gguf", "npz", "npy"];
const TYPES: [OutputType; 4] =
    [OutputType::Keep, OutputType::Auto, OutputType::F32, OutputType::F16];

/// The most that is written.
const MOST_OUTPUT: u64 = 256 << 10;

/// Converts a file, opens the result, verifies it and compares it with the file.
pub fn convert_and_compare(bytes: &[u8]) {
    let Some((&choice, file)) = bytes.split_first() else { return };
    let choice = usize::from(choice);
    let (format, dtype) = (FORMATS[choice % 4], TYPES[choice / 4 % 4]);
    let Ok(model) = OpenOptions::new().limits(limits()).open_bytes(file.to_vec(), "x.bin") else {
        return;
    };
    let options = ConvertOptions::new("-")
        .to(format)
        .dtype(dtype)
        .max_output(MOST_OUTPUT)
        .threads(NonZeroUsize::MIN);
    let mut written = Vec::new();
    let Ok(report) = ops::convert_to(&model, &options, &mut written) else { return };
    assert_eq!(written.len() as u64, report.write_bytes, "other than planned");
    let name = format!("x.{format}");
    let output = Model::open_bytes(written, &name);
    let output = output.unwrap_or_else(|error| panic!("{format} {dtype:?}: {error}"));
    assert_eq!(output.format(), format);
    let verified = ops::verify(&output, &model, &options);
    let verified = verified.unwrap_or_else(|error| panic!("{format} {dtype:?}: {error}"));
    assert!(verified.ok, "{format} {dtype:?}: {verified:?}");
    compare(&model, &output, dtype);
}

/// What is kept as it is stored cannot have changed. (Names may be fewer: ties are written once.)
fn compare(model: &Model, output: &Model, dtype: OutputType) {
    let options = DiffOptions::default().threads(NonZeroUsize::MIN);
    let Ok(report) = ops::diff(model, output, &options) else { return };
    let is_plain = model.weights().all(|weight| weight.scheme() == "plain");
    if dtype == OutputType::Keep && is_plain {
        assert_eq!(report.summary.changed, 0, "{:?}", report.tensors);
    }
}
