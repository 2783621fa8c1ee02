//! Where bytes come from: a memory map, a file read by position, bytes in memory, anything that
//! can seek, or a stream that cannot.
//!
//! All five answer the same question, "these bytes, please", through [`Input::view`]: maps and
//! memory lend the bytes, the others copy them into the caller's scratch buffer. Small reads are
//! served from one internal window, so that parsing a header does not cost a system call a field.
#![allow(unsafe_code)]

mod folder;
mod read_at;

pub use folder::{EntryKind, Folder, FolderEntry};
pub use read_at::{ReadAt, ReadRange};

use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use memmap2::Mmap;

use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::sys::{self, Advice, read_file_at};

/// What a small read fetches at once when it goes on from the one before, at most.
const WINDOW: usize = 64 << 10;

/// What a small read fetches at once when it comes from somewhere else.
const SMALL_WINDOW: usize = 8 << 10;

/// Files up to this size are read whole instead of mapped: one read costs less than a map, its
/// page faults and its undoing.
const READ_WHOLE: u64 = 64 << 10;

/// From this length on, a stretch is worth reading ahead for: what comes in around it is not much
/// beside it.
const LONG_STRETCH: u64 = 1 << 20;

/// Anything that can be read and sought in.
pub trait ReadSeek: Read + Seek + Send {}
impl<T: Read + Seek + Send> ReadSeek for T {}

/// How a file on disk is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileAccess {
    /// Through a memory map: bytes are lent, not copied.
    #[default]
    Map,
    /// By positioned reads: a file that shrinks under us is an error, not a signal.
    Read,
}

/// An opened source of bytes.
pub struct Input {
    kind: Kind,
    name: PathBuf,
    len: Option<u64>,
    /// When the file was last changed before it was opened.
    modified: Option<SystemTime>,
    /// Whether the system was told that it may read ahead.
    reads_ahead: AtomicBool,
}

enum Kind {
    Map(Mmap),
    File { file: File, window: Mutex<Window> },
    Bytes(Box<dyn AsRef<[u8]> + Send + Sync>),
    Reader(Mutex<(Box<dyn ReadSeek>, Window)>),
    Stream(Mutex<Stream>),
}

/// The last stretch that was read, and where it starts.
#[derive(Default)]
struct Window {
    start: u64,
    bytes: Vec<u8>,
}

/// A reader that cannot seek: what has passed is kept.
struct Stream {
    reader: Box<dyn Read + Send>,
    seen: Vec<u8>,
    ended: bool,
    most: u64,
}

impl Input {
    /// Opens a file.
    pub fn open(path: &Path, access: FileAccess) -> Result<Self> {
        let opened = sys::open_without_waiting(path).and_then(|file| Ok((file.metadata()?, file)));
        let (about, file) = opened.map_err(|e| Error::io(e, "cannot open").in_file(path))?;
        Self::from_file(file, &about, path, access)
    }

    /// A file that is open already, with what the system says about it.
    pub(crate) fn from_file(
        file: File,
        about: &Metadata,
        path: &Path,
        access: FileAccess,
    ) -> Result<Self> {
        if !about.is_file() {
            return Err(Error::usage("not a regular file")
                .in_file(path)
                .hint("a pipe can be given as `-`, standard input"));
        }
        Self::of_regular(file, about, path, access).map_err(|error| error.in_file(path))
    }

    fn of_regular(file: File, about: &Metadata, path: &Path, access: FileAccess) -> Result<Self> {
        let len = about.len();
        let kind = match access {
            FileAccess::Map if len > READ_WHOLE => Kind::Map(map(&file)?),
            FileAccess::Map => Kind::Bytes(Box::new(read_whole(&file, len)?)),
            FileAccess::Read => {
                sys::advise_file(&file, Advice::Random);
                Kind::File { file, window: Mutex::default() }
            }
        };
        let modified = about.modified().ok();
        Ok(Self { modified, ..Self::new(kind, path, Some(len)) })
    }

