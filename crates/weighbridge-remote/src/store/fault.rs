//! What stores say when they refuse, in our words. Addresses are left out: they may be signed.

use std::error::Error as _;
use std::io;

use crate::{Error, Remedy, causes};
use object_store::Error as StoreError;
use object_store::path::Path;

use crate::store::bucket::Bucket;

/// Characters of a server's own words, at most.
const MAX_QUOTE: usize = 200;

impl Bucket {
    /// A store's error in our words; `doing` says what was being done ("cannot read").
    pub(crate) fn fault(&self, key: &Path, doing: &str, error: &StoreError) -> Error {
        let why = reason(error);
        let (word, bucket) = (self.scheme.bucket_word(), &self.name);
        let of_kind = |kind, text: String| Error::io(io::Error::new(kind, text), doing);
        let error = match error {
            StoreError::NotFound { .. } if is_missing_bucket(&why) => {
                of_kind(io::ErrorKind::NotFound, format!("{word} `{bucket}` not found")).hint(
                    format!(
                        "create the {word}, or check its name and the endpoint in the environment"
                    ),
                )
            }
            StoreError::NotFound { .. } => {
                of_kind(io::ErrorKind::NotFound, "object not found".into())
                    .hint(format!("check the key and the contents of the {word}"))
            }
            StoreError::Precondition { .. } | StoreError::NotModified { .. } => changed(),
            StoreError::AlreadyExists { .. } => {
                of_kind(io::ErrorKind::AlreadyExists, "it already exists".into())
                    .remedy(Remedy::OverwriteInPlace)
                    .remedy(Remedy::AnotherTarget)
            }
            StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
                of_kind(io::ErrorKind::PermissionDenied, format!("access denied ({why})"))
                    .hint(&self.tried)
            }
            _ if is_cut_short(&why) => of_kind(io::ErrorKind::UnexpectedEof, why),
            _ => of_kind(io::ErrorKind::Other, why)
                .hint("retry; if it fails again, check the connection and the server"),
        };
        error.in_file(&self.place(key))
    }
}

/// The object is no longer the one whose first bytes were read.
pub(crate) fn changed() -> Error {
    Error::malformed("was changed while it was read")
        .hint("run it again once nothing writes to the object")
}

/// As an error of the kind that callers of [`crate::Folder`] look at.
pub(crate) fn as_io(error: Error) -> io::Error {
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let kind = source.map_or(io::ErrorKind::Other, io::Error::kind);
    io::Error::new(kind, error)
}

/// The innermost reason, in one line. What wraps it repeats addresses and times.
pub(crate) fn reason(error: &StoreError) -> String {
    let text = causes(error).last().map(ToString::to_string).unwrap_or_default();
    let said = match (element(&text, "Code"), element(&text, "Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        _ => text.split('<').next().unwrap_or_default().to_owned(),
    };
    let line = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    without_query(line.trim().trim_end_matches([':', '.', ' ']))
}

/// The text of an XML element; servers send nothing that needs more of a parser.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = text.find(&format!("<{name}>"))? + name.len() + 2;
    let rest = &text[start..];
    Some(&rest[..rest.find("</")?])
}

/// Cuts what follows `?` in each word, where signatures are, and what is too long.
fn without_query(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.split_once('?') {
        Some((before, _)) if before.contains("://") => before,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ").chars().take(MAX_QUOTE).collect()
}

fn is_missing_bucket(why: &str) -> bool {
    ["NoSuchBucket", "ContainerNotFound"].iter().any(|code| why.starts_with(code))
}

fn is_cut_short(why: &str) -> bool {
    why.contains("end of file") || why.contains("incomplete message")
}

/// Whether a range was refused because the object has no bytes at all.
pub(crate) fn is_outside(error: &StoreError) -> bool {
    causes(error).map(ToString::to_string).any(|text| {
        text.contains("416 Range Not Satisfiable") || text.contains("<Code>InvalidRange<")
    })
}
