//! The stretches of a file that were fetched and are kept: its beginning (or end), and the places
//! that were looked at last.

use std::collections::VecDeque;

use bytes::Bytes;

/// Stretches besides the first that are kept.
const RECENT: usize = 4;

/// The first stretch does not grow beyond this: what is still read in small steps is no header.
const MOST: usize = 32 << 20;

/// Some bytes of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretch {
    pub(crate) start: u64,
    pub(crate) bytes: Bytes,
}

impl Stretch {
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.bytes.len() as u64)
    }

    /// Copies what is here of the bytes from `offset` on; how many those are.
    pub(crate) fn copy(&self, offset: u64, out: &mut [u8]) -> usize {
        let at = offset.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let Some(found) = at.and_then(|at| self.bytes.get(at..)) else { return 0 };
        let count = found.len().min(out.len());
        out[..count].copy_from_slice(&found[..count]);
        count
    }
}

/// What is kept of one file.
#[derive(Debug, Default)]
pub struct Kept {
    first: Stretch,
    recent: VecDeque<Stretch>,
}

impl Kept {
    pub(crate) fn new(first: Stretch) -> Self {
        Self { first, recent: VecDeque::new() }
    }

    fn all(&self) -> impl Iterator<Item = &Stretch> {
        std::iter::once(&self.first).chain(&self.recent)
    }

    /// Copies what is here of the bytes from `offset` on; how many those are.
    pub(crate) fn copy(&self, offset: u64, out: &mut [u8]) -> usize {
        self.all().map(|stretch| stretch.copy(offset, out)).find(|count| *count > 0).unwrap_or(0)
    }

    /// Where the kept bytes around `offset` end; `offset` itself if it is not kept.
    pub(crate) fn end_from(&self, offset: u64) -> u64 {
        let around = self.all().find(|stretch| (stretch.start..stretch.end()).contains(&offset));
        around.map_or(offset, Stretch::end)
    }

    /// The nearest place behind `offset` from which on something is here.
    pub(crate) fn next(&self, offset: u64) -> Option<u64> {
        let starts = self.all().filter(|stretch| !stretch.bytes.is_empty()).map(|s| s.start);
        starts.filter(|start| *start > offset).min()
    }

    /// If a read at `offset` goes on where the first stretch ends: how long that is.
    pub(crate) fn continues(&self, offset: u64) -> Option<u64> {
        let len = self.first.bytes.len();
        (len > 0 && len < MOST && self.first.end() == offset).then_some(len as u64)
    }

    /// Keeps a stretch: as part of the first, if it goes on there.
    pub(crate) fn add(&mut self, stretch: Stretch) {
        if self.continues(stretch.start).is_some() {
            let mut bytes = Vec::from(std::mem::take(&mut self.first.bytes));
            bytes.extend_from_slice(&stretch.bytes);
            self.first.bytes = bytes.into();
            return;
        }
        if self.recent.len() >= RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(stretch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stretch_grows_and_others_are_forgotten() {
        let stretch = |start: u8, len: u8| Stretch {
            start: start.into(),
            bytes: (start..start + len).collect(),
        };
        let mut kept = Kept::new(stretch(0, 10));
        kept.add(stretch(10, 10));
        assert_eq!(kept.continues(20), Some(20));
        let mut out = [0; 8];
        assert_eq!(kept.copy(15, &mut out), 5);
        assert_eq!(out[..5], [15, 16, 17, 18, 19]);
        for start in [30, 50, 70, 90, 110] {
            kept.add(stretch(start, 10));
        }
        assert_eq!(kept.copy(30, &mut out), 0);
        assert_eq!(kept.copy(111, &mut out), 8);
        assert_eq!(kept.next(20), Some(50));
        assert_eq!(kept.next(110), None);
    }
}
