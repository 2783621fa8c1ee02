//! The checksums that an archive states for its stored members, checked while these are read.
//!
//! ```text
//! a stretch is read    summed where it is read; what was read before is not counted again
//! few bytes are left   (the header in front of an array, padding) they are read too, and the sum of
//!                      all is compared with the one that the archive states
//! the work is done     what is left of the members that were read is summed in one pass
//! ```
//!
//! Stretches come in any order and from any thread. The CRC of a member is the XOR of the CRCs of
//! its pieces, each shifted by the bytes that follow it. Pieces that are short, or that do not join
//! (rows of an array whose columns lie together), are left to the pass at the end.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

use smallvec::SmallVec;

use crate::catalog::{Catalog, SummedMember};
use crate::crc::shifted;
use crate::error::Result;
use crate::inflate::{GoOn, wrong_sum};
use crate::input::Input;
use crate::stop::lock;

/// Shorter stretches are not worth keeping account of, unless a few of them make up the member.
const SHORT: u64 = 4 << 10;

/// What is left of a member at most, when it is read along with a stretch.
const FEW: u64 = 4 << 10;

/// Stretches of a member that do not join; if there are more, no account is kept of it.
const MOST_STRETCHES: usize = 256;

/// Bytes that the pass at the end reads at once.
const CHUNK: usize = 1 << 20;

/// What has been seen of the stored members of an archive.
#[derive(Default)]
pub(super) struct Sums {
    /// In the order of the file; made when the first of them is read.
    accounts: OnceLock<Box<[Account]>>,
}

/// What has been seen of one member.
struct Account {
    member: SummedMember,
    is_read: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// What was taken account of, in order; no two touch. Some of it may not be summed yet.
    stretches: Vec<Range<u64>>,
    /// The sum of what is summed.
    sum: u32,
    /// How many bytes that is.
    summed: u64,
    /// Whether there are too many stretches to keep account of.
    is_scattered: bool,
    /// The sum of the whole, once it is known.
    whole: Option<u32>,
}

impl Sums {
    /// Notes that the bytes at `offset` are being read; an error if they are known to be damaged.
    pub(super) fn touch(&self, catalog: &Catalog, input: &Input, offset: u64) -> Result<()> {
        let Some(account) = self.account(catalog, offset) else { return Ok(()) };
        if account.is_read.swap(true, Ordering::Relaxed) {
            account.check(&lock(&account.seen), input)
        } else {
            Ok(())
        }
    }

    /// Takes account of the bytes at `offset`. The last ones of a member tell whether it is damaged.
    pub(super) fn saw(
        &self,
        catalog: &Catalog,
        input: &Input,
        offset: u64,
        bytes: &[u8],
    ) -> Result<()> {
        match self.account(catalog, offset) {
            Some(account) => account.saw(input, offset - account.member.offset, bytes),
            None => Ok(()),
        }
    }

    /// Looks at what has not been read of the wanted members that were read; gives the first byte of a
    /// damaged one with the error. `go_on` is asked from time to time.
    pub(super) fn finish(
        &self,
        input: &Input,
        is_wanted: &dyn Fn(SummedMember) -> bool,
        go_on: GoOn<'_>,
    ) -> std::result::Result<(), (SummedMember, crate::Error)> {
        let accounts = self.accounts.get().map(|all| &**all).unwrap_or_default();
        let is_read = |account: &&Account| account.is_read.load(Ordering::Relaxed);
        for account in accounts.iter().filter(is_read).filter(|one| is_wanted(one.member)) {
            account.finish(input, go_on).map_err(|error| (account.member, error))?;
        }
        Ok(())
    }

    fn account(&self, catalog: &Catalog, offset: u64) -> Option<&Account> {
        if catalog.summed.is_empty() {
            return None;
        }
        let accounts = self.accounts.get_or_init(|| accounts(&catalog.summed));
        let after = accounts.partition_point(|account| account.member.offset <= offset);
        let account = accounts.get(after.checked_sub(1)?)?;
        (offset - account.member.offset < account.member.len).then_some(account)
    }
}

fn accounts(members: &[SummedMember]) -> Box<[Account]> {
    let mut members = members.to_vec();
    members.sort_unstable_by_key(|member| member.offset);
    members.dedup_by_key(|member| member.offset);
    let account =
        |member| Account { member, is_read: AtomicBool::new(false), seen: Mutex::default() };
    members.into_iter().map(account).collect()
}

