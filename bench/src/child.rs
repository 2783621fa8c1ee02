//! Child programs, measured for time, memory, and bytes read and written.
#![allow(unsafe_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::harness::Contestant;

/// What a child cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Wall time in seconds.
    pub wall: f64,
    /// User and system time in seconds.
    pub cpu: f64,
    /// Largest resident set in bytes, as the system counts it: this program's own share before
    /// the child replaced it included.
    pub peak: u64,
    /// Bytes it read and wrote by system calls, wherever they came from or went to: what it mapped
    /// is not among them. `None` where the system does not say.
    pub moved: Option<Moved>,
    /// What it printed.
    pub output: String,
    /// Whether it ended well.
    pub ok: bool,
}

/// Bytes that went through system calls.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Moved {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

impl Moved {
    /// Of a process that has ended but is not reaped yet: its account goes with it.
    fn of(child: &Child) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{}/io", child.id())).ok()?;
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { read: field("rchar:")?, written: field("wchar:")? })
    }
}

/// Waits until a child has ended and leaves it unreaped; whether that went well.
fn ended(child: &Child) -> bool {
    // SAFETY: an all-zero siginfo is a valid value of that plain C struct.
    let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: the pid is our own unreaped child; the out-pointer is valid for the call.
    unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut about, options) == 0 }
}

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

/// Waits for a child and asks what it cost; exit codes up to `well` are a good end.
fn reap(child: &Child, start: Instant, well: i32) -> Cost {
    let ended = ended(child);
    let wall = start.elapsed().as_secs_f64();
    let moved = if ended { Moved::of(child) } else { None };
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid value of that plain C struct.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pid is our own unreaped child; both out-pointers are valid for the call.
    let reaped =
        unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, &raw mut usage) };
    let time = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Cost {
        wall,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak: usage.ru_maxrss.cast_unsigned() * 1024,
        moved,
        output: String::new(),
        ok: reaped > 0 && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) <= well,
    }
}

/// What this program is called with to be the small parent of a child.
pub const APART: &str = "measured-apart";

/// Runs a program to its end, its standard output thrown away, as the child of a small parent:
/// its peak is then its own, however much this program has held. The output is what it said on
/// standard error; an exit code other than 0 is not well.
pub fn run_apart(command: &Command) -> std::io::Result<Cost> {
    let mut parent = Command::new(std::env::current_exe()?);
    parent.arg(APART).arg(command.get_program()).args(command.get_args());
    parent.envs(command.get_envs().filter_map(|(key, value)| Some((key, value?))));
    let Cost { output, .. } = run(&mut parent)?;
    serde_json::from_str(&output).map_err(std::io::Error::other)
}

/// The small parent: runs what the arguments say and prints the cost.
pub fn apart(arguments: &[String]) -> std::io::Result<()> {
    let (program, rest) = arguments.split_first().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut command = Command::new(program);
    command.args(rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let start = Instant::now();
    let mut child = command.spawn()?;
    let mut said = Vec::new();
    if let Some(mut stderr) = child.stderr.take() {
        stderr.read_to_end(&mut said)?;
    }
    let output = String::from_utf8_lossy(&said).into_owned();
    let cost = Cost { output, ..reap(&child, start, 0) };
    println!("{}", serde_json::to_string(&cost)?);
    Ok(())
}

/// A child that does its job once for every line it is given, and answers with the seconds.
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

    /// One turn: its seconds.
    pub fn turn(&mut self) -> Option<f64> {
        self.turn_on("").ok()
    }

    /// One turn on what the line says: its seconds, or what it says instead.
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
        // Its input ends, and so does it.
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

/// A Python that has `module`, or all of `first,second`: the (first) library's own variable, `$BENCH_PYTHON`, or the one on the path.
pub fn python_with(module: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable(module)).or_else(|| std::env::var_os("BENCH_PYTHON"));
    let python = set.map_or_else(|| "python3".into(), PathBuf::from);
    let mut probe = Command::new(&python);
    // Without importing it, which takes some libraries many seconds.
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
        // What a shell's own child moved counts, too: it was waited for.
        let moved = cost.moved.unwrap();
        assert!((3 << 20..4 << 20).contains(&moved.read), "{moved:?}");
        assert!((3 << 20..4 << 20).contains(&moved.written), "{moved:?}");
        for file in [path, copy] {
            std::fs::remove_file(file).unwrap();
        }
    }
}
