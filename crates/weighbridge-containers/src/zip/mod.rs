//! Zip archives, as far as weight files need them: plumbing for NPZ and PyTorch.
//!
//! ```text
//! [anything]            llamafile and other self-extracting files put a program first
//! local header, data    per member: PK\3\4, 26 bytes, name, extra (padding), then the data
//! ..                    a streamed member has its sizes after the data: PK\7\8 crc sizes
//! directory             per member: PK\1\2, 42 bytes, name, extra (zip64 sizes), comment
//! zip64 end record      PK\6\6 .. and its locator PK\6\7, in archives that need or want them
//! end record            PK\5\6, 18 bytes, comment of up to 64 KiB
//! ```
//!
//! The directory is authoritative and is read in one piece; a local header is read only when
//! somebody asks where a member's data starts, since most of what is in an archive is never asked
//! for. A file whose end was never downloaded has no directory: then the local headers are walked
//! from the front (`recover`).
//!
//! No zip crate is used, because each offers only some of what weight files need together: the
//! directory lent from a map, no allocation per member (small PyTorch files are opened by the
//! thousand), every length held to a [`Budget`], prefixed archives, and the walk over half an
//! archive.
//!
//! Opening verifies the checksums of what it reads whole (pickles). Those of members that tensors
//! lie in go into the catalog, and are checked by whoever reads these. An archive without a directory
//! has none that could be trusted to belong to what was found.

use std::borrow::Cow;
use std::ops::Range;

use crate::catalog::{self, Catalog, Compression, Finding, NameInFile, Run, SummedMember};
use crate::error::{Error, Result};
use crate::inflate::{Inflater, wrong_sum};
use crate::input::Input;
use crate::limits::Budget;
use crate::text::{escaped, leads_outside, shortened};

mod check;
mod directory;
mod end;
mod fields;
mod local;
mod method;
mod recover;
pub(crate) mod write;

pub(crate) use local::{first_members, looks_like_zip};
pub(crate) use method::Method;

/// An archive's list of members, bound to the input it was read from.
pub(crate) struct Archive<'a> {
    input: &'a Input,
    members: Vec<Member>,
    /// All names one after the other: one block of memory, however many members there are.
    names: String,
    /// Hash of the name and place in `members`, sorted: finds members and duplicates.
    index: Vec<(u64, u32)>,
    hasher: foldhash::fast::RandomState,
    /// Member data cannot go beyond this byte.
    data_end: u64,
    /// Bytes before the archive proper.
    prefix: u64,
    recovered: bool,
    has_duplicates: bool,
    /// Whether a checksum of zero is one that was not computed.
    zero_is_unsummed: bool,
    /// The most memory that a dictionary may take.
    max_memory: u64,
    findings: Vec<Finding>,
}

/// One member, as the directory describes it.
#[derive(Debug)]
pub(crate) struct Member {
    name: Range<usize>,
    /// Length of the name in the file.
    name_len: u16,
    /// How its data is compressed.
    pub(crate) method: Method,
    flags: u16,
    /// Bytes in the file.
    pub(crate) compressed: u64,
    /// Bytes of its contents; zero where an incomplete member does not say.
    pub(crate) size: u64,
    /// The checksum it claims.
    crc: u32,
    /// Where its local header is in the file.
    header: u64,
    state: State,
}

/// Whether the data of a member can be where the directory says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Whole,
    /// Shares bytes with another member.
    Overlaps,
    /// Would run into the directory or past the end.
    Outside,
    /// The file ends inside it (found by the walk only).
    Incomplete,
}

const ENCRYPTED: u16 = 0x2041;

impl Member {
    /// Whether the file ends before this member's data does.
    pub(crate) fn is_incomplete(&self) -> bool {
        self.state == State::Incomplete
    }

