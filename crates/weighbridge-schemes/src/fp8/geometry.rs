//! Assigns scales to elements by the shapes of a weight and its scales, and the block size in a
//! config.
//!
//! Every arrangement consists of blocks: `block[0]` rows by `block[1]` columns share a cell of a
//! grid, and each stacked matrix (expert) has its own grid. A single number is a block as large as
//! the matrix; a number per row is a block of one row.
//!
//! A grid may have more cells than its matrix needs. That is padding only if nothing else explains
//! it: twice the rows may also be blocks of half the height, and the fused projections of some
//! models restart their blocks in each shard.

use crate::arithmetic::matrix::Grid;
use crate::catalog::element_count;
use crate::dtype::DType;

/// A weight as stacked matrices, and the grid of its scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Number of matrices.
    pub stack: u64,
    /// Rows and columns of each.
    pub sides: [u64; 2],
    /// Rows and columns that share a cell.
    pub block: [u64; 2],
    /// Rows and columns of cells stored for each matrix.
    pub cells: [u64; 2],
}

/// Facts about a weight other than the two shapes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints {
    /// Block size that a config states for this weight.
    pub block: Option<[u64; 2]>,
    /// Whether the weight may be the fused projections of several shards.
    pub fused: bool,
    /// Whether a column of numbers per stacked matrix belongs to the last dimension: Llama 4's
    /// experts are stored transposed.
    pub transposed: bool,
}

impl Geometry {
    /// Creates the geometry of one number for the whole weight.
    fn single(shape: &[u64]) -> Option<Self> {
        let all = element_count(shape)?;
        Some(Self { stack: 1, sides: [1, all], block: [1, all.max(1)], cells: [1, 1] })
    }

    /// Creates the geometry of one number per slice of the outermost dimension.
    fn outermost(shape: &[u64]) -> Option<Self> {
        let (&rows, rest) = shape.split_first()?;
        let columns = element_count(rest)?;
        Some(Self {
            stack: 1,
            sides: [rows, columns],
            block: [1, columns.max(1)],
            cells: [rows, 1],
        })
    }

    /// Whether there is one number for the whole weight.
    pub(super) fn is_single(&self) -> bool {
        self.stack == 1 && self.cells == [1, 1]
    }

    /// Returns the grid for decoding, whose numbers are in part `part`.
    pub(super) fn grid(&self, part: usize, dtype: DType) -> Grid {
        if self.is_single() {
            return Grid::single(part, dtype);
        }
        Grid {
            part,
            dtype,
            matrix: if self.stack == 1 { u64::MAX } else { self.sides[0] },
            band: self.block[0],
            bands: self.cells[0],
            cells: self.cells[1],
        }
    }

    /// Returns the columns of a matrix row, and how many share a cell. With a single number, the
    /// codes continue across all rows.
    pub(super) fn columns(&self) -> [u64; 2] {
        let [rows, columns] = self.sides;
        if self.is_single() {
            [rows * columns, (rows * columns).max(1)]
        } else {
            [columns, self.block[1]]
        }
    }

    /// Returns a short name for it.
    pub(super) fn name(&self) -> String {
        let whole = [0, 1].map(|side| self.block[side] >= self.sides[side]);
        match (self.block, whole) {
            _ if self.is_single() => "tensor".to_owned(),
            (_, [true, true]) => "expert".to_owned(),
            ([1, _], [_, true]) => "channel".to_owned(),
            ([_, 1], [true, _]) => "column".to_owned(),
            ([1, columns], _) => format!("g{columns}"),
            ([rows, columns], _) => format!("b{rows}x{columns}"),
        }
    }
}

