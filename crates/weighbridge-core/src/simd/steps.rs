//! The nearest of sixteen uneven steps, which are whole numbers of one byte.
//!
//! Halfway between two steps lies a multiple of one half, so the whole part of a doubled number
//! tells on which side of it the number lies.

/// Sixteen steps in rising order.
pub struct Steps {
    /// What they stand for.
    pub values: [i8; 16],
    /// For each sixteen doubled numbers, from -256 on: the step of the last of them in the upper
    /// nibble. Those before the number in the lower nibble have the step before it.
    pub(super) buckets: [u8; 32],
}

impl Steps {
    /// Neighbours are eight apart or more.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Small numbers.
    pub const fn of(values: [i8; 16]) -> Self {
        let mut buckets = [0; 32];
        let mut step = 0;
        let mut bucket = 0;
        while bucket < 32 {
            let start = bucket as i16 * 16 - 256;
            let mut from = 0;
            if step < 15 && values[step] as i16 + (values[step + 1] as i16) < start + 16 {
                from = values[step] as i16 + values[step + 1] as i16 - start;
                step += 1;
            }
            buckets[bucket] = (step as u8) << 4 | from as u8;
            bucket += 1;
        }
        Self { values, buckets }
    }

    /// The step that is nearest to half of this number, the upper one of two. What is no number has
    /// the last.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Within the table by then.
    pub fn nearest(&self, twice: f32) -> u8 {
        if twice.is_nan() {
            return 15;
        }
        let at = (twice.floor().clamp(-256.0, 255.0) as i16 + 256) as u16;
        let bucket = self.buckets[usize::from(at / 16)];
        (bucket >> 4) - u8::from((at % 16) < u16::from(bucket & 15))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_step_is_the_nearest() {
        let steps =
            Steps::of([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113]);
        for quarter in -2000i16..2000 {
            let twice = f32::from(quarter) / 4.0;
            let far = |step: u8| (f32::from(steps.values[usize::from(step)]) - twice / 2.0).abs();
            let nearest =
                (0..16).reduce(|best, step| if far(step) <= far(best) { step } else { best });
            assert_eq!(Some(steps.nearest(twice)), nearest, "{twice}");
        }
        let odd =
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e30, -1e30].map(|x| steps.nearest(x));
        assert_eq!(odd, [15, 15, 0, 15, 0]);
    }
}
