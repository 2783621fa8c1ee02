//! What every target does with its bytes: open, report, read a little, and hold the library to
//! what it promises.

use std::collections::HashSet;
use std::io::Cursor;

use weighbridge::catalog::TensorInfo;
use weighbridge::internals::source::{Slab, Source};
use weighbridge::ops::{InspectOptions, inspect};
use weighbridge::{ErrorKind, Limits, Model, OpenOptions, Result};

mod answers;
mod archive;
mod bids;
mod folders;
mod importance;
mod invent;
mod names;
mod round_trip;
mod tokenizers;

pub use answers::read_answer;
pub use archive::stored_zip;
pub use bids::settle_bids;
pub use folders::locate;
pub use importance::read_importance;
pub use names::pair_names;
pub use round_trip::convert_and_compare;
pub use tokenizers::read_tokenizer;

/// What is read of one tensor, and of how many.
const MOST_BYTES: u64 = 64 << 10;
const MOST_TENSORS: usize = 256;

/// Small, so that a file which escapes them meets the fuzzer's own memory cap.
fn limits() -> Limits {
    Limits::default()
        .max_allocation(4 << 20)
        .max_total(16 << 20)
        .max_items(50_000)
        .max_pickle_steps(100_000)
}

/// Opens bytes under a name, lent and through a reader, and compares.
pub fn exercise(bytes: &[u8], name: &str) {
    let options = OpenOptions::new().limits(limits());
    let lent = options.open_bytes(bytes.to_vec(), name);
    let read = options.open_reader(Cursor::new(bytes.to_vec()), name);
    if let Ok(model) = &lent {
        check_places(model);
    }
    let (lent, read) = (outcome(lent), outcome(read));
    // What is lent costs nothing, what is read is charged: only a limit may tell them apart.
    if let (Some(lent), Some(read)) = (lent, read) {
        assert_eq!(lent, read, "lent and read bytes give different answers");
    }
}

/// Everything a model says, as text; `None` when a limit or a damaged archive member was met.
fn outcome(model: Result<Model>) -> Option<String> {
    let model = match model {
        Ok(model) => model,
        Err(error) if error.kind() == ErrorKind::Limit => return None,
        Err(error) => return Some(format!("{:?}", error.kind())),
    };
    let options =
        InspectOptions { tensors: true, full_metadata: true, ..InspectOptions::default() };
    let mut text = match inspect(&model, &options) {
        Ok(report) => serde_json::to_string(&report).expect("a report is always JSON"),
        Err(error) if error.kind() == ErrorKind::Limit => return None,
        Err(error) => format!("{:?}", error.kind()),
    };
    for (source, tensor) in stored(&model).take(MOST_TENSORS) {
        let mut scratch = Vec::new();
        let slab = Slab::whole(0, 0, tensor.bytes.min(MOST_BYTES));
        match source.fetch(tensor, &slab, &mut scratch) {
            Ok(staged) => {
                assert_eq!(staged.bytes().len() as u64, slab.row_bytes, "{}", tensor.name);
                let sum = staged
                    .bytes()
                    .iter()
                    .fold(0u64, |sum, &byte| sum.wrapping_mul(0x100_0000_01b3) ^ u64::from(byte));
                text += &format!(" {sum:x}");
            }
            Err(error) if error.kind() == ErrorKind::Limit => return None,
            // A damaged member is noticed when the last of it is read, which depends on how.
            Err(error) if error.message().contains("CRC-32") => return None,
            Err(error) => text += &format!(" {:?}", error.kind()),
        }
    }
    Some(text)
}

/// A tensor said to lie at an offset lies inside the file, unless a finding says it does not.
fn check_places(model: &Model) {
    let truncated = model.findings().iter().filter(|finding| finding.kind == "truncated");
    let missing: HashSet<&str> = truncated.filter_map(|f| f.tensor.as_deref()).collect();
    for (source, tensor) in stored(model) {
        let Some(start) = tensor.file_offset() else {
            continue;
        };
        let inside = start.checked_add(tensor.bytes).is_some_and(|end| end <= source.file_bytes());
        let known = tensor.bytes == 0 || inside || missing.contains(&*tensor.name);
        assert!(known, "`{}` leads outside the file", tensor.name);
    }
}

fn stored(model: &Model) -> impl Iterator<Item = (&Source, &TensorInfo)> {
    model.sources().iter().flat_map(|s| s.catalog().tensors.iter().map(move |t| (s, t)))
}
