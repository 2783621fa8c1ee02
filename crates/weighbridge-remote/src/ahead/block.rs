//! A stretch that was announced: while it waits, and when it is here.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::Fetch;
use crate::input::Reading;

/// What nobody has read for so long may be given up: several works may fetch ahead at the same time, and
/// one does not know how far the others are.
const ALONE: Duration = Duration::from_secs(1);

/// What was announced of one file, up to the length of a request.
pub(super) struct Announced {
    pub(super) file: Weak<dyn Fetch>,
    pub(super) id: u64,
    pub(super) range: Range<u64>,
    pub(super) reading: Reading,
    pub(super) group: u64,
    /// When it will be read once more, and for whom.
    pub(super) again: VecDeque<(u64, Weak<dyn Fetch>)>,
}

impl Announced {
    pub(super) fn len(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// A stretch that is under way, or here.
pub(super) struct Block {
    pub(super) of: Announced,
    pub(super) turn: u64,
    /// What has come; nothing while it is under way.
    pub(super) bytes: Option<Arc<Vec<u8>>>,
    unread: Unread,
    /// When it was begun, or read last.
    touched: Instant,
    /// All of it was read: it stays for a while, in case some of it is read again.
    pub(super) is_retired: bool,
}

impl Block {
    pub(super) fn new(of: Announced, turn: u64) -> Self {
        let unread = Unread::new(&of);
        let touched = Instant::now();
        Self { of, turn, bytes: None, unread, touched, is_retired: false }
    }

    pub(super) fn is_here(&self) -> bool {
        self.bytes.is_some()
    }

    /// Notes that some of it was read; whether that was the last.
    pub(super) fn was_read(&mut self, range: Range<u64>) -> bool {
        self.touched = Instant::now();
        !self.is_retired && self.unread.remove(range)
    }

    /// Whether nobody has read it for a while.
    pub(super) fn is_left_alone(&self) -> bool {
        self.is_here() && self.touched.elapsed() > ALONE
    }

    /// Will be read once more: later, or at once and then as it was announced before.
    pub(super) fn announce_again(&mut self, (turn, file): (u64, Weak<dyn Fetch>), group: u64) {
        if group == 0 {
            self.of.again.push_front((self.turn, self.of.file.clone()));
        } else {
            self.of.again.push_back((turn, file));
            self.of.group = group;
        }
    }

    /// Is read once more, from the beginning.
    pub(super) fn begin_again(&mut self, turn: u64, file: Weak<dyn Fetch>) {
        (self.turn, self.of.file) = (turn, file);
        self.unread = Unread::new(&self.of);
    }
}

/// What of a block nobody has read.
enum Unread {
    /// How many bytes: pieces from all over are many, and each is read once.
    Count(u64),
    /// Which: some are read more than once.
    Ranges(Vec<Range<u64>>),
}

impl Unread {
    fn new(of: &Announced) -> Self {
        match of.reading {
            Reading::Scattered => Self::Count(of.len()),
            Reading::Once | Reading::Often => Self::Ranges(vec![of.range.clone()]),
        }
    }

    /// Takes some bytes out; whether that were the last.
    fn remove(&mut self, gone: Range<u64>) -> bool {
        match self {
            Self::Count(left) => {
                *left = left.saturating_sub(gone.end - gone.start);
                *left == 0
            }
            Self::Ranges(ranges) => {
                let first = ranges.partition_point(|range| range.end <= gone.start);
                let behind = ranges.partition_point(|range| range.start < gone.end);
                let (Some(from), Some(to)) =
                    (ranges.get(first), behind.checked_sub(1).and_then(|at| ranges.get(at)))
                else {
                    return ranges.is_empty();
                };
                let (before, after) = (from.start..gone.start, gone.end..to.end);
                let rest = [before, after].into_iter().filter(|range| !range.is_empty());
                if first < behind {
                    ranges.splice(first..behind, rest);
                }
                ranges.is_empty()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_taken_out_whatever_the_order() {
        let mut unread = Unread::Ranges(vec![Range { start: 10, end: 100 }]);
        let left = |unread: &Unread| match unread {
            Unread::Ranges(ranges) => ranges.clone(),
            Unread::Count(_) => panic!(),
        };
        for (gone, expected) in [
            (20..30, vec![10..20, 30..100]),
            (20..30, vec![10..20, 30..100]),
            (22..28, vec![10..20, 30..100]),
            (0..12, vec![12..20, 30..100]),
            (50..60, vec![12..20, 30..50, 60..100]),
            (15..70, vec![12..15, 70..100]),
            (100..200, vec![12..15, 70..100]),
            (71..72, vec![12..15, 70..71, 72..100]),
        ] {
            assert!(!unread.remove(gone.clone()), "{gone:?}");
            assert_eq!(left(&unread), expected, "{gone:?}");
        }
        assert!(!unread.remove(70..100));
        assert!(unread.remove(12..15) && unread.remove(0..5));
    }
}
