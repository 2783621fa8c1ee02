//! Writes the files of a plan: one after the other, each with all workers.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::json;

use super::vouched::unvouched;
use super::{Action, AtPlace, Checksums, InTurn, Job, Plan, PlannedFile, Pool, run, steps_of};
use crate::error::{Error, ErrorKind, Remedy, Result};
use crate::input::{EntryKind, FileState, Folder, error_of};
use crate::model::Model;
use crate::output::{Destination, FoundFile, OutputFile, WriteOrder, write_whole};
use crate::source::Source;
use crate::stop;

/// A file that goes into a directory beside the weights.
pub struct ExtraFile {
    /// Its name there.
    pub name: PathBuf,
    /// What is in it.
    pub contents: Contents,
}

/// What is in a file.
pub enum Contents {
    /// Those of a file in a folder.
    Of(Arc<dyn Folder>, PathBuf),
    /// These bytes.
    Bytes(Vec<u8>),
}

impl ExtraFile {
    /// A file that is made.
    pub fn made(name: impl Into<PathBuf>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), contents: Contents::Bytes(bytes) }
    }
}

impl Contents {
    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Of(folder, path) => match folder.kind(path) {
                Ok(EntryKind::File(len)) => len,
                _ => 0,
            },
        }
    }
}

/// Says of an output whether it is right.
pub type Check<'a> = &'a dyn Fn(&Path) -> Result<bool>;

/// What is written, and the workers.
pub struct Writing<'a> {
    /// The models, each with the plan of what becomes of it.
    pub parts: Vec<(&'a Model, &'a Plan)>,
    /// Who writes it.
    pub pool: Pool<'a>,
    /// What goes beside the weights.
    pub extra: &'a [ExtraFile],
    /// The bytes of data that progress counts: fewer if an earlier run has written some.
    pub total: &'a AtomicU64,
    /// What is asked about the complete output before it has its name.
    pub check: Option<Check<'a>>,
}

/// What was written.
pub struct Written {
    /// Finite values that became infinite.
    pub overflowed: u64,
    /// What there was of each planned file, those of all plans after each other.
    pub found: Vec<FoundFile>,
    /// What is to be said about the sources.
    pub notes: Vec<String>,
}