    /// Why its contents cannot be read, where they cannot.
    pub(crate) fn refusal(&self) -> Option<Cow<'static, str>> {
        match self.state {
            _ if self.flags & ENCRYPTED != 0 || self.method == Method(99) => {
                Some("the archive member is encrypted".into())
            }
            State::Overlaps => Some("the archive member overlaps another".into()),
            State::Outside => Some("the archive member extends past the archive's data".into()),
            _ if self.method.is_readable() => None,
            _ => Some(
                format!(
                    "the archive member is compressed with {}, which is not supported",
                    self.method
                )
                .into(),
            ),
        }
    }

    fn check_readable(&self) -> Result<()> {
        match self.refusal() {
            None => Ok(()),
            Some(why) => Err(Error::unsupported(why)
                .at(self.header)
                .hint("repack the archive uncompressed or with deflate, bzip2, lzma or zstd")),
        }
    }
}

impl<'a> Archive<'a> {
    /// Reads the directory, or walks the local headers where there is none.
    pub(crate) fn open(input: &'a Input, budget: &Budget) -> Result<Self> {
        let len = input.whole_len()?;
        let mut archive = Self {
            input,
            members: Vec::new(),
            names: String::new(),
            index: Vec::new(),
            hasher: foldhash::fast::RandomState::default(),
            data_end: len,
            prefix: 0,
            recovered: false,
            has_duplicates: false,
            zero_is_unsummed: false,
            max_memory: budget.limits().max_allocation,
            findings: Vec::new(),
        };
        match end::find(input, len)? {
            Some(end) => directory::read(&mut archive, &end, budget)?,
            None => recover::walk(&mut archive, len, budget)?,
        }
        check::members(&mut archive, budget)?;
        Ok(archive)
    }

    /// All members, in the directory's order.
    pub(crate) fn members(&self) -> &[Member] {
        &self.members
    }

    /// A member's name; bytes that are not UTF-8 are replaced.
    pub(crate) fn name(&self, member: &Member) -> &str {
        self.names.get(member.name.clone()).unwrap_or_default()
    }

    /// The member of that name. Of several the last one counts, as in Python's reader.
    pub(crate) fn find(&self, name: &str) -> Option<&Member> {
        self.named(name).next()
    }

    /// The members with this name, the last one first.
    fn named(&self, name: &str) -> impl Iterator<Item = &Member> {
        use std::hash::BuildHasher;
        let hash = self.hasher.hash_one(name);
        let before = self.index.get(..count_up_to(&self.index, hash)).unwrap_or_default();
        let same = before.iter().rev().take_while(move |&&(known, _)| known == hash);
        let same = same.filter_map(|&(_, at)| self.members.get(at as usize));
        same.filter(move |member| self.name(member) == name)
    }

    /// Whether another member further on has the same name, so that this one is hidden.
    pub(crate) fn is_hidden(&self, member: &Member) -> bool {
        let last = || self.find(self.name(member));
        self.has_duplicates && last().is_some_and(|last| !std::ptr::eq(last, member))
    }

    /// Whether another member has the same name.
    pub(crate) fn is_ambiguous(&self, member: &Member) -> bool {
        self.has_duplicates && self.named(self.name(member)).nth(1).is_some()
    }

    /// Whether the directory was missing and the list comes from a walk over the file.
    pub(crate) fn is_recovered(&self) -> bool {
        self.recovered
    }

    /// Says that this archive's writer leaves the checksum at zero when it does not compute one, and
    /// notes how many members that concerns.
    pub(crate) fn allow_unsummed(&mut self, catalog: &mut Catalog) {
        self.zero_is_unsummed = true;
        let is_unsummed = |member: &&Member| member.crc == 0 && member.size > 0;
        let (all, unsummed) = (self.members.len(), self.members.iter().filter(is_unsummed).count());
        if unsummed > 0 && !self.recovered {
            catalog.notes.push(format!(
                "{unsummed} of {all} archive members have no checksum, so damage to them \
                     cannot be detected"
            ));
        }
    }

    /// The checksum that the directory states for a member's contents.
    fn stated_sum(&self, member: &Member) -> Option<u32> {
        let is_stated = member.crc != 0 || !self.zero_is_unsummed;
        (is_stated && !self.recovered && !member.is_incomplete()).then_some(member.crc)
    }

    /// Where a member's name stands, in the header in front of it.
    fn name_in_file(member: &Member) -> NameInFile {
        let offset = member.header.saturating_add(local::FIXED as u64);
        NameInFile { offset, len: member.name_len }
    }

