//! Linux, macOS and other Unix systems.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, IntoRawFd as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

pub(super) const SPEAKS_UNICODE: bool = false;

pub(super) fn standard_input() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}

pub(super) fn is_file_at(file: &File, path: &Path) -> bool {
    let both = (file.metadata(), path.metadata());
    matches!(both, (Ok(a), Ok(b)) if (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

pub(super) fn is_piped_to(path: &Path) -> bool {
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from);
    output.is_ok_and(|output| {
        let is_pipe = output.metadata().is_ok_and(|about| about.file_type().is_fifo());
        is_pipe && is_file_at(&output, path)
    })
}

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Runs before `main`, and so before the standard library reopens closed streams.
extern "C" fn look_at_standard_output() {
    // SAFETY: the call only asks; a descriptor that is not open is an error.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags == -1, Ordering::Relaxed);
}

// SAFETY: the system calls every entry of this section once, as the C function it is.
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look_at_standard_output;

pub(super) fn standard_output_was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

/// The termination signals that can be caught.
const SIGNALS: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The pipe that [`pass_on`] writes signal numbers to.
static SIGNAL_PIPE: AtomicI32 = AtomicI32::new(-1);

/// Passes a signal to the waiting thread. A signal handler may do little else.
extern "C" fn pass_on(signal: libc::c_int) {
    let number = signal.to_le_bytes();
    // SAFETY: `write` may be called here, and reads one byte of `number`. The pipe is never closed.
    unsafe { libc::write(SIGNAL_PIPE.load(Ordering::Relaxed), number.as_ptr().cast(), 1) };
}

pub(super) fn on_request_to_end(mut stop: impl FnMut(u8) + Send + 'static) -> io::Result<()> {
    let (mut signals, pipe) = io::pipe()?;
    SIGNAL_PIPE.store(pipe.into_raw_fd(), Ordering::Relaxed);
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        let mut number = [0];
        while signals.read_exact(&mut number).is_ok() {
            // The convention of shells.
            stop(128 + number[0]);
        }
    })?;
    SIGNALS.iter().try_for_each(|&signal| catch(signal))
}

/// Installs the handler of a signal, unless it is a hang-up that the parent (`nohup`) ignores.
fn catch(signal: libc::c_int) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: `action` has room for what the call writes, and nothing is changed.
    if unsafe { libc::sigaction(signal, null_mut(), action.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so it has filled `action`.
    let mut action = unsafe { action.assume_init() };
    if signal == libc::SIGHUP && action.sa_sigaction == libc::SIG_IGN {
        return Ok(());
    }
    action.sa_sigaction = pass_on as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = libc::SA_RESTART;
    // SAFETY: `pass_on` is a handler of the kind that `sa_flags` states, and does only what a
    // handler may.
    match unsafe { libc::sigaction(signal, &raw const action, null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
