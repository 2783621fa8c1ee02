//! The header in front of each member's data.
//!
//! ```text
//! 0  PK\3\4     14  crc                26  u16 length of the name
//! 4  version    18  u32 compressed     28  u16 length of the extra fields
//! 6  flags      22  u32 size           30  name, extra fields, then the data
//! 8  method     (10 time, 12 date)
//! ```
//!
//! Its extra fields differ from the directory's: writers pad here to align the data, so only this
//! header knows where the data starts.

use smallvec::SmallVec;

use crate::error::{Error, Result};
use crate::input::{Input, range_of};
use crate::text::shortened;

use super::fields::{extra_field, u16_at, u32_at, u64_at};
use super::{Member, Method, State};

/// Opens every local header.
pub(super) const SIGNATURE: &[u8; 4] = b"PK\x03\x04";

/// The part of fixed length.
pub(super) const FIXED: usize = 30;

/// Sizes follow the data.
pub(super) const STREAMED: u16 = 0x0008;

/// One local header.
pub(super) struct Local {
    /// What it says of its member, but for the name.
    pub(super) member: Member,
    pub(super) name: SmallVec<[u8; 96]>,
    extra_len: usize,
    /// Where the data starts.
    pub(super) data: u64,
}

impl Local {
    /// Reads the header at `at`.
    ///
    /// Sizes are those of the fixed part: see [`read_sizes`](Self::read_sizes).
    pub(super) fn read(input: &Input, at: u64) -> Result<Self> {
        let mut buffer = SmallVec::<[u8; 128]>::new();
        let fixed = peek(input, at, FIXED, &mut buffer)?;
        if !fixed.starts_with(SIGNATURE) {
            return Err(Error::malformed(
                "the directory points here, but no archive member starts here",
            )
            .at(at));
        }
        let member = Member {
            name: 0..0,
            name_len: u16_at(fixed, 26),
            method: Method(u16_at(fixed, 8)),
            flags: u16_at(fixed, 6),
            compressed: u32_at(fixed, 18).into(),
            size: u32_at(fixed, 22).into(),
            crc: u32_at(fixed, 14),
            header: at,
            state: State::Whole,
        };
        let (len, extra_len) = (usize::from(member.name_len), usize::from(u16_at(fixed, 28)));
        let from = at.saturating_add(FIXED as u64);
        let name = SmallVec::from_slice(peek(input, from, len, &mut buffer)?);
        let rest = FIXED.saturating_add(len).saturating_add(extra_len);
        Ok(Self { member, name, extra_len, data: at.saturating_add(rest as u64) })
    }

    /// Takes sizes too large for the fixed part from the zip64 field.
    pub(super) fn read_sizes(&mut self, input: &Input) -> Result<()> {
        const LARGE: u64 = u32::MAX as u64;
        let member = &mut self.member;
        if member.size != LARGE && member.compressed != LARGE {
            return Ok(());
        }
        let mut buffer = SmallVec::<[u8; 128]>::new();
        let from = self.data.saturating_sub(self.extra_len as u64);
        let extra = peek(input, from, self.extra_len, &mut buffer)?;
        let Some(mut wide) = extra_field(extra, 1) else { return Ok(()) };
        for value in [&mut member.size, &mut member.compressed] {
            if *value == LARGE && wide.len() >= 8 {
                *value = u64_at(wide, 0);
                wide = wide.get(8..).unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// Where the data of the member at `at` starts, whose header should bear this name.
///
/// The name is compared in place: this is asked for every tensor of an archive.
pub(super) fn data_start(input: &Input, at: u64, name: &str) -> Result<u64> {
    let mut buffer = SmallVec::<[u8; 128]>::new();
    let record = peek(input, at, FIXED.saturating_add(name.len()), &mut buffer);
    let record = record.unwrap_or_default();
    let len = usize::from(u16_at(record, 26));
    let same = record.starts_with(SIGNATURE) && record.get(FIXED..) == Some(name.as_bytes());
    if !same || len != name.len() {
        return data_start_slowly(input, at, name);
    }
    let rest = FIXED.saturating_add(len).saturating_add(u16_at(record, 28).into());
    Ok(at.saturating_add(rest as u64))
}

/// Where the data starts for a name that is not UTF-8; an error if the two names differ.
#[cold]
fn data_start_slowly(input: &Input, at: u64, name: &str) -> Result<u64> {
    let header = Local::read(input, at)?;
    let own = String::from_utf8_lossy(&header.name);
    if own != name {
        return Err(Error::malformed(format!(
            "the directory calls this member `{}`, but its own header says `{}`",
            shortened(name, 80),
            shortened(&own, 80)
        ))
        .at(at));
    }
    Ok(header.data)
}

/// A few bytes, lent where possible.
fn peek<'b>(
    input: &'b Input,
    at: u64,
    len: usize,
    buffer: &'b mut SmallVec<[u8; 128]>,
) -> Result<&'b [u8]> {
    if let Some(bytes) = input.lent().and_then(|all| range_of(all, at, len)) {
        return Ok(bytes);
    }
    buffer.resize(len, 0);
    input.read_at(at, buffer)?;
    Ok(buffer)
}

/// Whether a file's first bytes open a zip archive.
pub(crate) fn looks_like_zip(head: &[u8]) -> bool {
    head.starts_with(SIGNATURE) || head.starts_with(super::end::SIGNATURE)
}

/// A member seen in the first bytes of a file, for recognising what an archive is for.
pub(crate) struct Glimpse<'a> {
    /// Its name, as the file spells it.
    pub(crate) name: &'a [u8],
    /// How it is compressed.
    pub(crate) method: Method,
    /// What of its data is in view.
    pub(crate) data: &'a [u8],
}

/// The members at the start of a file, as far as `head` reaches and their sizes are known.
pub(crate) fn first_members(head: &[u8]) -> impl Iterator<Item = Glimpse<'_>> {
    let mut rest = Some(head);
    std::iter::from_fn(move || {
        let bytes =
            rest.take().filter(|bytes| bytes.starts_with(SIGNATURE) && bytes.len() > FIXED)?;
        let name_end = FIXED.checked_add(usize::from(u16_at(bytes, 26)))?;
        let name = bytes.get(FIXED..name_end)?;
        let data = name_end.checked_add(usize::from(u16_at(bytes, 28)))?;
        let data = bytes.get(data..).unwrap_or_default();
        let size = u32_at(bytes, 18);
        if u16_at(bytes, 6) & STREAMED == 0 && size != u32::MAX {
            rest = usize::try_from(size).ok().and_then(|size| data.get(size..));
        }
        Some(Glimpse { name, method: Method(u16_at(bytes, 8)), data })
    })
}
