//! A sum whose terms arrive in any order and are added in order of their index.
//!
//! Floating-point sums depend on the order of their terms. Adding what tiles give in the order of
//! the tiles makes the digits the same for any number of workers.

use std::collections::BTreeMap;

/// A sum, and the terms that wait for an earlier one.
#[derive(Debug)]
pub struct OrderedSum<T, U = T> {
    sum: T,
    next: u64,
    waiting: BTreeMap<u64, U>,
}

impl<T: Default, U> Default for OrderedSum<T, U> {
    fn default() -> Self {
        Self { sum: T::default(), next: 0, waiting: BTreeMap::new() }
    }
}

impl<T, U> OrderedSum<T, U> {
    /// Takes term `index`, and adds what can be added now.
    pub fn add(&mut self, index: u64, term: U, plus: impl Fn(&mut T, &U)) {
        self.waiting.insert(index, term);
        while let Some(term) = self.waiting.remove(&self.next) {
            plus(&mut self.sum, &term);
            self.next += 1;
        }
    }

    /// Whether term `index` has not come yet.
    pub fn misses(&self, index: u64) -> bool {
        index >= self.next && !self.waiting.contains_key(&index)
    }

    /// The sum of all terms up to the first that is missing, while others may still come.
    pub fn so_far(&self) -> &T {
        &self.sum
    }

    /// The sum of all terms up to the first that is missing.
    pub fn sum(self) -> T {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_added_in_their_order_whatever_order_they_come_in() {
        let mut all = OrderedSum::<String>::default();
        for index in [2, 0, 3, 1, 5] {
            all.add(index, index.to_string(), |sum, term| sum.push_str(term));
        }
        assert_eq!(all.sum(), "0123");
    }
}
