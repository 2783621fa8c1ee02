//! The normal distribution, in single precision as torch has it.

/// By how many deviations a number exceeds the mean, if so much of the distribution is below it.
#[allow(clippy::cast_possible_truncation)] // f32 is what is meant.
pub(crate) fn deviations(below: f64) -> f32 {
    let place = 2.0 * (below as f32) - 1.0;
    if place == 0.0 {
        return 0.0;
    }
    (inverse_error(f64::from(place)) as f32) * std::f32::consts::SQRT_2
}

/// The number whose error function is this, by halving: the function grows everywhere.
fn inverse_error(value: f64) -> f64 {
    let (mut low, mut high) = (0.0, 6.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        let half = if error(middle) < value.abs() { &mut low } else { &mut high };
        *half = middle;
    }
    f64::midpoint(low, high).copysign(value)
}

/// The error function, by its series without alternating signs.
fn error(at: f64) -> f64 {
    let (mut term, mut sum) = (at, at);
    for n in 1..200 {
        term *= 2.0 * at * at / f64::from(2 * n + 1);
        sum += term;
    }
    std::f64::consts::FRAC_2_SQRT_PI * (-at * at).exp() * sum
}

#[cfg(test)]
mod tests {
    use super::deviations;

    #[test]
    fn values_are_those_of_torch() {
        let known = [(0.95, 1.644_853_6), (0.9, 1.281_551_5), (0.3, -0.524_400_5), (0.5, 0.0)];
        for (below, expected) in known {
            assert_eq!(deviations(below), expected, "{below}");
        }
        assert_eq!(deviations(0.999), 3.090_236_2);
    }
}