    /// Bytes already in memory. `name` stands in for the path in messages.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static, name: &str) -> Self {
        let len = bytes.as_ref().len() as u64;
        Self::new(Kind::Bytes(Box::new(bytes)), name, Some(len))
    }

    /// Anything that reads and seeks.
    pub fn from_reader(mut reader: impl ReadSeek + 'static, name: &str) -> Result<Self> {
        let len = reader
            .seek(SeekFrom::End(0))
            .map_err(|e| Error::io(e, "cannot seek").in_file(Path::new(name)))?;
        let kind = Kind::Reader(Mutex::new((Box::new(reader), Window::default())));
        Ok(Self::new(kind, name, Some(len)))
    }

    /// A reader that cannot seek. Everything read is kept, up to `most` bytes, so formats whose
    /// header comes first cost their header; the others are read to the end.
    pub fn from_stream(reader: impl Read + Send + 'static, name: &str, most: u64) -> Self {
        let stream = Stream { reader: Box::new(reader), seen: Vec::new(), ended: false, most };
        Self::new(Kind::Stream(Mutex::new(stream)), name, None)
    }

    fn new(kind: Kind, name: impl Into<PathBuf>, len: Option<u64>) -> Self {
        let reads_ahead = AtomicBool::new(false);
        Self { kind, name: name.into(), len, modified: None, reads_ahead }
    }

    /// An error if the file is not what it was when it was opened. What is not a file cannot tell.
    pub(crate) fn refuse_changed(&self) -> Result<()> {
        let about = match &self.kind {
            Kind::File { file, .. } => file.metadata(),
            Kind::Map(_) => self.name.metadata(),
            _ => return Ok(()),
        };
        let about = about.map_err(|e| Error::io(e, "cannot look at").in_file(&self.name))?;
        match Some(about.len()) == self.len && about.modified().ok() == self.modified {
            true => Ok(()),
            false => Err(Error::malformed("was changed while it was read")
                .in_file(&self.name)
                .hint("what was read may be a mixture of old and new; start again")),
        }
    }

    /// Says that everything will be read, mostly front to back: the system may read ahead.
    pub(crate) fn will_need_all(&self) {
        self.reads_ahead.store(true, Ordering::Relaxed);
        match &self.kind {
            Kind::File { file, .. } => sys::advise_file(file, Advice::Sequential),
            Kind::Map(map) => sys::advise_map(map, Advice::Sequential),
            _ => {}
        }
    }

    /// Says that so many bytes will be read in one piece. A file is opened without reading ahead,
    /// so that looking at it costs its header; the first long stretch ends that.
    pub(crate) fn will_need_stretch(&self, len: u64) {
        if len < LONG_STRETCH || self.reads_ahead.swap(true, Ordering::Relaxed) {
            return;
        }
        match &self.kind {
            Kind::File { file, .. } => sys::advise_file(file, Advice::Normal),
            Kind::Map(map) => sys::advise_map(map, Advice::Normal),
            _ => {}
        }
    }

    /// The path, or the name given in its stead.
    #[must_use]
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// The length; of a stream, once its end was seen.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // An unknown length is neither.
    pub fn len(&self) -> Option<u64> {
        match &self.kind {
            Kind::Stream(stream) => {
                let stream = lock(stream);
                stream.ended.then_some(stream.seen.len() as u64)
            }
            _ => self.len,
        }
    }

    /// The length; a stream is read to its end to find out.
    pub fn whole_len(&self) -> Result<u64> {
        match (&self.kind, self.len) {
            (Kind::Stream(stream), _) => {
                let mut stream = lock(stream);
                stream.fill_to(u64::MAX)?;
                Ok(stream.seen.len() as u64)
            }
            (_, Some(len)) => Ok(len),
            (_, None) => Ok(0),
        }
    }

    /// Everything, where it can be lent.
    #[must_use]
    pub fn lent(&self) -> Option<&[u8]> {
        match &self.kind {
            Kind::Map(map) => Some(map),
            Kind::Bytes(bytes) => Some((**bytes).as_ref()),
            _ => None,
        }
    }

    /// `len` bytes from `offset`: lent where possible, otherwise read into `scratch`.
    pub fn view<'a>(
        &'a self,
        offset: u64,
        len: usize,
        scratch: &'a mut Vec<u8>,
    ) -> Result<&'a [u8]> {
        if let Some(all) = self.lent() {
            return range_of(all, offset, len).ok_or_else(|| self.too_short(offset, len));
        }
        scratch.resize(len, 0);
        self.read_at(offset, scratch)?;
        Ok(scratch)
    }

    /// `len` bytes from `offset` in memory of their own or lent, charged to the budget if copied.
    pub fn cow(&self, offset: u64, len: u64, budget: &Budget, what: &str) -> Result<Cow<'_, [u8]>> {
        let length = usize::try_from(len).map_err(|_| self.too_short(offset, usize::MAX))?;
        if let Some(all) = self.lent() {
            let bytes = range_of(all, offset, length);
            return bytes.map(Cow::Borrowed).ok_or_else(|| self.too_short(offset, length));
        }
        if self.len.is_some_and(|end| offset.checked_add(len).is_none_or(|to| to > end)) {
            return Err(self.too_short(offset, length));
        }
        budget.charge(len, what)?;
        let mut bytes = vec![0; length];
        self.read_at(offset, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Fills `out` with the bytes at `offset`.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let short = || self.too_short(offset, out.len());
        if let Some(len) = self.len
            && offset.checked_add(out.len() as u64).is_none_or(|end| end > len)
        {
            return Err(short());
        }
        match &self.kind {
            Kind::Map(_) | Kind::Bytes(_) => {
                let all = self.lent().unwrap_or_default();
                out.copy_from_slice(range_of(all, offset, out.len()).ok_or_else(short)?);
                Ok(())
            }
            Kind::File { file, window } => {
                let read = |out: &mut [u8], at| read_file_at(file, out, at);
                let done = if out.len() >= WINDOW / 2 {
                    // Past the lock: several workers may read at once.
                    read(out, offset)
                } else {
                    lock(window).read(offset, out, self.len, read)
                };
                done.map_err(|e| self.failed(e, offset))
            }
            Kind::Reader(reader) => {
                let (reader, window) = &mut *lock(reader);
                let read = |out: &mut [u8], at| {
                    reader.seek(SeekFrom::Start(at))?;
                    reader.read_exact(out)
                };
                window.read(offset, out, self.len, read).map_err(|e| self.failed(e, offset))
            }
            Kind::Stream(stream) => {
                let mut stream = lock(stream);
                let end = offset.saturating_add(out.len() as u64);
                stream.fill_to(end).map_err(|e| e.in_file(&self.name))?;
                out.copy_from_slice(range_of(&stream.seen, offset, out.len()).ok_or_else(short)?);
                Ok(())
            }
        }
    }

    /// The same without anything around them: for stretches that nothing near will follow, read
    /// by several threads at once.
    pub(crate) fn read_only_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        match &self.kind {
            Kind::File { file, .. } => {
                read_file_at(file, out, offset).map_err(|error| self.failed(error, offset))
            }
            _ => self.read_at(offset, out),
        }
    }

    /// Says that a stretch is about to be read: maps are set to fault single pages, and only
    /// whoever reads front to back knows that more will be wanted.
    pub fn will_need(&self, offset: u64, len: usize) {
        if let Kind::Map(map) = &self.kind
            && let Ok(start) = usize::try_from(offset)
            && start < map.len()
        {
            sys::map_will_need(map, start, len.min(map.len() - start));
        }
    }

    /// Fills `out` with the `len` bytes at `offset` and what follows them up to `most`, as far as
    /// that is there without waiting for it.
    pub fn read_on(&self, offset: u64, len: usize, most: usize, out: &mut Vec<u8>) -> Result<()> {
        let Kind::Stream(stream) = &self.kind else {
            out.resize(len, 0);
            return self.read_at(offset, out);
        };
        out.clear();
        let mut stream = lock(stream);
        let end = offset.saturating_add(len as u64);
        stream.fill_to(end).map_err(|e| e.in_file(&self.name))?;
        let ready = usize::try_from(offset).ok().and_then(|at| stream.seen.get(at..));
        match ready.filter(|ready| ready.len() >= len) {
            Some(ready) => out.extend_from_slice(&ready[..ready.len().min(most)]),
            None => return Err(self.too_short(offset, len)),
        }
        Ok(())
    }

    /// The first bytes, at most `len`: fewer if there are no more.
    pub fn head(&self, len: usize) -> Result<Cow<'_, [u8]>> {
        if let Some(all) = self.lent() {
            return Ok(Cow::Borrowed(&all[..len.min(all.len())]));
        }
        let available = match &self.kind {
            Kind::Stream(stream) => {
                let mut stream = lock(stream);
                stream.fill_to(len as u64)?;
                stream.seen.len()
            }
            _ => usize::try_from(self.len.unwrap_or(0)).unwrap_or(usize::MAX),
        };
        let mut head = vec![0; len.min(available)];
        self.read_at(0, &mut head)?;
        Ok(Cow::Owned(head))
    }

    fn too_short(&self, offset: u64, len: usize) -> Error {
        let end = offset.saturating_add(len as u64);
        let size = match self.len {
            Some(have) => format!("the file has {have}"),
            None => "the stream ended earlier".to_owned(),
        };
        Error::malformed(format!("{len} bytes are wanted up to byte {end}, but {size}"))
            .at(offset)
            .in_file(&self.name)
    }

    fn failed(&self, error: io::Error, offset: u64) -> Error {
        let doing = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file became shorter while it was read",
            _ => "cannot read",
        };
        Error::io(error, doing).at(offset).in_file(&self.name)
    }
}

