//! A file of an output in a store, while it is being written.

use std::sync::{Arc, Mutex};

use crate::output::OutputFile;
use crate::{Error, Result};
use object_store::path::Path;
use object_store::{PutMode, PutPayload};

use crate::runtime::block_on;
use crate::stop::lock;
use crate::store::destination::{ABORT_TIME, StoreDestination};
use crate::store::finishing::{Content, is_held_back};
use crate::store::part::{Pieces, sum};
use crate::store::records::Record;
use crate::store::upload::{Upload, part_bytes};

/// Shorter files are put at once.
const MIN_UPLOAD: u64 = 16 << 20;

/// A file that is being written.
pub(crate) struct StoreOutput<'a> {
    of: &'a StoreDestination,
    name: String,
    key: Path,
    len: u64,
    how: How,
    finished: bool,
}

enum How {
    Small(Mutex<Pieces>),
    Parts(Arc<Upload>),
}

impl<'a> StoreOutput<'a> {
    /// Starts a file; a long one is an upload from now on.
    pub(crate) fn start(of: &'a StoreDestination, name: &str, key: Path, len: u64) -> Result<Self> {
        let how = if len < MIN_UPLOAD {
            How::Small(Mutex::default())
        } else {
            let upload = Arc::new(Upload::start(&of.bucket, &key, len, &of.room)?);
            of.state().uploads.insert(key.clone(), upload.clone());
            of.note_begun(name, &upload.id)?;
            How::Parts(upload)
        };
        Ok(Self { of, name: name.to_owned(), key, len, how, finished: false })
    }
}

impl OutputFile for StoreOutput<'_> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let wrong =
            |why: &str| Err(Error::usage(why).at(offset).in_file(&self.of.bucket.place(&self.key)));
        if offset.checked_add(bytes.len() as u64).is_none_or(|end| end > self.len) {
            return wrong("a write is outside the file");
        }
        match &self.how {
            How::Small(_) if bytes.is_empty() => Ok(()),
            How::Small(pieces) if lock(pieces).add(offset, bytes) => Ok(()),
            How::Small(_) => wrong("some bytes were written twice"),
            How::Parts(upload) => upload.write_at(offset, bytes),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let (content, blake3_parts) = match &self.how {
            How::Small(pieces) => {
                let bytes = std::mem::take(&mut *lock(pieces)).filled(self.len);
                let sums = vec![sum(&bytes)];
                (Content::Small(PutPayload::from_iter(bytes)), sums)
            }
            How::Parts(upload) => (Content::Sent(upload.clone()), upload.sent()?),
        };
        let (name, part_bytes) = (self.name.clone(), part_bytes(self.len));
        let record = Record { name, bytes: self.len, part_bytes, blake3_parts, etag: None };
        if self.of.is_single || is_held_back(&self.name) {
            self.of.state().held_back.insert(self.name.clone(), (content, record));
        } else {
            let etag = self.of.make(&self.key, content, PutMode::Overwrite)?;
            self.of.note(Record { etag, ..record })?;
        }
        self.finished = true;
        Ok(())
    }
}

impl Drop for StoreOutput<'_> {
    fn drop(&mut self) {
        if let How::Parts(upload) = &self.how
            && !self.finished
            && self.of.state().uploads.remove(&self.key).is_some()
        {
            let ended = block_on(async { tokio::time::timeout(ABORT_TIME, upload.abort()).await });
            if matches!(ended, Ok(Ok(Ok(())))) {
                self.of.forget_begun(std::iter::once(&self.key));
            } else {
                // It is tried once more when the whole work is ended.
                self.of.state().uploads.insert(self.key.clone(), upload.clone());
            }
        }
    }
}
