//! A part of an object while it is being filled: the pieces that have arrived.

use std::collections::BTreeMap;

use bytes::Bytes;

/// Pieces shorter than this are joined with what follows them.
const JOINED: usize = 64 << 10;

/// The pieces of a part, by where they begin. Only bytes that have arrived cost memory.
#[derive(Default)]
pub(crate) struct Pieces {
    pieces: BTreeMap<u64, Vec<u8>>,
    pub(crate) held: u64,
}

impl Pieces {
    /// Adds bytes; `false` if some of them have arrived before.
    pub(crate) fn add(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset + bytes.len() as u64;
        let last = self.pieces.range_mut(..end).next_back();
        let last_end = last.as_ref().map_or(0, |(start, piece)| **start + piece.len() as u64);
        if last_end > offset {
            return false;
        }
        match last {
            Some((_, piece)) if last_end == offset && piece.len() < JOINED => {
                piece.extend_from_slice(bytes);
            }
            _ => drop(self.pieces.insert(offset, bytes.to_vec())),
        }
        self.held += bytes.len() as u64;
        true
    }

    /// All bytes of the part, in order; what has not arrived is zero.
    pub(crate) fn filled(self, len: u64) -> Vec<Bytes> {
        let (mut all, mut at) = (Vec::new(), 0);
        for (start, piece) in self.pieces {
            zeros(&mut all, start - at);
            at = start + piece.len() as u64;
            all.push(piece.into());
        }
        zeros(&mut all, len.saturating_sub(at));
        all
    }
}

fn zeros(to: &mut Vec<Bytes>, mut len: u64) {
    static ZEROS: [u8; JOINED] = [0; JOINED];
    while len > 0 {
        let some = usize::try_from(len).unwrap_or(JOINED).min(JOINED);
        to.push(Bytes::from_static(&ZEROS[..some]));
        len -= some as u64;
    }
}

/// The BLAKE3 hash of a part.
pub(crate) fn sum(pieces: &[Bytes]) -> String {
    let mut hasher = blake3::Hasher::new();
    for piece in pieces {
        hasher.update(piece);
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_in_any_order_and_never_twice() {
        let mut pieces = Pieces::default();
        for (offset, bytes) in [(6, &b"gh"[..]), (2, b"cd"), (0, b"ab")] {
            assert!(pieces.add(offset, bytes));
        }
        for (offset, bytes) in [(1, &b"x"[..]), (3, b"xxxxx"), (5, b"xx"), (7, b"x")] {
            assert!(!pieces.add(offset, bytes), "{offset}");
        }
        assert!(pieces.add(4, b"e"));
        assert_eq!(pieces.held, 7);
        assert_eq!(pieces.filled(10).concat(), b"abcde\0gh\0\0");
        assert_eq!(Pieces::default().filled(200_000).concat(), vec![0; 200_000]);
    }
}
