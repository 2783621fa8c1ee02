//! Decoding one weight against the limit: what the tables of block types and of schemes share.

use std::cell::RefCell;

use weighbridge::Element;
use weighbridge::{Scratch, Weight, bf16, f16};

use crate::buffer::Buffer;
use crate::harness::{Contestant, Row};
use crate::limit;

/// The elements of every weight: 4096 x 11008.
pub const ROWS: u64 = 4096;
pub const COLUMNS: u64 = 11008;

/// Our contestants, by output type, and the limit of each.
pub const OURS: [(&str, &str); 3] = [("f32", LIMIT_32), ("bf16", LIMIT_16), ("f16", LIMIT_16)];
pub const LIMIT_32: &str = "limit, 32 bits";
pub const LIMIT_16: &str = "limit, 16 bits";

/// A buffer for the largest output.
pub fn buffer() -> RefCell<Buffer> {
    RefCell::new(Buffer::new((ROWS * COLUMNS * 4) as usize))
}

/// A weight, and the stored bytes it is made of.
pub struct Subject<'a> {
    pub weight: Weight,
    pub parts: Vec<&'a [u8]>,
}

impl<'a> Subject<'a> {
    /// Ours at each output type, each after its limit.
    pub fn contest(&self, buffer: &'a RefCell<Buffer>) -> Vec<Contestant<'a>> {
        vec![
            self.limit::<4>(LIMIT_32, buffer),
            self.ours::<f32>("f32", buffer),
            self.limit::<2>(LIMIT_16, buffer),
            self.ours::<bf16>("bf16", buffer),
            self.ours::<f16>("f16", buffer),
        ]
    }

    /// Ours: the whole tensor, through the public interface.
    pub fn ours<T: Element + 'a>(&self, name: &str, buffer: &'a RefCell<Buffer>) -> Contestant<'a> {
        let mut scratch = Scratch::default();
        let weight = self.weight.clone();
        let rows = weight.rows_and_columns().0;
        Contestant::timed(name, move || {
            let mut buffer = buffer.borrow_mut();
            let out = buffer.view::<T>(weight.len());
            weight.decode_rows_with(0..rows, out, &mut scratch).expect("it decodes");
        })
    }

    fn limit<const SIZE: usize>(&self, name: &str, buffer: &'a RefCell<Buffer>) -> Contestant<'a> {
        let (parts, elements) = (self.parts.clone(), self.weight.len());
        Contestant::timed(name, move || {
            limit::pass_parts::<SIZE>(&parts, buffer.borrow_mut().bytes(elements * SIZE));
        })
    }
}

/// What a contestant achieved.
pub fn find<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.contestant == name)
}

/// Ours as a multiple of its limit, by median and by best.
pub fn over_limit(rows: &[Row], (ours, limit): (&str, &str)) -> Option<(f64, f64)> {
    let (ours, limit) = (find(rows, ours)?, find(rows, limit)?);
    Some((ours.median / limit.median, ours.best / limit.best))
}

/// For each output type the limit (once for 16 bits), ours, and ours as a multiple of the limit,
/// bold where that exceeds its bound.
pub fn limit_cells(rows: &[Row], bounds: Option<[f64; 3]>) -> Vec<String> {
    let time = |name: &str| {
        find(rows, name)
            .map_or("-".into(), |row| format!("{:.1} ({:.1})", row.median * 1e3, row.best * 1e3))
    };
    let mut cells = Vec::new();
    for (index, pair) in OURS.into_iter().enumerate() {
        if index < 2 {
            cells.push(time(pair.1));
        }
        cells.push(time(pair.0));
        let bound = bounds.map_or(f64::INFINITY, |bounds| bounds[index]);
        cells.push(over_limit(rows, pair).map_or("-".into(), |(median, best)| {
            let mark = if median > bound { "**" } else { "" };
            format!("{mark}{median:.2}{mark} ({best:.2})")
        }));
    }
    cells
}

/// The columns of [`limit_cells`].
pub const LIMIT_HEAD: [&str; 8] = [LIMIT_32, "f32", "x", LIMIT_16, "bf16", "x", "f16", "x"];
