//! The corridor: a plan, then tiles, then files.
//!
//! A tile is a range of output rows small enough to stay in the cache. Each is fetched, decoded
//! into one reused buffer and written at its planned offset.

use std::ops::Range;
use std::path::Path;

use crate::containers::safetensors;
use crate::error::{Error, Result};
use crate::model::{Model, Scratch};
use crate::output::Output;
use crate::schemes::Element;

/// Elements of a tile: 256 KiB of f32.
const TILE_ELEMENTS: u64 = 64 << 10;

/// The row ranges that cut `rows` rows of `columns` elements into tiles.
pub fn tiles(rows: u64, columns: u64) -> impl Iterator<Item = Range<u64>> {
    let step = (TILE_ELEMENTS / columns.max(1)).max(1);
    (0..rows.div_ceil(step)).map(move |tile| tile * step..((tile + 1) * step).min(rows))
}

/// Writes every weight of a model, decoded to `T`, as one safetensors file, tile by tile.
pub fn write_safetensors<T: Element + LittleEndian>(model: &Model, target: &Path) -> Result<()> {
    let planned: Vec<_> = model
        .weights()
        .map(|w| safetensors::Planned {
            name: w.name().to_owned(),
            dtype: T::DTYPE,
            shape: w.shape().into(),
        })
        .collect();
    let plan = safetensors::plan(&planned, &[])?;
    let output = Output::create(target, plan.len)?;
    output.write_at(0, &plan.header)?;
    let (mut scratch, mut tile, mut bytes) = (Scratch::default(), Vec::<T>::new(), Vec::new());
    for (weight, &(start, _)) in model.weights().zip(&plan.places) {
        let (rows, columns) = weight.rows_and_columns();
        for range in tiles(rows, columns) {
            let elements = usize::try_from((range.end - range.start) * columns)
                .map_err(|_| Error::limit("a row is larger than this machine can address"))?;
            tile.resize(elements, T::default());
            weight.decode_rows_with(range.clone(), &mut tile, &mut scratch)?;
            bytes.clear();
            tile.iter().for_each(|value| value.append_to(&mut bytes));
            output
                .write_at(start + range.start * columns * u64::from(T::DTYPE.bits() / 8), &bytes)?;
        }
    }
    output.finish()
}

/// A number that knows its bytes on disk.
pub trait LittleEndian {
    /// Appends them.
    fn append_to(&self, bytes: &mut Vec<u8>);
}

macro_rules! little_endian {
    ($($type:ty),*) => {
        $(impl LittleEndian for $type {
            fn append_to(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }
        })*
    };
}

little_endian!(f32, half::bf16, half::f16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_all_rows_once() {
        for (rows, columns) in [(0, 5), (1, 1), (7, 1 << 20), (1000, 300), (5, 0)] {
            let mut next = 0;
            for tile in tiles(rows, columns) {
                assert_eq!(tile.start, next);
                assert!(tile.end > tile.start);
                next = tile.end;
            }
            assert_eq!(next, rows);
        }
    }
}
