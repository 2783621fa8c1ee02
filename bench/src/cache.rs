//! How much of a file is in the page cache, and dropping it from there.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// Writes a file to disk and drops it from the page cache.
pub fn drop_file(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_all()?;
    // SAFETY: the descriptor is open; the advice changes no memory of ours.
    let failed = unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

/// Bytes of a file that are in the page cache.
pub fn resident(path: &Path) -> io::Result<u64> {
    let file = File::open(path)?;
    let len = usize::try_from(file.metadata()?.len()).unwrap_or(0);
    if len == 0 {
        return Ok(0);
    }
    // SAFETY: a fresh read-only map of an open file at an address of the kernel's choice.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            len,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if map == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let mut pages = vec![0u8; len.div_ceil(4096)];
    // SAFETY: the range is the map just made; the vector has a byte for each of its pages.
    let failed = unsafe { libc::mincore(map, len, pages.as_mut_ptr()) };
    // SAFETY: unmaps exactly what was mapped; nothing refers to it any more.
    unsafe { libc::munmap(map, len) };
    if failed != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(pages.iter().filter(|page| **page & 1 == 1).count() as u64 * 4096)
}
