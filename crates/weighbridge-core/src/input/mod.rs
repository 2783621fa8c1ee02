//! Where bytes come from: a memory map, a file read by position, bytes in memory, anything that
//! can seek, a stream that cannot, or a source from outside this library.
//!
//! Each is a [`ReadAt`] in a file of its own. [`Input`] is what the rest reads through: a source
//! with a name, whose bytes are lent where they are in memory and copied otherwise.

mod file;
mod file_state;
mod folder;
mod local_folder;
mod map;
mod memory;
mod memory_folder;
mod open_files;
mod positioned;
mod ranges;
mod read_at;
mod reader;
mod stream;
mod window;

pub use file::FileAccess;
pub use file_state::FileState;
pub use folder::{EntryKind, Folder, FolderEntry};
pub use local_folder::LocalFolder;
pub use memory_folder::MemoryFolder;
pub use ranges::{Requests, read_ranges_merged};
pub use read_at::{Need, ReadAt, ReadPattern, ReadRange, Reading, Vouched};
pub use reader::ReadSeek;

use std::borrow::Cow;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use memory::Memory;
pub use memory::range_of;
use window::Window;

use crate::error::{Error, Result};
use crate::limits::Budget;
use crate::stop::{lock, while_reading};

/// From this length on, reading ahead pays: the unwanted bytes around a stretch are few beside it.
const LONG_STRETCH: u64 = 1 << 20;

/// A source of bytes with its name. Clones share the source.
#[derive(Clone)]
pub struct Input(Arc<Named>);

struct Named {
    source: Arc<dyn ReadAt>,
    name: PathBuf,
    /// The length, unless it was unknown at first.
    len: Option<u64>,
    window: Mutex<Window>,
    /// Whether the source was told that it may read ahead.
    reads_ahead: AtomicBool,
}

impl Input {
    /// Any source of bytes. `name` stands in for the path in messages.
    pub fn from_source(source: Arc<dyn ReadAt>, name: impl Into<PathBuf>) -> Self {
        let len = source.len();
        Self(Arc::new(Named {
            source,
            name: name.into(),
            len,
            window: Mutex::default(),
            reads_ahead: AtomicBool::new(false),
        }))
    }

    /// Opens a file.
    pub fn open(path: &Path, access: FileAccess) -> Result<Self> {
        Self::opened(file::open(path, access), path)
    }

    /// Opens a file of a folder.
    pub fn open_in(folder: &dyn Folder, path: &Path) -> Result<Self> {
        Self::opened(folder.open(path), path)
    }

    fn opened(source: io::Result<Arc<dyn ReadAt>>, path: &Path) -> Result<Self> {
        let source = source.map_err(|e| error_of(e, "cannot open").in_file(path))?;
        Ok(Self::from_source(source, path))
    }

