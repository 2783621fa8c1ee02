//! Sums over numbers that the digits of codes name, and the code with the least of them.
//!
//! A code of 16 bits has eight digits of two bits or four digits of three bits, the first in the
//! lowest. Sums are made in the order of the digits.

use super::vector::LANES;

/// Bits of each of `DIGITS` digits.
pub(super) const fn bits<const DIGITS: usize>() -> usize {
    if DIGITS == 8 { 2 } else { 3 }
}

/// Digit `place` of a code.
#[inline(always)]
fn digit<const DIGITS: usize>(code: u16, place: usize) -> usize {
    usize::from(code >> (bits::<DIGITS>() * place)) & ((1 << bits::<DIGITS>()) - 1)
}

/// Numbers that codes are compared with.
pub struct Target<'a, const DIGITS: usize> {
    /// The numbers.
    pub values: &'a [f32; DIGITS],
    /// How much the square of each difference counts.
    pub weights: &'a [f32; DIGITS],
    /// What digits stand for. Where digits have two bits, the last four are the first four.
    pub numbers: &'a [f32; LANES],
    /// The factor of what digits stand for.
    pub scale: f32,
}

impl<const DIGITS: usize> Target<'_, DIGITS> {
    /// The code with the least sum of weighted squares, the first of equals; the first of all if
    /// none has a finite sum.
    #[inline(always)]
    pub fn nearest(&self, codes: &[[u16; LANES]]) -> u16 {
        let mut best = (f32::MAX, codes[0][0]);
        for &code in codes.as_flattened() {
            let mut sum = 0.0;
            for place in 0..DIGITS {
                let number = self.numbers[digit::<DIGITS>(code, place)];
                let away = self.scale * number - self.values[place];
                sum += self.weights[place] * away * away;
            }
            if sum < best.0 {
                best = (sum, code);
            }
        }
        best.1
    }
}

/// For each place of some codes that stand side by side, two numbers for every digit.
pub type Tables = [[f32; LANES]; 2];

/// Two sums for each lane, over the digits of one code after the other.
#[inline(always)]
pub(super) fn sums<const DIGITS: usize>(
    codes: &[[u16; LANES]],
    tables: &[Tables],
) -> [[f32; LANES]; 2] {
    let mut sums = [[0.0; LANES]; 2];
    for (codes, tables) in codes.iter().zip(tables.as_chunks::<DIGITS>().0) {
        for (place, tables) in tables.iter().enumerate() {
            for (lane, &code) in codes.iter().enumerate() {
                let digit = digit::<DIGITS>(code, place);
                sums[0][lane] += tables[0][digit];
                sums[1][lane] += tables[1][digit];
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::{Isa, Level, Task, run};
    use super::*;

    /// Both functions on numbers of every kind, with equal sums among them.
    struct All<const DIGITS: usize>;

    impl<const DIGITS: usize> Task for All<DIGITS> {
        type Output = (Vec<u16>, Vec<u32>);

        #[inline(always)]
        fn run<I: Isa>(self, isa: I) -> Self::Output {
            let mut state = 7u32;
            let mut next = move || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                u16::try_from(state >> 16).unwrap_or_default()
            };
            let numbers = match DIGITS {
                8 => [1.0, 3.0, 5.0, 0.0, 1.0, 3.0, 5.0, 0.0],
                _ => [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0],
            };
            let (mut found, mut all_sums) = (Vec::new(), Vec::new());
            for round in 0..400 {
                let mask = if DIGITS == 8 { 0x1111 } else { 0x0fff };
                let mut code = || next() & mask;
                let codes: Vec<[u16; 8]> =
                    (0..4).map(|_| std::array::from_fn(|_| code())).collect();
                let values = std::array::from_fn(|_| f32::from(next() % 64) / 8.0);
                let weights = std::array::from_fn(|_| match round % 7 {
                    0 => 0.0,
                    1 => f32::NAN,
                    2 => f32::INFINITY,
                    _ => f32::from(next() % 4),
                });
                let (values, weights) = (&values, &weights);
                let target = Target { values, weights, numbers: &numbers, scale: 0.75 };
                found.push(isa.nearest_code::<DIGITS>(&codes, &target));
                let tables: Vec<Tables> = (0..4 * DIGITS)
                    .map(|_| {
                        [0, 1].map(|_| {
                            let four = [0; 4].map(|_| f32::from(next()) / 77.0);
                            let [a, b, c, d] = four;
                            [a, b, c, d, a, b, c, d]
                        })
                    })
                    .collect();
                let sums = isa.sums_by_digits::<DIGITS>(&codes, &tables);
                all_sums.extend(sums.as_flattened().iter().map(|sum| sum.to_bits()));
            }
            (found, all_sums)
        }
    }

    #[test]
    fn every_level_does_what_the_definition_does() {
        let expected = (run(Level::BASELINE, All::<8>), run(Level::BASELINE, All::<4>));
        for &level in Level::available() {
            assert!((run(level, All::<8>), run(level, All::<4>)) == expected, "{level:?}");
        }
    }
}
