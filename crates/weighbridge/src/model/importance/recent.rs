//! The numbers that were asked for last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use crate::error::Result;
use crate::stop::lock;

/// How many weights' numbers are kept: about as many as are encoded at one time.
const MOST: usize = 4;

/// The numbers of some weights, those asked for last in front.
#[derive(Default)]
pub(super) struct Recent(Mutex<VecDeque<(usize, Arc<[f32]>)>>);

impl Recent {
    /// The numbers of a weight, read once as long as they are asked for often. Workers wait for the
    /// one that reads, since most of them want the same numbers.
    pub(super) fn get(
        &self,
        place: usize,
        read: impl FnOnce() -> Result<Arc<[f32]>>,
    ) -> Result<Arc<[f32]>> {
        let mut kept = lock(&self.0);
        let at = kept.iter().position(|(known, _)| *known == place);
        let found = match at.and_then(|at| kept.remove(at)) {
            Some((_, found)) => found,
            None => read()?,
        };
        kept.truncate(MOST - 1);
        kept.push_front((place, found.clone()));
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_often_is_read_once() {
        let (recent, mut read) = (Recent::default(), Vec::new());
        for place in [0, 1, 0, 2, 3, 0, 4, 1, 0] {
            let found = recent.get(place, || {
                read.push(place);
                Ok(vec![place as f32].into())
            });
            assert_eq!(found.unwrap()[0], place as f32);
        }
        assert_eq!(read, [0, 1, 2, 3, 4, 1]);
    }
}
