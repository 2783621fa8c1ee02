//! Codes into words: one stream of bits, the low ones first.

/// Packs codes of `BITS` bits. Eight of them take that many bytes.
#[inline(always)]
pub(super) fn pack<const BITS: usize>(codes: &[u8], out: &mut [u8]) {
    for (codes, out) in codes.as_chunks::<8>().0.iter().zip(out.chunks_exact_mut(BITS)) {
        let mut stream = 0u64;
        for (at, code) in codes.iter().enumerate() {
            stream |= u64::from(*code) << (at * BITS);
        }
        out.iter_mut().zip(stream.to_le_bytes()).for_each(|(out, byte)| *out = byte);
    }
}

/// Unpacks codes of so many bits.
pub(super) fn unpack(bits: u32, packed: &[u8], codes: &mut [u8]) {
    let mask = u8::MAX >> 8u32.saturating_sub(bits);
    for (packed, codes) in packed.chunks(bits as usize).zip(codes.chunks_mut(8)) {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(packed).for_each(|(to, from)| *to = *from);
        let mut stream = u64::from_le_bytes(bytes);
        for code in codes {
            *code = stream.to_le_bytes()[0] & mask;
            stream >>= bits;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};

    #[test]
    fn codes_cross_bytes() {
        let mut out = [0; 3];
        pack::<3>(&[1, 0, 0b101, 0, 0, 7, 0, 0b100], &mut out);
        assert_eq!(
            u32::from_le_bytes([out[0], out[1], out[2], 0]),
            1 | 0b101 << 6 | 7 << 15 | 4 << 21
        );
        let mut codes = [0; 8];
        unpack(3, &out, &mut codes);
        assert_eq!(codes, [1, 0, 0b101, 0, 0, 7, 0, 0b100]);
    }
}
