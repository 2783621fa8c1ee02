//! What kind of change it is, where that can be told: rows that are negated, zero, scaled, shifted
//! or exchanged, a factor for everything, columns that are rescaled.
//!
//! Only changed weights are read again, and only some of their rows.

use super::figure::{Chunk, Kept};
use super::side::{Side, SideBuffers};
use crate::compare::{Outside, Place, RowSums};
use crate::error::Result;

/// How many rows are read again.
const ROWS: usize = 64;

/// Longer rows are not read again.
const LONGEST: u64 = 1 << 20;

/// From this correlation on, two rows are the same but for noise and a factor.
const ALIKE: f64 = 0.9;

/// A factor nearer to 1 than this may be noise.
const FACTOR: f64 = 0.003;

/// How many rows the report gives a place for.
const PLACES: usize = 8;

/// How many kinds are named before the rest is counted.
const NAMED: usize = 3;

/// A row of both sides.
struct Row {
    number: u64,
    a: Vec<f32>,
    b: Vec<f32>,
    sums: RowSums,
}

/// What a second look at a changed weight has found.
#[derive(Default)]
pub(super) struct Described {
    /// What kind of change it is, if that can be told.
    pub(super) kind: Option<String>,
    /// Where the first rows differ most.
    pub(super) places: Vec<Place>,
}

/// Says what kind of change lies between two sides.
pub(super) fn describe(sides: &[Side<'_>; 2], outside: &Outside) -> Result<Described> {
    let (count, changed) = (sides[0].view.row_count().max(1), outside.rows.len());
    let rows = outside.rows.iter().step_by(changed.div_ceil(ROWS).max(1)).copied();
    let (rows, places) = read_rows(sides, rows)?;
    if rows.is_empty() {
        return Ok(Described::default());
    }
    let kind = if count > 1 && changed as u64 * 2 > count {
        of_all(&rows)
    } else {
        of_some(&rows, changed, count)
    };
    Ok(Described { kind, places })
}

/// Some rows, and where the first of them differ most.
type Rows = (Vec<Row>, Vec<Place>);

/// Reads some rows; none if rows are too long, or not rows on both sides.
fn read_rows(sides: &[Side<'_>; 2], rows: impl Iterator<Item = u64>) -> Result<Rows> {
    let len = sides[0].view.row_len();
    if sides.iter().any(|side| side.view.transposed.is_some()) || len == 0 || len > LONGEST {
        return Ok((Vec::new(), Vec::new()));
    }
    let rows: Vec<Row> = rows.map(|row| read_row(sides, row, len)).collect::<Result<_>>()?;
    let places = rows.iter().take(PLACES).filter_map(farthest).collect();
    Ok((rows, places))
}

/// Where both sides of a row are farthest apart.
fn farthest(row: &Row) -> Option<Place> {
    let apart = |at: &usize| (f64::from(row.a[*at]) - f64::from(row.b[*at])).abs();
    let at = (0..row.a.len()).max_by(|i, j| apart(i).total_cmp(&apart(j)))?;
    let index = row.number * row.a.len() as u64 + at as u64;
    Some(Place { index, a: row.a[at].into(), b: row.b[at].into(), times: None })
}

fn read_row(sides: &[Side<'_>; 2], number: u64, len: u64) -> Result<Row> {
    let row = Chunk::whole(number * len..(number + 1) * len);
    let read = |side: &Side<'_>| -> Result<Vec<f32>> {
        let mut buffers = SideBuffers::<f32>::default();
        Ok(side.read(&row, &mut buffers, &mut Kept::default())?.to_vec())
    };
    let (a, b) = (read(&sides[0])?, read(&sides[1])?);
    let sums = RowSums::of(number, &a, &b);
    Ok(Row { number, a, b, sums })
}

/// What was done to most of the rows.
fn of_all(rows: &[Row]) -> Option<String> {
    let zero = |side: fn(&RowSums) -> f64| rows.iter().all(|row| side(&row.sums) == 0.0);
    if zero(|sums| sums.squares_b) {
        return Some("all values are zero in B".into());
    }
    if zero(|sums| sums.squares_a) {
        return Some("all values are zero in A".into());
    }
    let all = rows.iter().filter(|row| row.sums.squares_a > 0.0 && row.sums.squares_b > 0.0);
    let gains: Vec<f64> = all.clone().filter_map(|row| row.sums.gain(1)).collect();
    let correlations: Vec<f64> = all.map(|row| row.sums.correlation()).collect();
    let (least, most) = range(&gains)?;
    let middle = f64::midpoint(least, most);
    if correlations.iter().all(|correlation| *correlation <= -ALIKE) {
        return Some("all values are negated".into());
    }
    let is_one_factor = (most - least) <= 0.02 * middle.abs();
    let alike = correlations.iter().all(|correlation| *correlation >= ALIKE);
    let is_explained = rows.iter().filter(|row| is_a_factor(&row.sums)).count() * 2 > rows.len();
    if alike && is_one_factor && is_explained && (middle - 1.0).abs() > FACTOR {
        return Some(format!("B is about {middle:.4} times A"));
    }
    rescaled(rows).map(str::to_owned)
}

fn range(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().reduce(f64::max)?))
}

