//! Value changes applied to every number of a weight during conversion.

/// A change of values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Change {
    /// None: they stay as they are.
    #[default]
    None,
    /// A constant is added.
    Add(f32),
    /// Each is multiplied by a constant.
    Times(f32),
    /// Each becomes minus its exponential: decay rates are stored by their logarithms.
    MinusExp,
}

impl Change {
    /// A number after the change, computed in f32. An exponential is rounded once.
    pub fn of(self, number: f32) -> f32 {
        match self {
            Self::None => number,
            Self::Add(more) => number + more,
            Self::Times(factor) => number * factor,
            #[allow(clippy::cast_possible_truncation)] // Rounding is the point.
            Self::MinusExp => -(f64::from(number).exp() as f32),
        }
    }

    /// Returns a number after the change, computed in f64.
    pub fn of_double(self, number: f64) -> f64 {
        match self {
            Self::None => number,
            Self::Add(more) => number + f64::from(more),
            Self::Times(factor) => number * f64::from(factor),
            Self::MinusExp => -number.exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Change;

    #[test]
    fn numbers_are_changed() {
        assert_eq!(Change::None.of(-0.5), -0.5);
        assert_eq!(Change::Add(1.0).of(0.1), 1.1);
        assert_eq!(Change::Times(3.0).of(-0.5), -1.5);
        assert_eq!(Change::Times(3.0).of_double(0.5), 1.5);
        assert_eq!(Change::MinusExp.of(0.0), -1.0);
        assert_eq!(Change::MinusExp.of(1.0), -std::f32::consts::E);
        assert_eq!(Change::MinusExp.of(f32::NEG_INFINITY), 0.0);
        assert_eq!(Change::Add(1.0).of_double(0.1), 1.1);
    }
}