impl Window {
    /// Serves small reads from the window and refills it; large ones go straight through.
    fn read(
        &mut self,
        offset: u64,
        out: &mut [u8],
        len: Option<u64>,
        mut read: impl FnMut(&mut [u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        if out.len() >= WINDOW / 2 {
            return read(out, offset);
        }
        let inside =
            offset.checked_sub(self.start).and_then(|at| range_of(&self.bytes, at, out.len()));
        if let Some(bytes) = inside {
            out.copy_from_slice(bytes);
            return Ok(());
        }
        let rest = usize::try_from(len.unwrap_or(u64::MAX).saturating_sub(offset));
        let size = self.next_size(offset).max(out.len()).min(rest.unwrap_or(usize::MAX));
        self.bytes.resize(size, 0);
        if let Err(error) = read(&mut self.bytes, offset) {
            self.bytes.clear();
            return Err(error);
        }
        self.start = offset;
        out.copy_from_slice(&self.bytes[..out.len()]);
        Ok(())
    }

    /// Reading on from the last window doubles it; a jump starts small, so that visiting the
    /// headers of an archive's members does not drag their contents in.
    fn next_size(&self, offset: u64) -> usize {
        let end = self.start + self.bytes.len() as u64;
        let goes_on = !self.bytes.is_empty() && (self.start..=end).contains(&offset);
        if goes_on { (self.bytes.len() * 2).clamp(SMALL_WINDOW, WINDOW) } else { SMALL_WINDOW }
    }
}

impl Stream {
    fn fill_to(&mut self, end: u64) -> Result<()> {
        while !self.ended && (self.seen.len() as u64) < end {
            let have = self.seen.len();
            if have as u64 >= self.most {
                return Err(Error::limit(format!(
                    "more than {} bytes of a stream would have to be kept in memory",
                    self.most
                ))
                .hint(
                    "save the stream to a file first, or raise max_allocation (--max-allocation)",
                ));
            }
            let missing = usize::try_from(end - have as u64).unwrap_or(usize::MAX);
            self.seen.resize(have + missing.clamp(8 << 10, 1 << 20), 0);
            let got = loop {
                match self.reader.read(&mut self.seen[have..]) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.seen.truncate(have + *got.as_ref().unwrap_or(&0));
            self.ended = got.map_err(|e| Error::io(e, "cannot read").at(have as u64))? == 0;
        }
        Ok(())
    }
}

fn range_of(bytes: &[u8], offset: u64, len: usize) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    bytes.get(start..start.checked_add(len)?)
}

/// A panic in another thread while it held a window leaves at worst a stale window behind.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn map(file: &File) -> Result<Mmap> {
    // SAFETY: the map is read-only and private to us. If another program shortens the file, a
    // read past its new end raises SIGBUS; callers who cannot accept that use `FileAccess::Read`.
    let map = unsafe { Mmap::map(file) }.map_err(|e| Error::io(e, "cannot map"))?;
    // A fault shall bring in the page it asks for and not its neighbourhood.
    sys::advise_map(&map, Advice::Random);
    Ok(map)
}

fn read_whole(mut file: &File, len: u64) -> Result<Vec<u8>> {
    let len = usize::try_from(len).unwrap_or(0);
    let mut bytes = vec![0; len];
    file.read_exact(&mut bytes).map_err(|e| Error::io(e, "cannot read"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        (0..200_000u32).map(|i| (i % 251) as u8).collect()
    }

    #[test]
    fn only_a_long_stretch_begins_reading_ahead() {
        let path = std::env::temp_dir().join(format!("weigh-ahead-{}", std::process::id()));
        std::fs::write(&path, sample()).unwrap();
        for access in [FileAccess::Map, FileAccess::Read] {
            let input = Input::open(&path, access).unwrap();
            let reads_ahead = || input.reads_ahead.load(Ordering::Relaxed);
            input.will_need_stretch(LONG_STRETCH - 1);
            assert!(!reads_ahead());
            input.will_need_stretch(LONG_STRETCH);
            assert!(reads_ahead());
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn every_form_reads_the_same_and_refuses_the_same() {
        let bytes = sample();
        let dir = std::env::temp_dir().join(format!("weigh-input-{}", std::process::id()));
        std::fs::write(&dir, &bytes).unwrap();
        let inputs = [
            Input::open(&dir, FileAccess::Map).unwrap(),
            Input::open(&dir, FileAccess::Read).unwrap(),
            Input::from_bytes(bytes.clone(), "bytes"),
            Input::from_reader(io::Cursor::new(bytes.clone()), "reader").unwrap(),
            Input::from_stream(io::Cursor::new(bytes.clone()), "stream", 1 << 20),
        ];
        for input in &inputs {
            let mut scratch = Vec::new();
            for (offset, len) in
                [(0, 0), (5, 10), (199_990, 10), (70_000, 90_000), (3, 1), (200_000, 0)]
            {
                let want = &bytes[offset..offset + len];
                assert_eq!(input.view(offset as u64, len, &mut scratch).unwrap(), want);
            }
            for (offset, len) in
                [(199_991, 10), (u64::MAX, 1), (200_001, 0), (u64::MAX, usize::MAX)]
            {
                if len < 100 {
                    assert!(input.view(offset, len, &mut scratch).is_err(), "{:?}", input.name());
                }
            }
            assert_eq!(input.whole_len().unwrap(), 200_000);
            assert_eq!(input.len(), Some(200_000));
            assert_eq!(input.head(16).unwrap(), &bytes[..16]);
        }
        std::fs::remove_file(&dir).unwrap();
    }

    #[test]
    fn a_stream_keeps_no_more_than_allowed() {
        let input = Input::from_stream(io::repeat(1), "endless", 100_000);
        assert!(input.head(1000).is_ok());
        assert_eq!(input.len(), None);
        assert_eq!(input.whole_len().unwrap_err().kind(), crate::ErrorKind::Limit);
    }
}
