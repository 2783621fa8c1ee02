//! A [`Vector`] in one register.

use std::arch::x86_64::*;
use std::ops::{Add, Div, Mul, Sub};

use super::super::steps::Steps;
use super::super::vector::{Choice, LANES, Mask, Parallel, Vector};
use super::{Avx2, steps};

/// How [`Parallel::round`] rounds: to the nearest, halves to even.
const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

/// Eight f32.
#[derive(Clone, Copy)]
pub struct Register(__m256);

/// All bits of a lane are set, or none.
#[derive(Clone, Copy)]
pub struct Bits(__m256);

impl Register {
    #[inline(always)]
    pub(super) fn splat(_: Avx2, value: f32) -> Self {
        // SAFETY: the CPU has the instructions.
        Self(unsafe { _mm256_set1_ps(value) })
    }

    #[inline(always)]
    pub(super) fn load(_: Avx2, lanes: &[f32; LANES]) -> Self {
        // SAFETY: the CPU has the instructions, and there are eight.
        Self(unsafe { _mm256_loadu_ps(lanes.as_ptr()) })
    }

    /// The lowest byte of each whole number.
    #[inline(always)]
    fn low_byte(self) -> __m256i {
        // SAFETY: the CPU has the instructions.
        unsafe { _mm256_and_si256(_mm256_cvttps_epi32(self.0), _mm256_set1_epi32(0xff)) }
    }
}

macro_rules! operators {
    ($($name:ident $function:ident $intrinsic:ident),*) => {
        $(impl $name for Register {
            type Output = Self;

            #[inline(always)]
            fn $function(self, other: Self) -> Self {
                // SAFETY: the CPU has the instructions.
                Self(unsafe { $intrinsic(self.0, other.0) })
            }
        })*
    };
}

operators!(Add add _mm256_add_ps, Sub sub _mm256_sub_ps, Mul mul _mm256_mul_ps, Div div _mm256_div_ps);

// SAFETY, here and below: a register exists only where the CPU has the instructions.
impl Parallel for Register {
    type Mask = Bits;

    inlined! {
        fn same(self, value: f32) -> Self = Self(unsafe { _mm256_set1_ps(value) });
        fn abs(self) -> Self = Self(unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), self.0) });
        fn signed_as(self, other: Self) -> Self =
            Self(unsafe { _mm256_or_ps(_mm256_and_ps(_mm256_set1_ps(-0.0), other.0), self.0) });
        fn sqrt(self) -> Self = Self(unsafe { _mm256_sqrt_ps(self.0) });
        fn round(self) -> Self = Self(unsafe { _mm256_round_ps::<NEAREST>(self.0) });
        fn min(self, other: Self) -> Self = Self(unsafe { _mm256_min_ps(self.0, other.0) });
        fn max(self, other: Self) -> Self = Self(unsafe { _mm256_max_ps(self.0, other.0) });
        fn less(self, than: Self) -> Bits =
            Bits(unsafe { _mm256_cmp_ps::<_CMP_LT_OQ>(self.0, than.0) });
        fn at_most(self, other: Self) -> Bits =
            Bits(unsafe { _mm256_cmp_ps::<_CMP_LE_OQ>(self.0, other.0) });
        fn equals(self, other: Self) -> Bits =
            Bits(unsafe { _mm256_cmp_ps::<_CMP_EQ_OQ>(self.0, other.0) });
        fn or(self, other: Self, mask: Bits) -> Self =
            Self(unsafe { _mm256_blendv_ps(other.0, self.0, mask.0) });
    }
}

