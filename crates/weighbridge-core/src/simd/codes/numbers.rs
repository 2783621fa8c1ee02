//! What codes stand for, in order: how far one number is from the next.

use super::Codes;

/// The numbers of codes.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Each once, in ascending order.
    pub all: Vec<f32>,
    /// How far apart they are.
    pub spacing: Spacing,
    /// Half of the widest gap; none for floats, whose gaps grow with them.
    pub half_gap: f32,
}

/// How far numbers are apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spacing {
    /// Always the same distance.
    Even(f32),
    /// As floating-point numbers are.
    Floats {
        /// The digits after the point.
        digits: i32,
        /// The smallest number that has all of these digits.
        smallest_normal: f32,
    },
    /// Anything else.
    Uneven,
}

impl Numbers {
    /// The lowest and the highest.
    #[inline(always)]
    pub fn ends(&self) -> [f32; 2] {
        [self.all.first(), self.all.last()].map(|end| end.copied().unwrap_or(0.0))
    }

    /// The numbers of codes, which are put in order once.
    pub fn of(codes: &Codes) -> &Self {
        codes.in_order.get_or_init(|| {
            let count = 1usize << codes.packing.bits();
            let mut all: Vec<f32> = codes.numbers[..count].to_vec();
            all.retain(|number| number.is_finite());
            all.sort_by(f32::total_cmp);
            all.dedup();
            let spacing = even(&all).or_else(|| floats(&all)).unwrap_or(Spacing::Uneven);
            let half_gap = match spacing {
                Spacing::Even(gap) => gap / 2.0,
                Spacing::Floats { .. } => 0.0,
                Spacing::Uneven => widest(&all) / 2.0,
            };
            Self { all, spacing, half_gap }
        })
    }
}

/// The widest gap between two numbers.
fn widest(all: &[f32]) -> f32 {
    all.windows(2).fold(0.0, |most: f32, pair| most.max(pair[1] - pair[0]))
}

/// Whether numbers are equally far apart.
fn even(all: &[f32]) -> Option<Spacing> {
    let gap = all.get(1)? - all[0];
    all.windows(2).all(|pair| pair[1] - pair[0] == gap).then_some(Spacing::Even(gap))
}

/// Whether numbers are all floats of some number of digits, up to the highest of them.
fn floats(all: &[f32]) -> Option<Spacing> {
    let positive = &all[all.iter().position(|&number| number > 0.0)?..];
    let least = positive[0];
    // Subnormal and first normal numbers share the smallest step: twice as many as digits tell
    // apart.
    let first = (1u16..).zip(positive).take_while(|(n, x)| **x == f32::from(*n) * least).count();
    let digits = i32::try_from(first.checked_ilog2()?).ok()? - 1;
    let smallest_normal = least * (digits as f32).exp2();
    let step = |x: f32| {
        let power = f32::from_bits(x.to_bits() & 0x7f80_0000).max(smallest_normal);
        power * (-digits as f32).exp2()
    };
    let is_next = |pair: &[f32]| pair[1] - pair[0] == step(pair[0]);
    let is_mirrored = all.iter().rev().zip(all).all(|(high, low)| *high == -low);
    (digits > 0 && is_mirrored && positive.windows(2).all(is_next))
        .then_some(Spacing::Floats { digits, smallest_normal })
}
