//! A stretch of a dimension, as Python writes it: `0:4`, `-4:`, `:`.

use std::ops::Range;
use std::str::FromStr;

use crate::error::Error;

/// A stretch of a dimension. Negative places count from the end; what lies beyond either end is
/// left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    start: Option<i64>,
    end: Option<i64>,
}

impl Slice {
    /// The places of a dimension of `len` that it stands for.
    #[must_use]
    pub fn of(&self, len: u64) -> Range<u64> {
        let place = |at: i64| match u64::try_from(at) {
            Ok(at) => at.min(len),
            Err(_) => len.saturating_sub(at.unsigned_abs()),
        };
        let (start, end) = (self.start.map_or(0, place), self.end.map_or(len, place));
        start..end.max(start)
    }
}

impl FromStr for Slice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = || Error::usage("not a range; write one like 0:4, -4: or :8");
        let (start, end) = text.split_once(':').ok_or_else(wrong)?;
        let place = |text: &str| match text.trim() {
            "" => Ok(None),
            number => number.parse().map(Some).map_err(|_| wrong()),
        };
        Ok(Self { start: place(start)?, end: place(end)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_those_of_python() {
        let of = |text: &str, len| text.parse::<Slice>().unwrap().of(len);
        assert_eq!(of("0:4", 10), 0..4);
        assert_eq!(of("-4:", 10), 6..10);
        assert_eq!(of(":-4", 10), 0..6);
        assert_eq!(of(":", 10), 0..10);
        assert_eq!(of("8:20", 10), 8..10);
        assert_eq!(of("-20:2", 10), 0..2);
        assert_eq!(of("5:2", 10), 5..5);
        assert_eq!(of("20:30", 10), 10..10);
        for wrong in ["4", "", "0:4:2", "a:b", "1.5:2"] {
            assert!(wrong.parse::<Slice>().is_err(), "{wrong}");
        }
    }
}
