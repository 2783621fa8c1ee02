//! A terminal that a test holds both ends of.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Output, Stdio};

/// A terminal of so many columns: the end that shows what is written, and the end that a program
/// holds. Line ends stay as the program writes them.
pub fn open(columns: u16) -> (OwnedFd, OwnedFd) {
    let (mut shown, mut held) = (-1, -1);
    let size = libc::winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the call writes two descriptors, which belong to nobody else, and reads the size; the
    // rest may be null.
    let (shown, held) = unsafe {
        let done = libc::openpty(
            &raw mut shown,
            &raw mut held,
            std::ptr::null_mut(),
            std::ptr::null(),
            &raw const size,
        );
        assert_eq!(done, 0, "no terminal: {}", io::Error::last_os_error());
        let mut modes: libc::termios = std::mem::zeroed();
        assert_eq!(libc::tcgetattr(held, &raw mut modes), 0);
        modes.c_oflag &= !libc::OPOST;
        assert_eq!(libc::tcsetattr(held, libc::TCSANOW, &raw const modes), 0);
        (OwnedFd::from_raw_fd(shown), OwnedFd::from_raw_fd(held))
    };
    (shown, held)
}

/// What a command gives whose standard output is a terminal of so many columns. Standard error is a
/// pipe, so that the streams stay apart.
pub fn output(command: &mut Command, columns: u16) -> io::Result<Output> {
    let (shown, held) = open(columns);
    let mut child = command.stdout(Stdio::from(held)).stderr(Stdio::piped()).spawn()?;
    // The command would keep the end that the program holds open; reading ends when nobody does.
    command.stdout(Stdio::null());
    let reading = std::thread::spawn(move || everything(File::from(shown)));
    let mut stderr = Vec::new();
    child.stderr.take().expect("it is piped").read_to_end(&mut stderr)?;
    let status = child.wait()?;
    Ok(Output { status, stdout: reading.join().expect("reading does not panic"), stderr })
}

/// All that a terminal shows. Linux gives an error at the end, others do not.
fn everything(mut shown: File) -> Vec<u8> {
    let mut all = Vec::new();
    let _ = shown.read_to_end(&mut all);
    all
}
