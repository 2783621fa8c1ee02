//! The contents of deflated archive members, read at any place and by several threads.
//!
//! ```text
//! reading on          one inflater, which goes forward
//! a little behind     from the bytes that were skipped and kept: tiles come nearly in order
//! further behind      the member is inflated whole, once: up to 1 MiB into memory, more into a
//!                     temporary file without a name, and served from there
//! ```

use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::catalog::Member;
use crate::error::{Error, Result};
use crate::inflate::{GoOn, Inflater, check_range};
use crate::input::{Input, range_of};
use crate::limits::{Budget, Limits};
use crate::stop::lock;
use crate::sys::read_file_at;

/// Members whose state is kept: where one ends and the next begins, workers are in both.
const MEMBERS: usize = 4;

/// Members of which a temporary file is kept.
const FILES: usize = 2;

/// Skipped bytes of a member that are kept: a few tiles.
const KEPT_BYTES: usize = 4 << 20;

/// Members up to this size are inflated into memory.
const IN_MEMORY: u64 = 1 << 20;

/// Bytes inflated at a time on the way to a temporary file.
const CHUNK: usize = 128 << 10;

/// Some of a member was read.
const BEGUN: u8 = 1;

/// All of a member was inflated, and has the checksum that the archive states.
const CHECKED: u8 = 2;

/// The members that were read last.
#[derive(Default)]
pub(super) struct Members {
    /// The most recent one last.
    recent: Mutex<Vec<Slot>>,
    /// How far each member was read, once one is: [`BEGUN`] or [`CHECKED`].
    progress: OnceLock<Box<[AtomicU8]>>,
    /// How often a member was begun.
    #[cfg(test)]
    begun: std::sync::atomic::AtomicUsize,
}

struct Slot {
    member: Member,
    reading: Arc<Mutex<Reading>>,
}

impl Slot {
    /// Whether it has a temporary file, and no thread is just now inflating it.
    fn is_file(&self) -> bool {
        match self.reading.try_lock().as_deref() {
            Ok(Reading::Spooled(spool)) => matches!(**spool, Spool::File(_)),
            _ => false,
        }
    }
}

enum Reading {
    Forward(Box<Forward>),
    Spooled(Arc<Spool>),
}

impl Members {
    /// Fills `out` with the contents of member `index` from `offset` on. What the archive says of
    /// the sum of its contents is checked when the last of them is inflated.
    pub(super) fn read_at(
        &self,
        input: &Input,
        (members, index): (&[Member], usize),
        limits: &Limits,
        offset: u64,
        out: &mut [u8],
    ) -> Result<()> {
        let missing = || Error::malformed("the archive member does not exist");
        let member = members.get(index).ok_or_else(missing)?;
        let progress = &self.progress.get_or_init(|| members.iter().map(|_| 0.into()).collect());
        let note = |what| progress.get(index).map(|now| now.fetch_max(what, Ordering::Relaxed));
        note(BEGUN);
        check_range(member, offset, out.len())?;
        let reading = self.reading(member);
        let mut state = lock(&reading);
        let spool = match &mut *state {
            Reading::Spooled(spool) => spool.clone(),
            Reading::Forward(forward) => {
                if forward.read_at(input, offset, out)? {
                    if forward.inflater.is_at_end() {
                        note(CHECKED);
                    }
                    return Ok(());
                }
                self.count();
                let spool = Arc::new(Spool::of(input, member, limits)?);
                note(CHECKED);
                *state = Reading::Spooled(spool.clone());
                spool
            }
        };
        drop(state);
        self.drop_old_files();
        spool.read_at(offset, out)
    }