    /// A finding if the contents of a member do not have the checksum that the directory states.
    pub(crate) fn sum_finding(&self, member: &Member, contents: &[u8]) -> Option<Finding> {
        let (stated, found) = (self.stated_sum(member)?, crc32fast::hash(contents));
        (stated != found).then(|| {
            let error = wrong_sum(self.input, Self::name_in_file(member), stated, found);
            Finding::general("wrong-checksum", error.message())
        })
    }

    /// Moves the findings about the archive into a catalog.
    pub(crate) fn report(&mut self, catalog: &mut Catalog) {
        catalog.findings.append(&mut self.findings);
        self.note_climbing(catalog);
        if self.prefix > 0 {
            catalog.notes.push(format!("{} bytes precede the archive", self.prefix));
        }
    }

    /// Notes names that would leave the folder that the archive is extracted to. Here nothing is
    /// extracted: they are names like others.
    fn note_climbing(&self, catalog: &mut Catalog) {
        // All names are looked at together first: few archives have such a one.
        let (all, names) = (self.names.as_bytes(), || self.members.iter().map(|m| self.name(m)));
        let has_mark = memchr::memchr3(b'\\', b':', 0, all).is_some()
            || memchr::memmem::find(all, b"..").is_some();
        if !has_mark && !names().any(|name| name.starts_with('/')) {
            return;
        }
        let mut climbing = names().filter(|name| leads_outside(name));
        let Some(first) = climbing.next() else { return };
        let first = shortened(first, 80);
        let others = match climbing.count() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        catalog.notes.push(format!(
            "archive member names lead outside the extraction folder: `{first}`{others}; \
                 extract the archive with care"
        ));
    }

    /// Where a member's data starts in the file.
    pub(crate) fn data_offset(&self, member: &Member) -> Result<u64> {
        member.check_readable().map_err(|e| e.in_file(self.input.name()))?;
        let name = self.name(member);
        let data = local::data_start(self.input, member.header, name)?;
        let end = data.checked_add(member.compressed);
        if !member.is_incomplete() && end.is_none_or(|end| end > self.data_end) {
            return Err(Error::malformed(format!(
                "the {} bytes of member `{}` extend past byte {}, where the archive's data \
                     ends",
                member.compressed,
                shortened(name, 80),
                self.data_end
            ))
            .at(data));
        }
        Ok(data)
    }

    /// Where a tensor in a member starts: in the file where it is stored, otherwise inside a
    /// compressed member that is added to the catalog.
    pub(crate) fn run_of(&self, member: &Member, catalog: &mut Catalog) -> Result<Run> {
        let start = self.data_offset(member)?;
        match member.method {
            Method::STORED => {
                let (len, name) = (self.stored_size(member)?, Self::name_in_file(member));
                let summed = self.stated_sum(member);
                let summed = summed.map(|crc| SummedMember { offset: start, len, crc, name });
                if summed.is_some() && catalog.summed.last() != summed.as_ref() {
                    catalog.summed.extend(summed);
                }
                Ok(Run::At(start))
            }
            _ => {
                let index = u32::try_from(catalog.members.len())
                    .map_err(|_| Error::limit("too many compressed members"))?;
                catalog.members.push(self.compressed(member, start));
                Ok(Run::Inside { member: index, offset: 0 })
            }
        }
    }

    /// A compressed member whose checksum does not matter to whoever reads it.
    fn unsummed(&self, member: &Member, start: u64) -> catalog::Member {
        catalog::Member { crc: None, ..self.compressed(member, start) }
    }

    fn compressed(&self, member: &Member, start: u64) -> catalog::Member {
        let here = self.data_end.saturating_sub(start);
        let (compressed, size) = match member.state {
            // A streamed member's size would have stood behind its data.
            State::Incomplete if member.size == 0 => (member.compressed.min(here), u64::MAX),
            State::Incomplete => (member.compressed.min(here), member.size),
            _ => (member.compressed, member.size),
        };
        let (crc, name) = (self.stated_sum(member), Self::name_in_file(member));
        // Callers rule out other methods first.
        let compression = member.method.compression().unwrap_or(Compression::Deflate);
        let max_memory = self.max_memory;
        catalog::Member { compression, max_memory, offset: start, compressed, size, crc, name }
    }

