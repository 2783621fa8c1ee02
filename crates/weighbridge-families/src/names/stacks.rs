//! Weights in which the matrices of experts or heads lie together, taken apart.

use super::piece::Piece;
use super::view::{Matrix, Rows, View};

/// More experts, or heads, than any model has: a damaged file may state any number.
pub(super) const MOST: u64 = 1 << 16;

/// A stack of matrices: what each belongs to (an expert, a head), how many there are, and their
/// rows and columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stack {
    pub of: &'static str,
    pub count: u64,
    pub rows: u64,
    pub columns: u64,
}

impl Stack {
    /// A stack of experts, if its numbers can be counted. Without columns a weight is empty,
    /// whatever its other dimensions are.
    pub fn of(of: &'static str, [count, rows, columns]: [u64; 3]) -> Option<Self> {
        let is_countable = count.checked_mul(rows)?.checked_mul(columns)? > 0;
        (is_countable && count <= MOST).then_some(Self { of, count, rows, columns })
    }

    fn words(&self, number: u64) -> Vec<String> {
        vec![format!("{} {number} of {}", self.of, self.count)]
    }
}

/// The matrices of a stack; each holds those of `names`, one after the other.
pub(super) fn stacked(weight: usize, names: &[String], stack: Stack) -> Vec<Piece> {
    let Stack { count, rows, columns, .. } = stack;
    let Some(each) = shared(rows, names.len()) else { return Vec::new() };
    let piece = |number: u64, at: u64, name: &String| {
        let first = at * each;
        let mut words = stack.words(number);
        if names.len() > 1 {
            words.push(format!("rows {first}..{} of {rows}", first + each));
        }
        let view = View::part(&[each, columns], number * rows + first);
        Piece::part(weight, (name.clone(), Some(number)), view, words)
    };
    every(count, names, piece)
}

/// A piece for each name of each matrix: its number, the place of the name, and the name.
fn every(count: u64, names: &[String], piece: impl Fn(u64, u64, &String) -> Piece) -> Vec<Piece> {
    let of = |number: u64| (0..).zip(names).map(move |(at, name)| (number, at, name));
    (0..count).flat_map(of).map(|(number, at, name)| piece(number, at, name)).collect()
}

/// The vectors of a stack of heads.
pub(super) fn vectors(weight: usize, names: &[String], [count, length]: [u64; 2]) -> Vec<Piece> {
    let piece = |number: u64| {
        let words = vec![format!("head {number} of {count}")];
        Piece::part(weight, (names[0].clone(), Some(number)), View::part(&[length], number), words)
    };
    let is_one = names.len() == 1 && length > 0 && count <= MOST;
    (0..count).filter(|_| is_one).map(piece).collect()
}

/// The vectors of a stack of matrices of one row.
pub(super) fn blends(weight: usize, names: &[String], [count, length]: [u64; 2]) -> Vec<Piece> {
    let piece = |number: u64| {
        let view = View::part(&[1, 1, length], number);
        Piece::part(weight, (names[0].clone(), Some(number)), view, Vec::new())
    };
    let is_one = names.len() == 1 && length > 0 && count <= MOST;
    (0..count).filter(|_| is_one).map(piece).collect()
}

/// The matrices of a stack, each transposed. It holds those of `names` side by side, or with their
/// columns taking turns.
pub(super) fn across(weight: usize, names: &[String], stack: Stack, in_turn: bool) -> Vec<Piece> {
    let Stack { count, rows, columns, .. } = stack;
    let Some(each) = shared(columns, names.len()) else { return Vec::new() };
    let turns = names.len() as u64;
    let piece = |number: u64, at: u64, name: &String| {
        let (first, end) = (at * each, (at + 1) * each);
        let (seen, part) = if in_turn {
            (
                Rows::Runs { start: at, run: 1, period: turns },
                format!("columns {at}, {}, ..", at + turns),
            )
        } else {
            (Rows::From(first), format!("columns {first}..{end} of {columns}"))
        };
        let mut words = stack.words(number);
        words.extend((turns > 1).then_some(part));
        words.push("transpose".to_owned());
        let matrix = Matrix { first: number * rows, columns };
        let view = View::across(matrix, [each, rows], seen);
        Piece::part(weight, (name.clone(), Some(number)), view, words)
    };
    every(count, names, piece)
}