impl Writing<'_> {
    /// Writes everything. What turns out to be wrong is deleted.
    pub fn write(&self, to: &dyn Destination) -> Result<Written> {
        self.parts.iter().for_each(|(model, _)| model.will_need_all());
        let written = match self.pool.cancel {
            Some(flag) => stop::with_flag(flag, || self.write_all(to)),
            None => self.write_all(to),
        };
        let written = written.map_err(|error| self.with_kept(error, to));
        match &written {
            Err(error) if self.can_be_resumed() && !comes_again(error) => to.abort(),
            Err(_) => to.discard(),
            Ok(_) => {}
        }
        written.map_err(|error| to.left_behind().into_iter().fold(error, Error::hint))
    }

    fn write_all(&self, to: &dyn Destination) -> Result<Written> {
        to.begin(&|| self.stamp())?;
        let found = self.found(to)?;
        let files = self.planned().zip(&found);
        let missing = || files.clone().filter(|(_, found)| **found != FoundFile::Complete);
        let data = missing().flat_map(|(file, _)| &file.jobs).map(Job::bytes).sum();
        self.total.store(data, Ordering::Relaxed);
        let extra = self.extra.iter().map(|extra| extra.contents.len());
        let files = missing().map(|(file, _)| file.layout.len);
        to.reserve(files.chain(extra).fold(0, u64::saturating_add))?;
        let overflowed = self.files(to, &found)?;
        for (name, text) in self.parts.iter().filter_map(|(_, plan)| plan.index.as_ref()) {
            write_whole(to, name, text.as_bytes())?;
        }
        for extra in self.extra {
            self.pool.refuse_cancelled()?;
            let name = extra.name.to_string_lossy();
            match &extra.contents {
                Contents::Bytes(bytes) => write_whole(to, &name, bytes)?,
                Contents::Of(folder, path) => copy(to, &name, &**folder, path)?,
            }
        }
        self.parts.iter().try_for_each(|(model, _)| model.refuse_changed())?;
        let notes = unvouched(self.parts.iter().map(|(model, _)| *model));
        // What is complete was made from the same bytes: it is not kept for another run.
        let notes = notes.inspect_err(|_| to.discard())?;
        let is_finished = to.is_read_when_finished();
        if is_finished {
            to.finish()?;
        }
        match self.is_right(to)? {
            true if is_finished => {}
            true => to.finish()?,
            false => to.discard(),
        }
        Ok(Written { overflowed, found, notes })
    }

    /// The files of all plans.
    fn planned(&self) -> impl Iterator<Item = &PlannedFile> + Clone {
        self.parts.iter().flat_map(|(_, plan)| &plan.files)
    }

    fn sources(&self) -> impl Iterator<Item = (&Model, &Source)> {
        let of = |model| move |source| (model, source);
        self.parts.iter().flat_map(move |&(model, _)| model.sources().iter().map(of(model)))
    }

    /// What an interrupted run has left of each file.
    fn found(&self, to: &dyn Destination) -> Result<Vec<FoundFile>> {
        let left_of = |file: &PlannedFile| {
            self.pool.refuse_cancelled()?;
            Ok(to.found(&file.name, file.layout.len))
        };
        self.planned().map(left_of).collect()
    }

    fn is_right(&self, to: &dyn Destination) -> Result<bool> {
        let Some(check) = self.check else { return Ok(true) };
        let cannot = || Error::usage("the output cannot be read back to verify it");
        let checked = check(&to.unnamed().ok_or_else(cannot)?);
        // What cannot be opened is wrong; after other errors it may be right.
        if checked.as_ref().is_err_and(|error| error.kind() == ErrorKind::Malformed) {
            to.discard();
        }
        checked
    }

    /// The error of work that ended early, with what is kept of it.
    fn with_kept(&self, error: Error, to: &dyn Destination) -> Error {
        let is_cancelled = error.kind() == ErrorKind::Cancelled;
        if !is_cancelled && error.kind() != ErrorKind::Io {
            return error;
        }
        let kept = to.kept().filter(|_| self.can_be_resumed()).and_then(|kept| {
            let count = self.planned().filter(|file| kept.names.contains(&file.name)).count();
            let (all, path) = (self.planned().count(), kept.path.display());
            (count > 0).then(|| format!("{count} of {all} files are kept in {path}"))
        });
        match kept {
            Some(kept) if is_cancelled => Error::cancelled(&kept).remedy(Remedy::Resume),
            Some(kept) => error.hint(kept).remedy(Remedy::Resume),
            None if is_cancelled => Error::cancelled("nothing is kept"),
            None => error,
        }
    }

    /// Every file that is not there yet. While one is made durable, the next is begun.
    fn files(&self, to: &dyn Destination, found: &[FoundFile]) -> Result<u64> {
        std::thread::scope(|scope| {
            let (mut before, mut overflowed, mut closing) = (0, 0, None);
            let files = self.planned().zip(found);
            for (left, (file, found)) in (0..found.len()).rev().zip(files) {
                if *found == FoundFile::Complete {
                    continue;
                }
                let (output, more) = self.file(to, file, before)?;
                overflowed += more;
                match left {
                    0 => output.finish()?,
                    _ => {
                        let listening = stop::here();
                        let finish = move || listening.during(|| output.finish());
                        closed(closing.replace(scope.spawn(finish)))?;
                    }
                }
                before += file.jobs.iter().map(Job::bytes).sum::<u64>();
            }
            closed(closing)?;
            Ok(overflowed)
        })
    }

    /// One file, all of its bytes written; `before` bytes of data have gone into others.
    fn file<'d>(
        &self,
        to: &'d dyn Destination,
        file: &PlannedFile,
        before: u64,
    ) -> Result<(Box<dyn OutputFile + 'd>, u64)> {
        let output = to.create(&file.name, file.layout.len)?;
        let tensors = file.jobs.iter().flat_map(|job| &job.outputs);
        let checksums = Checksums::of(&file.layout, tensors.map(|output| output.bytes));
        let pool = Pool { done_before: before, ..self.pool };
        let overflowed = match to.order() {
            WriteOrder::FrontToBack => {
                let in_turn = InTurn::new(&*output, &file.layout.fixed, &checksums);
                let overflowed = run(file.jobs.iter(), &in_turn, &pool)?;
                in_turn.finish(file.layout.len)?;
                overflowed
            }
            WriteOrder::Any => {
                let overflowed = run(file.jobs.iter(), &AtPlace(&*output, &checksums), &pool)?;
                for fixed in &file.layout.fixed {
                    output.write_at(fixed.at, &checksums.filled(fixed))?;
                }
                overflowed
            }
        };
        // A file that is complete is taken over by a resumed run, which does not read it again.
        for (model, _) in &self.parts {
            model.check_sums(&|| self.pool.refuse_cancelled())?;
        }
        Ok((output, overflowed))
    }

    /// Identifies this work, for resuming: the files, how their tensors are made, and the state of
    /// the sources.
    fn stamp(&self) -> String {
        let files: Vec<_> = self.planned().map(stamp_of_file).collect();
        let sources: Vec<_> = self
            .sources()
            .map(|(model, source)| {
                let path = source.input().name();
                let state = path.metadata().ok().map(|metadata| FileState::of(&metadata));
                let modified = state.as_ref().and_then(|state| state.modified);
                let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
                json!({
                    "path": path.to_string_lossy(),
                    "bytes": source.file_bytes(),
                    "version": model.version_of(source),
                    "modified": modified.map(|time| time.as_nanos().to_string()),
                    "changed": state.and_then(|state| state.changed).map(|time| time.to_string()),
                })
            })
            .collect();
        let version = env!("CARGO_PKG_VERSION");
        // A stream cannot be told from another one: its work is not the same as any other.
        let once = (!self.can_be_resumed()).then(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            format!("{} {}", std::process::id(), now.as_nanos())
        });
        let stamp = json!({ "version": version, "files": files, "sources": sources, "once": once });
        format!("{stamp:#}\n")
    }

    /// Whether a later run can tell that it reads the same sources: those that are files, or whose
    /// server says which version they are.
    fn can_be_resumed(&self) -> bool {
        let is_known = |(model, source): (&Model, &Source)| {
            source.input().name().is_file() || model.version_of(source).is_some()
        };
        self.sources().all(is_known)
    }
}

