//! The `Modelfile` of a conversion: a file of a directory, or a second file beside a single one.

use std::path::Path;

use super::translate::{modelfile, read};
use super::{Conversion, Part, split};
use crate::error::{Error, Result};
use crate::input::{FileAccess, LocalFolder};
use crate::output::{PartialFile, refuse_existing};
use crate::pipeline::{ExtraFile, Place};

/// Plans the `Modelfile`, if one is asked for.
pub(super) fn plan(conversion: &mut Conversion) -> Result<()> {
    let Conversion { options, target, parts, extra, report, .. } = conversion;
    if !options.modelfile {
        return Ok(());
    }
    let refused = |message: &str| Err(Error::usage(message).in_file(&options.target));
    let Some(text) = text(parts) else {
        return refused("a Modelfile needs an output that llama.cpp can run");
    };
    report.made.push(modelfile::NAME.to_owned());
    match &target.place {
        Place::Folder(_) => {
            extra.push(ExtraFile::made(modelfile::NAME, text.into_bytes()));
            Ok(())
        }
        Place::File(_) if target.is_elsewhere => {
            refused("a Modelfile can only be written next to a local file")
        }
        Place::File(_) if parts.iter().any(|part| split::is_split(target, &part.plan)) => {
            refused("a Modelfile names one file, and the output is split")
        }
        Place::File(path) => {
            let own = parts.first().and_then(|part| part.plan.files.first());
            let file = path.with_file_name(modelfile::NAME);
            let is_own = own.is_some_and(|own| is_about(&file, &own.name));
            refuse_other(&file, options.force, is_own)
        }
        Place::Stream | Place::Special(_) => {
            Err(Error::usage("a Modelfile cannot be written next to a stream"))
        }
    }
}

/// An error if a file would be replaced that is not the `Modelfile` of the same output: another
/// one is somebody's own.
fn refuse_other(file: &Path, force: bool, is_own: bool) -> Result<()> {
    match refuse_existing(file) {
        Err(_) if force && is_own => Ok(()),
        Err(_) if force => {
            let error = Error::usage("belongs to another model and is not overwritten");
            Err(error.in_file(file).hint("move it, or write the output to another directory"))
        }
        other => other,
    }
}

/// The text of the `Modelfile`, if the output is a model that Ollama runs.
fn text(parts: &[Part]) -> Option<String> {
    let [Part { plan, .. }, rest @ ..] = parts else { return None };
    if !rest.iter().all(|part| part.is_projector) {
        return None;
    }
    let metadata = plan.described.as_ref()?;
    let kind = metadata.iter().find(|(key, _)| key == "general.type")?;
    let is_model = kind.1.value()?.as_str() == Some("model");
    is_model.then(|| modelfile::text(&plan.files[0].name, metadata))
}

/// Writes the `Modelfile` of a single file.
pub(super) fn write(conversion: &Conversion) -> Result<()> {
    let Conversion { options, target, parts, .. } = conversion;
    let (Place::File(path), true) = (&target.place, options.modelfile) else { return Ok(()) };
    let text = text(parts).unwrap_or_default();
    let file = PartialFile::create(&path.with_file_name(modelfile::NAME), text.len() as u64)?;
    file.write_at(0, text.as_bytes())?;
    file.finish(options.force)
}

/// Whether a file is the `Modelfile` of a model in that file.
fn is_about(file: &Path, model: &str) -> bool {
    let (folder, home) = (LocalFolder::new("", FileAccess::Read), file.parent());
    let text = home.and_then(|home| read(&folder, home, modelfile::NAME).ok().flatten());
    text.is_some_and(|text| text.starts_with(modelfile::first_line(model).as_bytes()))
}
