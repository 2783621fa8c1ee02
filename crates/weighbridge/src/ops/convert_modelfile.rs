//! The `Modelfile` of a conversion: a file of a directory, or a second file beside a single one.

use std::path::Path;

use super::convert::{Conversion, Part};
use super::translate::{modelfile, read};
use crate::error::{Error, Result};
use crate::input::{FileAccess, LocalFolder};
use crate::output::{PartialFile, refuse_existing};
use crate::pipeline::{Contents, ExtraFile, Place};

impl Conversion {
    /// Plans the `Modelfile`, if one is asked for.
    pub(super) fn plan_modelfile(&mut self) -> Result<()> {
        if !self.options.modelfile {
            return Ok(());
        }
        let Some(text) = self.modelfile() else {
            let message =
                "a Modelfile is written only beside a model that is made so that llama.cpp runs it";
            return Err(Error::usage(message).in_file(&self.options.target));
        };
        self.report.made.push(modelfile::NAME.to_owned());
        match &self.target.place {
            Place::Folder(_) => {
                let (name, contents) = (modelfile::NAME.into(), Contents::Bytes(text.into_bytes()));
                self.extra.push(ExtraFile { name, contents });
                Ok(())
            }
            Place::File(_) if self.target.is_elsewhere => {
                Err(Error::usage("a Modelfile is written beside files of this machine only")
                    .in_file(&self.options.target))
            }
            Place::File(path) => self.refuse_other(&path.with_file_name(modelfile::NAME)),
            Place::Stream | Place::Special(_) => {
                Err(Error::usage("a stream has no place for a Modelfile beside it"))
            }
        }
    }

    /// An error if a file would be replaced that is not the `Modelfile` of the same output: another
    /// one is somebody's own.
    fn refuse_other(&self, file: &Path) -> Result<()> {
        let own = self.parts.first().and_then(|part| part.plan.files.first());
        match refuse_existing(file) {
            Err(_) if self.options.force && own.is_some_and(|own| is_about(file, &own.name)) => {
                Ok(())
            }
            Err(_) if self.options.force => {
                let error = Error::usage("is about another model, and is not replaced");
                Err(error.in_file(file).hint("move it away, or write into another folder"))
            }
            other => other,
        }
    }

    /// The text of the `Modelfile`, if the output is a model that Ollama runs.
    fn modelfile(&self) -> Option<String> {
        let [Part { plan, .. }] = &self.parts[..] else { return None };
        let metadata = plan.described.as_ref()?;
        let kind = metadata.iter().find(|(key, _)| key == "general.type")?;
        let is_model = kind.1.value()?.as_str() == Some("model");
        is_model.then(|| modelfile::text(&plan.files[0].name, metadata))
    }

    /// Writes the `Modelfile` of a single file.
    pub(super) fn write_modelfile(&self) -> Result<()> {
        let (Place::File(path), true) = (&self.target.place, self.options.modelfile) else {
            return Ok(());
        };
        let text = self.modelfile().unwrap_or_default();
        let path = path.with_file_name(modelfile::NAME);
        let file = PartialFile::create(&path, text.len() as u64)?;
        file.write_at(0, text.as_bytes())?;
        file.finish(self.options.force)
    }
}

/// Whether a file is the `Modelfile` of a model in that file.
fn is_about(file: &Path, model: &str) -> bool {
    let (folder, home) = (LocalFolder::new("", FileAccess::Read), file.parent());
    let text = home.and_then(|home| read(&folder, home, modelfile::NAME).ok().flatten());
    text.is_some_and(|text| text.starts_with(modelfile::first_line(model).as_bytes()))
}
