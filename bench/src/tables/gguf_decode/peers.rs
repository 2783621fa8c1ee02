//! The other tools: anamnesis as child programs, ggml's C as a library, gguf-py in Python, candle
//! as a child program.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;

use crate::anamnesis::Builds;
use crate::buffer::Buffer;
use crate::child::{self, worker};
use crate::decoding::{COLUMNS, ROWS};
use crate::harness::Contestant;
use crate::random_blocks::BlockFile;
use crate::{Setting, candle, ggml};

/// ggml's C, to f32.
pub const GGML: &str = "ggml's C";
/// gguf-py, to f32.
pub const GGUF_PY: &str = "gguf-py";

/// gguf-py decodes this many rows, and its time is scaled up to all of them.
const PYTHON_ROWS: u64 = 256;

/// The tools that were found.
#[derive(Default)]
pub struct Peers {
    anamnesis: Option<Builds>,
    ggml: Option<ggml::Library>,
    python: Option<PathBuf>,
    candle: Option<PathBuf>,
}

impl Peers {
    /// No peers.
    pub fn none() -> Self {
        Self::default()
    }

    /// Looks for every tool; the notes say which are missing and how to get them.
    pub fn find(setting: &Setting, notes: &mut Vec<String>) -> Self {
        let anamnesis = Builds::make(setting, notes);
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
        let candle = candle::build(setting, notes);
        Self { anamnesis, ggml, python, candle }
    }

    /// Adds the peers that can decode this file to a contest. Returns the file they read, which is
    /// removed when it is dropped.
    pub fn join<'a>(
        &self,
        setting: &Setting,
        file: &'a BlockFile,
        buffer: &'a RefCell<Buffer>,
        contest: &mut Vec<Contestant<'a>>,
    ) -> OnDisk {
        let path = setting.data.join(format!("decode-{}.gguf", file.block.name));
        std::fs::write(&path, &file.bytes).expect("the input can be written");
        if let Some(builds) = &self.anamnesis {
            contest.extend(builds.contestants(&[&path.to_string_lossy()]));
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
        // No note where candle cannot decode a type: an empty cell says so.
        let unable = &mut Vec::new();
        contest.extend(candle::contestant(self.candle.as_deref(), "decode", &path, unable));
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
