//! Norms over a batch, as a factor and a term for each channel.
//!
//! Roots are rounded as IEEE 754 says. The converter has them from a library that is a bit off for some
//! numbers on some machines, so that its factors may differ from these in their last bit.

use std::collections::HashMap;

use super::facts::Facts;
use super::translate::{MadeOf, Tensor};
use crate::error::{Error, Result};

/// Norms that are being put together: by the name of each, its vectors and where the last of them was.
#[derive(Default)]
pub(super) struct Norms(HashMap<String, (HashMap<String, usize>, usize)>);

/// What torch adds to a variance.
const EPSILON: f32 = 1e-5;

impl Norms {
    /// A vector of a norm, by the end of its name.
    pub fn add(&mut self, norm: String, end: &str, (index, at): (usize, usize)) {
        let (vectors, last) = self.0.entry(norm).or_default();
        vectors.insert(end.to_owned(), index);
        *last = at;
    }

    /// A weight and a bias for each norm, in place of its last vector.
    pub fn folded(self, facts: &Facts<'_>) -> Result<Vec<(usize, Tensor)>> {
        let mut found = Vec::new();
        for (norm, (vectors, last)) in self.0 {
            let read = |end: &str| {
                let missing =
                    || Error::malformed(format!("its `{end}` is missing")).in_tensor(&norm);
                (facts.from.numbers)(*vectors.get(end).ok_or_else(missing)?)
            };
            let variance = read("running_var")?.into_iter();
            let factors: Vec<f32> = variance
                .zip(read("weight")?)
                .map(|(variance, weight)| weight / (variance + EPSILON).sqrt())
                .collect();
            let means = read("running_mean")?.into_iter();
            let terms = read("bias")?
                .into_iter()
                .zip(means.zip(&factors))
                .map(|(bias, (mean, factor))| bias - mean * factor)
                .collect();
            found.extend([("weight", factors), ("bias", terms)].map(|(end, numbers)| {
                let shape = [numbers.len() as u64].as_slice().into();
                let name = format!("{norm}.{end}");
                (last, Tensor { name, shape, made_of: MadeOf::Numbers(numbers) })
            }));
        }
        Ok(found)
    }
}
