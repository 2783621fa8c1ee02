//! What a child cost, according to the system once it has ended.
#![allow(unsafe_code)]

use std::process::Child;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// What a child cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    /// Wall time in seconds.
    pub wall: f64,
    /// User and system time in seconds.
    pub cpu: f64,
    /// Largest resident set in bytes. The system counts from the fork: it is never below what the
    /// parent held then.
    pub peak: u64,
    /// Bytes it read and wrote by system calls, wherever they came from or went to; mapped bytes
    /// do not count. `None` where the system does not say.
    pub moved: Option<Moved>,
    /// What it printed.
    pub output: String,
    /// Whether it succeeded.
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
    /// The bytes of a process that has ended but is not reaped yet: reaping removes its account.
    fn of(child: &Child) -> Option<Self> {
        let text = std::fs::read_to_string(format!("/proc/{}/io", child.id())).ok()?;
        let field =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { read: field("rchar:")?, written: field("wchar:")? })
    }
}

/// Waits until a child has ended and leaves it unreaped; `false` if waiting failed.
fn ended(child: &Child) -> bool {
    // SAFETY: an all-zero siginfo is a valid value of that plain C struct.
    let mut about: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOWAIT;
    // SAFETY: the pid is our own unreaped child; the out-pointer is valid for the call.
    unsafe { libc::waitid(libc::P_PID, child.id(), &raw mut about, options) == 0 }
}

/// Waits for a child and asks what it cost; exit codes up to `well` count as success.
pub fn reap(child: &Child, start: Instant, well: i32) -> Cost {
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
