//! The files of an output: written one after the other, each by all workers.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::json;

use super::target::Target;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::Output;
use crate::output_folder::{Leftover, OutputFolder};
use crate::pipeline::{self, INDEX, Plan, PlannedFile, Stream, Work};

/// A file that goes into a directory beside the weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Beside {
    /// Its name there.
    pub(super) name: PathBuf,
    pub(super) contents: Contents,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Those of another file.
    Of(PathBuf),
    /// These.
    Text(String),
}

/// How the files are written.
pub(super) struct Writing<'a> {
    pub(super) model: &'a Model,
    pub(super) plan: &'a Plan<'a>,
    pub(super) work: Work<'a>,
    pub(super) beside: &'a [Beside],
    /// Replace what is there.
    pub(super) force: bool,
    /// Go on with what is finished.
    pub(super) resume: bool,
}

impl Writing<'_> {
    /// Writes everything, and gives the number of finite values that became infinite.
    pub(super) fn write(&self, target: &Target) -> Result<u64> {
        let Some(first) = self.plan.files.first() else { return Ok(0) };
        match target {
            Target::Stream => {
                let stream = Stream::new(std::io::stdout(), &first.header)?;
                let overflowed = pipeline::run(&first.jobs, &stream, self.work)?;
                stream.finish(first.len)?;
                Ok(overflowed)
            }
            Target::File(path) => self.file(path, first, 0, self.force),
            Target::Folder(path) => self.folder(path),
        }
    }

    /// One file; `before` bytes of data have gone into others.
    fn file(&self, path: &Path, file: &PlannedFile<'_>, before: u64, replace: bool) -> Result<u64> {
        let output = Output::create(path, file.len)?;
        output.write_at(0, &file.header)?;
        let tell = |written: u64| {
            if let Some(progress) = self.work.progress {
                progress(before + written);
            }
        };
        let work = Work { progress: Some(&tell), ..self.work };
        let overflowed = pipeline::run(&file.jobs, &output, work)?;
        output.finish(replace)?;
        Ok(overflowed)
    }

    fn folder(&self, path: &Path) -> Result<u64> {
        let leftover = match (self.resume, self.force) {
            (true, _) => Leftover::Resume,
            (_, true) => Leftover::Discard,
            _ => Leftover::Refuse,
        };
        let folder = OutputFolder::create(path, &self.stamp(), leftover)?;
        let (mut before, mut overflowed) = (0, 0);
        for file in &self.plan.files {
            if !folder.has(&file.name, file.len) {
                overflowed += self.file(&folder.path_of(&file.name), file, before, true)?;
            }
            before += file.jobs.iter().map(|job| job.bytes).sum::<u64>();
        }
        if let Some(index) = &self.plan.index {
            write_text(&folder.path_of(INDEX), index)?;
        }
        for beside in self.beside {
            place(beside, &folder)?;
        }
        folder.finish(self.force)?;
        Ok(overflowed)
    }

    /// What tells this work from any other: the headers of the files, and the state of the sources.
    fn stamp(&self) -> String {
        let files: Vec<_> = self
            .plan
            .files
            .iter()
            .map(|file| {
                let header = crc32fast::hash(&file.header);
                json!({ "name": file.name, "bytes": file.len, "header": header })
            })
            .collect();
        let sources: Vec<_> = self
            .model
            .sources()
            .iter()
            .map(|source| {
                let path = source.input().name();
                let about = path.metadata().ok();
                let time = about.and_then(|about| about.modified().ok());
                let time = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                json!({
                    "path": path.to_string_lossy(),
                    "bytes": source.file_bytes(),
                    "modified": time.map(|time| time.as_nanos().to_string()),
                })
            })
            .collect();
        let version = env!("CARGO_PKG_VERSION");
        format!("{:#}\n", json!({ "version": version, "files": files, "sources": sources }))
    }
}

fn place(beside: &Beside, folder: &OutputFolder) -> Result<()> {
    let to = folder.path_of(&beside.name.to_string_lossy());
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent)
            .map_err(|e| Error::io(e, "cannot create").in_file(parent))?;
    }
    match &beside.contents {
        Contents::Text(text) => write_text(&to, text),
        Contents::Of(from) => {
            std::fs::copy(from, &to).map_err(|e| Error::io(e, "cannot copy").in_file(from))?;
            Ok(())
        }
    }
}

/// Writes a small file, complete or not at all.
fn write_text(path: &Path, text: &str) -> Result<()> {
    let output = Output::create(path, text.len() as u64)?;
    output.write_at(0, text.as_bytes())?;
    output.finish(true)
}
