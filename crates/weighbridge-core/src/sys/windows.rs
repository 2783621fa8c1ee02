//! Windows.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::fs::{File, Metadata};
use std::io;
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
use std::os::windows::io::AsHandle as _;
use std::path::Path;
use std::ptr::null_mut;

use memmap2::Mmap;

use super::{Locked, ReadPattern, SpecialFile};

/// Named pipes have paths of their own and are not opened by accident.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file for writing; named pipes have paths of their own.
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    File::options().write(true).open(path).map(Some)
}

/// Fills `out` from a place of a file, without moving the file's position.
pub fn read_file_at(file: &File, mut out: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !out.is_empty() {
        match file.seek_read(out, offset) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => {
                out = &mut out[read..];
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Writes all of `bytes` at a place of a file.
pub fn write_file_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Windows takes such advice only when a file is opened.
pub fn advise_file(_file: &File, _advice: ReadPattern) {}

/// Maps take no advice here.
pub fn advise_map(_map: &Mmap, _advice: ReadPattern) {}

/// Maps take no advice here.
pub fn map_will_need(_map: &Mmap, _start: usize, _len: usize) {}

/// By their full paths: hard links count as two files.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The standard library does not tell this time.
pub fn change_time(_metadata: &Metadata) -> Option<i128> {
    None
}

/// Not known without asking for the file itself.
pub fn file_number(_metadata: &Metadata) -> Option<(u64, u64)> {
    None
}

/// There is no such limit on handles.
pub fn open_file_limit() -> Option<u64> {
    None
}

/// Whether a file could not be opened because too many are open.
pub fn is_too_many_files(error: &io::Error) -> bool {
    const TOO_MANY_OPEN_FILES: i32 = 4;
    error.raw_os_error() == Some(TOO_MANY_OPEN_FILES)
}

/// A folder cannot be synced here; the file system keeps a journal of names.
pub(super) fn sync_folder(_folder: &Path) {}

pub(super) fn free_space(folder: &Path) -> Option<u64> {
    let folder: Vec<u16> = folder.as_os_str().encode_wide().chain([0]).collect();
    let mut available = 0;
    // SAFETY: the path ends with a zero, `available` is writable, and the other two may be null.
    let done =
        unsafe { GetDiskFreeSpaceExW(folder.as_ptr(), &raw mut available, null_mut(), null_mut()) };
    (done != 0).then_some(available)
}

/// Standard output without a buffer: the one in the standard library looks for the ends of lines,
/// and a model has none.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_handle().try_clone_to_owned().map(File::from)
}

/// It is given back anyway.
pub fn give_memory_back() {}

/// The system decides.
pub fn start_writing(_file: &File) {}

/// The most memory this process ever had, in bytes.
pub fn peak_memory() -> Option<u64> {
    let mut counters = MemoryCounters::default();
    counters.size = u32::try_from(size_of::<MemoryCounters>()).ok()?;
    // SAFETY: the handle of the current process needs no closing, and `counters` has the layout
    // and the size it states.
    let done =
        unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, counters.size) };
    (done != 0).then_some(counters.peak_working_set as u64)
}

/// `ERROR_SHARING_VIOLATION`: somebody else has opened the file.
const SHARING_VIOLATION: i32 = 32;

/// A file that is shared with nobody is a lock.
pub fn open_locked(path: &Path) -> io::Result<Locked> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false).share_mode(0);
    match options.open(path) {
        Ok(file) => Ok(Locked::Held(file)),
        Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(Locked::Busy),
        Err(error) => Err(error),
    }
}

/// An open file cannot be removed, and neither can one that somebody has opened since.
pub fn remove_locked(file: File, path: &Path) {
    drop(file);
    let _ = std::fs::remove_file(path);
}

/// Pipes and devices have paths of their own here.
pub fn special_file(_about: &Metadata) -> Option<SpecialFile> {
    None
}

/// `PROCESS_MEMORY_COUNTERS`.
#[repr(C)]
#[derive(Default)]
struct MemoryCounters {
    size: u32,
    page_faults: u32,
    peak_working_set: usize,
    working_set: usize,
    peak_paged_pool: usize,
    paged_pool: usize,
    peak_nonpaged_pool: usize,
    nonpaged_pool: usize,
    page_file: usize,
    peak_page_file: usize,
}

#[link(name = "kernel32")]
unsafe extern "system" {
    fn GetDiskFreeSpaceExW(
        folder: *const u16,
        available: *mut u64,
        total: *mut u64,
        free: *mut u64,
    ) -> i32;
    fn GetCurrentProcess() -> *mut c_void;
    fn K32GetProcessMemoryInfo(
        process: *mut c_void,
        counters: *mut MemoryCounters,
        size: u32,
    ) -> i32;
}