/// Returns the arrangement of the scales, or why it is unknown.
pub(super) fn geometry(shape: &[u64], scales: &[u64], hints: Hints) -> Result<Geometry, String> {
    let misfit = || {
        let block = hints.block.map(|[r, c]| format!(" in blocks of {r} x {c}"));
        let block = block.unwrap_or_default();
        format!("scales of shape {scales:?} do not fit a weight of shape {shape:?}{block}")
    };
    refuse_if!(element_count(scales) == Some(0), "there are no scales (shape {scales:?})");
    if scales.is_empty() || scales == [1] {
        return Geometry::single(shape).ok_or_else(misfit);
    }
    let scales = &squeezed(shape, scales)[..];
    if let (None, &[outermost, .., _]) = (hints.block, shape)
        && scales[0] == outermost
        && scales[1..].iter().all(|&side| side == 1)
    {
        return Geometry::outermost(shape).ok_or_else(misfit);
    }
    match (shape, scales) {
        (&[rows, columns], &[a, b]) => blocks(1, [rows, columns], [a, b], hints),
        (&[stack, rows, columns], &[experts, a]) if experts == stack && hints.block.is_none() => {
            match a {
                a if a == rows && !(hints.transposed && a == columns) => {
                    blocks(stack, [rows, columns], [a, 1], hints)
                }
                a if a == columns => blocks(stack, [rows, columns], [1, a], hints),
                _ => Err(misfit()),
            }
        }
        (&[stack, rows, columns], &[experts, a, 1])
            if experts == stack
                && hints.block.is_none()
                && a == columns
                && (a != rows || hints.transposed) =>
        {
            blocks(stack, [rows, columns], [1, a], hints)
        }
        (&[stack, rows, columns], &[experts, a, b]) if experts == stack => {
            blocks(stack, [rows, columns], [a, b], hints)
        }
        _ => Err(misfit()),
    }
}

/// Removes dimensions of length one that some writers leave in the scales.
fn squeezed(shape: &[u64], scales: &[u64]) -> Vec<u64> {
    // ModelOpt reduces over blocks in place: the grid keeps the blocks' own dimensions. This must
    // be checked first, since a single row of blocks looks like a leading dimension.
    if let ([.., _, _], &[ref stack @ .., a, 1, b, 1]) = (shape, scales)
        && scales.len() == shape.len() + 2
    {
        return [stack, &[a, b]].concat();
    }
    let mut sides = scales;
    while sides.len() > shape.len() && sides[0] == 1 {
        sides = &sides[1..];
    }
    sides.to_vec()
}

fn blocks(stack: u64, sides: [u64; 2], cells: [u64; 2], hints: Hints) -> Result<Geometry, String> {
    let mut block = [1, 1];
    for (side, what) in [(0, "rows"), (1, "columns")] {
        block[side] = match hints.block {
            Some(stated) => check(sides[side], cells[side], stated[side], what, hints.fused)?,
            None => derived(sides[side], cells[side], what, hints.fused)?,
        };
    }
    Ok(Geometry { stack, sides, block, cells })
}

/// Returns the stated block, if the grid has as many cells as it requires, or is padded.
fn check(side: u64, cells: u64, block: u64, what: &str, fused: bool) -> Result<u64, String> {
    let needed = side.div_ceil(block);
    if cells == needed {
        return Ok(block);
    }
    let mismatch = format!(
        "the config's blocks of {block} {what} need {needed} cells for {side} {what}, but the \
         scales have {cells}"
    );
    if cells < needed {
        return Err(mismatch);
    }
    refuse_if!(
        fused && what == "rows",
        "{mismatch}; blocks that restart in each tensor-parallel shard, as in MiMo's fused \
         projections, are not supported; use a checkpoint without fused projections"
    );
    if let Some(other) = powers_of_two(side, cells).next() {
        refuse!("{mismatch}; blocks of {other} would fit");
    }
    let units = [2u64, 4, 8, 16];
    let padded = units.iter().any(|&unit| needed.checked_next_multiple_of(unit) == Some(cells));
    if padded { Ok(block) } else { Err(format!("{mismatch}, and padding does not explain it")) }
}

