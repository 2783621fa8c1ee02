//! A sum whose terms arrive in any order and are added in order of their index.
//!
//! Floating-point sums depend on the order of their terms. Adding what tiles give in the order of
//! the tiles makes the digits the same for any number of workers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::stop::{into_inner, lock};

/// A sum that workers add to.
#[derive(Debug)]
pub struct OrderedSum<T, U = T>(Mutex<Sum<T, U>>);

/// A sum, the index of its next term, and the terms that wait for an earlier one.
#[derive(Debug)]
struct Sum<T, U>(T, u64, BTreeMap<u64, U>);

impl<T: Default, U> Default for OrderedSum<T, U> {
    fn default() -> Self {
        Self(Mutex::new(Sum(T::default(), 0, BTreeMap::new())))
    }
}

impl<T, U> OrderedSum<T, U> {
    /// Takes term `index`, and adds what can be added now.
    pub fn add(&self, index: u64, term: U, plus: impl Fn(&mut T, &U)) {
        let Sum(sum, next, waiting) = &mut *lock(&self.0);
        waiting.insert(index, term);
        while let Some(term) = waiting.remove(next) {
            plus(sum, &term);
            *next += 1;
        }
    }

    /// Whether term `index` has not come yet.
    pub fn misses(&self, index: u64) -> bool {
        let Sum(_, next, waiting) = &*lock(&self.0);
        index >= *next && !waiting.contains_key(&index)
    }

    /// The sum of all terms up to the first that is missing, while others may still come.
    pub fn so_far(&self) -> T
    where
        T: Copy,
    {
        lock(&self.0).0
    }

    /// The sum of all terms up to the first that is missing.
    pub fn sum(self) -> T {
        into_inner(self.0).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_added_in_their_order_whatever_order_they_come_in() {
        let all = OrderedSum::<String>::default();
        for index in [2, 0, 3, 1, 5] {
            all.add(index, index.to_string(), |sum, term| sum.push_str(term));
        }
        assert_eq!(all.sum(), "0123");
    }
}
