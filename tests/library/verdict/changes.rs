//! Changes that are planted into a matrix.

use weighbridge::Weight;

use super::matrices::Matrix;

/// A kind of change.
pub struct Change {
    pub name: &'static str,
    /// Whether there is only one way to plant it.
    pub is_everywhere: bool,
    plant: fn(&mut Matrix, &mut Places, f32) -> Rows,
}

/// The rows that were changed.
pub enum Rows {
    Some(Vec<usize>),
    All,
}

impl Rows {
    pub fn contains(&self, row: u64) -> bool {
        match self {
            Self::Some(rows) => rows.iter().any(|one| *one as u64 == row),
            Self::All => true,
        }
    }

    pub fn count(&self) -> u64 {
        match self {
            Self::Some(rows) => rows.len() as u64,
            Self::All => u64::MAX,
        }
    }
}

/// Places to plant at, the same on every run.
struct Places(u64);

impl Places {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

impl Change {
    /// Changes the matrix that `stored` was made from; `kind` names the type it is stored in.
    pub fn apply(&self, matrix: &mut Matrix, kind: &str, stored: &Weight, trial: u64) -> Rows {
        let mut places = Places(trial * 7919 + 17);
        places.below(2);
        if !self.name.ends_with("steps") {
            return (self.plant)(matrix, &mut places, 0.0);
        }
        // The step is that of the element that is about to be changed.
        let mut same = Places(places.0);
        let row = same.below(matrix.rows);
        let at = row * matrix.columns + same.below(matrix.columns);
        let stored: Vec<f32> = stored.decode_to_vec().unwrap();
        let step = super::steps::step(kind, matrix.columns, &stored, at);
        (self.plant)(matrix, &mut places, step)
    }
}

const fn local(name: &'static str, plant: fn(&mut Matrix, &mut Places, f32) -> Rows) -> Change {
    Change { name, is_everywhere: false, plant }
}

const fn whole(name: &'static str, plant: fn(&mut Matrix, &mut Places, f32) -> Rows) -> Change {
    Change { name, is_everywhere: true, plant }
}

/// The columns of the table of rates.
pub const CHANGES: [Change; 11] = [
    local("row negated", |matrix, places, _| in_row(matrix, places, |row| scale(row, -1.0))),
    local("row zeroed", |matrix, places, _| in_row(matrix, places, |row| row.fill(0.0))),
    local("rows exchanged", exchange),
    local("row shifted", |matrix, places, _| in_row(matrix, places, |row| row.rotate_left(1))),
    whole("rows of heads permuted", permute_heads),
    local("element to 6 sigma", |matrix, places, _| {
        let squares: f64 = matrix.values.iter().map(|x| f64::from(*x).powi(2)).sum();
        #[allow(clippy::cast_possible_truncation)] // A scale for what is planted.
        let sigma = (squares / matrix.values.len() as f64).sqrt() as f32;
        in_element(matrix, places, |x| *x = if *x < 0.0 { 6.0 * sigma } else { -6.0 * sigma })
    }),
    local("element by 3 steps", |matrix, places, step| {
        let up = places.0 % 2 == 0;
        in_element(matrix, places, |x| *x += if up { 3.0 * step } else { -3.0 * step })
    }),
    local("256 times 1.5", |matrix, places, _| in_block(matrix, places, 256)),
    local("32 times 1.5", |matrix, places, _| in_block(matrix, places, 32)),
    whole("all times 1.04", |matrix, _, _| {
        scale(&mut matrix.values, 1.04);
        Rows::All
    }),
    local("row times 1.04", |matrix, places, _| in_row(matrix, places, |row| scale(row, 1.04))),
];

fn scale(values: &mut [f32], factor: f32) {
    values.iter_mut().for_each(|x| *x *= factor);
}

fn in_row(matrix: &mut Matrix, places: &mut Places, change: impl Fn(&mut [f32])) -> Rows {
    let row = places.below(matrix.rows);
    change(matrix.row(row));
    Rows::Some(vec![row])
}

fn in_element(matrix: &mut Matrix, places: &mut Places, change: impl Fn(&mut f32)) -> Rows {
    let row = places.below(matrix.rows);
    let column = places.below(matrix.columns);
    change(&mut matrix.row(row)[column]);
    Rows::Some(vec![row])
}

fn in_block(matrix: &mut Matrix, places: &mut Places, len: usize) -> Rows {
    let row = places.below(matrix.rows);
    let block = places.below(matrix.columns / len);
    scale(&mut matrix.row(row)[block * len..(block + 1) * len], 1.5);
    Rows::Some(vec![row])
}

fn exchange(matrix: &mut Matrix, places: &mut Places, _: f32) -> Rows {
    let row = places.below(matrix.rows - 1);
    let (columns, start) = (matrix.columns, row * matrix.columns);
    let (first, second) = matrix.values[start..start + 2 * columns].split_at_mut(columns);
    first.swap_with_slice(second);
    Rows::Some(vec![row, row + 1])
}

/// What converters do to queries and keys: the halves of a head's rows alternate.
fn permute_heads(matrix: &mut Matrix, _: &mut Places, _: f32) -> Rows {
    const HEAD: usize = 16;
    let (before, columns) = (matrix.values.clone(), matrix.columns);
    for row in 0..matrix.rows {
        let (head, at) = (row / HEAD * HEAD, row % HEAD);
        let from = head + at % 2 * (HEAD / 2) + at / 2;
        matrix.row(row).copy_from_slice(&before[from * columns..(from + 1) * columns]);
    }
    Rows::All
}
