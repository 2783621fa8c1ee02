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

pub use system::{
    advise_file, advise_map, change_time, file_number, give_memory_back, is_same_file,
    is_too_many_files, map_will_need, open_file_limit, open_locked, open_pipe,
    open_without_waiting, peak_memory, read_file_at, remove_locked, special_file, standard_output,
    start_writing, write_file_at,
};

use std::fs::File;
use std::path::Path;

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

/// Makes the names in the folder of `target` as durable as the files. Systems that cannot are no
/// reason to fail: the file is complete and has its name.
pub fn sync_folder_of(target: &Path) {
    system::sync_folder(folder_of(target));
}

/// Bytes that may still be written to the folder of `target`.
pub fn free_space_beside(target: &Path) -> Option<u64> {
    system::free_space(folder_of(target))
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

fn folder_of(target: &Path) -> &Path {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use std::io;

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
