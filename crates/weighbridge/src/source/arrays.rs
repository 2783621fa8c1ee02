//! Metadata arrays that a header left unread, such as a vocabulary.

use super::Source;
use crate::catalog::{ArrayRef, Catalog, Value};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Limits;

/// What a source knows of its file's format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name in reports.
    pub name: &'static str,
    /// How metadata arrays are read.
    pub arrays: &'static dyn MetadataArrays,
}

/// Reads metadata arrays out of the files of one format.
pub trait MetadataArrays: Sync {
    /// The elements of an array that the header left unread.
    fn array(
        &self,
        _input: &Input,
        _catalog: &Catalog,
        _array: &ArrayRef,
        _limits: &Limits,
    ) -> Result<Vec<Value>> {
        Err(Error::usage("this format leaves no arrays unread"))
    }

    /// The bytes of such an array, if a new file of this format has it in the same form.
    fn raw_array(
        &self,
        _input: &Input,
        _array: &ArrayRef,
        _limits: &Limits,
    ) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

impl Source {
    /// The elements of a metadata array that was left in the file.
    pub fn array(&self, array: &ArrayRef) -> Result<Vec<Value>> {
        self.format
            .arrays
            .array(&self.input, &self.catalog, array, &self.limits)
            .map_err(|e| e.in_file(self.input.name()))
    }

    /// The bytes of a metadata array, if a new file of this format has it in the same form.
    pub fn raw_array(&self, array: &ArrayRef) -> Result<Option<Vec<u8>>> {
        self.format
            .arrays
            .raw_array(&self.input, array, &self.limits)
            .map_err(|e| e.in_file(self.input.name()))
    }
}
