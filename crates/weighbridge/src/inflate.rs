//! Reading inside a deflated archive member.
//!
//! Deflate can only be read from its start. [`Inflater`] remembers how far it got, so reading a
//! member front to back costs one pass; going back starts over.

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

    /// Fills `out` with the contents from `offset` on, starting over if that lies behind.
    pub fn read_at(&mut self, input: &Input, offset: u64, out: &mut [u8]) -> Result<()> {
        let end = offset.checked_add(out.len() as u64);
        if end.is_none_or(|end| end > self.member.size) {
            return Err(self.damaged("more is wanted than the archive says is in it"));
        }
        if offset < self.produced {
            *self = Self::new(&self.member);
        }
        let mut waste = [0u8; 4096];
        while self.produced < offset {
            let step =
                usize::try_from(offset - self.produced).unwrap_or(waste.len()).min(waste.len());
            self.fill(input, &mut waste[..step])?;
        }
        self.fill(input, out)
    }

    /// Whether this reads that member.
    #[must_use]
    pub fn is_for(&self, member: &Member) -> bool {
        self.member == *member
    }

    fn fill(&mut self, input: &Input, out: &mut [u8]) -> Result<()> {
        let mut filled = 0;
        while filled < out.len() {
            if self.buffer_used == self.buffer.len() {
                self.refill(input)?;
            }
            let (before_in, before_out) = (self.state.total_in(), self.state.total_out());
            let status = self
                .state
                .decompress(
                    &self.buffer[self.buffer_used..],
                    &mut out[filled..],
                    FlushDecompress::None,
                )
                .map_err(|_| self.damaged("its deflate stream is damaged"))?;
            let taken = usize::try_from(self.state.total_in() - before_in).unwrap_or(0);
            let given = usize::try_from(self.state.total_out() - before_out).unwrap_or(0);
            self.buffer_used += taken;
            filled += given;
            self.produced += given as u64;
            let stuck = taken == 0 && given == 0 && self.consumed == self.member.compressed;
            if filled < out.len() && (status == Status::StreamEnd || stuck) {
                return Err(self.damaged("its deflate stream ends before its stated size"));
            }
        }
        Ok(())
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

    fn damaged(&self, why: &str) -> Error {
        Error::malformed(format!("compressed member: {why}")).at(self.member.offset)
    }
}
