//! Linux.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd as _;

use super::ReadPattern;

pub use super::unix::*;

/// Says how a file will be read.
pub fn advise_file(file: &File, advice: ReadPattern) {
    let advice = match advice {
        ReadPattern::Random => libc::POSIX_FADV_RANDOM,
        ReadPattern::Normal => libc::POSIX_FADV_NORMAL,
        ReadPattern::Sequential => libc::POSIX_FADV_SEQUENTIAL,
    };
    // SAFETY: the descriptor is open for the duration of the call; the advice changes no memory.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) };
}

/// Lets the system begin to write to the disk what was written to a file so far, without waiting for it.
pub fn start_writing(file: &File) {
    // SAFETY: the descriptor is open for the duration of the call, which touches no memory of ours.
    unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Lets the allocator give long stretches back as soon as they are free. Otherwise it learns to keep them,
/// for each thread. For programs: a library does not set what belongs to the whole process.
#[cfg(target_env = "gnu")]
pub fn give_memory_back() {
    // SAFETY: sets a number of the allocator, which it looks at when memory is asked for.
    unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, 128 << 10) };
}

/// Lets the allocator give long stretches back as soon as they are free. Otherwise it learns to keep them,
/// for each thread. For programs: a library does not set what belongs to the whole process.
#[cfg(not(target_env = "gnu"))]
pub fn give_memory_back() {}

/// The most memory this process ever had, in bytes.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
