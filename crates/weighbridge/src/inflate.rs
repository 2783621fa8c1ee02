//! Reading inside a deflated archive member.
//!
//! Deflate can only be read from its start: an [`Inflater`] goes forward and never back.

use flate2::{Decompress, FlushDecompress, Status};

use crate::catalog::Member;
use crate::error::{Error, Result};
use crate::input::Input;

const CHUNK: usize = 32 << 10;

/// A position inside one member's decompressed contents.
pub struct Inflater {
    member: Member,
    state: Decompress,
    consumed: u64,
    produced: u64,
    buffer: Vec<u8>,
    buffer_used: usize,
}

impl Inflater {
    /// At the start of a member.
    #[must_use]
    pub fn new(member: &Member) -> Self {
        Self {
            member: member.clone(),
            state: Decompress::new(false),
            consumed: 0,
            produced: 0,
            buffer: Vec::new(),
            buffer_used: 0,
        }
    }

    /// The offset in the contents that is read next.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.produced
    }

    /// Reads the next bytes. A stream that goes on after its stated size is an error.
    pub fn fill(&mut self, input: &Input, out: &mut [u8]) -> Result<()> {
        check_range(&self.member, self.produced, out.len())?;
        let mut filled = 0;
        while filled < out.len() {
            let (given, ended) = self.step(input, &mut out[filled..])?;
            filled += given;
            if filled < out.len() && ended {
                return Err(damaged(
                    &self.member,
                    "its deflate stream ends before its stated size",
                ));
            }
        }
        match !out.is_empty() && self.produced == self.member.size {
            true => self.check_end(input),
            false => Ok(()),
        }
    }

    /// Skips to an offset that lies ahead.
    pub fn skip_to(&mut self, input: &Input, offset: u64) -> Result<()> {
        let mut waste = [0u8; 4096];
        while self.produced < offset {
            let rest = usize::try_from(offset - self.produced).unwrap_or(waste.len());
            let step = rest.min(waste.len());
            self.fill(input, &mut waste[..step])?;
        }
        Ok(())
    }

    /// Inflates some bytes: how many, and whether there are no more.
    fn step(&mut self, input: &Input, out: &mut [u8]) -> Result<(usize, bool)> {
        if self.buffer_used == self.buffer.len() {
            self.refill(input)?;
        }
        let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
        let status = self
            .state
            .decompress(&self.buffer[self.buffer_used..], out, FlushDecompress::None)
            .map_err(|_| damaged(&self.member, "its deflate stream is damaged"))?;
        let taken = usize::try_from(self.state.total_in() - before_in).unwrap_or(0);
        let given = usize::try_from(self.state.total_out() - before_out).unwrap_or(0);
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
                _ => {
                    let why = "its deflate stream goes on after its stated size";
                    return Err(damaged(&self.member, why));
                }
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
pub(crate) fn check_range(member: &Member, offset: u64, len: usize) -> Result<()> {
    match offset.checked_add(len as u64).is_some_and(|end| end <= member.size) {
        true => Ok(()),
        false => Err(damaged(member, "the range to be read lies outside its stated size")),
    }
}

fn damaged(member: &Member, why: &str) -> Error {
    Error::malformed(format!("compressed member: {why}")).at(member.offset)
}