/// Whether a factor explains most of what differs.
fn is_a_factor(sums: &RowSums) -> bool {
    let RowSums { squares_a, squares_b, products, .. } = *sums;
    let before = squares_a + squares_b - 2.0 * products;
    let after = squares_b - products * products / squares_a;
    after < before / 4.0
}

/// Looks at rows from all over a weight whose single numbers say nothing, since codes were chosen
/// together: whether its columns are rescaled, as activation-aware quantizers and smoothing do it.
pub(super) fn look_for_rescaled(sides: &[Side<'_>; 2]) -> Result<Option<Described>> {
    let count = sides[0].view.row_count();
    let some = count.min(ROWS as u64);
    let (rows, places) = read_rows(sides, (0..some).map(|index| index * count / some))?;
    Ok(rescaled(&rows).map(|kind| Described { kind: Some(kind.into()), places }))
}

/// Whether a factor for each column, or for each row and each column, explains most of what
/// differs. Noise is not explained: a factor for a column takes away one part in as many as there
/// are rows.
fn rescaled(rows: &[Row]) -> Option<&'static str> {
    let columns = rows.first().map_or(0, |row| row.a.len());
    if rows.len() < 8 || columns < 8 {
        return None;
    }
    let mut all = RowSums::default();
    rows.iter().for_each(|row| all.plus(&row.sums));
    let one = vec![all.gain(1)?; rows.len()];
    if are_explained_by_columns(rows, &one) {
        return Some("each column is rescaled by its own factor");
    }
    let each: Vec<f64> = rows.iter().map(|row| row.sums.gain(1).unwrap_or(1.0)).collect();
    are_explained_by_columns(rows, &each)
        .then_some("each row and column is rescaled by its own factor")
}

/// Whether a factor for each column explains at least half of what differs once B's rows are
/// divided by their factors.
fn are_explained_by_columns(rows: &[Row], factors: &[f64]) -> bool {
    let columns = rows.first().map_or(0, |row| row.a.len());
    let (mut before, mut after) = (0.0, 0.0);
    for column in 0..columns {
        let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
        for (row, factor) in rows.iter().zip(factors) {
            let divided = if *factor == 0.0 { 0.0 } else { 1.0 / factor };
            let (a, b) = (f64::from(row.a[column]), f64::from(row.b[column]) * divided);
            aa += a * a;
            ab += a * b;
            bb += b * b;
        }
        before += aa - 2.0 * ab + bb;
        // What is left when each value of A is multiplied by the column's factor.
        after += if aa > 0.0 { (bb - ab * ab / aa).max(0.0) } else { bb };
    }
    after < before / 2.0
}

/// What was done to single rows.
fn of_some(rows: &[Row], changed: usize, count: u64) -> Option<String> {
    let mut said = Vec::new();
    let mut told: Vec<u64> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        if told.contains(&row.number) {
            continue;
        }
        let what = match of_row(row) {
            Some(what) => Some(format!("{} {what}", name(row, count))),
            None => exchanged(row, &rows[index + 1..]).map(|other| {
                told.push(other);
                format!("rows {} and {other} are swapped", row.number)
            }),
        };
        if let Some(what) = what {
            told.push(row.number);
            said.push(what);
        }
    }
    let rest = said.len().saturating_sub(NAMED);
    said.truncate(NAMED);
    if said.is_empty() {
        return None;
    }
    let more = if rest > 0 { format!("; and {rest} similar rows") } else { String::new() };
    let sample = if changed > rows.len() { " (in the sampled rows)" } else { "" };
    Some(format!("{}{more}{sample}", said.join("; ")))
}

fn name(row: &Row, count: u64) -> String {
    if count == 1 { "the vector".into() } else { format!("row {}", row.number) }
}

fn of_row(row: &Row) -> Option<String> {
    let RowSums { squares_a, squares_b, .. } = row.sums;
    let correlation = row.sums.correlation();
    let gain = row.sums.gain(1);
    match () {
        () if squares_a > 0.0 && squares_b == 0.0 => Some("is zero in B".into()),
        () if squares_a == 0.0 && squares_b > 0.0 => Some("is zero in A".into()),
        () if row.a.len() < 8 => None,
        () if correlation <= -ALIKE => Some("is negated".into()),
        () if is_shifted(row) => Some("is shifted by one column".into()),
        () if correlation >= 0.999 => gain
            .filter(|gain| (gain - 1.0).abs() > FACTOR && is_a_factor(&row.sums))
            .filter(|_| row.a.iter().zip(&row.b).filter(|(a, b)| a != b).count() > row.a.len() / 2)
            .map(|gain| format!("is about {gain:.4} times as large in B")),
        () => zero_block(row),
    }
}