/// The vectors of a stack, seen as columns: the numbers of those of `names` take turns.
pub(super) fn in_turn(weight: usize, names: &[String], [count, length]: [u64; 2]) -> Vec<Piece> {
    let Some(each) = shared(length, names.len()) else { return Vec::new() };
    let piece = |(at, name): (u64, &String)| {
        let period = names.len() as u64;
        let rows = Rows::Runs { start: at, run: 1, period };
        let view = View { rows, ..View::whole(&[count, each, 1]) };
        let words = vec![format!("numbers {at}, {}, ..", at + period)];
        Piece::part(weight, (name.clone(), None), view, words)
    };
    (0..).zip(names).map(piece).collect()
}

/// Rows of keys and rows of values, head by head. Keys are transposed, head by head.
pub(super) fn key_value(
    weight: usize,
    [key, value]: [&String; 2],
    heads: Stack,
    key_rows: u64,
) -> Vec<Piece> {
    let Stack { count, rows, columns, .. } = heads;
    if key_rows == 0 || key_rows >= rows {
        return Vec::new();
    }
    let keys = (0..count).map(|head| {
        let matrix = Matrix { first: head * rows, columns };
        let view = View::across(matrix, [columns, key_rows], Rows::From(0));
        let mut words = heads.words(head);
        words.push(format!("rows 0..{key_rows} of {rows}"));
        words.push("transpose".to_owned());
        Piece::part(weight, (key.clone(), Some(head)), view, words)
    });
    let value_rows = rows - key_rows;
    let seen = Rows::Runs { start: key_rows, run: value_rows, period: rows };
    let view = View { rows: seen, ..View::whole(&[count, value_rows, columns]) };
    let words = vec![format!("rows {key_rows}..{rows} of each head's {rows}")];
    let values = Piece::part(weight, (value.clone(), None), view, words);
    keys.chain([values]).collect()
}

/// How much each of several has, if all have the same.
fn shared(all: u64, parts: usize) -> Option<u64> {
    let parts = parts as u64;
    (all > 0 && all.is_multiple_of(parts)).then(|| all / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_stack_may_have_any_dimensions() {
        let names = ["a".to_owned(), "b".to_owned()];
        assert!(Stack::of("expert", [3, u64::MAX - 1, 0]).is_none());
        assert!(Stack::of("expert", [3, u64::MAX - 1, 1]).is_none());
        assert!(Stack::of("expert", [1 << 17, 2, 2]).is_none());
        let stack = |rows, columns| Stack::of("expert", [3, rows, columns]).unwrap();
        assert_eq!(stacked(0, &names, stack(4, 2)).len(), 6);
        assert!(stacked(0, &names, stack(5, 2)).is_empty());
        assert!(across(0, &names, stack(4, 3), false).is_empty());
        assert!(in_turn(0, &names, [3, 5]).is_empty());
    }

    #[test]
    fn columns_take_turns() {
        let names = ["gate".to_owned(), "up".to_owned()];
        // Two experts of two rows and four columns.
        let pieces = across(0, &names, Stack::of("expert", [2, 2, 4]).unwrap(), true);
        let seen = |piece: &Piece| {
            let places = [(0, 0), (0, 1), (1, 0), (1, 1)];
            places.map(|(row, column)| piece.view.element(row, column))
        };
        assert_eq!(pieces[1].key, ("up".to_owned(), Some(0)));
        assert_eq!((seen(&pieces[0]), seen(&pieces[3])), ([0, 4, 2, 6], [9, 13, 11, 15]));
    }

    #[test]
    fn keys_and_values_of_each_head_are_told_apart() {
        let (key, value) = ("k".to_owned(), "v".to_owned());
        let heads = Stack::of("head", [2, 3, 2]).unwrap();
        let pieces = key_value(0, [&key, &value], heads, 2);
        assert_eq!((pieces.len(), &pieces[2].key), (3, &(value.clone(), None)));
        assert_eq!([0, 1].map(|row| pieces[2].view.row(row)), [2, 5]);
        assert_eq!([0, 1].map(|row| pieces[1].view.element(row, 1)), [8, 9]);
        assert!(key_value(0, [&key, &value], heads, 3).is_empty());
    }
}
