//! The precision in which two weights are compared, and the roundings that may explain their
//! differences.

use crate::compare::Wide;
use crate::dtype::DType;
use crate::model::Weight;

/// A rounding that may turn one side into the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rounding {
    /// The type that one side is stored in, and the other may have been rounded to.
    pub(super) to: DType,
    /// The other side: 0 for A, 1 for B.
    pub(super) from: usize,
    /// Whether the other side's scheme decodes to that type itself, with roundings in between.
    pub(super) by_scheme: bool,
}

/// How two weights are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Precision {
    /// Whether f32 cannot hold the numbers.
    pub(super) is_wide: bool,
    /// The type whose steps are counted: the coarser one. `None` for integers.
    pub(super) steps: Option<DType>,
    pub(super) roundings: [Option<Rounding>; 2],
}

impl Precision {
    pub(super) fn of(a: &Weight, b: &Weight) -> Self {
        let sides = [a, b].map(Kind::of);
        let is_wide = sides.iter().any(|side| side.stored.is_some_and(Wide::is_needed));
        let steps = sides[0].float.zip(sides[1].float).map(|(a, b)| coarser(a, b));
        let rounding = |from: usize| {
            let (side, other) = (sides[from], sides[1 - from]);
            let to = other.stored.filter(|to| is_target(*to))?;
            if side.stored == Some(to) || (to == DType::F32 && !is_wide) {
                return None;
            }
            let by_scheme = is_wide || side.stored.is_none() && side.float == Some(to);
            Some(Rounding { to, from, by_scheme })
        };
        Self { is_wide, steps, roundings: [rounding(0), rounding(1)] }
    }

    /// Whether one number is the other, rounded to its side's type.
    pub(super) fn is_rounded(&self, a: f32, b: f32) -> bool {
        self.roundings.iter().flatten().any(|rounding| {
            let (from, to) = if rounding.from == 0 { (a, b) } else { (b, a) };
            let rounded = match rounding.to {
                DType::BF16 => half::bf16::from_f32(from).to_f32(),
                DType::F16 => half::f16::from_f32(from).to_f32(),
                _ => from,
            };
            rounded.to_bits() == to.to_bits()
        })
    }

    /// `is_rounded` for numbers that f32 cannot hold.
    pub(super) fn is_rounded_wide(&self, a: f64, b: f64) -> bool {
        self.roundings.iter().flatten().any(|rounding| {
            let (from, to) = if rounding.from == 0 { (a, b) } else { (b, a) };
            let rounded = match rounding.to {
                DType::BF16 => half::bf16::from_f64(from).to_f64(),
                DType::F16 => half::f16::from_f64(from).to_f64(),
                #[allow(clippy::cast_possible_truncation)] // That is the rounding.
                _ => f64::from(from as f32),
            };
            rounded == to
        })
    }
}

/// What a side's numbers are.
#[derive(Clone, Copy)]
struct Kind {
    /// The element type of a plain weight.
    stored: Option<DType>,
    /// The floating-point type of its numbers, or the one they are usually decoded to.
    float: Option<DType>,
}

impl Kind {
    fn of(weight: &Weight) -> Self {
        let stored = weight.native().filter(|_| weight.is_plain());
        let float = match (stored, weight.native()) {
            (Some(dtype), _) if !dtype.is_float() => None,
            // BF16 holds every narrower type exactly.
            (Some(dtype), _) if dtype.bits() < 16 => Some(DType::BF16),
            (Some(dtype), _) => Some(dtype),
            (None, native) => Some(native.filter(|to| is_target(*to)).unwrap_or(DType::F32)),
        };
        Self { stored, float }
    }
}

fn is_target(dtype: DType) -> bool {
    matches!(dtype, DType::F16 | DType::BF16 | DType::F32)
}

/// The type with the longer steps.
fn coarser(a: DType, b: DType) -> DType {
    let order = [DType::BF16, DType::F16, DType::F32, DType::F64];
    let place = |dtype| order.iter().position(|one| *one == dtype).unwrap_or(order.len());
    if place(a) <= place(b) { a } else { b }
}
