//! The library that owns each scheme, in Python: one process per library, kept running.

use std::cell::RefCell;
use std::collections::HashMap;
use std::process::Command;

use weighbridge::Element;
use weighbridge::{DType, bf16, f16};

use super::cases::Case;
use super::checkpoint::Checkpoint;
use super::peers::{SAME, differing};
use crate::buffer::Buffer;
use crate::child::{self, Worker};
use crate::decoding::Subject;
use crate::harness::{Contestant, Rounds, Row, contest};

/// Its name in a contest.
pub const CANONICAL: &str = "Python";

/// The library of a scheme, by its module.
pub fn library(kind: &str) -> &'static str {
    let (scheme, variant) = kind.split_once('/').unwrap_or((kind, ""));
    match (scheme, variant) {
        ("fp8", "e5m2-tensor") => "comfy_kitchen",
        ("fp8", "e4m3-g32-e8m0") | ("nvfp4", _) => "modelopt",
        ("bnb", _) => "bitsandbytes",
        ("compressed", _) => "compressed_tensors",
        ("mlx", _) => "mlx",
        ("gptq", _) => "gptqmodel",
        ("awq", _) => "awq",
        _ => "transformers",
    }
}

/// What was measured with a library.
#[derive(Default)]
pub struct Canonical {
    /// Ours and the library's, at its own type.
    pub rows: Vec<Row>,
    /// Whether both have the same bits, or why it did not run.
    pub checked: Option<String>,
}

/// The running processes; `None` where a library is missing.
#[derive(Default)]
pub struct Libraries(RefCell<HashMap<&'static str, Option<Worker>>>);

impl Libraries {
    /// Ours and the library's.
    pub fn contest(
        &self,
        case: &Case,
        checkpoint: &Checkpoint,
        buffer: &RefCell<Buffer>,
    ) -> Canonical {
        let module = library(case.kind);
        let mut workers = self.0.borrow_mut();
        let worker = workers.entry(module).or_insert_with(|| {
            let python = child::python_with(module)?;
            Worker::spawn(Command::new(python).arg(child::script("scheme_decode.py")))
        });
        let Some(worker) = worker else {
            return Canonical { rows: vec![], checked: Some(child::missing(module)) };
        };
        let out = checkpoint.file().with_extension("out");
        let order = [checkpoint.file().display(), out.display()].map(|path| path.to_string());
        let line = format!("{}\t{}\t{}", order[0], case.kind, order[1]);
        // The first turn prepares, and writes what the library decoded.
        if let Err(problem) = worker.turn_on(&line) {
            return Canonical {
                rows: vec![],
                checked: Some(format!("{module} failed: {problem}")),
            };
        }
        let subject = checkpoint.subject();
        let told = compare(&subject, &std::fs::read(&out).expect("it was written"), buffer);
        let _ = std::fs::remove_file(&out);
        let turn = || worker.turn_on(&line).expect("it did so before");
        let all = vec![native(&subject, buffer), Contestant::reporting(CANONICAL, turn)];
        let rows = contest(all, Rounds { warm_up: 0, timed: 3 });
        Canonical { rows, checked: Some(told) }
    }
}

/// The name of ours in this contest.
pub const NATIVE: &str = "ours, its type";

fn native<'a>(subject: &Subject<'a>, buffer: &'a RefCell<Buffer>) -> Contestant<'a> {
    match subject.weight.native() {
        Some(DType::F32) => subject.ours::<f32>(NATIVE, buffer),
        Some(DType::F16) => subject.ours::<f16>(NATIVE, buffer),
        _ => subject.ours::<bf16>(NATIVE, buffer),
    }
}

fn compare(subject: &Subject<'_>, theirs: &[u8], buffer: &RefCell<Buffer>) -> String {
    let mut buffer = buffer.borrow_mut();
    match subject.weight.native() {
        Some(DType::F32) => compare_as::<f32>(subject, theirs, &mut buffer),
        Some(DType::F16) => compare_as::<f16>(subject, theirs, &mut buffer),
        _ => compare_as::<bf16>(subject, theirs, &mut buffer),
    }
}

fn compare_as<T: Element>(subject: &Subject<'_>, theirs: &[u8], buffer: &mut Buffer) -> String {
    let len = subject.weight.len();
    if theirs.len() != len * size_of::<T>() {
        return format!("{} bytes, expected {}", theirs.len(), len * size_of::<T>());
    }
    subject.weight.decode_into(buffer.view::<T>(len)).expect("it decodes");
    let ours = buffer.bytes(theirs.len());
    let equal = ours.chunks_exact(size_of::<T>()).zip(theirs.chunks_exact(size_of::<T>()));
    match equal.filter(|(a, b)| a != b).count() {
        0 => SAME.to_owned(),
        count => differing(count, len),
    }
}
