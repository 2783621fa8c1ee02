//! Compares every level with the definition, for every kind of codes, arithmetic and output type.

use half::{bf16, f16};

use super::{Arithmetic, Codes, Factor, Packing, Run, decode};
use crate::noise::Noise;
use crate::simd::{Level, Number, small_floats};

/// A finite factor: ordinary, tiny, huge, negative or zero.
fn factor(noise: &mut Noise) -> f32 {
    let bits = next(noise);
    match bits % 8 {
        0 => 0.0,
        1 => -0.0,
        2 => f32::from_bits(bits >> 9),
        3 => f32::from_bits(bits & 0xbf7f_ffff),
        _ => f32::from_bits(0x3c00_0000 + (bits & 0x83ff_ffff)),
    }
}

fn next(noise: &mut Noise) -> u32 {
    u32::try_from(noise.bits() >> 32).unwrap()
}

fn kinds() -> Vec<Codes> {
    let e2m1 = |code: u8| {
        let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(code & 7)];
        if code & 8 == 0 { magnitude } else { -magnitude }
    };
    vec![
        Codes::new(Packing::Bytes, |code| f32::from(code.cast_signed())),
        Codes::new(Packing::Bytes, f32::from),
        Codes::new(Packing::Bytes, small_floats::e4m3),
        Codes::new(Packing::Bytes, small_floats::e5m2),
        Codes::new(Packing::Bytes, small_floats::e4m3fnuz),
        Codes::new(Packing::Bytes, small_floats::e5m2fnuz),
        Codes::new(Packing::LowNibbles, e2m1),
        Codes::new(Packing::HighNibbles, e2m1),
        // As e2m1, but without a negative zero.
        Codes::new(Packing::LowNibbles, move |code| if code == 8 { 0.0 } else { e2m1(code) }),
        Codes::new(Packing::LowNibbles, |code| f32::from(code) - 8.0),
        Codes::new(Packing::HighNibbles, |code| (f32::from(code) * 0.37).sin()),
        Codes::new(Packing::Stream(3), f32::from),
        Codes::new(Packing::Stream(6), |code| f32::from(code) - 32.0),
        Codes::new(Packing::Words(5), f32::from),
    ]
}

const ARITHMETIC: [Arithmetic; 4] = [
    Arithmetic::Times,
    Arithmetic::MinusTimes,
    Arithmetic::TimesPlus,
    Arithmetic::TimesTimes(7.874_016e-3),
];

fn check<T: Number>(
    codes: &Codes,
    noise: &mut Noise,
    bits: impl Fn(T) -> u32,
    nan: impl Fn(T) -> bool,
) {
    let bytes: Vec<u8> = (0..300).map(|_| next(noise).to_le_bytes()[1]).collect();
    for arithmetic in ARITHMETIC {
        for (group, native) in [
            (1, false),
            (3, true),
            (16, true),
            (32, false),
            (37, true),
            (64, true),
            (1 << 20, false),
        ] {
            for start in 0..5 {
                let from_start = next(noise).is_multiple_of(2);
                let into = if from_start { 0 } else { next(noise) as usize % group };
                let len = next(noise) as usize % 140;
                let groups = (into + len).div_ceil(group).max(1);
                let factors: Vec<_> = (0..groups)
                    .map(|_| Factor { scale: factor(noise), offset: factor(noise) })
                    .collect();
                let run = Run { codes: &bytes, start, factors: &factors, group, into };
                let mut wanted = vec![T::default(); len];
                decode(Level::BASELINE, codes, arithmetic, native, &run, &mut wanted);
                for &level in Level::available() {
                    let mut found = vec![T::default(); len];
                    decode(level, codes, arithmetic, native, &run, &mut found);
                    for (index, (&found, &wanted)) in found.iter().zip(&wanted).enumerate() {
                        let same = bits(found) == bits(wanted) || nan(found) && nan(wanted);
                        assert!(
                            same,
                            "{:?} {arithmetic:?} group {group} start {start} element {index} of {len} at \
                             {level:?} as {}: {:#x}, the definition is {:#x}",
                            codes.kind,
                            T::DTYPE,
                            bits(found),
                            bits(wanted)
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn every_level_agrees_with_the_definition() {
    let mut noise = Noise(20_261_116);
    for _ in 0..20 {
        for codes in kinds() {
            check::<f32>(&codes, &mut noise, f32::to_bits, f32::is_nan);
            check::<bf16>(&codes, &mut noise, |x| x.to_bits().into(), bf16::is_nan);
            check::<f16>(&codes, &mut noise, |x| x.to_bits().into(), f16::is_nan);
        }
    }
}
