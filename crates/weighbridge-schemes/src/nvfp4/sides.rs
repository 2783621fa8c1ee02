//! Dimensions of a weight, derived from the shapes of its parts.

use serde_json::Value as Json;

use super::{Candidate, GROUP};
use crate::arithmetic::swizzle;
use crate::catalog::{Shape, TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::Evidence;
use crate::framework::conventions::comfy;

/// Dimensions of one weight.
#[derive(Debug)]
pub(super) struct Sides {
    /// Number of stacked matrices, for a weight of three dimensions.
    pub(super) matrices: Option<u64>,
    pub(super) rows: u64,
    pub(super) columns: u64,
    pub(super) row_bytes: u64,
    /// Rows and columns of the scales.
    pub(super) scales: (u64, u64),
    pub(super) globals: u64,
}

impl Sides {
    /// Reads the dimensions, independent of the byte order. Returns why a part is missing or its
    /// type or shape is wrong.
    pub(super) fn of(found: &Candidate<'_>) -> Result<Self, String> {
        let (_, scales) = found.scales.ok_or("its `weight_scale` is missing")?;
        let (_, global) = found.global.ok_or("its `weight_scale_2` is missing")?;
        expect_type(scales, DType::F8_E4M3)?;
        expect_type(global, DType::F32)?;
        let (matrices, rows, row_bytes) = match found.weight.shape[..] {
            [rows, bytes] => (None, rows, bytes),
            [matrices, rows, bytes] => (Some(matrices), rows, bytes),
            _ => refuse!("its shape is {:?}, expected two or three dimensions", found.weight.shape),
        };
        let scale_sides = match (matrices, &scales.shape[..]) {
            (None, &[rows, columns]) => (rows, columns),
            (Some(matrices), &[of_scales, rows, columns]) if of_scales == matrices => {
                (rows, columns)
            }
            _ => return Err(unfitting(found.weight, scales)),
        };
        let columns = row_bytes.checked_mul(2).ok_or("its rows are too long")?;
        let globals = element_count(&global.shape).unwrap_or(0);
        refuse_if!(
            globals != 1 && Some(globals) != matrices,
            "weight_scale_2 has shape {:?}, expected one number or one per stacked matrix",
            global.shape
        );
        element_count(&[rows, columns])
            .and_then(|_| element_count(&[rows, columns, matrices.unwrap_or(1)]))
            .and_then(|_| rows.checked_next_multiple_of(swizzle::ROWS))
            .ok_or("it is too large")?;
        let sides = Self { matrices, rows, columns, row_bytes, scales: scale_sides, globals };
        let is_transposed = scale_sides == (rows / 8, row_bytes) && rows % 8 == 0;
        if sides.fits_rows() || sides.fits_tiles() {
            return Ok(sides);
        }
        refuse_if!(
            is_transposed && matrices.is_some(),
            "codes packed along the middle dimension, as in ModelOpt's fused experts [in, out], \
             are not supported"
        );
        Err(unfitting(found.weight, scales))
    }

    fn groups(&self) -> u64 {
        (self.row_bytes * 2).div_ceil(GROUP)
    }

    /// Whether there is one scale per group of each row.
    pub(super) fn fits_rows(&self) -> bool {
        self.scales == (self.rows, self.groups())
    }

    /// Whether the scales fill tiles. ModelOpt's padding of columns may add some.
    pub(super) fn fits_tiles(&self) -> bool {
        let (rows, columns) = self.scales;
        let padded = |to| columns == self.groups().next_multiple_of(to);
        let fits = padded(swizzle::COLUMNS) || padded(GROUP);
        self.matrices.is_none() && rows == self.rows.next_multiple_of(swizzle::ROWS) && fits
    }

    /// Returns the dimensions without padding, which the layout leaves to the model.
    pub(super) fn trimmed(
        mut self,
        evidence: &Evidence<'_>,
        found: &Candidate<'_>,
    ) -> Result<Self, String> {
        if self.matrices.is_none() {
            (self.rows, self.columns) = true_sides(evidence, found, (self.rows, self.columns))?;
        }
        Ok(self)
    }

    /// Returns the logical shape.
    pub(super) fn shape(&self) -> Shape {
        self.matrices.into_iter().chain([self.rows, self.columns]).collect()
    }
}

fn expect_type(info: &TensorInfo, expected: DType) -> Result<(), String> {
    refuse_if!(
        info.stored.element() != Some(expected),
        "{} is {}, expected {expected}",
        crate::text::escaped(&info.name),
        info.stored.name()
    );
    Ok(())
}

fn unfitting(weight: &TensorInfo, scales: &TensorInfo) -> String {
    let mut rows = weight.shape.clone();
    if let Some(last) = rows.last_mut() {
        *last = last.div_ceil(GROUP / 2);
    }
    let mut tiles = rows.clone();
    if let [.., height, width] = &mut tiles[..] {
        [*height, *width] = swizzle::padded(*height, *width);
    }
    format!(
        "weight_scale has shape {:?}; for codes of {:?}, expected {rows:?} row by row, or \
         {tiles:?} swizzled",
        scales.shape, weight.shape
    )
}

/// Returns the dimensions without padding to multiples of 16, as far as they are known.
fn true_sides(
    evidence: &Evidence<'_>,
    found: &Candidate<'_>,
    (rows, columns): (u64, u64),
) -> Result<(u64, u64), String> {
    let fits = |side: u64, padded: u64| {
        side == padded || side.checked_next_multiple_of(16) == Some(padded)
    };
    let description =
        comfy::description(evidence, found.module).map(|(_, json)| json).transpose()?;
    if let Some(shape) = description.as_ref().and_then(|json| json.get("orig_shape")) {
        let sides: Vec<u64> =
            shape.as_array().into_iter().flatten().filter_map(Json::as_u64).collect();
        return match sides[..] {
            [r, c] if fits(r, rows) && fits(c, columns) => Ok((r, c)),
            _ => Err(format!("comfy_quant says shape {shape}, but [{rows}, {columns}] is stored")),
        };
    }
    let bias = found.beside(evidence, "bias").map(|(_, info)| &info.shape[..]);
    match bias {
        Some(&[length]) if fits(length, rows) => Ok((length, columns)),
        _ => Ok((rows, columns)),
    }
}
