//! The test runner that compares every level with the scalar definition.
//!
//! A kernel is given as a function of level, input bytes and output. It runs at every level this
//! CPU has, for every output type and a few block counts, with inputs at every misalignment and
//! outputs at every position of a vector. Guards around the output must stay untouched. The
//! 16-bit outputs must be the baseline's f32, rounded once.

use half::{bf16, f16};

use super::{Level, Number};
use crate::number::{Element, Out};

/// A kernel under test.
pub struct Subject<'a> {
    /// Its name in failure messages.
    pub name: &'a str,
    /// Elements of a block.
    pub elements: usize,
    /// Bytes of a block.
    pub bytes: usize,
    /// Decodes whole blocks.
    pub decode: &'a dyn Fn(Level, &[u8], Out<'_>),
}

/// Most blocks in one call.
const MOST_BLOCKS: usize = 5;
/// Input and output start at each offset up to this.
const MISALIGNMENTS: usize = 32;
/// Elements around the output that must not change.
const GUARD: usize = 16;

/// Runs `subject` on `inputs`, each a list of whole blocks; panics where anything differs.
pub fn check(subject: &Subject<'_>, inputs: &[Vec<u8>]) {
    for input in inputs {
        let count = input.len() / subject.bytes;
        let mut definition = vec![0f32; count * subject.elements];
        (subject.decode)(Level::BASELINE, input, Out::F32(&mut definition));
        for &level in Level::available() {
            compare::<f32>(subject, level, input, &definition);
            compare::<bf16>(subject, level, input, &definition);
            compare::<f16>(subject, level, input, &definition);
        }
    }
    let all = inputs.concat();
    for blocks in 0..=MOST_BLOCKS {
        for shift in 0..MISALIGNMENTS {
            let input = &all[..blocks * subject.bytes];
            check_shifted(subject, input, shift);
        }
    }
}

fn check_shifted(subject: &Subject<'_>, input: &[u8], shift: usize) {
    let mut definition = vec![0f32; input.len() / subject.bytes * subject.elements];
    (subject.decode)(Level::BASELINE, input, Out::F32(&mut definition));
    let mut moved = vec![0xa5; shift];
    moved.extend_from_slice(input);
    for &level in Level::available() {
        guarded::<f32>(subject, level, &moved[shift..], shift, &definition);
        guarded::<bf16>(subject, level, &moved[shift..], shift, &definition);
        guarded::<f16>(subject, level, &moved[shift..], shift, &definition);
    }
}

fn compare<T: Number + Bits>(subject: &Subject<'_>, level: Level, input: &[u8], expected: &[f32]) {
    let mut out = vec![T::default(); expected.len()];
    (subject.decode)(level, input, T::out(&mut out));
    same(subject, level, &out, expected);
}

fn guarded<T: Number + Bits>(
    subject: &Subject<'_>,
    level: Level,
    input: &[u8],
    shift: usize,
    expected: &[f32],
) {
    let mut out = vec![T::narrow(-77.0); shift + expected.len() + GUARD];
    (subject.decode)(level, input, T::out(&mut out[shift..shift + expected.len()]));
    same(subject, level, &out[shift..shift + expected.len()], expected);
    let untouched = |value: &T| value.bits() == T::narrow(-77.0).bits();
    let guards = out[..shift].iter().chain(&out[shift + expected.len()..]);
    assert!(guards.copied().all(|v| untouched(&v)), "{} {level:?} writes outside", subject.name);
}

fn same<T: Number + Bits>(subject: &Subject<'_>, level: Level, out: &[T], expected: &[f32]) {
    for (index, (found, &wide)) in out.iter().zip(expected).enumerate() {
        let agrees = if wide.is_nan() { found.is_nan() } else { found.bits() == T::exact(wide) };
        assert!(
            agrees,
            "{} at {level:?} as {}: element {index} is {:#x}, the definition is {wide:?} ({:#x})",
            subject.name,
            T::DTYPE,
            found.bits(),
            T::exact(wide),
        );
    }
}

/// The bits of a number, and the bits that another implementation rounds to.
trait Bits: Element {
    fn bits(&self) -> u32;
    fn is_nan(&self) -> bool;
    fn exact(value: f32) -> u32;
}

impl Bits for f32 {
    fn bits(&self) -> u32 {
        self.to_bits()
    }
    fn is_nan(&self) -> bool {
        f32::is_nan(*self)
    }
    fn exact(value: f32) -> u32 {
        value.to_bits()
    }
}

macro_rules! sixteen_bits {
    ($($type:ty),*) => {
        $(impl Bits for $type {
            fn bits(&self) -> u32 {
                self.to_bits().into()
            }
            fn is_nan(&self) -> bool {
                <$type>::is_nan(*self)
            }
            fn exact(value: f32) -> u32 {
                <$type>::from_f32(value).to_bits().into()
            }
        })*
    };
}

sixteen_bits!(bf16, f16);
