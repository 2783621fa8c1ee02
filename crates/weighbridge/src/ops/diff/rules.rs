//! The figures that pairs are judged and sorted by, and rules over them: `cosine<0.999`.

use std::fmt;
use std::str::FromStr;

use super::judge::Status;
use super::tensor::DiffTensor;
use crate::error::Error;
use crate::text::escaped;

/// A figure of a pair, by its name in JSON.
#[allow(missing_docs)] // The names are the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Metric {
    Cosine,
    MaxAbs,
    MeanAbs,
    Rmse,
    Relative,
    SnrDb,
    UlpMax,
    NanA,
    NanB,
    InfA,
    InfB,
}

/// Reads a figure of a pair.
type FigureOf = fn(&DiffTensor) -> Option<f64>;

/// Every metric with its name.
const METRICS: [(Metric, &str, FigureOf); 11] = [
    (Metric::Cosine, "cosine", |tensor| tensor.cosine),
    (Metric::MaxAbs, "max_abs", |tensor| tensor.max_abs),
    (Metric::MeanAbs, "mean_abs", |tensor| tensor.mean_abs),
    (Metric::Rmse, "rmse", |tensor| tensor.rmse),
    (Metric::Relative, "relative", |tensor| tensor.relative),
    (Metric::SnrDb, "snr_db", |tensor| tensor.snr_db),
    (Metric::UlpMax, "ulp_max", |tensor| count(tensor.ulp_max)),
    (Metric::NanA, "nan_a", |tensor| count(tensor.nan_a)),
    (Metric::NanB, "nan_b", |tensor| count(tensor.nan_b)),
    (Metric::InfA, "inf_a", |tensor| count(tensor.inf_a)),
    (Metric::InfB, "inf_b", |tensor| count(tensor.inf_b)),
];

#[allow(clippy::cast_precision_loss)] // For comparing only.
fn count(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

impl Metric {
    /// The metrics that measure how far apart two sides are.
    pub const DISTANCES: [Self; 7] = [
        Self::Cosine,
        Self::MaxAbs,
        Self::MeanAbs,
        Self::Rmse,
        Self::Relative,
        Self::SnrDb,
        Self::UlpMax,
    ];

    /// Its name in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        METRICS.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// Whether less is worse.
    #[must_use]
    pub fn is_likeness(self) -> bool {
        matches!(self, Self::Cosine | Self::SnrDb)
    }

    /// The figure of a pair; `None` if it was not computed.
    #[must_use]
    pub fn of(self, tensor: &DiffTensor) -> Option<f64> {
        METRICS.iter().find(|row| row.0 == self).and_then(|row| (row.2)(tensor))
    }

    /// How bad a figure is, so that the worst is the greatest.
    pub(super) fn badness(self, tensor: &DiffTensor) -> Option<f64> {
        self.of(tensor).map(|value| if self.is_likeness() { -value } else { value })
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        METRICS.iter().find(|row| row.1 == text).map(|row| row.0).ok_or_else(|| {
            let names: Vec<_> = METRICS.iter().map(|row| row.1).collect();
            Error::usage(format!(
                "unknown metric '{}'; the metrics are {}",
                escaped(text),
                names.join(", ")
            ))
        })
    }
}

impl DiffTensor {
    /// Whether it counts as a difference, by a rule or by the usual one.
    pub(super) fn is_failure(&self, rule: Option<&FailOver>, exact: bool) -> bool {
        match (self.status, rule) {
            (Status::Shape, _) => true,
            (Status::Undecoded | Status::Uncompared, _) => false,
            (_, Some(rule)) => rule.is_broken_by(self),
            (status, None) if exact => status != Status::Identical,
            (status, None) => status == Status::Changed,
        }
    }
}

/// One condition, such as `cosine<0.999`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Condition {
    metric: Metric,
    sign: &'static str,
    bound: f64,
}

/// Whether a value and a bound stand as a sign says.
type Holds = fn(&f64, &f64) -> bool;

