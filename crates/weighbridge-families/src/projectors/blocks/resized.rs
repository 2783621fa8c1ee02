//! Learned positions of a square of patches, for another square.

/// A side's two neighbours of a place, and how much of each it has.
struct Between {
    places: [usize; 2],
    parts: [f32; 2],
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, clippy::cast_sign_loss)] // Sides are short.
fn between(place: usize, [from, to]: [usize; 2]) -> Between {
    let step = if to > 1 { (from - 1) as f32 / (to - 1) as f32 } else { 0.0 };
    let exact = step * place as f32;
    let first = (exact as usize).min(from - 1);
    let second = (exact - first as f32).clamp(0.0, 1.0);
    Between { places: [first, (first + 1).min(from - 1)], parts: [1.0 - second, second] }
}

/// Vectors of so many numbers between those of a square, with its corners as corners. Sums are rounded
/// where torch rounds them on processors that multiply and add at once.
pub(crate) fn resized(numbers: &[f32], [from, to]: [usize; 2], width: usize) -> Vec<f32> {
    if from == to || from == 0 {
        return numbers.to_vec();
    }
    let mut all = Vec::with_capacity(to * to * width);
    for (row, column) in (0..to * to).map(|place| (place / to, place % to)) {
        let (row, column) = (between(row, [from, to]), between(column, [from, to]));
        let vector = |down: usize, right: usize| {
            let start = (row.places[down] * from + column.places[right]) * width;
            (row.parts[down] * column.parts[right], &numbers[start..start + width])
        };
        let [a, b, c, d] = [vector(0, 0), vector(0, 1), vector(1, 0), vector(1, 1)];
        all.extend((0..width).map(|at| {
            let below = d.0.mul_add(d.1[at], c.0 * c.1[at]);
            a.0.mul_add(a.1[at], b.0.mul_add(b.1[at], below))
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What torch says of one place of a square of four, where a sum of rounded products is another number.
    #[test]
    fn sums_are_those_of_torch() {
        let numbers: Vec<f32> = (0..32_u16).map(|at| f32::from(at * 919 % 1000) / 1000.0).collect();
        let made = resized(&numbers, [2, 4], 8);
        let bits: Vec<u32> = made[40..48].iter().map(|number| number.to_bits()).collect();
        let torch = [
            0x3e76_ab92,
            0x3f37_275e,
            0x3f22_6af3,
            0x3f0d_ae89,
            0x3ef1_e43b,
            0x3f1d_1942,
            0x3f08_5cd7,
            0x3ee7_40d9,
        ];
        assert_eq!((made.len(), bits), (128, torch.to_vec()));
        assert_eq!(resized(&numbers, [2, 2], 8), numbers);
    }
}
