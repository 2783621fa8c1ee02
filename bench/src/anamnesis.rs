//! anamnesis as child programs: the default build and one for this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::worker;
use crate::harness::Contestant;
use crate::{Setting, program};

/// Default build as shipped and warm, native build as shipped and warm.
pub const ANAMNESIS: [&str; 4] =
    ["anamnesis", "anamnesis, warm", "anamnesis, native", "anamnesis, native, warm"];

/// Makes malloc keep its pages: no separate maps for large blocks, nothing given back.
pub const KEEP_PAGES: [(&str, &str); 3] = [
    ("MALLOC_MMAP_MAX_", "0"),
    ("MALLOC_TRIM_THRESHOLD_", "68719476736"),
    ("MALLOC_TOP_PAD_", "268435456"),
];

/// anamnesis' child program, built twice.
pub struct Builds {
    pub default: PathBuf,
    pub native: PathBuf,
}

impl Builds {
    /// Builds both; adds a note if that fails.
    pub fn make(setting: &Setting, notes: &mut Vec<String>) -> Option<Self> {
        match [build(None), build(Some(&setting.data.join("native")))] {
            [Some(default), Some(native)] => Some(Self { default, native }),
            _ => {
                notes.push("anamnesis is missing: its child program could not be built".into());
                None
            }
        }
    }

    /// Those of the four contestants that can do what the arguments say.
    pub fn contestants<'a>(&self, arguments: &[&str]) -> Vec<Contestant<'a>> {
        let mut four = Vec::new();
        for (build, names) in [&self.default, &self.native].into_iter().zip(ANAMNESIS.chunks(2)) {
            four.extend(worker(names[0], Command::new(build).args(arguments), 1.0));
            let mut warm = Command::new(build);
            four.extend(worker(names[1], warm.args(arguments).envs(KEEP_PAGES), 1.0));
        }
        four
    }
}

/// Builds anamnesis' program: like this one or, in a folder of its own, for this machine.
fn build(native: Option<&Path>) -> Option<PathBuf> {
    program::release("anamnesis-decode", native)
}
