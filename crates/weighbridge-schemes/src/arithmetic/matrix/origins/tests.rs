use super::*;
use crate::arithmetic::matrix::{E2M1, Packing};
use crate::arithmetic::plain;
use crate::simd::codes::Codes;

fn floats_of(dtype: DType) -> Codes {
    Codes::new(Packing::Bytes, |code| plain::number(dtype, &[code], 0))
}

#[test]
fn the_spacing_of_numbers_is_found() {
    let integers = Codes::new(Packing::Stream(3), |code| f32::from(code) - 4.0);
    assert_eq!(Numbers::of(&integers).spacing, Spacing::Even(1.0));
    for (codes, digits, smallest_normal) in [
        (floats_of(DType::F8_E4M3), 3, 1.0 / 64.0),
        (floats_of(DType::F8_E5M2), 2, 1.0 / 16384.0),
        (floats_of(DType::F8_E4M3FNUZ), 3, 1.0 / 128.0),
        (floats_of(DType::F8_E5M2FNUZ), 2, 1.0 / 32768.0),
        (Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]), 1, 1.0),
    ] {
        assert_eq!(Numbers::of(&codes).spacing, Spacing::Floats { digits, smallest_normal });
    }
    let table = [-1.0, -0.5, 0.0, 0.25, 1.0];
    let uneven = Codes::new(Packing::Stream(2), |code| table[usize::from(code) + 1]);
    assert_eq!(Numbers::of(&uneven).spacing, Spacing::Uneven);
}

/// The bounds of every number of some codes, in ascending order of the numbers.
fn all_bounds(
    codes: &Codes,
    arithmetic: Arithmetic,
    factor: Factor,
    loss: &Loss,
) -> Vec<(f32, Bounds)> {
    let numbers = Numbers::of(codes);
    let Factor { scale, offset } = factor;
    let value = |number: &f32| match arithmetic {
        Arithmetic::Times => number * scale,
        Arithmetic::MinusTimes => (number - offset) * scale,
        Arithmetic::TimesPlus => number * scale + offset,
        Arithmetic::TimesTimes(constant) => number * scale * constant,
    };
    let mut values: Vec<f32> = numbers.all.iter().map(value).collect();
    values.sort_by(f32::total_cmp);
    let mut out = vec![Bounds::default(); values.len()];
    loss.levels(numbers, arithmetic, factor, 0.0).fill(&values, &mut out);
    values.into_iter().zip(out).collect()
}

/// Whatever codes and factors are, bounds meet at the midpoints between levels.
#[test]
fn bounds_meet_at_the_midpoints_between_levels() {
    let table = [-1.0, -0.6, -0.1, 0.0, 0.2, 0.4, 0.7, 1.0];
    let sorts = [
        Codes::new(Packing::LowNibbles, f32::from),
        Codes::new(Packing::Bytes, |code| f32::from(code.cast_signed())),
        Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]),
        Codes::new(Packing::Stream(3), |code| table[usize::from(code)]),
        floats_of(DType::F8_E4M3),
    ];
    for (codes, scale) in sorts.iter().flat_map(|codes| [(codes, 0.3), (codes, -0.0117)]) {
        let factor = Factor { scale, offset: 3.0 };
        for arithmetic in [
            Arithmetic::Times,
            Arithmetic::MinusTimes,
            Arithmetic::TimesPlus,
            Arithmetic::TimesTimes(0.007),
        ] {
            // Floats have neither offsets nor zero points.
            let floats = matches!(Numbers::of(codes).spacing, Spacing::Floats { .. });
            let plain = matches!(arithmetic, Arithmetic::Times | Arithmetic::TimesTimes(_));
            if floats && !plain {
                continue;
            }
            let all = all_bounds(codes, arithmetic, factor, &Loss::NONE);
            for pair in all.windows(2) {
                let [(below, lower), (above, upper)] = [pair[0], pair[1]];
                let (middle, near) = ((below + above) / 2.0, (above - below) / 100.0);
                assert!((lower.high - middle).abs() < near, "{arithmetic:?} {below} {lower:?}");
                assert!((upper.low - middle).abs() < near, "{arithmetic:?} {above} {upper:?}");
            }
            let (first, last) = (all[0], all[all.len() - 1]);
            assert_eq!((first.1.low, last.1.high), (first.0, last.0));
        }
    }
}

#[test]
fn what_else_is_lost_widens_the_bounds() {
    let codes = Codes::new(Packing::LowNibbles, |code| f32::from(code) - 8.0);
    let factor = Factor { scale: 1.0, offset: 0.0 };
    let loss = Loss::rounded_to(DType::BF16).beyond(0.7);
    let all = all_bounds(&codes, Arithmetic::Times, factor, &loss);
    let near = |a: f32, b: f32| (a - b).abs() < 2e-3;
    let (value, Bounds { low, high }) = all[12];
    assert_eq!(value, 4.0);
    assert!(near(low, 4.0 - 0.5 - 4.5 / 256.0) && near(high, 4.0 + 0.5 + 4.5 / 256.0));
    let (_, Bounds { high, .. }) = all[15];
    assert!(near(high, 7.0 + 0.7 + 8.0 / 256.0), "{high}");
    // A scale that may have been another by a tenth.
    let numbers = Numbers::of(&codes);
    let mut out = [Bounds::default()];
    Loss::NONE.levels(numbers, Arithmetic::Times, factor, 0.1).fill(&[4.0], &mut out);
    assert!(near(out[0].high, 4.0 + 0.5 + 0.45), "{:?}", out[0]);
}

#[test]
fn powers_of_two_leave_what_is_below_the_next() {
    assert_eq!(Loss::of_powers(6.0).beyond, 2.0 * 1.0125);
    assert_eq!(Loss::of_powers(448.0).beyond, 64.0 * 1.0125);
    assert_eq!(Loss::of_powers(57344.0).beyond, 8192.0 * 1.0125);
}

#[test]
fn a_scale_of_zero_says_what_was_flushed() {
    let codes = Codes::new(Packing::LowNibbles, |code| E2M1[usize::from(code)]);
    let numbers = Numbers::of(&codes);
    let mut out = [Bounds::default()];
    let factor = Factor::default();
    let loss = Loss::of_small_scales(false);
    loss.levels(numbers, Arithmetic::Times, factor, 0.0).fill(&[0.0], &mut out);
    let flushed = 6.0 / 1024.0;
    assert_eq!(out[0], Bounds { low: -flushed, high: flushed });
}