/// Whether another run with the same options would end with the same error.
fn comes_again(error: &Error) -> bool {
    let is_for_numbers =
        |remedy: &Remedy| matches!(remedy, Remedy::AllowNonFinite | Remedy::KeepWeight);
    error.remedies().iter().any(is_for_numbers)
}

fn stamp_of_file(file: &PlannedFile) -> serde_json::Value {
    let mut header = crc32fast::Hasher::new();
    file.layout.fixed.iter().for_each(|fixed| header.update(&fixed.bytes));
    let mut tensors = crc32fast::Hasher::new();
    for job in &file.jobs {
        // The same header may hold other numbers, if the source is read by another scheme.
        let (scheme, variant) = job.scheme();
        // And if it is encoded by another rule.
        let encoder = match &job.action {
            Action::Encode(encoding) => {
                encoding.encoder.identity().unwrap_or_else(|error| error.to_string())
            }
            _ => String::new(),
        };
        for output in &job.outputs {
            let stored = output.stored.name();
            let texts =
                [&*output.name, job.source_name(), scheme, variant, stored, encoder.as_str()];
            for text in texts {
                tensors.update(&(text.len() as u64).to_le_bytes());
                tensors.update(text.as_bytes());
            }
        }
    }
    json!({
        "name": file.name,
        "bytes": file.layout.len,
        "header": header.finalize(),
        "tensors": tensors.finalize(),
    })
}

/// Bytes that are copied at once.
const COPY_BYTES: u64 = 1 << 20;

fn copy(to: &dyn Destination, name: &str, folder: &dyn Folder, path: &Path) -> Result<()> {
    if let Some(from) = folder.local_path(path) {
        return to.copy(name, &from);
    }
    let failed = |e| error_of(e, "cannot copy").in_file(path);
    let source = folder.open(path).map_err(failed)?;
    let len = source.find_len().map_err(failed)?;
    let file = to.create(name, len)?;
    let mut buffer = Vec::new();
    for Range { start, end } in steps_of(0..len, COPY_BYTES) {
        buffer.resize(usize::try_from(end - start).unwrap_or(0), 0);
        source.read_at(start, &mut buffer).map_err(failed)?;
        file.write_at(start, &buffer)?;
    }
    source.vouch().map_err(failed)?;
    file.finish()
}

type Closing<'scope> = std::thread::ScopedJoinHandle<'scope, Result<()>>;

/// Waits until a file is finished.
fn closed(closing: Option<Closing<'_>>) -> Result<()> {
    let panicked = |_| Error::usage("a thread panicked while finishing a file");
    closing.map_or(Ok(()), |closing| closing.join().map_err(panicked)?)
}
