//! Mode, bits and group size of a layer, and which of them its shapes allow.

use std::fmt;

/// Meaning of codes and scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Affine,
    Mxfp4,
    Mxfp8,
    Nvfp4,
}

impl Mode {
    pub(super) fn of(name: &str) -> Option<Self> {
        let all = [Self::Affine, Self::Mxfp4, Self::Mxfp8, Self::Nvfp4];
        all.into_iter().find(|mode| mode.name() == name)
    }

    /// Returns its name in configs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Affine => "affine",
            Self::Mxfp4 => "mxfp4",
            Self::Mxfp8 => "mxfp8",
            Self::Nvfp4 => "nvfp4",
        }
    }

    /// Returns MLX's default for this mode; except for affine, it is the only choice.
    pub(super) const fn usual(self) -> Kind {
        let (group, bits) = match self {
            Self::Affine => (64, 4),
            Self::Mxfp4 => (32, 4),
            Self::Mxfp8 => (32, 8),
            Self::Nvfp4 => (16, 4),
        };
        Kind { mode: self, bits, group }
    }
}

/// A reading of a packed weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) mode: Mode,
    pub(super) bits: u32,
    /// Elements that share a scale.
    pub(super) group: u64,
}

/// Widths of affine codes.
const BITS: [u32; 6] = [2, 3, 4, 5, 6, 8];
/// Group sizes that MLX writes for them.
pub(super) const GROUPS: [u64; 3] = [32, 64, 128];

impl Kind {
    /// Parses a name from reports.
    pub(super) fn parse(name: &str) -> Option<Self> {
        if let Some(mode) = Mode::of(name).filter(|&mode| mode != Mode::Affine) {
            return Some(mode.usual());
        }
        let (bits, group) = name.split_once("bit-g")?;
        let kind =
            Self { mode: Mode::Affine, bits: bits.parse().ok()?, group: group.parse().ok()? };
        kind.is_known().then_some(kind)
    }

    /// Whether MLX decodes it at all.
    pub(super) fn is_known(self) -> bool {
        match self.mode {
            Mode::Affine => BITS.contains(&self.bits) && self.group > 0,
            mode => self == mode.usual(),
        }
    }

    /// Whether a row of `words` words has `cells` groups.
    pub(super) fn fits(self, words: u64, cells: u64) -> bool {
        let of_words = u128::from(words) * 32;
        let of_cells = u128::from(cells).checked_mul(u128::from(self.group));
        of_cells.and_then(|n| n.checked_mul(u128::from(self.bits))) == Some(of_words)
    }

    /// Returns the elements in a row of `words` words.
    pub(super) fn columns(self, words: u64) -> Option<u64> {
        Some(words.checked_mul(32)? / u64::from(self.bits))
    }

    /// Returns every kind that MLX writes and that fits rows of `words` words and `cells` groups.
    pub(super) fn readings(affine: bool, words: u64, cells: u64) -> Vec<Self> {
        let groups = |bits| GROUPS.map(|group| Self { mode: Mode::Affine, bits, group });
        let all: Vec<Self> = if affine {
            BITS.into_iter().flat_map(groups).collect()
        } else {
            [Mode::Mxfp4, Mode::Mxfp8, Mode::Nvfp4].map(Mode::usual).into()
        };
        all.into_iter().filter(|kind| kind.fits(words, cells)).collect()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mode {
            Mode::Affine => write!(f, "{}bit-g{}", self.bits, self.group),
            mode => f.write_str(mode.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for affine in [false, true] {
            for words in [2, 3, 4, 5, 8, 10, 12, 16, 20, 24, 32] {
                for kind in Kind::readings(affine, words, 1) {
                    assert_eq!(Kind::parse(&kind.to_string()), Some(kind));
                }
            }
        }
        for odd in ["", "affine", "7bit-g64", "4bit-g0", "4bit", "bit-g", "fp4", "4bit-g-64"] {
            assert_eq!(Kind::parse(odd), None, "{odd}");
        }
    }

    /// Words per group say which of the other modes it is; for affine several kinds share them.
    #[test]
    fn shapes_leave_so_many_readings() {
        let names = |affine, words: u64| -> Vec<String> {
            Kind::readings(affine, words * 3, 3).iter().map(Kind::to_string).collect()
        };
        assert_eq!(names(false, 2), ["nvfp4"]);
        assert_eq!(names(false, 4), ["mxfp4"]);
        assert_eq!(names(false, 8), ["mxfp8"]);
        assert_eq!(names(true, 3), ["3bit-g32"]);
        assert_eq!(names(true, 8), ["2bit-g128", "4bit-g64", "8bit-g32"]);
        assert_eq!(names(true, 10), ["5bit-g64"]);
        assert_eq!(names(true, 7), [""; 0]);
    }
}
