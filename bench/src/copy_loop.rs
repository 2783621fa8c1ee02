//! The least that converting a file must do: read every byte of the input and write as many bytes
//! as the output has, with as many threads. It is a separate program, so that it is measured like
//! the others.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// The argument that makes this program the copy loop.
pub const COPY_LOOP: &str = "copy-loop";

/// Bytes of the output that are written at once.
const PIECE: u64 = 1 << 20;

/// A copy: what is read, what is written.
pub struct Copy<'a> {
    pub input: &'a Path,
    pub output: &'a Path,
    /// Bytes of the output.
    pub bytes: u64,
    pub threads: usize,
    /// Whether the output must be on the disk at the end.
    pub sync: bool,
}

impl Copy<'_> {
    /// The child program that copies.
    pub fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.arg(COPY_LOOP).arg(self.input).arg(self.output);
        command.args([self.bytes.to_string(), self.threads.to_string(), self.sync.to_string()]);
        command
    }

    fn run(&self) -> std::io::Result<()> {
        let (input, output) = (File::open(self.input)?, File::create(self.output)?);
        if output.metadata()?.is_file() {
            output.set_len(self.bytes)?;
        }
        let task = Task {
            len: input.metadata()?.len(),
            input,
            output,
            bytes: self.bytes,
            next: AtomicU64::new(0),
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.threads).map(|_| scope.spawn(|| task.work())).collect();
            let own = task.work();
            others
                .into_iter()
                .map(|other| other.join().expect("it does not panic"))
                .fold(own, Result::and)
        })?;
        if self.sync { task.output.sync_all() } else { Ok(()) }
    }
}

struct Task {
    input: File,
    len: u64,
    output: File,
    bytes: u64,
    next: AtomicU64,
}

impl Task {
    fn work(&self) -> std::io::Result<()> {
        let pieces = self.bytes.div_ceil(PIECE);
        // Where a piece of the input or output begins; in u128, since both factors are large.
        let share = |len: u64, piece: u64| {
            (u128::from(len) * u128::from(piece) / u128::from(pieces)) as u64
        };
        let mut read = vec![1; (self.len.div_ceil(pieces) + 1) as usize];
        let write = vec![1; PIECE as usize];
        loop {
            let piece = self.next.fetch_add(1, Ordering::Relaxed);
            if piece >= pieces {
                return Ok(());
            }
            let (from, to) = (share(self.len, piece), share(self.len, piece + 1));
            self.input.read_exact_at(&mut read[..(to - from) as usize], from)?;
            let (from, to) = (share(self.bytes, piece), share(self.bytes, piece + 1));
            self.output.write_all_at(&write[..(to - from) as usize], from)?;
        }
    }
}

/// The child.
pub fn child(arguments: &[String]) -> std::io::Result<()> {
    let [input, output, bytes, threads, sync] = arguments else {
        return Err(std::io::ErrorKind::InvalidInput.into());
    };
    let number = |text: &String| text.parse().map_err(std::io::Error::other);
    let copy = Copy {
        input: Path::new(input),
        output: Path::new(output),
        bytes: number(bytes)?,
        threads: number(threads)? as usize,
        sync: sync == "true",
    };
    copy.run()
}
