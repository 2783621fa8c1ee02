//! What differs from one operating system to the next.
//!
//! Each system has a file with the same functions, so that nothing outside this folder asks which
//! system it runs on. Read patterns and free space are best effort: where a system has no such
//! call, the function returns `None` or does nothing.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(all(unix, not(target_os = "linux")))]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(all(unix, not(target_os = "linux")))]
use macos as system;
#[cfg(windows)]
use windows as system;

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use memmap2::Mmap;

/// How bytes will be read, so that the system knows how far to read ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPattern {
    /// Here and there: only what is asked for.
    Random,
    /// The system decides.
    Normal,
    /// From front to back: read far ahead.
    Sequential,
}

/// Opens a file for reading. A named pipe is opened too, without waiting for somebody to write to
/// it; the caller refuses what is not a regular file.
pub fn open_without_waiting(path: &Path) -> io::Result<File> {
    system::open_without_waiting(path)
}

/// Fills `out` from a place of a file, without moving the file's position.
pub fn read_file_at(file: &File, out: &mut [u8], offset: u64) -> io::Result<()> {
    system::read_file_at(file, out, offset)
}

/// Writes all of `bytes` at a place of a file.
pub fn write_file_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    system::write_file_at(file, bytes, offset)
}

/// Lets the system begin to write to the disk what was written to a file so far, without waiting for it.
pub fn start_writing(file: &File) {
    system::start_writing(file);
}

/// Says how a file will be read.
pub fn advise_file(file: &File, advice: ReadPattern) {
    system::advise_file(file, advice);
}

/// Says how a mapped file will be read.
pub fn advise_map(map: &Mmap, advice: ReadPattern) {
    system::advise_map(map, advice);
}

/// Says that these bytes of a map will be read soon. They must lie inside it.
pub fn map_will_need(map: &Mmap, start: usize, len: usize) {
    system::map_will_need(map, start, len);
}

/// Whether two paths lead to one file, through links of any kind.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    system::is_same_file(a, b)
}

/// When the system last saw a file change, in nanoseconds: programs cannot set this time.
pub fn change_time(metadata: &Metadata) -> Option<i128> {
    system::change_time(metadata)
}

/// The number of a file, and of the disk it is on.
pub fn file_number(metadata: &Metadata) -> Option<(u64, u64)> {
    system::file_number(metadata)
}

/// How many files this process may have open.
pub fn open_file_limit() -> Option<u64> {
    system::open_file_limit()
}

/// Whether a file could not be opened because too many are open.
pub fn is_too_many_files(error: &io::Error) -> bool {
    system::is_too_many_files(error)
}

/// Makes the names in the folder of `target` as durable as the files. Systems that cannot are no
/// reason to fail: the file is complete and has its name.
pub fn sync_folder_of(target: &Path) {
    system::sync_folder(folder_of(target));
}

/// Bytes that may still be written to the folder of `target`.
pub fn free_space_beside(target: &Path) -> Option<u64> {
    system::free_space(folder_of(target))
}

/// Standard output without a buffer: the one in the standard library looks for the ends of lines,
/// and a model has none.
pub fn standard_output() -> io::Result<File> {
    system::standard_output()
}

/// A lock on a file, or what stands in its way.
#[allow(dead_code)] // Not every system has all of them.
pub enum Locked {
    /// Nobody else has it while this file is open.
    Held(File),
    /// Somebody else has it.
    Busy,
    /// The file system knows no locks.
    Unsupported(File),
}

/// Opens a file that is a lock, and creates it if it is not there; links are not followed.
pub fn open_locked(path: &Path) -> io::Result<Locked> {
    system::open_locked(path)
}

/// Gives a lock back, and removes its file.
pub fn remove_locked(file: File, path: &Path) {
    system::remove_locked(file, path);
}

/// What is neither a file nor a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(dead_code)] // Not every system has all of them.
pub enum SpecialFile {
    /// A named pipe.
    Pipe,
    /// A character device.
    CharacterDevice,
    /// A block device.
    BlockDevice,
    /// A socket.
    Socket,
}

/// Which special file this is; `None` for a file or a folder.
pub fn special_file(about: &Metadata) -> Option<SpecialFile> {
    system::special_file(about)
}

/// Lets the allocator give long stretches back as soon as they are free. Otherwise it learns to keep them,
/// for each thread. For programs: a library does not set what belongs to the whole process.
pub fn give_memory_back() {
    system::give_memory_back();
}

/// The most memory this process ever had, in bytes.
pub fn peak_memory() -> Option<u64> {
    system::peak_memory()
}

fn folder_of(target: &Path) -> &Path {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_and_read_by_position() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        write_file_at(&file, b"world", 6).unwrap();
        write_file_at(&file, b"hello ", 0).unwrap();
        let file = open_without_waiting(&path).unwrap();
        advise_file(&file, ReadPattern::Random);
        let mut out = [0; 5];
        read_file_at(&file, &mut out, 6).unwrap();
        assert_eq!(&out, b"world");
        let error = read_file_at(&file, &mut out, 7).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        sync_folder_of(&path);
    }

    #[test]
    fn files_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&a, "1").unwrap();
        std::fs::write(&b, "1").unwrap();
        assert!(!is_same_file(&a, &b));
        assert!(is_same_file(&a, &folder.path().join(".").join("a")));
        assert!(!is_same_file(&a, &folder.path().join("none")));
    }

    #[test]
    fn the_system_says_what_is_left_and_what_is_used() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_space_beside(&folder.path().join("new")).is_some_and(|bytes| bytes > 0));
        assert_eq!(free_space_beside(&folder.path().join("none/new")), None);
        assert!(peak_memory().is_some_and(|bytes| bytes > 100 << 10));
    }
}
