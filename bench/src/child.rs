//! Child programs, measured for time, memory, and bytes read and written.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::cost::{Cost, reap};
use crate::harness::Contestant;
use crate::program;

/// Runs a program to its end.
pub fn run(command: &mut Command) -> std::io::Result<Cost> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
    let mut output = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut output)?;
    }
    let cost = reap(&child, start, 1);
    Ok(Cost { output, ..cost })
}

/// Runs a program to its end as the child of `measured_apart`, which is small: the program's peak
/// is then its own, however much this one holds. Its standard output is discarded; the reported
/// output is its standard error. Any exit code other than 0 is a failure.
pub fn run_apart(command: &Command) -> std::io::Result<Cost> {
    let mut parent = Command::new(program::helper("measured_apart"));
    parent.arg(command.get_program()).args(command.get_args());
    parent.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let Cost { output, .. } = run(&mut parent)?;
    serde_json::from_str(&output).map_err(std::io::Error::other)
}

/// A child that does its job once for every line it is given, and answers with the seconds it took.
pub struct Worker {
    child: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts it; `None` if it cannot be started or fails at its first turn.
    pub fn start(command: &mut Command) -> Option<Self> {
        let mut worker = Self::spawn(command)?;
        worker.turn().is_some().then_some(worker)
    }

    /// Starts it; `None` if that fails.
    pub fn spawn(command: &mut Command) -> Option<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let orders = child.stdin.take();
        let answers = BufReader::new(child.stdout.take()?);
        Some(Self { child, orders, answers })
    }

    /// One turn; returns its seconds.
    pub fn turn(&mut self) -> Option<f64> {
        self.turn_on("").ok()
    }

    /// One turn on what the line says; returns its seconds, or what the child said instead.
    pub fn turn_on(&mut self, line: &str) -> Result<f64, String> {
        let mut answer = String::new();
        let asked = self.orders.as_mut().map(|orders| writeln!(orders, "{line}"));
        if matches!(asked, Some(Ok(()))) {
            let _ = self.answers.read_line(&mut answer);
        }
        answer.trim().parse().map_err(|_| answer.trim().to_owned())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The child ends when its input does.
        drop(self.orders.take());
        let _ = self.child.wait();
    }
}

/// A child that takes part in a contest; `None` where it cannot do its job.
pub fn worker<'a>(name: &str, command: &mut Command, factor: f64) -> Option<Contestant<'a>> {
    let mut worker = Worker::start(command)?;
    let turn = move || worker.turn().expect("the child answers") * factor;
    Some(Contestant::reporting(name, turn))
}

/// The variable that names a Python for one library alone: `BENCH_PYTHON_BITSANDBYTES`.
pub fn variable(module: &str) -> String {
    let first = module.split(',').next().unwrap_or(module);
    format!("BENCH_PYTHON_{}", first.to_uppercase().replace('.', "_"))
}

/// A Python that has `module`, or all of `first,second`: named by the (first) library's own
/// variable, by `$BENCH_PYTHON`, or the one on the path.
pub fn python_with(module: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable(module)).or_else(|| std::env::var_os("BENCH_PYTHON"));
    let python = set.map_or_else(|| "python3".into(), PathBuf::from);
    let mut probe = Command::new(&python);
    // Does not import the library: for some that takes many seconds.
    let code = format!(
        "from importlib.util import find_spec as f; exit(0 if all(map(f, '{module}'.split(','))) else 2)"
    );
    probe.args(["-c", &code]).stderr(Stdio::null());
    run(&mut probe).is_ok_and(|cost| cost.ok).then_some(python)
}

/// A script of ours under `bench/python`.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("python").join(name)
}

/// The note for a missing Python library.
pub fn missing(module: &str) -> String {
    format!(
        "{module} is missing: install it in an environment and set BENCH_PYTHON, or {} for this \
         library alone, to its python",
        variable(module)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_asked_for_all_it_cost() {
        let path = std::env::temp_dir().join(format!("bench-child-{}", std::process::id()));
        std::fs::write(&path, vec![7; 3 << 20]).unwrap();
        let copy = path.with_extension("copy");
        let script = format!("dd if={} of={} bs=65536 status=none", path.display(), copy.display());
        let cost = run(Command::new("sh").args(["-c", &script])).unwrap();
        assert!(cost.ok && cost.wall > 0.0 && cost.peak > 0);
        // The bytes that the shell's own child moved count too: the shell waited for it.
        let moved = cost.moved.unwrap();
        assert!((3 << 20..4 << 20).contains(&moved.read), "{moved:?}");
        assert!((3 << 20..4 << 20).contains(&moved.written), "{moved:?}");
        for file in [path, copy] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