    /// Inflates the members that were read, but not to their ends, to see whether they are damaged;
    /// gives the index of a damaged one with the error. `go_on` is asked from time to time.
    pub(super) fn finish(
        &self,
        input: &Input,
        members: &[Member],
        is_wanted: &dyn Fn(usize) -> bool,
        go_on: GoOn<'_>,
    ) -> std::result::Result<(), (usize, Error)> {
        let progress = self.progress.get().map(|all| &**all).unwrap_or_default();
        for (index, (member, progress)) in members.iter().zip(progress).enumerate() {
            let is_begun = progress.load(Ordering::Relaxed) == BEGUN;
            if is_begun && member.crc.is_some() && is_wanted(index) {
                let checked = Inflater::new(member).skip_to(input, member.size, go_on);
                checked.map_err(|error| (index, error))?;
                progress.store(CHECKED, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// The state of a member, which is the most recent one from now on.
    fn reading(&self, member: &Member) -> Arc<Mutex<Reading>> {
        let mut recent = lock(&self.recent);
        let slot = match recent.iter().position(|slot| slot.member == *member) {
            Some(at) => recent.remove(at),
            None => {
                self.count();
                let forward = Forward { inflater: Inflater::new(member), skipped: Vec::new() };
                let reading = Arc::new(Mutex::new(Reading::Forward(Box::new(forward))));
                Slot { member: member.clone(), reading }
            }
        };
        let reading = slot.reading.clone();
        if recent.len() == MEMBERS {
            recent.remove(0);
        }
        recent.push(slot);
        reading
    }

    /// Drops all temporary files but the most recent ones.
    fn drop_old_files(&self) {
        let mut recent = lock(&self.recent);
        let mut files: Vec<usize> = (0..recent.len()).filter(|&at| recent[at].is_file()).collect();
        files.truncate(files.len().saturating_sub(FILES));
        files.into_iter().rev().for_each(|at| drop(recent.remove(at)));
    }

    #[cfg(test)]
    fn count(&self) {
        self.begun.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }

    /// How often a member was begun.
    #[cfg(test)]
    pub(super) fn begun(&self) -> usize {
        self.begun.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// How many members lie in temporary files.
    #[cfg(test)]
    pub(super) fn spooled(&self) -> usize {
        lock(&self.recent).iter().filter(|slot| slot.is_file()).count()
    }

    #[cfg(not(test))]
    #[allow(clippy::unused_self)]
    fn count(&self) {}
}

/// A member that has been read forward only.
struct Forward {
    inflater: Inflater,
    skipped: Vec<Skipped>,
}

/// Contents that were skipped, kept because a slower thread may still ask for them.
struct Skipped {
    offset: u64,
    bytes: Vec<u8>,
    /// How many of them have not been asked for yet.
    left: usize,
}

impl Forward {
    /// Fills `out`; false if it lies further back than the skipped bytes that are kept.
    fn read_at(&mut self, input: &Input, offset: u64, out: &mut [u8]) -> Result<bool> {
        let position = self.inflater.position();
        if offset < position {
            return Ok(self.take_skipped(offset, out));
        }
        let kept = self.skipped.iter().map(|skipped| skipped.bytes.len()).sum::<usize>();
        match usize::try_from(offset - position) {
            Ok(0) => {}
            Ok(len) if kept.saturating_add(len) <= KEPT_BYTES => {
                let mut bytes = vec![0; len];
                self.inflater.fill(input, &mut bytes)?;
                self.skipped.push(Skipped { offset: position, bytes, left: len });
            }
            _ => self.inflater.skip_to(input, offset, &|| Ok(()))?,
        }
        self.inflater.fill(input, out)?;
        Ok(true)
    }

    fn take_skipped(&mut self, offset: u64, out: &mut [u8]) -> bool {
        for (index, skipped) in self.skipped.iter_mut().enumerate() {
            let inside = offset.checked_sub(skipped.offset);
            let bytes = inside.and_then(|at| range_of(&skipped.bytes, at, out.len()));
            let Some(bytes) = bytes else { continue };
            out.copy_from_slice(bytes);
            skipped.left = skipped.left.saturating_sub(out.len());
            if skipped.left == 0 {
                self.skipped.swap_remove(index);
            }
            return true;
        }
        false
    }
}

/// All contents of a member.
enum Spool {
    Memory(Vec<u8>),
    File(File),
}

impl Spool {
    fn of(input: &Input, member: &Member, limits: &Limits) -> Result<Self> {
        let what = "the archive member";
        Budget::new(limits.clone()).ratio(member.compressed, member.size, what)?;
        let mut inflater = Inflater::new(member);
        if let Some(size) = usize::try_from(member.size).ok().filter(|_| member.size <= IN_MEMORY) {
            let mut bytes = vec![0; size];
            inflater.fill(input, &mut bytes)?;
            return Ok(Self::Memory(bytes));
        }
        let mut file = tempfile::tempfile().map_err(|error| no_space(error, member))?;
        let mut chunk = vec![0; CHUNK];
        while inflater.position() < member.size {
            let rest = usize::try_from(member.size - inflater.position()).unwrap_or(CHUNK);
            let chunk = &mut chunk[..rest.min(CHUNK)];
            inflater.fill(input, chunk)?;
            file.write_all(chunk).map_err(|error| no_space(error, member))?;
        }
        Ok(Self::File(file))
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        match self {
            Self::Memory(bytes) => {
                let outside = || Error::usage("the range is outside the archive member");
                out.copy_from_slice(range_of(bytes, offset, out.len()).ok_or_else(outside)?);
                Ok(())
            }
            Self::File(file) => read_file_at(file, out, offset).map_err(|error| {
                Error::io(error, "cannot read the temporary file with its decompressed data")
            }),
        }
    }
}

fn no_space(error: std::io::Error, member: &Member) -> Error {
    let doing = format!("cannot decompress {} bytes into a temporary file", member.size);
    Error::io(error, &doing).hint(
        "compressed members read out of order are decompressed there; set TMPDIR to use \
             another directory",
    )
}