/// Returns the only block that explains the cells: a power of two, with the last block perhaps
/// partial.
///
/// An even division into blocks of another size is no proof: 8 cells for 576 rows are blocks of 72,
/// or five of 128 with padding, and a fused projection may restart its blocks in each shard.
fn derived(side: u64, cells: u64, what: &str, fused: bool) -> Result<u64, String> {
    const HINT: &str = "add the config.json with weight_block_size";
    if cells == 1 {
        return Ok(side.max(1));
    }
    if cells == side {
        return Ok(1);
    }
    refuse_if!(
        fused && what == "rows",
        "{cells} cells for {side} rows may be projections fused from several shards, as in MiMo, \
         so the block size is uncertain; {HINT}"
    );
    let even = side.is_multiple_of(cells).then_some(side / cells).filter(|&block| block > 0);
    let mut found: Vec<u64> = powers_of_two(side, cells).chain(even).collect();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [block] if block.is_power_of_two() => Ok(block),
        [] => Err(format!("{cells} cells for {side} {what} fit no block size")),
        [block] => Err(format!(
            "{cells} cells for {side} {what} may be blocks of {block}, or of another size with \
             padding; {HINT}"
        )),
        [first, second, ..] => Err(format!(
            "{cells} cells for {side} {what} may be blocks of {first} or of {second}; {HINT}"
        )),
    }
}

