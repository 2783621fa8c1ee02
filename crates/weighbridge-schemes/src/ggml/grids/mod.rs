//! The grids: tables of four or eight numbers, which blocks of the IQ1, IQ2 and IQ3 types name by
//! their index.
//!
//! They were found by search, so there is no formula behind them. The files of this folder hold
//! them as digits; here they become the bytes that kernels read.

pub(super) mod cells;
pub(super) mod digits;
mod iq1;
mod iq2;
mod iq3;
pub(super) mod picking;

/// An entry's digits of `BITS` bits, the lowest first, as the bytes they stand for.
const fn expand<const BITS: usize, const DIGITS: usize, const N: usize>(
    packed: &[u16; N],
    values: &[u8],
) -> [[u8; DIGITS]; N] {
    let mut grid = [[0; DIGITS]; N];
    let mut entry = 0;
    while entry < N {
        let mut digit = 0;
        while digit < DIGITS {
            let place = packed[entry] >> (BITS * digit) & ((1 << BITS) - 1);
            grid[entry][digit] = values[place as usize];
            digit += 1;
        }
        entry += 1;
    }
    grid
}

/// -1, 0 and 1 as bytes.
const TERNARY: [u8; 3] = [0xff, 0, 1];
/// The magnitudes of IQ3_XXS.
const IQ3_XXS_MAGNITUDES: [u8; 8] = [4, 12, 20, 28, 36, 44, 52, 62];
/// The magnitudes of IQ3_S.
const IQ3_S_MAGNITUDES: [u8; 8] = [1, 3, 5, 7, 9, 11, 13, 15];
/// The magnitudes of IQ2.
const IQ2: [u8; 3] = [8, 25, 43];

/// IQ1_S and IQ1_M; the bytes are signed.
pub(super) static IQ1: [[u8; 8]; 2048] = expand::<2, 8, _>(&iq1::TERNARY, &TERNARY);
/// IQ2_XXS.
pub(super) static IQ2_XXS: [[u8; 8]; 256] = expand::<2, 8, _>(&iq2::XXS, &IQ2);
/// IQ2_XS.
pub(super) static IQ2_XS: [[u8; 8]; 512] = expand::<2, 8, _>(&iq2::XS, &IQ2);
/// IQ2_S.
pub(super) static IQ2_S: [[u8; 8]; 1024] = expand::<2, 8, _>(&iq2::S, &IQ2);
/// IQ3_XXS.
pub(super) static IQ3_XXS: [[u8; 4]; 256] = expand::<3, 4, _>(&iq3::XXS, &IQ3_XXS_MAGNITUDES);
/// IQ3_S.
pub(super) static IQ3_S: [[u8; 4]; 512] = expand::<3, 4, _>(&iq3::S, &IQ3_S_MAGNITUDES);

/// Eight signs from seven: the eighth is set where the number of the others is odd.
static EVEN_SIGNS: [u8; 128] = {
    let mut signs = [0; 128];
    let mut seven = 0u8;
    while seven < 128 {
        let odd = !seven.count_ones().is_multiple_of(2);
        signs[seven as usize] = if odd { seven | 128 } else { seven };
        seven += 1;
    }
    signs
};

/// Eight signs from the lowest seven bits.
#[inline(always)]
pub(super) fn even_signs(seven: u32) -> u8 {
    EVEN_SIGNS[(seven & 127) as usize]
}

/// Eight magnitudes with signs, times a scale.
#[inline(always)]
pub(super) fn scale_signed(out: &mut [f32], scale: f32, magnitudes: [u8; 8], signs: u8) {
    for (index, (out, magnitude)) in out.iter_mut().zip(magnitudes).enumerate() {
        let sign = if signs >> index & 1 == 1 { -1.0 } else { 1.0 };
        *out = scale * f32::from(magnitude) * sign;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a in 64 bits.
    fn hash<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u64 {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
    }

    /// The hashes are of the tables in ggml's own header, as bytes.
    #[test]
    fn the_tables_are_ggmls() {
        assert_eq!(hash(IQ1.as_flattened()), 0x6703_ed86_3501_ae2e);
        assert_eq!(hash(IQ2_XXS.as_flattened()), 0xbb4e_e025_b5ac_6e8e);
        assert_eq!(hash(IQ2_XS.as_flattened()), 0xc9b1_ee61_e799_09bd);
        assert_eq!(hash(IQ2_S.as_flattened()), 0x123e_dd38_a3b6_2b90);
        assert_eq!(hash(IQ3_XXS.as_flattened()), 0xdfa5_dc83_d6a1_55d5);
        assert_eq!(hash(IQ3_S.as_flattened()), 0xfa37_020c_25b4_4829);
        assert_eq!(hash(&EVEN_SIGNS), 0xf19b_a8f8_c329_2ba5);
    }
}
