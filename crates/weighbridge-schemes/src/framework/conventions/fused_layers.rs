//! Layers that loaders fuse into one matrix, so that they need one global scale.

use std::collections::HashMap;

use crate::framework::{Candidate, Largest, Request};

/// Names of the layers, in modules that have all of them.
const FUSED: [&[&str]; 4] = [
    &["gate_proj", "up_proj"],
    &["q_proj", "k_proj", "v_proj"],
    &["q_a_proj", "kv_a_proj_with_mqa"],
    &["w1", "w3"],
];

/// Finds, for each weight, the largest magnitude among the encoded weights that it is fused with.
pub(crate) struct Fused<'r, 'a> {
    request: &'r Request<'a>,
    together: Vec<Vec<usize>>,
}

impl<'r, 'a> Fused<'r, 'a> {
    pub(crate) fn new(request: &'r Request<'a>) -> Self {
        Self { request, together: together(request.weights) }
    }

    /// Returns the largest magnitude for one weight; `is_encoded` tells which others count.
    pub(crate) fn largest(
        &self,
        index: usize,
        is_encoded: impl Fn(&Candidate<'_>) -> bool,
    ) -> Largest {
        let counts = |&other: &usize| {
            let weight = &self.request.weights[other];
            other == index || !(self.request.keeps)(weight.name) && is_encoded(weight)
        };
        let all: Vec<usize> = self.together[index].iter().copied().filter(counts).collect();
        (self.request.largest)(&all)
    }
}

/// Returns, for each weight, the indices of all weights that it is fused with, including itself.
fn together(weights: &[Candidate<'_>]) -> Vec<Vec<usize>> {
    let places: HashMap<&str, usize> = (0..).zip(weights).map(|(at, w)| (w.name, at)).collect();
    let of = |(at, weight): (usize, &Candidate<'_>)| {
        let all = siblings(weight.name).map(|names| {
            let found = names.iter().map(|name| places.get(name.as_str()).copied());
            found.collect::<Option<Vec<_>>>()
        });
        all.flatten().unwrap_or_else(|| vec![at])
    };
    weights.iter().enumerate().map(of).collect()
}

/// Returns the names of the weights that this one is fused with, if all of them exist.
fn siblings(name: &str) -> Option<Vec<String>> {
    let module = name.strip_suffix(".weight")?;
    let (parent, last) = module.rsplit_once('.')?;
    let names = FUSED.iter().find(|names| names.contains(&last))?;
    Some(names.iter().map(|name| format!("{parent}.{name}.weight")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn what_is_put_together_has_one_scale() {
        let names = ["a.up_proj", "a.k_proj", "a.gate_proj", "a.w1", "b.w1", "b.w3", "a.o_proj"];
        let names = names.map(|name| format!("{name}.weight"));
        let weight = |name| Candidate { name, shape: &[1, 1], dtype: DType::F32, block: None };
        let weights: Vec<_> = names.iter().map(|name| weight(name)).collect();
        let groups = [vec![2, 0], vec![1], vec![2, 0], vec![3], vec![4, 5], vec![4, 5], vec![6]];
        assert_eq!(together(&weights), groups);
    }
}
