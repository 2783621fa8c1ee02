//! The other tools: anamnesis as child programs, ggml's C as a library, gguf-py in Python.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::buffer::Buffer;
use crate::child::{self, Worker};
use crate::decoding::{COLUMNS, ROWS};
use crate::harness::Contestant;
use crate::random_blocks::BlockFile;
use crate::{Setting, ggml};

/// anamnesis, to bf16: default build as shipped and warm, native build as shipped and warm.
pub const ANAMNESIS: [&str; 4] =
    ["anamnesis", "anamnesis, warm", "anamnesis, native", "anamnesis, native, warm"];
/// ggml's C, to f32.
pub const GGML: &str = "ggml's C";
/// gguf-py, to f32.
pub const GGUF_PY: &str = "gguf-py";

/// gguf-py decodes this many rows, and its time is multiplied up to all of them.
const PYTHON_ROWS: u64 = 256;

/// What makes malloc keep its pages: no maps of their own for large blocks, nothing given back.
const KEEP_PAGES: [(&str, &str); 3] = [
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "68719476736"),
    ("MALLOC_TOP_PAD_", "268435456"),
];

/// Those that are there.
#[derive(Default)]
pub struct Peers {
    anamnesis: Option<[PathBuf; 2]>,
    ggml: Option<ggml::Library>,
    python: Option<PathBuf>,
}

impl Peers {
    /// Nobody.
    pub fn none() -> Self {
        Self::default()
    }

    /// Looks for everyone; who is missing, and how to change that, goes to the notes.
    pub fn find(setting: &Setting, notes: &mut Vec<String>) -> Self {
        let builds = [build(None), build(Some(&setting.data.join("native")))];
        let anamnesis = match builds {
            [Some(default), Some(native)] => Some([default, native]),
            _ => {
                notes.push("anamnesis is missing: its child program could not be built".into());
                None
            }
        };
        let ggml = ggml::Library::open().map_err(|missing| notes.push(missing)).ok();
        let python = child::python_with("gguf");
        match (&ggml, &python) {
            (_, None) => notes.push(child::missing("gguf")),
            (_, Some(_)) => notes.push(format!(
                "gguf-py decodes {PYTHON_ROWS} rows; its time is multiplied up to {ROWS} (it works row by row)"
            )),
        }
        if let Some(library) = &ggml {
            notes.push(format!("ggml's C is version {}", library.version()));
        }
        Self { anamnesis, ggml, python }
    }

    /// Adds those who can decode this file to a contest. What is returned is the file they read,
    /// which goes when it is dropped.
    pub fn join<'a>(
        &self,
        setting: &Setting,
        file: &'a BlockFile,
        buffer: &'a RefCell<Buffer>,
        contest: &mut Vec<Contestant<'a>>,
    ) -> OnDisk {
        let path = setting.data.join(format!("decode-{}.gguf", file.block.name));
        std::fs::write(&path, &file.bytes).expect("the input can be written");
        for (build, names) in self.anamnesis.iter().flatten().zip(ANAMNESIS.chunks(2)) {
            contest.extend(worker(names[0], Command::new(build).arg(&path), 1.0));
            contest.extend(worker(names[1], Command::new(build).arg(&path).envs(KEEP_PAGES), 1.0));
        }
        if let Some(decoder) = self.ggml.as_ref().and_then(|library| library.decoder(file.block)) {
            contest.push(Contestant::timed(GGML, move || {
                decoder.decode(file.blocks(), buffer.borrow_mut().view(file.elements()));
            }));
        }
        if let Some(python) = &self.python {
            let row_bytes = file.blocks().len() as u64 / ROWS;
            let numbers = [file.data.to_string(), PYTHON_ROWS.to_string(), row_bytes.to_string()];
            let mut command = Command::new(python);
            command.arg(child::script("gguf_decode.py")).arg(&path);
            command.args([&numbers[0], file.block.name, &numbers[1], &numbers[2]]);
            contest.extend(worker(GGUF_PY, &mut command, ROWS as f64 / PYTHON_ROWS as f64));
        }
        debug_assert_eq!(file.columns, COLUMNS);
        OnDisk(path)
    }
}

/// A file that is removed when it is no longer needed.
pub struct OnDisk(PathBuf);

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A child that takes part; `None` where it cannot decode the file.
fn worker<'a>(name: &str, command: &mut Command, factor: f64) -> Option<Contestant<'a>> {
    let mut worker = Worker::start(command)?;
    let turn = move || worker.turn().expect("the child answers") * factor;
    Some(Contestant::reporting(name, turn))
}

/// Builds anamnesis' child program, like this one or, in a folder of its own, for this machine.
fn build(native: Option<&Path>) -> Option<PathBuf> {
    let beside = std::env::current_exe().ok()?;
    let folder = native.or_else(|| beside.parent()?.parent())?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--release", "-p", "anamnesis-decode"]);
    command.arg("--manifest-path").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"));
    command.arg("--target-dir").arg(folder);
    if native.is_some() {
        command.env("RUSTFLAGS", "-C target-cpu=native");
    }
    let built = command.status().ok()?.success();
    built.then(|| folder.join("release/anamnesis-decode"))
}
