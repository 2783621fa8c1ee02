//! Counts and sums over the numbers of a stretch, which are added in the order of the stretches.

use super::piece::Piece;

/// How many dead rows and columns are named.
pub(super) const NAMED: usize = 8;

/// Counts and sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Numbers that are finite.
    pub(super) finite: u64,
    pub(super) zeros: u64,
    pub(super) nan: u64,
    /// First numbers that are not finite.
    pub(super) first_nan: Option<u64>,
    pub(super) first_infinite: Option<u64>,
    pub(super) infinite: u64,
    pub(super) sum: f64,
    pub(super) squares: f64,
    /// The least and the most, and where each is first.
    pub(super) min: Option<(f64, u64)>,
    pub(super) max: Option<(f64, u64)>,
    pub(super) dead_rows: u64,
    pub(super) first_dead_rows: Vec<u64>,
    /// Numbers that are as large as the largest of their row, but for one of each row.
    pub(super) repeated: u64,
}

impl Tally {
    /// Adds the figures of a piece of `len` numbers; `first` finds where a number is first.
    pub(super) fn add_piece(&mut self, piece: &Piece, len: usize, first: impl Fn(f32) -> u64) {
        self.finite += len as u64;
        self.zeros += u64::from(piece.zeros);
        self.sum += piece.sum;
        self.squares += piece.squares;
        if self.min.is_none_or(|(min, _)| f64::from(piece.min) < min) {
            self.min = Some((piece.min.into(), first(piece.min)));
        }
        if self.max.is_none_or(|(max, _)| f64::from(piece.max) > max) {
            self.max = Some((piece.max.into(), first(piece.max)));
        }
    }

    /// Adds one number, which stands at that place; whether it is finite.
    pub(super) fn add_one(&mut self, x: f64, at: u64) -> bool {
        if x.is_nan() {
            self.nan += 1;
            self.first_nan.get_or_insert(at);
            return false;
        }
        if x.is_infinite() {
            self.infinite += 1;
            self.first_infinite.get_or_insert(at);
            return false;
        }
        self.finite += 1;
        self.zeros += u64::from(x == 0.0);
        self.sum += x;
        self.squares += x * x;
        if self.min.is_none_or(|(min, _)| x < min) {
            self.min = Some((x, at));
        }
        if self.max.is_none_or(|(max, _)| x > max) {
            self.max = Some((x, at));
        }
        true
    }

    pub(super) fn add_dead_row(&mut self, row: u64) {
        self.dead_rows += 1;
        if self.first_dead_rows.len() < NAMED {
            self.first_dead_rows.push(row);
        }
    }

    /// Adds what comes behind.
    pub(super) fn plus(&mut self, other: &Self) {
        self.finite += other.finite;
        self.zeros += other.zeros;
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.first_nan = self.first_nan.or(other.first_nan);
        self.first_infinite = self.first_infinite.or(other.first_infinite);
        self.sum += other.sum;
        self.squares += other.squares;
        if let Some(theirs) = other.min {
            self.min = Some(self.min.filter(|own| own.0 <= theirs.0).unwrap_or(theirs));
        }
        if let Some(theirs) = other.max {
            self.max = Some(self.max.filter(|own| own.0 >= theirs.0).unwrap_or(theirs));
        }
        self.dead_rows += other.dead_rows;
        let room = NAMED - self.first_dead_rows.len().min(NAMED);
        self.first_dead_rows.extend(other.first_dead_rows.iter().take(room));
        self.repeated += other.repeated;
    }
}
