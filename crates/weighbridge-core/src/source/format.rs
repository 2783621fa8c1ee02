//! What a source asks of its file's format, above all metadata arrays that the header left unread
//! (a vocabulary).

use super::Source;
use crate::catalog::{ArrayRef, Value};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::limits::Limits;

/// What a source knows of its file's format.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name in reports.
    pub name: &'static str,
    /// How its files are read further.
    pub rules: &'static dyn FormatRules,
}

/// What holds for the files of one format.
pub trait FormatRules: Sync {
    /// Whether tensors have names in the file. Without, a single tensor takes the name of its file.
    fn names_tensors(&self) -> bool {
        true
    }

    /// Whether tensors lie in branches, of which one can be chosen.
    fn has_branches(&self) -> bool {
        false
    }

    /// Whether a metadata key only has a meaning in files of this format.
    fn is_own_key(&self, _key: &str) -> bool {
        false
    }

    /// The elements of an array that the header left unread.
    fn array(&self, _input: &Input, _array: &ArrayRef, _limits: &Limits) -> Result<Vec<Value>> {
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
    /// Whether tensors have names in the file.
    #[must_use]
    pub fn names_tensors(&self) -> bool {
        self.format.rules.names_tensors()
    }

    /// Whether its tensors lie in branches, of which one can be chosen.
    #[must_use]
    pub fn has_branches(&self) -> bool {
        self.format.rules.has_branches()
    }

    /// Whether a metadata key only has a meaning in files of this format.
    #[must_use]
    pub fn is_own_key(&self, key: &str) -> bool {
        self.format.rules.is_own_key(key)
    }

    /// The elements of a metadata array that was left in the file.
    pub fn array(&self, array: &ArrayRef) -> Result<Vec<Value>> {
        let values = self.format.rules.array(&self.input, array, &self.limits);
        values.map_err(|e| e.in_file(self.input.name()))
    }

    /// The bytes of a metadata array, if a new file of this format has it in the same form.
    pub fn raw_array(&self, array: &ArrayRef) -> Result<Option<Vec<u8>>> {
        let bytes = self.format.rules.raw_array(&self.input, array, &self.limits);
        bytes.map_err(|e| e.in_file(self.input.name()))
    }
}
