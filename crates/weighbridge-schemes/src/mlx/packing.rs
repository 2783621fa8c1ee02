//! Packs codes into words: one bit stream, low bits first.

/// Packs codes of `BITS` bits. Eight codes take `BITS` bytes.
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

#[cfg(test)]
mod tests {
    use super::pack;
    use crate::arithmetic::matrix::Packing;

    #[test]
    fn codes_cross_bytes() {
        let mut out = [0; 3];
        pack::<3>(&[1, 0, 0b101, 0, 0, 7, 0, 0b100], &mut out);
        assert_eq!(
            u32::from_le_bytes([out[0], out[1], out[2], 0]),
            1 | 0b101 << 6 | 7 << 15 | 4 << 21
        );
        let codes: Vec<u8> = (0..8).map(|index| Packing::Stream(3).code(&out, index)).collect();
        assert_eq!(codes, [1, 0, 0b101, 0, 0, 7, 0, 0b100]);
    }
}