impl Vector for Register {
    #[inline(always)]
    fn store(self, to: &mut [f32; LANES]) {
        // SAFETY: the CPU has the instructions, and there is room for eight.
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn transposed([a, b, c, d, e, f, g, h]: [Self; LANES]) -> [Self; LANES] {
        let (ab, ab_high) = (unpack_low(a, b), unpack_high(a, b));
        let (cd, cd_high) = (unpack_low(c, d), unpack_high(c, d));
        let (ef, ef_high) = (unpack_low(e, f), unpack_high(e, f));
        let (gh, gh_high) = (unpack_low(g, h), unpack_high(g, h));
        let (a, e) = crossed(fours::<0x44>(ab, cd), fours::<0x44>(ef, gh));
        let (b, f) = crossed(fours::<0xee>(ab, cd), fours::<0xee>(ef, gh));
        let (c, g) = crossed(fours::<0x44>(ab_high, cd_high), fours::<0x44>(ef_high, gh_high));
        let (d, h) = crossed(fours::<0xee>(ab_high, cd_high), fours::<0xee>(ef_high, gh_high));
        [a, b, c, d, e, f, g, h]
    }

    #[inline(always)]
    fn to_ints(self) -> [i32; LANES] {
        let mut ints = [0; LANES];
        // SAFETY: the CPU has the instructions, and there is room for eight.
        unsafe { _mm256_storeu_si256(ints.as_mut_ptr().cast(), _mm256_cvttps_epi32(self.0)) };
        ints
    }

    #[inline(always)]
    fn low_bytes(of: [Self; 4]) -> [u8; 4 * LANES] {
        let mut bytes = [0; 4 * LANES];
        // SAFETY: the CPU has the instructions, and there is room for 32.
        unsafe {
            let [a, b, c, d] = of;
            let packed = _mm256_packus_epi16(
                _mm256_packus_epi32(a.low_byte(), b.low_byte()),
                _mm256_packus_epi32(c.low_byte(), d.low_byte()),
            );
            let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            let ordered = _mm256_permutevar8x32_epi32(packed, order);
            _mm256_storeu_si256(bytes.as_mut_ptr().cast(), ordered);
        }
        bytes
    }

    #[inline(always)]
    fn nearest_steps(twice: [Self; 4], of: &Steps) -> [Self; 4] {
        let [a, b, c, d] = twice;
        // SAFETY: the CPU has the instructions.
        let [a, b, c, d] = unsafe { steps::values([a.0, b.0, c.0, d.0], of) };
        [Self(a), Self(b), Self(c), Self(d)]
    }

    #[inline(always)]
    fn nearest_codes(twice: [Self; 4], of: &Steps) -> [u8; 4 * LANES] {
        let [a, b, c, d] = twice;
        // SAFETY: the CPU has the instructions.
        unsafe { steps::codes([a.0, b.0, c.0, d.0], of) }
    }
}

inlined! {
    /// Lanes of both in turn, from the lower half of each four.
    fn unpack_low(a: Register, b: Register) -> Register =
        Register(unsafe { _mm256_unpacklo_ps(a.0, b.0) });
    /// Lanes of both in turn, from the upper half of each four.
    fn unpack_high(a: Register, b: Register) -> Register =
        Register(unsafe { _mm256_unpackhi_ps(a.0, b.0) });
}

/// Two lanes of each of both, within each four.
#[inline(always)]
fn fours<const WHICH: i32>(a: Register, b: Register) -> Register {
    // SAFETY: the CPU has the instructions.
    Register(unsafe { _mm256_shuffle_ps::<WHICH>(a.0, b.0) })
}

/// The lower halves of both, and the upper halves.
#[inline(always)]
fn crossed(a: Register, b: Register) -> (Register, Register) {
    // SAFETY: the CPU has the instructions.
    unsafe {
        let lower = _mm256_permute2f128_ps::<0x20>(a.0, b.0);
        (Register(lower), Register(_mm256_permute2f128_ps::<0x31>(a.0, b.0)))
    }
}

impl Choice for Bits {
    inlined! {
        fn and(self, other: Self) -> Self = Self(unsafe { _mm256_and_ps(self.0, other.0) });
        fn or(self, other: Self) -> Self = Self(unsafe { _mm256_or_ps(self.0, other.0) });
        fn not(self) -> Self =
            Self(unsafe { _mm256_xor_ps(self.0, _mm256_castsi256_ps(_mm256_set1_epi32(-1))) });
        fn any(self) -> bool = self.bits() != 0;
    }
}

impl Mask for Bits {
    #[inline(always)]
    fn bits(self) -> u8 {
        // SAFETY: the CPU has the instructions.
        let bits = unsafe { _mm256_movemask_ps(self.0) };
        bits.to_le_bytes()[0]
    }
}
