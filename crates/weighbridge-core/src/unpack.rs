//! Compressions of archive members other than deflate. Each goes forward and never back.
//!
//! ```text
//! bzip2   its own format, several streams in a row at most
//! LZMA    u8 u8 version, u16 5, u8 lc/lp/pb, u32 dictionary, then the stream; its length is known
//! zstd    frames, and frames to be skipped
//! ```
//!
//! Dictionaries and windows are as large as the stream says, so they are held to the limits before
//! there is memory for them. A dictionary larger than the contents is never needed whole.

use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use bzip2::read::MultiBzDecoder;
use lzma_rust2::LzmaReader;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::catalog::{Compression, Member};
use crate::error::{Error, Remedy, Result};
use crate::input::Input;
use crate::stop::lock;

/// The smallest dictionary that the decoder works with.
const LEAST_DICTIONARY: u64 = 4096;

/// The window that the format wants every decoder to have, and that small frames ask for too. It
/// grows with what is decoded.
const USUAL_WINDOW: u64 = 8 << 20;

/// The contents of a member, from its start on.
pub struct Unpacker {
    reader: Box<dyn Read + Send>,
    failure: Failure,
    member: Member,
}

/// Why the compressed bytes could not be read: decoders do not pass that on.
pub(crate) type Failure = Arc<Mutex<Option<Error>>>;

/// The error behind that of a decoder, if it is not the data's: the system's, or a limit.
pub(crate) fn failure_of(failure: &Failure, error: io::Error) -> Option<Error> {
    lock(failure).take().or_else(|| error.downcast::<Error>().ok())
}

impl Unpacker {
    /// At the start of a member.
    pub fn new(input: &Input, member: &Member) -> Result<Self> {
        let failure = Failure::default();
        let packed = Packed {
            input: input.clone(),
            at: member.offset,
            left: member.compressed,
            failure: failure.clone(),
        };
        let reader: Box<dyn Read + Send> = match member.compression {
            Compression::Lzma => Box::new(lzma(packed, member)?),
            Compression::Zstd => Box::new(Zstd::new(packed, member.max_memory)),
            _ => Box::new(MultiBzDecoder::new(packed)),
        };
        Ok(Self { reader, failure, member: member.clone() })
    }

    /// Reads some bytes; none at the end.
    pub fn read(&mut self, out: &mut [u8]) -> Result<usize> {
        self.reader.read(out).map_err(|error| {
            let failure = lock(&self.failure).take();
            failure.unwrap_or_else(|| match error.downcast::<Error>() {
                Ok(error) => error,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    damaged(&self.member, "the data ends before its stated size")
                }
                Err(_) => damaged(&self.member, "the data is damaged"),
            })
        })
    }
}

/// The compressed bytes of a member.
pub(crate) struct Packed {
    input: Input,
    at: u64,
    left: u64,
    failure: Failure,
}

impl Packed {
    /// All bytes of a file.
    pub(crate) fn whole(input: &Input, failure: &Failure) -> Result<Self> {
        let left = input.whole_len()?;
        Ok(Self { input: input.clone(), at: 0, left, failure: failure.clone() })
    }
}

impl Read for Packed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        if let Err(error) = self.input.read_at(self.at, &mut out[..len]) {
            let text = error.to_string();
            *lock(&self.failure) = Some(error);
            return Err(io::Error::other(text));
        }
        self.at = self.at.saturating_add(len as u64);
        self.left -= len as u64;
        Ok(len)
    }
}

fn lzma(mut packed: Packed, member: &Member) -> Result<LzmaReader<Packed>> {
    let mut head = [0; 9];
    let cut = |_| damaged(member, "the header is truncated");
    packed.read_exact(&mut head).map_err(cut)?;
    let [_, _, 5, 0, properties, dictionary @ ..] = head else {
        return Err(damaged(member, "the header is not an LZMA header"));
    };
    let dictionary = u64::from(u32::from_le_bytes(dictionary));
    let dictionary = dictionary.min(member.size.max(LEAST_DICTIONARY));
    if dictionary > member.max_memory {
        return Err(too_large("dictionary", dictionary, member.max_memory));
    }
    let dictionary = u32::try_from(dictionary).unwrap_or(u32::MAX);
    LzmaReader::new_with_props(packed, member.size, properties, dictionary, None)
        .map_err(|_| damaged(member, "invalid LZMA properties"))
}

fn too_large(what: &str, bytes: u64, most: u64) -> Error {
    Error::limit(format!("the {what} needs {bytes} bytes in one allocation; the limit is {most}"))
        .remedy(Remedy::RaiseLimit("max_allocation"))
}

/// Frames of zstd, one after the other.
pub(crate) struct Zstd {
    packed: Packed,
    decoder: FrameDecoder,
    is_inside: bool,
    max_window: u64,
}

impl Zstd {
    pub(crate) fn new(packed: Packed, max_window: u64) -> Self {
        let max_window = max_window.max(USUAL_WINDOW);
        Self { packed, decoder: FrameDecoder::new(), is_inside: false, max_window }
    }

    /// Goes to the next frame that is not to be skipped; false if there is none.
    fn next_frame(&mut self) -> io::Result<bool> {
        while self.packed.left > 0 {
            // One that has been used would take all memory of a window at once.
            self.decoder = FrameDecoder::new();
            self.decoder.set_max_window_size(self.max_window);
            match self.decoder.reset(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length).min(self.packed.left);
                    self.packed.at = self.packed.at.saturating_add(length);
                    self.packed.left -= length;
                }
                Err(FrameDecoderError::WindowSizeTooBig { requested, max }) => {
                    return Err(io::Error::other(too_large("window", requested, max)));
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl Read for Zstd {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_inside && !self.next_frame()? {
                return Ok(0);
            }
            self.is_inside = true;
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.packed, one).map_err(io::Error::other)?;
            }
            match self.decoder.read(out)? {
                0 => self.is_inside = false,
                given => return Ok(given),
            }
        }
    }
}

/// The error for a compressed member that does not hold what it should.
pub fn damaged(member: &Member, why: &str) -> Error {
    let stream = format!("compressed member, {}", member.compression.name());
    Error::malformed(format!("{stream}: {why}")).at(member.offset)
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
