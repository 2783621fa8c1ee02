//! An error as JSON, in place of a report.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use weighbridge::Error;

use super::json::{self, Layout};
use crate::remedy;

/// A requested model and the error that prevents its report.
#[derive(Serialize)]
pub(crate) struct Failure {
    path: Option<String>,
    error: Details,
}

#[derive(Serialize)]
struct Details {
    kind: &'static str,
    message: String,
    file: Option<String>,
    tensor: Option<String>,
    offset: Option<u64>,
    hint: Option<String>,
}

impl Failure {
    /// An error about the model that was asked for under this path.
    pub(crate) fn new(path: Option<&Path>, error: &Error) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let details = Details {
            kind: error.kind().name(),
            message: error.message().to_owned(),
            file: error.path().map(text),
            tensor: error.tensor().map(str::to_owned),
            offset: error.offset(),
            hint: remedy::hint(error),
        };
        Self { path: path.map(text), error: details }
    }

    /// Writes it as a report is written.
    pub(crate) fn write(&self, out: &mut dyn Write, layout: Layout) -> io::Result<()> {
        json::report(out, layout, self)
    }
}
