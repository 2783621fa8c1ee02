//! Files in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Destination, OutputFile};
use crate::error::{Error, Result};
use crate::stop::lock;

/// Files in memory, by name.
#[derive(Debug, Default)]
pub struct Memory {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl Memory {
    /// Returns the finished files.
    #[must_use]
    pub fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.files.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Destination for Memory {
    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let too_long = || Error::limit(format!("{len} bytes do not fit in memory"));
        let len = usize::try_from(len).map_err(|_| too_long())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| too_long())?;
        bytes.resize(len, 0);
        Ok(Box::new(MemoryFile { name: name.to_owned(), bytes: Mutex::new(bytes), of: self }))
    }

    fn finish(&self) -> Result<()> {
        Ok(())
    }

    fn abort(&self) {
        lock(&self.files).clear();
    }
}

struct MemoryFile<'a> {
    name: String,
    bytes: Mutex<Vec<u8>>,
    of: &'a Memory,
}

impl OutputFile for MemoryFile<'_> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut all = lock(&self.bytes);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let place = all.get_mut(start..start.saturating_add(bytes.len()));
        let outside = || Error::usage("write outside the file").at(offset);
        place.ok_or_else(outside)?.copy_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let bytes = self.bytes.into_inner().unwrap_or_else(PoisonError::into_inner);
        lock(&self.of.files).insert(self.name, bytes);
        Ok(())
    }
}
