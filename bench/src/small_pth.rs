//! Thousands of small PyTorch files.

use std::path::{Path, PathBuf};

use crate::{Setting, fixtures, pth_file};

/// How many files.
pub const COUNT: usize = 5000;

/// The folder of the files: saved by torch or, if torch is missing, written by hand.
pub fn folder(setting: &Setting, notes: &mut Vec<String>) -> PathBuf {
    let script = ("torch", "small_pth.py", COUNT.to_string());
    fixtures::by_python_or(setting, "small-pth", script, notes, |folder| {
        std::fs::create_dir_all(folder)?;
        (0..COUNT as u64).try_for_each(|i| {
            // Two or four layers of a weight and a bias, as torch's have.
            let tensors = if i % 3 == 0 { 8 } else { 4 };
            let name = |t| format!("{}.{}", t / 2, if t % 2 == 0 { "weight" } else { "bias" });
            pth_file::write(&folder.join(format!("{i:05}.pth")), tensors, 16 * (4 + i % 12), name)
        })
    })
}

/// The files of a folder, in order.
pub fn files_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder can be listed");
    let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}