    /// Bytes already in memory. `name` stands in for the path in messages.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static, name: &str) -> Self {
        Self::from_source(Arc::new(Memory(bytes)), name)
    }

    /// Anything that reads and seeks.
    pub fn from_reader(reader: impl ReadSeek + 'static, name: &str) -> Result<Self> {
        let reader = reader::SeekingReader::new(reader)
            .map_err(|e| Error::io(e, "cannot seek").in_file(Path::new(name)))?;
        Ok(Self::from_source(Arc::new(reader), name))
    }

    /// A reader that cannot seek. Everything read is kept, up to `most` bytes, so formats whose
    /// header comes first cost their header; the others are read to the end.
    pub fn from_stream(reader: impl Read + Send + 'static, name: &str, most: u64) -> Self {
        Self::from_source(Arc::new(stream::Stream::new(reader, most)), name)
    }

    /// An error if the bytes are not what they were when this was opened.
    pub fn refuse_changed(&self) -> Result<()> {
        match self.waiting(|| self.0.source.is_unchanged()) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Error::malformed("was changed while it was read")
                .in_file(self.name())
                .hint("the result may mix old and new bytes; run the command again")),
            Err(error) => {
                Err(error_of(error, "cannot check whether the file changed").in_file(self.name()))
            }
        }
    }

    /// What vouches for the bytes that were read. An error if they are not those of the file.
    pub fn vouch(&self) -> Result<Vouched> {
        let vouched = self.waiting(|| self.0.source.vouch());
        vouched.map_err(|e| error_of(e, "cannot check").in_file(self.name()))
    }

    /// Says that everything will be read, mostly front to back: the system may read ahead.
    pub fn will_need_all(&self) {
        self.0.reads_ahead.store(true, Ordering::Relaxed);
        self.0.source.will_read(ReadPattern::Sequential);
    }

    /// Says that so many bytes will be read in one piece. A file is opened without reading ahead,
    /// so that looking at it costs its header; the first long stretch ends that.
    pub fn will_need_stretch(&self, len: u64) {
        if len >= LONG_STRETCH && !self.0.reads_ahead.swap(true, Ordering::Relaxed) {
            self.0.source.will_read(ReadPattern::Normal);
        }
    }

    /// The path, or the name given instead of one.
    pub fn name(&self) -> &Path {
        &self.0.name
    }

    /// The length; of a stream, once its end was seen.
    #[allow(clippy::len_without_is_empty)] // The length may be unknown.
    pub fn len(&self) -> Option<u64> {
        self.0.len.or_else(|| self.0.source.len())
    }

    /// The length; a stream is read to its end to find out.
    pub fn whole_len(&self) -> Result<u64> {
        match self.0.len {
            Some(len) => Ok(len),
            None => self.0.source.find_len().map_err(|e| error_of(e, "cannot read")),
        }
    }

    /// Everything, where it can be lent.
    pub fn lent(&self) -> Option<&[u8]> {
        self.0.source.lend()
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

    /// `len` bytes from `offset`: lent where possible, otherwise copied and charged to the budget.
    pub fn bytes(
        &self,
        offset: u64,
        len: u64,
        budget: &Budget,
        what: &str,
    ) -> Result<Cow<'_, [u8]>> {
        let length = usize::try_from(len).map_err(|_| self.too_short(offset, usize::MAX))?;
        if let Some(all) = self.lent() {
            let bytes = range_of(all, offset, length);
            return bytes.map(Cow::Borrowed).ok_or_else(|| self.too_short(offset, length));
        }
        self.check_end(offset, length)?;
        budget.charge(len, what)?;
        let mut bytes = vec![0; length];
        self.read_at(offset, &mut bytes)?;
        Ok(Cow::Owned(bytes))
    }

    /// Fills `out` with the bytes at `offset`. A short read also fetches what follows, for the next
    /// read.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.check_end(offset, out.len())?;
        let source = &*self.0.source;
        let done = match self.0.len {
            Some(len) if self.has_window(out.len()) => {
                let mut window = lock(&self.0.window);
                window.read(offset, out, len, |at, out| source.read_at(at, out))
            }
            // Past the lock: several workers may read at once.
            Some(_) if source.lend().is_none() => {
                let known = lock(&self.0.window).beginning(offset, out);
                match &mut out[known..] {
                    [] => Ok(()),
                    rest => {
                        let offset = offset.saturating_add(known as u64);
                        self.waiting(|| source.read_at(offset, rest))
                    }
                }
            }
            _ => self.waiting(|| source.read_at(offset, out)),
        };
        done.map_err(|e| self.failed(e, offset, out.len()))
    }

    /// Whether a read goes through the window. Sources with latency keep what they fetched themselves.
    fn has_window(&self, len: usize) -> bool {
        let source = &*self.0.source;
        Window::serves(len) && source.lend().is_none() && !source.has_latency()
    }

    /// Fills `out` with the bytes at `offset` and nothing around them: for scattered reads by
    /// several threads at once.
    pub fn read_only_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let done = self.waiting(|| self.0.source.read_at(offset, out));
        done.map_err(|error| self.failed(error, offset, out.len()))
    }

    /// Does something that may wait for a network, as long as nobody wants the work to end.
    fn waiting<R>(&self, read: impl FnOnce() -> R) -> R {
        if self.has_latency() { while_reading(read) } else { read() }
    }

    /// Fills several buffers in one call of the source. No range may reach past the end.
    pub fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        self.waiting(|| self.0.source.read_ranges(ranges))
    }

    /// Whether every read has latency, so that few large ones are better.
    pub fn has_latency(&self) -> bool {
        self.0.source.has_latency()
    }

    /// Limits the bytes that are fetched before they are asked for.
    pub fn limit_ahead(&self, bytes: u64) {
        self.0.source.limit_ahead(bytes);
    }

    /// Says that a stretch is about to be read.
    pub fn will_need(&self, need: &Need) {
        self.waiting(|| self.0.source.will_need(need));
    }

    /// Fills `out` with the `len` bytes at `offset` and what follows them up to `most`, as far as
    /// a stream has received that already.
    pub fn read_on(&self, offset: u64, len: usize, most: usize, out: &mut Vec<u8>) -> Result<()> {
        out.resize(len, 0);
        self.read_at(offset, out)?;
        if let Some(received) = self.0.source.received() {
            let ready = usize::try_from(received.saturating_sub(offset)).unwrap_or(usize::MAX);
            out.resize(ready.min(most).max(len), 0);
            self.read_at(offset.saturating_add(len as u64), &mut out[len..])?;
        }
        Ok(())
    }

    /// The first bytes, at most `len`: fewer if there are no more.
    pub fn head(&self, len: usize) -> Result<Cow<'_, [u8]>> {
        if let Some(all) = self.lent() {
            return Ok(Cow::Borrowed(&all[..len.min(all.len())]));
        }
        let mut head = vec![0; len];
        if self.len().is_none() {
            match self.waiting(|| self.0.source.read_at(0, &mut head)) {
                Ok(()) => return Ok(Cow::Owned(head)),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
                Err(error) => return Err(self.failed(error, 0, len)),
            }
        }
        head.truncate(usize::try_from(self.len().unwrap_or(0)).unwrap_or(usize::MAX));
        self.read_at(0, &mut head)?;
        Ok(Cow::Owned(head))
    }

    /// An error if the input is known to end before the end of some bytes.
    fn check_end(&self, offset: u64, len: usize) -> Result<()> {
        let end = offset.checked_add(len as u64);
        if self.0.len.is_some_and(|all| end.is_none_or(|end| end > all)) {
            Err(self.too_short(offset, len))
        } else {
            Ok(())
        }
    }

    fn too_short(&self, offset: u64, len: usize) -> Error {
        let end = offset.saturating_add(len as u64);
        let size = match self.0.len {
            Some(have) => format!("the file has {have}"),
            None => "the stream ended earlier".to_owned(),
        };
        Error::malformed(format!("needs {len} bytes up to byte {end}, but {size}"))
            .at(offset)
            .in_file(self.name())
    }

    fn failed(&self, error: io::Error, offset: u64, len: usize) -> Error {
        let doing = match (error.kind(), self.0.len) {
            (io::ErrorKind::UnexpectedEof, None) => return self.too_short(offset, len),
            (io::ErrorKind::UnexpectedEof, _) => "the file shrank while being read",
            _ => "cannot read",
        };
        match error.downcast::<Error>() {
            Ok(error) => error.in_file(self.name()),
            Err(error) => Error::io(error, doing).at(offset).in_file(self.name()),
        }
    }
}

/// The error of a source: one of ours that it wraps, or what the system says.
pub fn error_of(error: io::Error, doing: &str) -> Error {
    error.downcast::<Error>().unwrap_or_else(|error| Error::io(error, doing))
}

#[cfg(test)]
mod tests;
