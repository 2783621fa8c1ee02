//! macOS, and the other systems of the Unix family.
#![allow(unsafe_code)]

use std::fs::File;
use std::mem::MaybeUninit;

use super::ReadPattern;

pub use super::unix::*;

/// The system detects read patterns by itself.
pub fn advise_file(_file: &File, _advice: ReadPattern) {}

/// It is given back anyway.
pub fn give_memory_back() {}

/// The system decides.
pub fn start_writing(_file: &File) {}

/// The most memory this process ever had, in bytes.
pub fn peak_memory() -> Option<u64> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: `usage` has room for what the call writes.
    if unsafe { libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so it has filled `usage`.
    let usage = unsafe { usage.assume_init() };
    // Apple counts bytes, the others kilobytes.
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    u64::try_from(usage.ru_maxrss).ok()?.checked_mul(unit)
}
