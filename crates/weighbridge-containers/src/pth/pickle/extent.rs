//! Where a pickle ends, without reading what it says: needed where several follow each other in a
//! file that cannot be lent whole.

use super::opcode::*;

/// What a look at the start of a pickle gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// It ends before this byte.
    Ends(usize),
    /// All bytes were used up; opcodes before this byte are complete.
    More(usize),
    /// No opcode starts at this byte.
    Broken(usize),
}

/// Steps over opcodes from `from` on, until `STOP`.
pub(crate) fn extent(bytes: &[u8], from: usize) -> Extent {
    let mut at = from;
    loop {
        let Some(&op) = bytes.get(at) else { return Extent::More(at) };
        if name(op).is_none() {
            return Extent::Broken(at);
        }
        let rest = bytes.get(at.saturating_add(1)..).unwrap_or_default();
        let Some(len) = argument_len(op, rest) else { return Extent::More(at) };
        let next = at.saturating_add(1).saturating_add(len);
        if next > bytes.len() {
            return Extent::More(at);
        }
        if op == STOP {
            return Extent::Ends(next);
        }
        at = next;
    }
}

/// Bytes of an opcode's argument; `None` if there are not enough to tell.
fn argument_len(op: u8, rest: &[u8]) -> Option<usize> {
    let counted = |width: usize| {
        let digits = rest.get(..width)?;
        let len = digits.iter().rev().fold(0u64, |n, &b| (n << 8) | u64::from(b));
        Some(usize::try_from(len).unwrap_or(usize::MAX).saturating_add(width))
    };
    let line = |from: usize| {
        let found = rest.get(from..)?.iter().position(|&b| b == b'\n')?;
        Some(from.saturating_add(found).saturating_add(1))
    };
    match op {
        FLOAT | INT | LONG | STRING | UNICODE | PERSID | GET | PUT => line(0),
        GLOBAL | INST => line(line(0)?),
        BININT1 | BINGET | BINPUT | PROTO | EXT1 => Some(1),
        BININT2 | EXT2 => Some(2),
        BININT | LONG_BINGET | LONG_BINPUT | EXT4 => Some(4),
        BINFLOAT | FRAME => Some(8),
        SHORT_BINSTRING | SHORT_BINBYTES | SHORT_BINUNICODE | LONG1 => counted(1),
        BINSTRING | BINUNICODE | BINBYTES | LONG4 => counted(4),
        BINUNICODE8 | BINBYTES8 | BYTEARRAY8 => counted(8),
        _ => Some(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end() {
        let pickle = b"\x80\x02}(X\x01\x00\x00\x00aK\x01cos\nsystem\nu.rest";
        let end = pickle.len() - 4;
        assert_eq!(extent(pickle, 0), Extent::Ends(end));
        for cut in 0..end {
            assert!(matches!(extent(&pickle[..cut], 0), Extent::More(at) if at <= cut));
        }
        assert_eq!(extent(b"\x80\x02\xff", 0), Extent::Broken(2));
    }
}