/// The signs of conditions, and whether one holds; those that begin with another come first.
const SIGNS: [(&str, Holds); 4] =
    [("<=", f64::le), (">=", f64::ge), ("<", f64::lt), (">", f64::gt)];

/// Which values count as a difference: those for which any condition holds, such as
/// `cosine<0.999,max_abs>0.01`.
#[derive(Clone, Debug, PartialEq)]
pub struct FailOver {
    conditions: Vec<Condition>,
}

impl FailOver {
    /// Whether the figures of a pair are beyond a bound. A number that is finite on one side only
    /// is beyond every bound.
    #[must_use]
    pub fn is_broken_by(&self, tensor: &DiffTensor) -> bool {
        let holds = |condition: &Condition| match condition.metric.of(tensor) {
            Some(value) => SIGNS
                .iter()
                .any(|(sign, holds)| *sign == condition.sign && holds(&value, &condition.bound)),
            // If the norm of A is zero, the relative error is infinite.
            None => condition.metric == Metric::Relative && tensor.has_infinite_relative(),
        };
        tensor.unlike.is_some_and(|count| count > 0) || self.conditions.iter().any(holds)
    }

    /// The lower bound of the cosine, if the rule has one.
    pub(super) fn cosine(&self) -> Option<f64> {
        let is_bound = |condition: &&Condition| {
            condition.metric == Metric::Cosine && condition.sign.starts_with('<')
        };
        self.conditions.iter().find(is_bound).map(|condition| condition.bound)
    }

    /// Whether even pairs with equal bytes must be decoded.
    pub(super) fn needs_values(&self) -> bool {
        let counts = [Metric::NanA, Metric::NanB, Metric::InfA, Metric::InfB];
        self.conditions.iter().any(|condition| counts.contains(&condition.metric))
    }
}

impl FromStr for FailOver {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let conditions = text.split(',').map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { conditions })
    }
}

fn parse(text: &str) -> Result<Condition, Error> {
    let found = SIGNS.iter().find_map(|(sign, _)| Some((text.split_once(sign)?, *sign)));
    let Some(((metric, bound), sign)) = found else {
        return Err(Error::usage(format!(
            "'{}' has no operator (<, <=, >, >=); write a condition like cosine<0.999",
            escaped(text.trim())
        )));
    };
    let number = bound.trim().parse::<f64>().ok().filter(|bound| bound.is_finite());
    let Some(bound) = number else {
        return Err(Error::usage(format!(
            "'{}' in '{}' is not a number",
            escaped(bound.trim()),
            escaped(text.trim())
        )));
    };
    Ok(Condition { metric: metric.trim().parse()?, sign, bound })
}

impl fmt::Display for FailOver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Condition { metric, sign, bound }) in self.conditions.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{} {sign} {bound}", metric.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written() {
        let rule: FailOver = "cosine<0.999, max_abs >= 1e-2,ulp_max>3".parse().unwrap();
        assert_eq!(rule.to_string(), "cosine < 0.999, max_abs >= 0.01, ulp_max > 3");
        assert_eq!(rule.cosine(), Some(0.999));
        assert!(!rule.needs_values());
        assert!("nan_a>0".parse::<FailOver>().unwrap().needs_values());
    }

    #[test]
    fn what_is_wrong_with_a_rule_is_said() {
        let error = |text: &str| text.parse::<FailOver>().unwrap_err().to_string();
        assert!(error("cosine").contains("has no operator (<, <=, >, >=)"), "{}", error("cosine"));
        assert!(
            error("cosin<1").contains("the metrics are cosine, max_abs"),
            "{}",
            error("cosin<1")
        );
        assert!(error("cosine<x").contains("'x' in 'cosine<x' is not a number"));
        assert!(error("cosine<0.9,").contains("''"), "{}", error("cosine<0.9,"));
        assert!(error("cosine<NaN").contains("not a number"));
    }
}
