//! The programs that convert: ours, anamnesis', and scripts as people write them.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::cases::Case;
use crate::large::Large;
use crate::{Setting, child, program};

/// anamnesis' program in the table.
pub const AMN: &str = "amn";
/// The scripts in the table.
pub const PYTHON: &str = "Python";

/// The programs that were found.
pub struct Peers {
    weigh: PathBuf,
    amn: Option<PathBuf>,
    quick: bool,
}

impl Peers {
    /// Builds ours and looks for the others; the notes say which are missing and how to get them.
    pub fn find(setting: &Setting, notes: &mut Vec<String>) -> Self {
        let weigh = program::release("weigh", None).expect("weigh can be built");
        let named = std::env::var_os("BENCH_AMN").map_or_else(|| "amn".into(), PathBuf::from);
        let there = child::run(Command::new(&named).arg("--version")).is_ok_and(|cost| cost.ok);
        if !there {
            notes.push(
                "amn is missing: RUSTFLAGS=-Ctarget-cpu=native cargo install anamnesis --version \
                 0.7.10 --all-features, and set BENCH_AMN to it unless it is on the path"
                    .into(),
            );
        }
        Self { weigh, amn: there.then_some(named), quick: setting.quick }
    }

    /// Ours.
    pub fn ours(&self, case: &Case, source: &Large, output: &Path, threads: usize) -> Command {
        let mut command = Command::new(&self.weigh);
        command.arg("convert").arg(&source.model).arg("-o").arg(output);
        command.args(["-q", "--no-mmap", "-j", &threads.to_string()]).args(case.flags);
        command
    }

    /// Ours, comparing an output with its source.
    pub fn verify(&self, source: &Large, output: &Path) -> Command {
        let mut command = Command::new(&self.weigh);
        command.arg("verify").arg(output).arg("--against").arg(&source.model);
        command.args(["-q", "--no-mmap", "-j", "2"]);
        command
    }

    /// Bytes of an output that goes to the standard output.
    pub fn stdout_bytes(&self, case: &Case, source: &Large) -> u64 {
        let mut command = Command::new(&self.weigh);
        let to = source.file.with_file_name("out.safetensors");
        command.arg("convert").arg(&source.model).arg("-o").arg(to).args(case.flags);
        let cost = child::run(command.args(["--dry-run", "--json"])).expect("weigh runs");
        let report: serde_json::Value = serde_json::from_str(&cost.output).unwrap_or_default();
        report["write_bytes"].as_u64().unwrap_or_else(|| panic!("no bytes are in {report}"))
    }

    /// The others that can do it.
    pub fn others(
        &self,
        case: &Case,
        source: &Large,
        output: &Path,
    ) -> Vec<(&'static str, Command)> {
        let mut others = Vec::new();
        if self.quick {
            return others;
        }
        if let Some(amn) = self.amn.as_ref().filter(|_| !case.amn.is_empty()) {
            let mut command = Command::new(amn);
            command.args(case.amn).arg(&source.file).arg("-o").arg(output);
            others.push((AMN, command));
        }
        if let Some((kind, module)) = case.python
            && let Some(python) = child::python_with(module)
        {
            let mut command = Command::new(python);
            command.arg(child::script("convert.py")).arg(kind).arg(&source.file).arg(output);
            others.push((PYTHON, command));
        }
        others
    }
}