impl Account {
    fn saw(&self, input: &Input, at: u64, bytes: &[u8]) -> Result<()> {
        let (len, all) = (bytes.len() as u64, self.member.len);
        if len == 0 || len < SHORT && len.saturating_mul(16) < all {
            return Ok(());
        }
        let end = at.saturating_add(len).min(all);
        let new = {
            let mut seen = lock(&self.seen);
            if seen.whole.is_some() || seen.is_scattered {
                return self.check(&seen, input);
            }
            seen.claim(at..end)
        };
        let mut sum = 0;
        for part in &new {
            let piece = place(part.start - at)..place(part.end - at);
            sum ^= shifted(crc32fast::hash(&bytes[piece]), all - part.end);
        }
        let mut seen = lock(&self.seen);
        if seen.is_scattered || seen.whole.is_some() || new.is_empty() {
            return self.check(&seen, input);
        }
        seen.sum ^= sum;
        seen.summed += new.iter().map(|part| part.end - part.start).sum::<u64>();
        let left = seen.left(all);
        let left_bytes: u64 = left.iter().map(|gap| gap.end - gap.start).sum();
        // Otherwise another thread is about to add its sum.
        let is_last = seen.summed + left_bytes == all;
        if !is_last || left_bytes > FEW {
            return Ok(());
        }
        self.read_gaps(&mut seen, &left, input, &|| Ok(()))?;
        self.check(&seen, input)
    }

    /// Sums what has not been seen.
    fn finish(&self, input: &Input, go_on: GoOn<'_>) -> Result<()> {
        let mut seen = lock(&self.seen);
        if seen.whole.is_none() {
            let mut left = seen.left(self.member.len);
            let left_bytes: u64 = left.iter().map(|gap| gap.end - gap.start).sum();
            // Some of it is only about to be summed, by a thread that is not ours.
            if seen.summed + left_bytes != self.member.len {
                *seen = Seen::default();
                left = seen.left(self.member.len);
            }
            self.read_gaps(&mut seen, &left, input, go_on)?;
        }
        self.check(&seen, input)
    }

    /// Sums what is left, which makes the sum of the whole.
    fn read_gaps(
        &self,
        seen: &mut Seen,
        gaps: &[Range<u64>],
        input: &Input,
        go_on: GoOn<'_>,
    ) -> Result<()> {
        let (mut scratch, mut sum) = (Vec::new(), seen.sum);
        for gap in gaps {
            let mut at = gap.start;
            let mut hasher = crc32fast::Hasher::new();
            while at < gap.end {
                go_on()?;
                let step = usize::try_from(gap.end - at).unwrap_or(CHUNK).min(CHUNK);
                hasher.update(input.view(self.member.offset + at, step, &mut scratch)?);
                at += step as u64;
            }
            sum ^= shifted(hasher.finalize(), self.member.len - gap.end);
        }
        seen.whole = Some(sum);
        seen.stretches = Vec::new();
        Ok(())
    }

    fn check(&self, seen: &Seen, input: &Input) -> Result<()> {
        let SummedMember { offset, crc, name, .. } = self.member;
        match seen.whole {
            Some(found) if found != crc => Err(wrong_sum(input, name, crc, found).at(offset)),
            _ => Ok(()),
        }
    }
}

impl Seen {
    /// Takes account of a range; gives the parts of it that are new.
    fn claim(&mut self, range: Range<u64>) -> SmallVec<[Range<u64>; 2]> {
        let first = self.stretches.partition_point(|known| known.end < range.start);
        let after = self.stretches.partition_point(|known| known.start <= range.end);
        let (mut new, mut at, mut joined) = (SmallVec::new(), range.start, range.clone());
        for known in &self.stretches[first..after] {
            if at < known.start {
                new.push(at..known.start.min(range.end));
            }
            at = at.max(known.end);
            joined = joined.start.min(known.start)..joined.end.max(known.end);
        }
        if at < range.end {
            new.push(at..range.end);
        }
        self.stretches.splice(first..after, [joined]);
        if self.stretches.len() > MOST_STRETCHES {
            *self = Self { is_scattered: true, ..Self::default() };
            new.clear();
        }
        new
    }

    /// What of `len` bytes was not seen.
    fn left(&self, len: u64) -> Vec<Range<u64>> {
        let starts = std::iter::once(0).chain(self.stretches.iter().map(|known| known.end));
        let ends = self.stretches.iter().map(|known| known.start).chain([len]);
        starts.zip(ends).map(|(start, end)| start..end).filter(|gap| gap.start < gap.end).collect()
    }
}

/// A place inside bytes that are in memory.
fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

#[cfg(test)]
#[path = "sums_tests.rs"]
mod tests;
