//! The files of an output: written one after the other, each by all workers.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde_json::json;

use super::target::{Place, Target};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::Output;
use crate::output_folder::{Leftover, OutputFolder};
use crate::pipeline::{self, Plan, PlannedFile, Pool, Sink, Stream, Summed, Sums};
use crate::sys::{free_space_beside, standard_output};

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

impl Contents {
    fn bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Of(path) => path.metadata().map_or(0, |about| about.len()),
        }
    }
}

/// How the files are written.
pub(super) struct Writing<'a> {
    pub(super) model: &'a Model,
    pub(super) plan: &'a Plan<'a>,
    pub(super) pool: Pool<'a>,
    pub(super) beside: &'a [Beside],
    /// Replace what is there.
    pub(super) force: bool,
    /// Go on with what is finished.
    pub(super) resume: bool,
}

impl Writing<'_> {
    /// Writes everything, and gives the number of finite values that became infinite. A stream
    /// goes to `out`; without one, to standard output.
    pub(super) fn write(
        &self,
        target: &Target,
        out: Option<&mut (dyn Write + Send)>,
    ) -> Result<u64> {
        self.model.will_need_all();
        match (&target.place, out) {
            (Place::Stream, Some(out)) => self.stream(out),
            (Place::Stream, None) => {
                let failed = |e| Error::io(e, "cannot write to standard output");
                self.stream(standard_output().map_err(failed)?)
            }
            (Place::File(path), _) => self.single(path),
            (Place::Folder(path), _) => self.folder(path),
        }
    }

    fn stream(&self, out: impl Write + Send) -> Result<u64> {
        let Some(file) = self.plan.files.first() else { return Ok(0) };
        let sums = sums_of(file);
        let stream = Stream::new(out, &file.layout.fixed, sums.as_ref());
        let overflowed = self.run(file, &stream, sums.as_ref(), 0)?;
        stream.finish(file.layout.len)?;
        self.model.refuse_changed()?;
        Ok(overflowed)
    }

    fn single(&self, path: &Path) -> Result<u64> {
        let Some(file) = self.plan.files.first() else { return Ok(0) };
        refuse_small(path, file.layout.len)?;
        let (output, overflowed) = self.file(path, file, 0)?;
        self.model.refuse_changed()?;
        output.finish(self.force)?;
        Ok(overflowed)
    }

    /// The tensors of a file, into a sink; `before` bytes of data have gone into others.
    fn run(
        &self,
        file: &PlannedFile<'_>,
        sink: &dyn Sink,
        sums: Option<&Sums>,
        before: u64,
    ) -> Result<u64> {
        let pool = Pool { done_before: before, ..self.pool };
        match sums {
            Some(sums) => pipeline::run(file.jobs.iter(), &Summed { to: sink, sums }, &pool),
            None => pipeline::run(file.jobs.iter(), sink, &pool),
        }
    }

    /// One file, complete but for its name.
    fn file(&self, path: &Path, file: &PlannedFile<'_>, before: u64) -> Result<(Output, u64)> {
        let output = Output::create(path, file.layout.len)?;
        let sums = sums_of(file);
        let overflowed = self.run(file, &output, sums.as_ref(), before)?;
        for fixed in &file.layout.fixed {
            match &sums {
                Some(sums) => output.write_at(fixed.at, &sums.filled(fixed))?,
                None => output.write_at(fixed.at, &fixed.bytes)?,
            }
        }
        Ok((output, overflowed))
    }

    fn folder(&self, path: &Path) -> Result<u64> {
        let leftover = match (self.resume, self.force) {
            (true, _) => Leftover::Resume,
            (_, true) => Leftover::Discard,
            _ => Leftover::Refuse,
        };
        let folder = OutputFolder::create(path, &self.stamp(), leftover)?;
        let missing = |file: &&PlannedFile<'_>| !folder.has(&file.name, file.layout.len);
        let to_write = self.plan.files.iter().filter(missing).map(|file| file.layout.len);
        let beside = self.beside.iter().map(|beside| beside.contents.bytes());
        refuse_small(path, to_write.chain(beside).fold(0, u64::saturating_add))?;
        let overflowed = self.files(&folder)?;
        if let Some((name, text)) = &self.plan.index {
            write_text(&folder.path_of(name), text)?;
        }
        for beside in self.beside {
            place(beside, &folder)?;
        }
        self.model.refuse_changed()?;
        folder.finish(self.force)?;
        Ok(overflowed)
    }

    /// Every file that is not there yet. While one is made durable, the next is begun.
    fn files(&self, folder: &OutputFolder) -> Result<u64> {
        std::thread::scope(|scope| {
            let (mut before, mut overflowed) = (0, 0);
            let mut closing = None;
            for file in &self.plan.files {
                if !folder.has(&file.name, file.layout.len) {
                    let (output, more) = self.file(&folder.path_of(&file.name), file, before)?;
                    overflowed += more;
                    let finish = scope.spawn(move || output.finish(true));
                    closed(closing.replace(finish))?;
                }
                before += file.jobs.iter().map(|job| job.bytes).sum::<u64>();
            }
            closed(closing)?;
            Ok(overflowed)
        })
    }

    /// What tells this work from any other: the files, what their tensors are made from and how,
    /// and the state of the sources.
    fn stamp(&self) -> String {
        let files: Vec<_> = self.plan.files.iter().map(stamp_of_file).collect();
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

fn stamp_of_file(file: &PlannedFile<'_>) -> serde_json::Value {
    let mut header = crc32fast::Hasher::new();
    file.layout.fixed.iter().for_each(|fixed| header.update(&fixed.bytes));
    let mut tensors = crc32fast::Hasher::new();
    for job in &file.jobs {
        // The same header may stand for other numbers: another reading of what is stored.
        let (scheme, variant) = job.scheme();
        for text in [&*job.name, job.source_name(), scheme, variant, job.stored.name()] {
            tensors.update(&(text.len() as u64).to_le_bytes());
            tensors.update(text.as_bytes());
        }
    }
    json!({
        "name": file.name,
        "bytes": file.layout.len,
        "header": header.finalize(),
        "tensors": tensors.finalize(),
    })
}

fn sums_of(file: &PlannedFile<'_>) -> Option<Sums> {
    Sums::of(&file.layout, file.jobs.iter().map(|job| job.bytes))
}

type Closing<'scope> = std::thread::ScopedJoinHandle<'scope, Result<()>>;

/// Waits until a file has its name.
fn closed(closing: Option<Closing<'_>>) -> Result<()> {
    let panicked = |_| Error::usage("a thread that was to name a file has panicked");
    closing.map_or(Ok(()), |closing| closing.join().map_err(panicked)?)
}

/// An error if the disk cannot take so many bytes.
fn refuse_small(target: &Path, bytes: u64) -> Result<()> {
    match free_space_beside(target) {
        Some(free) if free < bytes => Err(Error::io(
            std::io::ErrorKind::StorageFull.into(),
            &format!("{bytes} bytes are to be written, there is room for {free}"),
        )
        .in_file(target)
        .hint("make room, or choose another place for the output")),
        _ => Ok(()),
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
            let synced = std::fs::File::open(&to).and_then(|file| file.sync_all());
            synced.map_err(|e| Error::io(e, "cannot write").in_file(&to))
        }
    }
}

/// Writes a small file, complete or not at all.
fn write_text(path: &Path, text: &str) -> Result<()> {
    let output = Output::create(path, text.len() as u64)?;
    output.write_at(0, text.as_bytes())?;
    output.finish(true)
}
