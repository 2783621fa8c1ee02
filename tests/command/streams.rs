//! Models that go to a stream: what must not be taken for a complete one, and where none is written.

use std::fs::File;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::Trial;

use crate::{program, pseudo_terminal, root, trials};

pub fn trials() -> Vec<Trial> {
    let mut trials = trials!["streams": a_terminal_gets_no_model];
    let place = tempfile::tempdir().unwrap();
    let device = block_device(place.path());
    trials.extend(trials!["streams": a_disk_is_never_overwritten].into_iter().map(|trial| {
        // Only root can make one.
        trial.with_ignored_flag(device.is_none())
    }));
    trials
}

/// A block device that no driver answers for, so that nothing can be lost.
fn block_device(folder: &Path) -> Option<PathBuf> {
    let path = folder.join("disk");
    let made = Command::new("mknod").arg(&path).args(["b", "240", "0"]).output();
    made.ok().filter(|made| made.status.success()).map(|_| path)
}

fn a_disk_is_never_overwritten() {
    let place = tempfile::tempdir().unwrap();
    let device = block_device(place.path()).unwrap();
    for force in [&[][..], &["--force"]] {
        let output = Command::new(program())
            .current_dir(root())
            .args(["convert", "samples/tiny-llama-gptq", "-q", "-o"])
            .arg(&device)
            .args(force)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("is a disk or partition and is never overwritten"), "{said}");
        assert!(device.symlink_metadata().unwrap().file_type().is_block_device());
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1);
    }
}

fn a_terminal_gets_no_model() {
    let (_shown, held) = pseudo_terminal::open(80);
    let convert = |dry_run: &[&str]| {
        Command::new(program())
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
    assert!(
        said.starts_with("error: standard output: cannot write a model to a terminal"),
        "{said}"
    );
}
