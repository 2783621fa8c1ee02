//! Reading inside a compressed archive member.
//!
//! What is compressed can only be read from its start: an [`Inflater`] goes forward and never back.
//! Deflate is here, other compressions are in [`unpack`](crate::unpack).

use flate2::{Decompress, FlushDecompress, Status};

use crate::catalog::{Compression, Member, NameInFile};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::text::shortened;
use crate::unpack::{Unpacker, damaged};

const CHUNK: usize = 32 << 10;

/// Asked from time to time; an error stops the work.
pub type GoOn<'a> = &'a dyn Fn() -> Result<()>;

/// A position inside one member's decompressed contents.
pub struct Inflater {
    member: Member,
    state: State,
    consumed: u64,
    produced: u64,
    buffer: Vec<u8>,
    buffer_used: usize,
    sum: crc32fast::Hasher,
}

enum State {
    Deflate(Box<Decompress>),
    /// Another compression, once something is read.
    Other(Option<Unpacker>),
}

impl Inflater {
    /// At the start of a member.
    pub fn new(member: &Member) -> Self {
        Self {
            member: member.clone(),
            state: match member.compression {
                Compression::Deflate => State::Deflate(Box::new(Decompress::new(false))),
                _ => State::Other(None),
            },
            consumed: 0,
            produced: 0,
            buffer: Vec::new(),
            buffer_used: 0,
            sum: crc32fast::Hasher::new(),
        }
    }

    /// Whether everything has been read, and has the checksum that the archive states.
    pub fn is_at_end(&self) -> bool {
        self.produced == self.member.size
    }

    /// The offset in the contents that is read next.
    pub fn position(&self) -> u64 {
        self.produced
    }

    /// Reads the next bytes. A stream that goes on after its stated size is an error, and so are
    /// contents that do not have their stated checksum: with the last byte that is known.
    pub fn fill(&mut self, input: &Input, out: &mut [u8]) -> Result<()> {
        check_range(&self.member, self.produced, out.len())?;
        let mut filled = 0;
        while filled < out.len() {
            let (given, ended) = self.step(input, &mut out[filled..])?;
            filled += given;
            if filled < out.len() && ended {
                return Err(damaged(&self.member, "the data ends before its stated size"));
            }
        }
        if self.member.crc.is_some() {
            self.sum.update(out);
        }
        if !out.is_empty() && self.is_at_end() {
            self.check_end(input).and_then(|()| self.check_sum(input))
        } else {
            Ok(())
        }
    }

    fn check_sum(&self, input: &Input) -> Result<()> {
        let found = self.sum.clone().finalize();
        match self.member.crc {
            Some(stated) if stated != found => {
                Err(wrong_sum(input, self.member.name, stated, found).at(self.member.offset))
            }
            _ => Ok(()),
        }
    }

    /// Skips to an offset that lies ahead.
    pub fn skip_to(&mut self, input: &Input, offset: u64, go_on: GoOn<'_>) -> Result<()> {
        let mut waste = vec![0; CHUNK];
        while self.produced < offset {
            go_on()?;
            let rest = usize::try_from(offset - self.produced).unwrap_or(CHUNK);
            self.fill(input, &mut waste[..rest.min(CHUNK)])?;
        }
        Ok(())
    }

    /// Inflates some bytes: how many, and whether there are no more.
    fn step(&mut self, input: &Input, out: &mut [u8]) -> Result<(usize, bool)> {
        if let State::Other(unpacker) = &mut self.state {
            let unpacker = match unpacker {
                Some(unpacker) => unpacker,
                None => unpacker.insert(Unpacker::new(input, &self.member)?),
            };
            let given = unpacker.read(out)?;
            self.produced += given as u64;
            return Ok((given, given == 0));
        }
        if self.buffer_used == self.buffer.len() {
            self.refill(input)?;
        }
        let State::Deflate(state) = &mut self.state else { return Ok((0, true)) };
        let (before_in, before_out) = (state.total_in(), state.total_out());
        let status = state
            .decompress(&self.buffer[self.buffer_used..], out, FlushDecompress::None)
            .map_err(|_| damaged(&self.member, "the data is damaged"))?;
        let taken = usize::try_from(state.total_in() - before_in).unwrap_or(0);
        let given = usize::try_from(state.total_out() - before_out).unwrap_or(0);
        self.buffer_used += taken;
        self.produced += given as u64;
        let stuck = taken == 0 && given == 0 && self.consumed == self.member.compressed;
        Ok((given, status == Status::StreamEnd || stuck))
    }

    fn check_end(&mut self, input: &Input) -> Result<()> {
        loop {
            match self.step(input, &mut [0])? {
                (0, true) => return Ok(()),
                (0, false) => {}
                _ => return Err(damaged(&self.member, "the data continues past its stated size")),
            }
        }
    }

    fn refill(&mut self, input: &Input) -> Result<()> {
        let rest = self.member.compressed - self.consumed;
        let size = usize::try_from(rest).unwrap_or(CHUNK).min(CHUNK);
        self.buffer.resize(size, 0);
        self.buffer_used = 0;
        input.read_at(self.member.offset.saturating_add(self.consumed), &mut self.buffer)?;
        self.consumed += size as u64;
        Ok(())
    }
}

/// An error if a range lies outside of what the archive says is in a member.
pub fn check_range(member: &Member, offset: u64, len: usize) -> Result<()> {
    if offset.checked_add(len as u64).is_some_and(|end| end <= member.size) {
        Ok(())
    } else {
        Err(damaged(member, "the requested range is outside the stated size"))
    }
}

/// The error for an archive member that is not what the archive's directory says.
pub fn wrong_sum(input: &Input, name: NameInFile, stated: u32, found: u32) -> Error {
    let mut spelled = vec![0; name.len.into()];
    let name = match input.read_at(name.offset, &mut spelled) {
        Ok(()) => format!(" `{}`", shortened(&String::from_utf8_lossy(&spelled), 80)),
        Err(_) => String::new(),
    };
    Error::malformed(format!(
        "archive member{name} has CRC-32 {found:08x}, but the archive's directory says \
             {stated:08x}"
    ))
    .hint("the file is damaged; fetch it again")
}
