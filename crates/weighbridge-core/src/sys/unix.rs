//! What Linux, macOS and the BSDs have in common.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::fs::{File, Metadata};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use memmap2::Mmap;

use super::{Locked, ReadPattern, SpecialFile};

/// Opens a file for reading. A named pipe is opened too, without waiting for somebody to write to
/// it; the caller refuses what is not a regular file.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Opens a named pipe for writing. Returns `None` while the pipe has no reader. Writes block.
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    match File::options().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        Err(error) => Err(error),
        Ok(pipe) => wait_when_full(&pipe).map(|()| Some(pipe)),
    }
}

/// Lets writes to a file wait until there is room.
fn wait_when_full(file: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open for the duration of the call, which changes no memory.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above; only a flag of the open file is changed.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Fills `out` from a place of a file, without moving the file's position.
pub fn read_file_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(out, offset)
}

/// Writes all of `bytes` at a place of a file.
pub fn write_file_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Says how a mapped file will be read.
pub fn advise_map(map: &Mmap, advice: ReadPattern) {
    let advice = match advice {
        ReadPattern::Random => memmap2::Advice::Random,
        ReadPattern::Normal => memmap2::Advice::Normal,
        ReadPattern::Sequential => memmap2::Advice::Sequential,
    };
    // The pages can be read without it.
    let _ = map.advise(advice);
}

/// Says that these bytes of a map will be read soon. They must lie inside it.
pub fn map_will_need(map: &Mmap, start: usize, len: usize) {
    // The pages can be read without it.
    let _ = map.advise_range(memmap2::Advice::WillNeed, start, len);
}

/// Whether two paths lead to one file, through links of any kind.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|file| (file.dev(), file.ino()));
    identity(a).is_some_and(|a| identity(b) == Some(a))
}

/// When the system last saw a file change, in nanoseconds: programs cannot set this time.
pub fn change_time(metadata: &Metadata) -> Option<i128> {
    Some(i128::from(metadata.ctime()) * 1_000_000_000 + i128::from(metadata.ctime_nsec()))
}

/// The number of a file, and of the disk it is on.
pub fn file_number(metadata: &Metadata) -> Option<(u64, u64)> {
    Some((metadata.dev(), metadata.ino()))
}

/// How many files this process may have open.
pub fn open_file_limit() -> Option<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: `limit` has room for what the call writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so it has filled `limit`.
    Some(widened(unsafe { limit.assume_init() }.rlim_cur))
}

/// Whether a file could not be opened because too many are open.
pub fn is_too_many_files(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

pub(super) fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

pub(super) fn free_space(folder: &Path) -> Option<u64> {
    let folder = CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut system = MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path ends with a zero byte, and `system` has room for what the call writes.
    if unsafe { libc::statvfs(folder.as_ptr(), system.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call succeeded, so it has filled `system`.
    let system = unsafe { system.assume_init() };
    widened(system.f_bavail).checked_mul(widened(system.f_frsize))
}

/// The system's own types of numbers are 32 bits wide here and 64 there.
fn widened(number: impl Into<u64>) -> u64 {
    number.into()
}

/// Standard output without a buffer: the one in the standard library looks for the ends of lines,
/// and a model has none.
pub fn standard_output() -> io::Result<File> {
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

/// Opens a file that is a lock, and creates it if it is not there; links are not followed.
pub fn open_locked(path: &Path) -> io::Result<Locked> {
    loop {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)?;
        // SAFETY: the descriptor is open for the duration of the call, which changes no memory.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            match io::Error::last_os_error().kind() {
                io::ErrorKind::WouldBlock => return Ok(Locked::Busy),
                io::ErrorKind::Interrupted => continue,
                _ => return Ok(Locked::Unsupported(file)),
            }
        }
        // Whoever had the lock before may have removed its file since it was opened here.
        let identity = |about: Metadata| (about.dev(), about.ino());
        let here = path.symlink_metadata().map(identity);
        if here.is_ok_and(|here| file.metadata().map(identity).is_ok_and(|own| own == here)) {
            return Ok(Locked::Held(file));
        }
    }
}

/// Gives a lock back, and removes its file: first, since once the lock is given back, the file may be somebody else's.
pub fn remove_locked(file: File, path: &Path) {
    let _ = std::fs::remove_file(path);
    drop(file);
}

/// Which special file this is; `None` for a file or a folder.
pub fn special_file(about: &Metadata) -> Option<SpecialFile> {
    let kind = about.file_type();
    match () {
        () if kind.is_fifo() => Some(SpecialFile::Pipe),
        () if kind.is_char_device() => Some(SpecialFile::CharacterDevice),
        () if kind.is_block_device() => Some(SpecialFile::BlockDevice),
        () if kind.is_socket() => Some(SpecialFile::Socket),
        () => None,
    }
}
