//! One error type for the whole library.
//!
//! An error has a cause ([`ErrorKind`]), a message and a location. Each layer adds the part of the
//! location that it knows: file, tensor or byte. A layer never replaces what an inner layer has
//! set.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::text::escaped;

mod remedy;

pub use remedy::Remedy;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The cause of an error, which tells a caller how to react.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system could not read or write.
    Io,
    /// The file breaks the rules of its own format.
    Malformed,
    /// The file is fine, but this version cannot do what was asked of it.
    Unsupported,
    /// Continuing would exceed the [`Limits`](crate::limits::Limits).
    Limit,
    /// The call is invalid: no such tensor, a buffer of the wrong length.
    Usage,
    /// The caller cancelled the operation.
    Cancelled,
}

impl ErrorKind {
    /// A stable word for the kind, for use in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Malformed => "malformed",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::Usage => "usage",
            Self::Cancelled => "cancelled",
        }
    }
}

/// An error with its message and location: file, tensor and byte.
pub struct Error(Box<Details>);

struct Details {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    remedies: Vec<Remedy>,
    path: Option<PathBuf>,
    tensor: Option<String>,
    offset: Option<u64>,
    source: Option<io::Error>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind,
            message: message.into(),
            hint: None,
            remedies: Vec::new(),
            path: None,
            tensor: None,
            offset: None,
            source: None,
        }))
    }

    /// Creates an error for a file that breaks the rules of its format.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, message)
    }

    /// Creates an error for an operation that this version does not support.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// Creates an error for an exceeded limit.
    pub fn limit(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Limit, message)
    }

    /// Creates an error for an invalid call.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    /// Creates an error for a cancelled operation; `left` describes the state it left.
    pub fn cancelled(left: &str) -> Self {
        Self::new(ErrorKind::Cancelled, format!("stopped: {left}"))
    }

    /// Creates an error from an I/O error; `doing` names the failed action ("cannot open").
    pub fn io(source: io::Error, doing: &str) -> Self {
        let mut error = Self::new(ErrorKind::Io, format!("{doing}: {}", plain_io_text(&source)));
        error.0.source = Some(source);
        error
    }

    /// Creates an I/O error for a missing or forbidden resource. `message` is shown as it is;
    /// `kind` is the matching I/O error kind.
    pub fn refused(kind: io::ErrorKind, message: String) -> Self {
        let mut error = Self::new(ErrorKind::Io, &*message);
        error.0.source = Some(io::Error::new(kind, message));
        error
    }

    /// Adds a hint, shown on its own line. Advice about options is a [`Remedy`].
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert_with(|| hint.into());
        self
    }

    /// Adds a remedy that the caller can apply.
    #[must_use]
    pub fn remedy(mut self, remedy: Remedy) -> Self {
        if !self.0.remedies.contains(&remedy) {
            self.0.remedies.push(remedy);
        }
        self
    }

    /// Names the file, unless a deeper layer already did.
    #[must_use]
    pub fn in_file(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }

    /// Names the tensor, unless a deeper layer already did.
    #[must_use]
    pub fn in_tensor(mut self, name: &str) -> Self {
        self.0.tensor.get_or_insert_with(|| name.to_owned());
        self
    }

    /// Appends a location that is not a tensor to the message.
    #[must_use]
    pub fn inside(mut self, what: &str) -> Self {
        self.0.message.push_str(", in ");
        self.0.message.push_str(what);
        self
    }

    /// Names the byte of the file, unless a deeper layer already did.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }

    /// Returns the kind of this error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message without file, tensor and byte.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the remedies that the caller can apply, best first.
    #[must_use]
    pub fn remedies(&self) -> &[Remedy] {
        &self.0.remedies
    }

    /// Returns the hint, if there is one.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns the file that the error is about.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// Returns the name of the tensor that the error is about, as the file spells it.
    #[must_use]
    pub fn tensor(&self) -> Option<&str> {
        self.0.tensor.as_deref()
    }

    /// Returns the file offset that the error is about.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.0.offset
    }
}

/// Formats an `io::Error` without its trailing "(os error 2)".
fn plain_io_text(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let details = &*self.0;
        if let Some(path) = &details.path {
            write!(f, "{}: ", escaped(&path.to_string_lossy()))?;
        }
        if let Some(tensor) = &details.tensor {
            write!(f, "tensor `{}`: ", escaped(tensor))?;
        }
        if let Some(offset) = details.offset {
            write!(f, "byte {offset}: ")?;
        }
        // Messages escape what they quote; this catches what one of them forgot.
        f.write_str(&escaped(&details.message))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        if let Some(hint) = &self.0.hint {
            write!(f, " (hint: {hint})")?;
        }
        match &self.0.remedies[..] {
            [] => Ok(()),
            remedies => write!(f, " {remedies:?}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_layers_win() {
        let error = Error::malformed("offset past the end")
            .at(7)
            .in_tensor("w\x1b[31m")
            .at(99)
            .in_file(Path::new("a.bin"))
            .in_file(Path::new("b.bin"));
        assert_eq!(error.to_string(), "a.bin: tensor `w\\u{1b}[31m`: byte 7: offset past the end");
        assert_eq!(error.kind(), ErrorKind::Malformed);
    }

    #[test]
    fn io_errors_lose_their_number() {
        let error = Error::io(io::Error::from_raw_os_error(2), "cannot open");
        assert_eq!(error.to_string(), "cannot open: no such file or directory");
    }
}
