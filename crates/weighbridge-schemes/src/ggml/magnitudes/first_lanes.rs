//! The scale that IQ2_XXS starts from, for the eight parts of a block at a time: a part in each
//! lane, which makes its sums in the order of the definition.

use super::first_scale::first_scale;
use crate::simd::Isa;
use crate::simd::vector::{Choice, LANES, Mask, Parallel, Vector};

/// The largest whole number.
const TOP: f32 = 4.0;

/// Numbers of a part.
const N: usize = 32;

/// The scales of eight parts, of which `most` are the largest numbers, all above 0.
#[inline(always)]
pub(super) fn first_scales<I: Isa>(
    isa: I,
    numbers: &[f32; 256],
    weights: &[f32; 256],
    most: &[f32; LANES],
) -> [f32; LANES] {
    let parts = Parts {
        numbers: &turned(isa, numbers),
        weights: &turned(isa, weights),
        most: isa.load(most),
    };
    let (scales, is_sound) = parts.fit(isa);
    let mut scales = scales.lanes();
    for (part, scale) in scales.iter_mut().enumerate() {
        if is_sound >> part & 1 == 0 {
            let of = |all: &[f32; 256]| all.as_chunks::<N>().0[part];
            *scale = first_scale(&of(numbers), &of(weights), most[part]);
        }
    }
    scales
}

/// Number `n` of each part side by side.
#[inline(always)]
fn turned<I: Isa>(isa: I, all: &[f32; 256]) -> [I::Vector; N] {
    let mut turned = [isa.splat(0.0); N];
    for (n, turned) in turned.iter_mut().enumerate() {
        let mut eight = [0.0; LANES];
        for (part, number) in eight.iter_mut().enumerate() {
            *number = all[part * N + n];
        }
        *turned = isa.load(&eight);
    }
    turned
}

/// Eight parts.
struct Parts<'a, V> {
    numbers: &'a [V; N],
    weights: &'a [V; N],
    most: V,
}

impl<V: Vector> Parts<'_, V> {
    /// The scales, and a bit for each that is what the definition gives. Others have numbers that
    /// are too large to be rounded here.
    #[inline(always)]
    fn fit<I: Isa<Vector = V>>(&self, isa: I) -> (V, u8) {
        let zero = isa.splat(0.0);
        let inverse = self.best_inverse(isa);
        let (mut xq, mut qq, mut bytes) = (zero, zero, [zero; N]);
        let mut is_sound = u8::MAX;
        for (n, byte) in bytes.iter_mut().enumerate() {
            let (x, w) = (self.numbers[n], self.weights[n]);
            // No number is larger than the largest, nor its negative.
            is_sound &= x.abs().at_most(self.most).bits();
            let whole = (inverse * x).round().min(isa.splat(TOP));
            xq = xq + w * x * whole;
            qq = qq + w * whole * whole;
            *byte = as_byte(isa, whole);
        }
        for _ in 0..5 {
            let (is_changed, sound) = self.sweep(isa, &mut xq, &mut qq, &mut bytes);
            is_sound &= sound;
            if !is_changed {
                break;
            }
        }
        ((xq / qq).or(zero, zero.less(qq)), is_sound)
    }

    /// Of nine near the plain one, the factors that give whole numbers of the least error.
    #[inline(always)]
    fn best_inverse<I: Isa<Vector = V>>(&self, isa: I) -> V {
        let (zero, one) = (isa.splat(0.0), isa.splat(1.0));
        let mut best = isa.splat(TOP) / self.most;
        let (mut least, mut scale) = (zero, one / best);
        for n in 0..N {
            let whole = as_byte(isa, (best * self.numbers[n]).round());
            let away = self.numbers[n] - scale * whole;
            least = least + self.weights[n] * away * away;
        }
        for step in [-4.0, -3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 4.0] {
            let inverse = isa.splat(0.1 * step + TOP) / self.most;
            scale = one / inverse;
            let mut error = zero;
            for n in 0..N {
                let whole = (inverse * self.numbers[n]).round().min(isa.splat(TOP));
                let away = self.numbers[n] - scale * whole;
                error = error + self.weights[n] * away * away;
            }
            let is_less = error.less(least);
            (least, best) = (error.or(least, is_less), inverse.or(best, is_less));
        }
        best
    }

    /// Changes each whole number where that is better; says whether any was, and which parts could
    /// be rounded.
    #[inline(always)]
    fn sweep<I: Isa<Vector = V>>(
        &self,
        isa: I,
        xq: &mut V,
        qq: &mut V,
        bytes: &mut [V; N],
    ) -> (bool, u8) {
        let (zero, top) = (isa.splat(0.0), isa.splat(TOP));
        let (mut is_changed, mut is_sound) = (0, u8::MAX);
        for (n, byte) in bytes.iter_mut().enumerate() {
            let (x, w, old) = (self.numbers[n], self.weights[n], *byte);
            let (mut new_xq, mut new_qq) = (*xq - w * x * old, *qq - w * old * old);
            let is_open = zero.less(new_xq).and(zero.less(new_qq));
            let exact = x * new_qq / new_xq;
            let rounds = isa.splat(-200.0).less(exact).and(exact.less(isa.splat(4_000_000.0)));
            is_sound &= rounds.or(is_open.not()).bits();
            let whole = exact.round().min(top);
            new_xq = new_xq + w * x * whole;
            new_qq = new_qq + w * whole * whole;
            let is_better = (*xq * *xq * new_qq).less(new_xq * new_xq * *qq);
            let takes = is_open.and(whole.equals(old).not()).and(is_better);
            *xq = new_xq.or(*xq, takes);
            *qq = new_qq.or(*qq, takes);
            *byte = as_byte(isa, whole).or(old, takes);
            is_changed |= takes.bits();
        }
        (is_changed != 0, is_sound)
    }
}

/// Whole numbers from -256 on, as ggml's bytes hold them.
#[inline(always)]
fn as_byte<I: Isa>(isa: I, whole: I::Vector) -> I::Vector {
    (whole + isa.splat(256.0)).or(whole, whole.less(isa.splat(0.0)))
}
