//! Work that mostly waits for an answer, done for several things at once.

use std::panic::resume_unwind;
use std::sync::Mutex;

use crate::error::Result;
use crate::stop::{self, lock};

/// Does something with each item, on so many threads, and gives the results in the order of the
/// items. The first error in that order counts; after an error nothing new is begun.
pub(super) fn side_by_side<T: Send, R: Send>(
    items: Vec<T>,
    threads: usize,
    work: impl Fn(T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let threads = threads.min(items.len());
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let left = Mutex::new(items.into_iter().enumerate());
    let next = || lock(&left).next();
    let some = || {
        let mut done = Vec::new();
        while let Some((index, item)) = next() {
            let result = work(item);
            if result.is_err() {
                while next().is_some() {}
            }
            done.push((index, result));
        }
        done
    };
    let listening = stop::here();
    let other = || listening.clone().during(some);
    let mut all: Vec<(usize, Result<R>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(other)).collect();
        let mut all = some();
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn results_are_in_order_and_the_first_error_counts() {
        let all: Vec<u32> = (0..100).collect();
        let doubled = side_by_side(all.clone(), 8, |n| Ok(2 * n)).unwrap();
        assert!(doubled.iter().zip(0..).all(|(n, at)| *n == 2 * at));
        let failing = |n: u32| match n % 40 {
            39 => Err(Error::usage(format!("item {n}"))),
            _ => Ok(n),
        };
        assert_eq!(side_by_side(all, 1, failing).unwrap_err().message(), "item 39");
        assert!(side_by_side(Vec::<u32>::new(), 4, Ok).unwrap().is_empty());
    }
}