/// A stretch that is zero on one side only.
fn zero_block(row: &Row) -> Option<String> {
    for (side, zero, other) in [("B", &row.b, &row.a), ("A", &row.a, &row.b)] {
        let is_lost = |at: &usize| zero[*at] == 0.0 && other[*at] != 0.0;
        let Some(first) = (0..zero.len()).find(is_lost) else { continue };
        let len = (first..zero.len()).take_while(|at| zero[*at] == 0.0).count();
        let differ = (0..zero.len()).filter(|at| row.a[*at] != row.b[*at]).count();
        if len >= 8 && differ <= len {
            return Some(format!("is zero in {side} from column {first} to {}", first + len - 1));
        }
    }
    None
}

fn is_shifted(row: &Row) -> bool {
    let len = row.a.len();
    len >= 32
        && row.sums.correlation() < 0.5
        && (RowSums::of(0, &row.a[1..], &row.b[..len - 1]).correlation() >= ALIKE
            || RowSums::of(0, &row.a[..len - 1], &row.b[1..]).correlation() >= ALIKE)
}

/// The row that this one is exchanged with.
fn exchanged(row: &Row, others: &[Row]) -> Option<u64> {
    let is_it = |other: &&Row| {
        row.a.len() >= 8
            && RowSums::of(0, &row.a, &other.b).correlation() >= ALIKE
            && RowSums::of(0, &other.a, &row.b).correlation() >= ALIKE
    };
    others.iter().find(is_it).map(|other| other.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(seed: u32, count: usize) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn row(number: u64, a: Vec<f32>, b: Vec<f32>) -> Row {
        let sums = RowSums::of(number, &a, &b);
        Row { number, a, b, sums }
    }

    fn changed(number: u64, change: impl Fn(f32) -> f32) -> Row {
        let a = numbers(u32::try_from(number).unwrap() + 1, 64);
        let b = a.iter().map(|x| change(*x)).collect();
        row(number, a, b)
    }

    #[test]
    fn single_rows_are_told_apart() {
        let says = |rows: &[Row]| of_some(rows, rows.len(), 1000).unwrap_or_default();
        assert_eq!(says(&[changed(3, |x| -x)]), "row 3 is negated");
        assert_eq!(says(&[changed(3, |_| 0.0)]), "row 3 is zero in B");
        assert_eq!(says(&[changed(7, |x| 1.04 * x)]), "row 7 is about 1.0400 times as large in B");
        let (a, b) = (numbers(1, 64), numbers(2, 64));
        let rows = [row(4, a.clone(), b.clone()), row(9, b, a.clone())];
        assert_eq!(says(&rows), "rows 4 and 9 are swapped");
        let shifted = [&a[1..], &a[..1]].concat();
        assert_eq!(says(&[row(2, a.clone(), shifted)]), "row 2 is shifted by one column");
        let mut hole = a.clone();
        hole[16..48].fill(0.0);
        assert_eq!(says(&[row(5, a, hole)]), "row 5 is zero in B from column 16 to 47");
        assert_eq!(says(&[changed(1, |x| if x > 0.9 { 5.0 } else { x })]), "");
        // A single element is no factor, however large it is.
        let a = [&[9.0][..], &numbers(3, 63)].concat();
        let b = [&[9.5][..], &a[1..]].concat();
        assert_eq!(says(&[row(6, a, b)]), "");
    }

    #[test]
    fn what_was_done_to_everything_is_told_apart() {
        let rows = |change: &dyn Fn(f32) -> f32| -> Vec<Row> {
            (0..16).map(|number| changed(number, change)).collect()
        };
        assert_eq!(of_all(&rows(&|x| -x)).unwrap(), "all values are negated");
        assert_eq!(of_all(&rows(&|x| 1.04 * x)).unwrap(), "B is about 1.0400 times A");
        assert_eq!(of_all(&rows(&|_| 0.0)).unwrap(), "all values are zero in B");
        let scaled: Vec<Row> = (0..16)
            .map(|number| {
                let a = numbers(number + 1, 64);
                let b =
                    a.iter().zip(1..).map(|(x, column)| x * (1.0 + (column % 7) as f32)).collect();
                row(number.into(), a, b)
            })
            .collect();
        assert_eq!(of_all(&scaled).unwrap(), "each column is rescaled by its own factor");
        let both: Vec<Row> = scaled
            .iter()
            .map(|one| {
                let factor = 1.0 + (one.number % 5) as f32;
                let b = one.b.iter().map(|x| x * factor).collect();
                row(one.number, one.a.clone(), b)
            })
            .collect();
        let says = "each row and column is rescaled by its own factor";
        assert_eq!(of_all(&both).unwrap(), says);
        let other: Vec<Row> =
            (0..16).map(|n| row(n.into(), numbers(n + 1, 64), numbers(n + 99, 64))).collect();
        assert_eq!(of_all(&other), None);
    }
}
