//! Codes that are stored by columns, eight columns side by side.

use super::Number;

/// Columns that are decoded together.
pub const EIGHT: usize = 8;

/// Some rows of eight columns: 32-bit words that hold consecutive rows of their column, low bits
/// first.
#[derive(Clone, Copy)]
pub struct EightColumns<'a, R, const STRIDE: usize> {
    /// Bits of a code; a divisor of 32.
    pub bits: u32,
    /// The words of all eight columns (fewer at the edge), one row of words at a time, starting
    /// with the first.
    pub words: R,
    /// The group of each row of codes.
    pub groups: &'a [[u8; 4]],
    /// Scales and zero points, `STRIDE` from group to group.
    pub factors: [&'a [f32]; 2],
}

impl<'a, R: Fn(usize) -> &'a [u8], const STRIDE: usize> EightColumns<'a, R, STRIDE> {
    /// The definition: eight numbers of `out` for each row of codes.
    pub(super) fn define<T: Number>(&self, out: &mut [T]) {
        let per_word = 32 / self.bits as usize;
        let rows = self.groups.chunks(per_word).zip(out.chunks_mut(EIGHT * per_word));
        for (row, (groups, out)) in rows.enumerate() {
            let words = (self.words)(row).as_chunks().0;
            let shifts = (0..).step_by(self.bits as usize);
            let rows = groups.iter().zip(out.as_chunks_mut::<EIGHT>().0);
            for ((group, out), shift) in rows.zip(shifts) {
                let at = u32::from_le_bytes(*group) as usize * STRIDE;
                let [scales, zeros] = self.factors.map(|factors| &factors[at..at + EIGHT]);
                let factors = scales.iter().zip(zeros);
                for ((out, word), (scale, zero)) in out.iter_mut().zip(words).zip(factors) {
                    let code = u32::from_le_bytes(*word) >> shift;
                    let code = code & (u32::MAX >> (32 - self.bits));
                    *out = T::narrow((code as f32 - zero) * scale);
                }
            }
        }
    }
}

kernel! {
    /// Decodes eight columns side by side: eight numbers of `out` for each row of codes.
    // The codes come by value: the output cannot alias them, so they stay in registers.
    pub fn decode_eight_columns['a, R: Fn(usize) -> &'a [u8], T: Number, const STRIDE: usize](
        isa; codes: EightColumns<'a, R, STRIDE>, out: &mut [T]
    ) -> () {
        isa.eight_columns(codes, out);
    }
}
