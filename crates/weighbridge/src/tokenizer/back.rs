//! The tokenizer files of a repository, from the metadata of a GGUF file.

use crate::catalog::Value;
use crate::error::Result;

/// Files, and what they do not say.
pub(crate) struct Written {
    /// Names and contents.
    pub(crate) files: Vec<(String, Vec<u8>)>,
    /// What is not carried over.
    pub(crate) not_carried: Vec<String>,
}

/// The files.
pub(crate) fn files(_metadata: &dyn Fn(&str) -> Option<Value>) -> Result<Written> {
    Ok(Written { files: Vec::new(), not_carried: vec!["the tokenizer".to_owned()] })
}
