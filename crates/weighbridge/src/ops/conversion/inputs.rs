//! Protects what a run reads besides the model from being replaced by its output.

use std::path::Path;

use super::options::ConvertOptions;
use super::values::Values;
use crate::error::Result;
use crate::pipeline::Target;

/// Returns an error if the output would replace an importance matrix, a base repository or a file of
/// certificates that the run reads, even if it may overwrite other files.
pub(super) fn refuse_replacing(
    target: &Target,
    options: &ConvertOptions,
    values: &Values,
) -> Result<()> {
    let matrix = match values {
        Values::Quantize { how, .. } => how.importance.as_deref(),
        _ => None,
    };
    let inputs = [
        ("the importance matrix", matrix),
        ("the base repository", options.base.as_deref()),
        ("the file of certificates", certificates(options)),
    ];
    let inputs = inputs.into_iter().filter_map(|(what, path)| Some((what, path?)));
    inputs.into_iter().try_for_each(|(what, path)| target.refuse_replacing(what, path))
}

#[cfg(feature = "remote")]
fn certificates(options: &ConvertOptions) -> Option<&Path> {
    options.network.ca_file.as_deref()
}

#[cfg(not(feature = "remote"))]
fn certificates(_: &ConvertOptions) -> Option<&Path> {
    None
}
