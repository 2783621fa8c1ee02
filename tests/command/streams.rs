//! Models that go to a stream: what must not be taken for a complete one, and where none is written.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Command, Stdio};

use libtest_mimic::Trial;

use crate::{root, trials};

pub fn trials() -> Vec<Trial> {
    trials!["streams": a_terminal_gets_no_model]
}

/// A terminal: the end that a program holds, and the end that shows what it writes.
fn terminal() -> (OwnedFd, OwnedFd) {
    let (mut shown, mut held) = (-1, -1);
    let nothing = std::ptr::null_mut();
    // SAFETY: the call writes two descriptors, which belong to nobody else; the rest may be null.
    unsafe {
        let done = libc::openpty(
            &raw mut shown,
            &raw mut held,
            nothing,
            std::ptr::null(),
            std::ptr::null(),
        );
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
        (OwnedFd::from_raw_fd(held), OwnedFd::from_raw_fd(shown))
    }
}

fn a_terminal_gets_no_model() {
    let (held, _shown) = terminal();
    let convert = |dry_run: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_weigh"))
            .current_dir(root())
            .args(["convert", "samples/tiny-llama-gptq", "-q", "-o", "-"])
            .args(dry_run)
            .stdin(Stdio::null())
            .stdout(File::from(held.try_clone().unwrap()))
            .output()
            .unwrap()
    };
    // A terminal would take a few thousand bytes of a model and then wait for ever.
    assert_eq!(convert(&["--dry-run"]).status.code(), Some(0));
    let output = convert(&[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("error: standard output: is a terminal"), "{said}");
}
