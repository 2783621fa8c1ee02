//! One output file that is written as several numbered parts, because it would be too large.

use std::path::{Path, PathBuf};

use super::options::{ConvertOptions, MAX_SHARD_SIZE};
use super::{Conversion, Part, inputs};
use crate::containers::WRITERS;
use crate::error::{Error, Remedy, Result};
use crate::model::Model;
use crate::output::{refuse_existing, refuse_taken};
use crate::pipeline::{Place, Plan, Spread, Target, stem_of};

/// How tensors are spread over the files of a target.
pub(super) fn spread(target: &Target, options: &ConvertOptions) -> Spread {
    match (&target.place, options.max_shard_size) {
        (Place::Folder(_), most) => Spread::Shards(most.unwrap_or(MAX_SHARD_SIZE)),
        (Place::File(_), Some(most)) if can_be_split(target) => Spread::Shards(most),
        _ => Spread::OneFile,
    }
}

/// Whether one file of this format may become several beside each other.
fn can_be_split(target: &Target) -> bool {
    target.writer.numbers_parts() && !target.is_elsewhere
}

/// Whether an output at the path of a file is several files: parts of it, or one with a projector.
pub(super) fn are_several(conversion: &Conversion) -> bool {
    parts(conversion).is_some()
}

/// Whether the parts of a plan get their names beside each other.
pub(super) fn is_split(target: &Target, plan: &Plan) -> bool {
    matches!(target.place, Place::File(_)) && plan.files.len() > 1
}

/// An error if one file would be larger than it may be, and cannot be split.
fn refuse_unsplit(conversion: &Conversion) -> Result<()> {
    let Conversion { options, target, .. } = conversion;
    let can_be = matches!(target.place, Place::File(_)) && can_be_split(target);
    let fits = options.max_shard_size.is_none_or(|most| conversion.data_bytes() <= most);
    if target.is_folder() || can_be || fits {
        return Ok(());
    }
    let writers = WRITERS.iter().filter(|writer| writer.numbers_parts());
    let endings: Vec<_> = writers.map(|writer| format!(".{}", writer.format())).collect();
    let message = format!(
        "is one file, and larger than asked for; only directories and local {} files are split",
        endings.join(" and ")
    );
    Err(Error::usage(message).in_file(&options.target).remedy(Remedy::AnotherTarget))
}

/// An error if the output must be split and cannot, if its parts would replace anything that they may
/// not, or if they would lie beside other parts.
pub(super) fn check(conversion: &Conversion, model: &Model) -> Result<()> {
    refuse_unsplit(conversion)?;
    let Some((path, parts)) = parts(conversion) else { return Ok(()) };
    let Conversion { options, values, .. } = conversion;
    for name in &parts {
        let part =
            Target { place: Place::File(path.with_file_name(name)), ..conversion.target.clone() };
        // Whether a name is free is asked below: an interrupted run may have given some already.
        part.check(model, true)?;
        inputs::refuse_replacing(&part, options, values)?;
    }
    if conversion.parts.iter().any(|part| is_split(&conversion.target, &part.plan)) {
        refuse_beside(path, "is one file, and its parts would be beside it")?;
        if let Some(other) = other_part(path, &parts) {
            refuse_beside(&other, "is a part of another split under the same name")?;
        }
    }
    if options.force { Ok(()) } else { refuse_taken(path, &parts) }
}

/// An error if something is there that would be taken for a part of the output and is not replaced.
fn refuse_beside(path: &Path, why: &str) -> Result<()> {
    let refused = |_| Error::usage(why).in_file(path).remedy(Remedy::AnotherTarget);
    refuse_existing(path)
        .map_err(|error| refused(error).hint("move it away, or remove it yourself"))
}

/// Where a part lies in an output that is not named yet, if that has a projector beside the model.
pub(super) fn place(output: &Path, parts: &[Part], part: &Part) -> Option<PathBuf> {
    let has_projector = parts.iter().any(|part| part.is_projector);
    let first = part.plan.files.first().filter(|_| has_projector)?;
    Some(output.join(&first.name))
}

/// The output's path, and the names of its parts; `None` if it has none.
fn parts(conversion: &Conversion) -> Option<(&Path, Vec<&str>)> {
    let Place::File(path) = &conversion.target.place else { return None };
    let files = conversion.parts.iter().flat_map(|part| &part.plan.files);
    let names: Vec<&str> = files.map(|file| &*file.name).collect();
    (names.len() > 1).then_some((path.as_path(), names))
}

/// A file beside the output that has the name of a part, and is none of these.
fn other_part(path: &Path, parts: &[&str]) -> Option<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let (stem, extension) = (stem_of(path)?, path.extension()?);
    let is_other = |file: &PathBuf| {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        file.extension() == Some(extension)
            && name.starts_with(&format!("{stem}-"))
            && stem_of(file).is_some_and(|of| of == stem)
            && !parts.contains(&name)
    };
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    entries.flatten().map(|entry| path.with_file_name(entry.file_name())).find(is_other)
}
