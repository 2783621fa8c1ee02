//! The 4-bit blocks of APR files: 32 elements behind one scale.
//!
//! | type | bytes of a block | value |
//! |---|---|---|
//! | APR_Q4 | f16 `d`; 16 bytes of nibbles | (q - 8) d |
//!
//! The size and the arithmetic are Q4_0's, the order is not: byte `i` holds elements `2 i` (its
//! low nibble) and `2 i + 1`.

use super::kernel::{Blocks, Kernel, decoded_by, half_at, kernel};

pub(super) static KERNELS: &[Kernel] = &[kernel::<AprQ4, 18, 32>()];

struct AprQ4;

impl Blocks<18, 32> for AprQ4 {
    const NAME: &'static str = "APR_Q4";

    #[inline(always)]
    fn define(block: &[u8; 18], out: &mut [f32; 32]) {
        let d = half_at(block, 0);
        for (pair, byte) in out.as_chunks_mut::<2>().0.iter_mut().zip(&block[2..]) {
            *pair = [byte & 15, byte >> 4].map(|q| (f32::from(q) - 8.0) * d);
        }
    }

    decoded_by!(18 => 32: apr_q4(block));
}