    /// All contents of a (small) member; `what` names them in messages.
    ///
    /// Whether they have the right checksum, [`sum_finding`](Self::sum_finding) says.
    pub(crate) fn contents(
        &self,
        member: &Member,
        budget: &Budget,
        what: &str,
    ) -> Result<Cow<'a, [u8]>> {
        let start = self.data_offset(member)?;
        if member.is_incomplete() {
            return Err(Error::malformed(format!("{what} is truncated: the file ends inside it"))
                .at(start)
                .hint("fetch the file again"));
        }
        if member.method == Method::STORED {
            return self.input.bytes(start, self.stored_size(member)?, budget, what);
        }
        budget.ratio(member.compressed, member.size, what)?;
        budget.charge(member.size, what)?;
        let size = usize::try_from(member.size).map_err(|_| Error::limit(what))?;
        let mut contents = vec![0; size];
        Inflater::new(&self.unsummed(member, start)).fill(self.input, &mut contents)?;
        Ok(Cow::Owned(contents))
    }

    /// The first `len` bytes of a member's contents, or all if there are fewer.
    pub(crate) fn start_of<'b>(
        &'b self,
        member: &Member,
        len: usize,
        scratch: &'b mut Vec<u8>,
    ) -> Result<&'b [u8]> {
        let start = self.data_offset(member)?;
        let here = self.data_end.saturating_sub(start);
        if member.method == Method::STORED {
            let most = self.stored_size(member)?.min(here);
            let len = usize::try_from(most).unwrap_or(usize::MAX).min(len);
            return self.input.view(start, len, scratch);
        }
        let inside = self.unsummed(member, start);
        let mut len = usize::try_from(inside.size).unwrap_or(usize::MAX).min(len);
        loop {
            scratch.resize(len, 0);
            match Inflater::new(&inside).fill(self.input, scratch) {
                Ok(()) => return Ok(scratch),
                // How much of a half-downloaded member can be inflated is only known by trying.
                Err(_) if member.is_incomplete() && len > 16 => len = len.saturating_sub(len / 16),
                Err(error) => return Err(error),
            }
        }
    }

    /// Stored data is its contents, so the two sizes must agree.
    fn stored_size(&self, member: &Member) -> Result<u64> {
        if member.size != member.compressed {
            return Err(Error::malformed(format!(
                "member `{}` is stored uncompressed, but its compressed and uncompressed \
                     sizes differ: {} and {} bytes",
                escaped(self.name(member)),
                member.compressed,
                member.size
            ))
            .at(member.header));
        }
        Ok(member.size)
    }

    /// Adds one member; the caller has charged for it.
    fn push(&mut self, name: &[u8], mut member: Member) {
        let start = self.names.len();
        match std::str::from_utf8(name) {
            Ok(name) => self.names.push_str(name),
            Err(_) => self.names.push_str(&String::from_utf8_lossy(name)),
        }
        member.name = start..self.names.len();
        self.members.push(member);
    }
}

/// How many of some sorted hashes are at most `hash`. They are spread evenly, so that the place is
/// near the one that its size says: few of a hundred thousand are looked at, and those lie together.
fn count_up_to(sorted: &[(u64, u32)], hash: u64) -> usize {
    let is_up_to = |at: usize| sorted.get(at).is_some_and(|&(known, _)| known <= hash);
    let share = (u128::from(hash).saturating_mul(sorted.len() as u128)) >> 64;
    let near = usize::try_from(share).unwrap_or(0);
    let mut reach = 16usize;
    loop {
        let (from, to) = (near.saturating_sub(reach), near.saturating_add(reach));
        let starts_before = from.checked_sub(1).is_none_or(is_up_to);
        if starts_before && !is_up_to(to) {
            let part = sorted.get(from..to.min(sorted.len())).unwrap_or_default();
            return from.saturating_add(part.partition_point(|&(known, _)| known <= hash));
        }
        reach = reach.saturating_mul(4);
    }
}

/// What one listed member costs beside its name.
const RECORD: u64 = (size_of::<Member>() + size_of::<(u64, u32)>()) as u64;

#[cfg(test)]
mod tests;