/// Returns the powers of two that divide `side` into `cells` blocks.
fn powers_of_two(side: u64, cells: u64) -> impl Iterator<Item = u64> {
    (0..40).map(|bits| 1 << bits).filter(move |&block| cells > 1 && side.div_ceil(block) == cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(block: [u64; 2]) -> Hints {
        Hints { block: Some(block), ..Hints::default() }
    }

    /// Shape and scales to stack, block and name, without a config.
    #[test]
    fn shapes_speak_for_themselves() {
        type Case<'a> = (&'a [u64], &'a [u64], [u64; 2], &'a str);
        let cases: &[Case<'_>] = &[
            (&[6, 8], &[], [1, 48], "tensor"),
            (&[6, 8], &[1], [1, 48], "tensor"),
            (&[6, 8], &[1, 1], [6, 8], "tensor"),
            (&[5], &[1], [1, 5], "tensor"),
            (&[], &[], [1, 1], "tensor"),
            (&[6, 8], &[6], [1, 8], "channel"),
            (&[6, 8], &[6, 1], [1, 8], "channel"),
            (&[8, 8], &[8], [1, 8], "channel"),
            (&[6, 8], &[1, 8], [6, 1], "column"),
            (&[6, 64], &[6, 2], [1, 32], "g32"),
            (&[256, 512], &[2, 4], [128, 128], "b128x128"),
            (&[576, 512], &[5, 4], [128, 128], "b128x128"),
            (&[256, 512], &[2, 1, 4, 1], [128, 128], "b128x128"),
            (&[128, 512], &[1, 1, 4, 1], [128, 128], "b128x128"),
            (&[512, 128], &[4, 1, 1, 1], [128, 128], "b128x128"),
            (&[128, 128], &[1, 1, 1, 1], [128, 128], "tensor"),
            (&[3, 256, 512], &[3, 2, 1, 4, 1], [128, 128], "b128x128"),
            (&[256, 512], &[1, 2, 4], [128, 128], "b128x128"),
            (&[3, 6, 8], &[3], [1, 48], "channel"),
            (&[3, 6, 8], &[3, 1, 1], [1, 48], "channel"),
            (&[3, 6, 8], &[3, 6], [1, 8], "channel"),
            (&[3, 6, 8], &[3, 6, 1], [1, 8], "channel"),
            (&[3, 8, 8], &[3, 8], [1, 8], "channel"),
            (&[3, 6, 8], &[3, 8], [6, 1], "column"),
            (&[3, 6, 8], &[3, 1, 8], [6, 1], "column"),
            (&[3, 6, 8], &[3, 8, 1], [6, 1], "column"),
            (&[4, 3, 5, 5], &[4, 1, 1, 1], [1, 75], "channel"),
        ];
        for &(shape, scales, block, name) in cases {
            let found = geometry(shape, scales, Hints::default())
                .unwrap_or_else(|e| panic!("{shape:?} {scales:?}: {e}"));
            assert_eq!((found.block, &*found.name()), (block, name), "{shape:?} {scales:?}");
        }
    }

    #[test]
    fn what_can_be_read_two_ways_is_not_read() {
        let says = |shape: &[u64], scales: &[u64], words: &str| {
            let error = geometry(shape, scales, Hints::default()).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        says(&[192, 256], &[2, 2], "blocks of 96 or of 128");
        says(&[256, 192], &[2, 2], "blocks of 96 or of 128");
        // Five rows of blocks padded to eight, and blocks of 128 that restart in four shards.
        says(&[576, 512], &[8, 4], "blocks of 72, or of another size");
        says(&[1696, 512], &[16, 4], "blocks of 106, or of another size");
        says(&[6, 8], &[8], "do not fit");
        says(&[6, 8], &[0], "no scales");
        says(&[3, 6, 8], &[4, 6, 1], "do not fit");
        says(&[3, 6, 8], &[3, 7], "do not fit");
        says(&[5, 8], &[4, 1], "fit no block size");
    }

    #[test]
    fn a_stated_block_decides_and_must_agree() {
        let found = geometry(&[192, 256], &[2, 2], stated([128, 128])).unwrap();
        assert_eq!((found.block, found.cells), ([128, 128], [2, 2]));
        let experts = geometry(&[3, 192, 256], &[3, 2, 2], stated([128, 128])).unwrap();
        assert_eq!((experts.stack, experts.sides), (3, [192, 256]));
        // One number for everything stands beside blocks: embeddings do so.
        assert!(geometry(&[256, 256], &[1], stated([128, 128])).unwrap().is_single());
        let fails = |shape: &[u64], scales: &[u64]| {
            geometry(shape, scales, stated([128, 128])).unwrap_err()
        };
        assert!(fails(&[256, 256], &[1, 1]).contains("need 2 cells for 256 rows"));
        assert!(fails(&[256, 256], &[256, 1]).contains("blocks of 1 would fit"));
        assert!(fails(&[256, 256], &[256]).contains("do not fit"));
    }

    /// Blocks of 64 under a config that says 128 look like a grid with padding.
    #[test]
    fn half_the_block_is_not_padding() {
        let error = geometry(&[256, 256], &[4, 4], stated([128, 128])).unwrap_err();
        assert!(error.contains("blocks of 64 would fit"), "{error}");
        let error = geometry(&[256, 256], &[2, 2], stated([64, 64])).unwrap_err();
        assert!(error.contains("need 4 cells"), "{error}");
    }

    #[test]
    fn padding_is_cropped_and_shards_are_refused() {
        let padded = geometry(&[576, 512], &[8, 4], stated([128, 128])).unwrap();
        assert_eq!((padded.block, padded.cells), ([128, 128], [8, 4]));
        let fused = Hints { fused: true, ..stated([128, 128]) };
        let error = geometry(&[13568, 512], &[108, 4], fused).unwrap_err();
        assert!(error.contains("MiMo"), "{error}");
        let unstated = Hints { fused: true, ..Hints::default() };
        let error = geometry(&[256, 512], &[4, 8], unstated).unwrap_err();
        assert!(error.contains("MiMo"), "{error}");
        assert_eq!(geometry(&[256, 512], &[256], unstated).unwrap().name(), "channel");
        assert!(geometry(&[256, 512], &[], unstated).unwrap().is_single());
        let error = geometry(&[576, 512], &[13, 4], stated([128, 128])).unwrap_err();
        assert!(error.contains("padding does not explain"), "{error}");
    }

    /// In a tensor without elements sides may be anything.
    #[test]
    fn sides_without_bounds_are_refused() {
        let most = u64::MAX;
        let error = geometry(&[most - 1, 0], &[most, 1], stated([1, 1])).unwrap_err();
        assert!(error.contains("padding does not explain"), "{error}");
    }

    /// Llama 4's `down_proj` is stored transposed; where its sides are equal only the method
    /// tells.
    #[test]
    fn transposed_experts_have_their_scales_in_the_last_dimension() {
        let hints = Hints { transposed: true, ..Hints::default() };
        assert_eq!(geometry(&[3, 8, 8], &[3, 8, 1], hints).unwrap().name(), "column");
        assert_eq!(geometry(&[3, 8, 8], &[3, 8, 1], Hints::default()).unwrap().name(), "channel");
        assert_eq!(geometry(&[8, 6], &[8, 1], Hints::default()).unwrap().name(), "channel");
    }
}
