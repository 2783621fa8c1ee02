//! One file or several: which tensor goes into which.

use std::ops::Range;

/// How the tensors are spread over files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Everything in one file.
    OneFile,
    /// A directory of files with at most so many bytes of data each; a larger tensor has a file of
    /// its own.
    Shards(u64),
}

impl Spread {
    /// The tensors of each file, given how many bytes each takes; at least one file.
    pub fn files(self, bytes: &[u64]) -> Vec<Range<usize>> {
        let most = match self {
            Self::OneFile => u64::MAX,
            Self::Shards(most) => most,
        };
        let (mut files, mut start, mut filled) = (Vec::new(), 0, 0u64);
        for (index, &bytes) in bytes.iter().enumerate() {
            let next = filled.saturating_add(bytes);
            if index > start && next > most && self != Self::OneFile {
                files.push(start..index);
                (start, filled) = (index, bytes);
            } else {
                filled = next;
            }
        }
        files.push(start..bytes.len());
        files
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_hold_as_much_as_they_may() {
        let files = |most, bytes: &[u64]| Spread::Shards(most).files(bytes);
        assert_eq!(files(10, &[4, 6, 1]), [0..2, 2..3]);
        assert_eq!(files(10, &[11, 1, 9, 1]), [0..1, 1..3, 3..4]);
        assert_eq!(files(10, &[]), vec![0..0; 1]);
        assert_eq!(files(0, &[0, 1, 1]), [0..1, 1..2, 2..3]);
        assert_eq!(Spread::OneFile.files(&[u64::MAX, u64::MAX]), vec![0..2; 1]);
    }
}
