//! Queries, keys and values that lie group by group in one weight: the query heads of a group, then the
//! key head and the value head that they share.

use super::piece::Piece;
use super::stacks::MOST;
use super::view::{Rows, View};
use crate::families::Place;

/// The groups of a weight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Groups {
    /// How many there are: one a key head.
    count: u64,
    /// Query heads of a group.
    queries: u64,
    /// Rows of a head.
    width: u64,
    /// Numbers of a row; one of a vector, which is seen as a column.
    columns: u64,
}

/// Queries, keys or values: the first row within a group, how many rows, and of how many heads.
type Part = (u64, u64, u64);

impl Groups {
    /// Those of so many heads; none if a weight of that shape does not have them.
    pub fn of(heads: u64, keys: u64, shape: &[u64]) -> Option<Self> {
        let (rows, columns) = match *shape {
            [length] => (length, 1),
            [rows, columns] => (rows, columns),
            _ => return None,
        };
        let queries = heads.checked_div(keys).filter(|queries| queries * keys == heads)?;
        let all = heads.checked_add(keys.checked_mul(2)?)?;
        let width = rows.checked_div(all).filter(|width| *width > 0 && width * all == rows)?;
        (keys <= MOST && queries > 0).then_some(Self { count: keys, queries, width, columns })
    }

    fn period(self) -> u64 {
        (self.queries + 2) * self.width
    }

    fn parts(self) -> [Part; 3] {
        let (queries, width) = (self.queries * self.width, self.width);
        [(0, queries, self.queries), (queries, width, 1), (queries + width, width, 1)]
    }

    fn words(self) -> Vec<String> {
        vec![format!("grouped groups={}", self.count)]
    }

    /// Queries, keys and values, each as one piece.
    pub fn apart(self, weight: usize, names: &[String]) -> Vec<Piece> {
        let piece = |(name, part): (&String, Part)| {
            Piece::part(weight, (name.clone(), None), self.all(part), self.words())
        };
        names.iter().zip(self.parts()).map(piece).collect()
    }

    /// The same with a piece for each group of queries and keys, whose halves of heads become pairs.
    pub fn in_pairs(self, weight: usize, names: &[String]) -> Option<Vec<Piece>> {
        let [query, key, value] = self.parts();
        let mut pieces = Vec::new();
        for (name, part) in names.iter().zip([query, key]) {
            for group in 0..self.count {
                let view = self.part(part, group).by_heads(part.2, false)?;
                let mut words = vec![format!("group {group} of {}", self.count)];
                words.push(format!("permute heads={}", part.2));
                let piece = Piece::part(weight, (name.clone(), Some(group)), view, words);
                pieces.push(Piece { laid: Some(Place::Joined(group)), ..piece });
            }
        }
        let key = (names.last()?.clone(), None);
        pieces.push(Piece::part(weight, key, self.all(value), self.words()));
        Some(pieces)
    }

    /// The rows of a part, of all groups.
    fn all(self, part: Part) -> View {
        let (start, run, _) = part;
        if self.count == 1 {
            return self.part(part, 0);
        }
        let rows = Rows::Runs { start, run, period: self.period() };
        View { rows, ..View::whole(&[run * self.count, self.columns]) }
    }

    fn part(self, (start, rows, _): Part, group: u64) -> View {
        View::part(&[rows, self.columns], group * self.period() + start)
    }

    /// What makes the weight of a GGUF file's tensors again: the place of each among the three, and its
    /// rows. Of one tensor all rows follow each other.
    pub fn together(self, is_one: bool, pairs: bool) -> Option<Vec<(usize, View)>> {
        let mut first = 0;
        let mut starts = Vec::new();
        for (_, rows, _) in self.parts() {
            starts.push(if is_one { first } else { 0 });
            first += rows * self.count;
        }
        let mut pieces = Vec::new();
        for group in 0..self.count {
            for (at, (_, rows, heads)) in self.parts().into_iter().enumerate() {
                let view = View::part(&[rows, self.columns], starts[at] + group * rows);
                let turns = pairs && at < 2;
                pieces.push((at, if turns { view.by_heads(heads, true)? } else { view }));
            }
        }
        Some(pieces)
    }
}

/// The parts of a tensor of a GGUF file, one a group.
pub(super) fn by_group(
    weight: usize,
    name: &str,
    groups: u64,
    shape: &[u64],
) -> Option<Vec<Piece>> {
    let (&rows, inner) = shape.split_first()?;
    let each = rows.checked_div(groups).filter(|each| *each > 0 && each * groups == rows)?;
    let columns = inner.first().copied().unwrap_or(1);
    let piece = |group| {
        let view = View::part(&[each, columns], group * each);
        Piece::part(weight, (name.to_owned(), Some(group)), view, Vec::new())
    };
    (groups <= MOST && inner.len() <= 1).then(|| (0..groups).map(piece).collect())
}

/// Queries, keys and values of groups that stay one tensor.
pub(super) fn joined(pieces: &[Piece], fused: &str) -> Option<Vec<Piece>> {
    let is_grouped = |piece: &Piece| matches!(piece.view.rows, Rows::Runs { .. });
    let piece = |(number, piece): (u64, &Piece)| Piece {
        key: (fused.to_owned(), Some(number)),
        laid: Some(Place::Joined(number)),
        ..piece.clone()
    };
    pieces.iter().all(is_grouped).then(|| (0..).zip(pieces).map(piece).collect())
}
