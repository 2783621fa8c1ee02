//! How the weight of a layout is decoded.

use std::sync::{Arc, OnceLock};

use super::config::Settings;
use super::factors::{Arranged, Order, PackedZeros, Zero};
use super::grouped::{ACTIVATIONS, PackedGroups};
use super::layout::{Cells, Columns, Kind, Layout, ZeroKind};
use super::stated::Stated;
use crate::arithmetic::columns::calibrated;
use crate::arithmetic::matrix::{
    Arithmetic, Cell, Choice, Codes, FLOATS4, Factors, Grid, Loss, Matrix, Packing, Scales,
};
use crate::arithmetic::{FlatCodes, WithCodes, plain, six_bits};
use crate::dtype::DType;
use crate::framework::{Global, Part, Recipe, Taker};

/// How a layout is decoded, its tensors being `parts`.
pub(super) fn recipe(layout: &Layout, settings: &Settings, parts: &[Part]) -> Arc<dyn Recipe> {
    let part = |role: &str| parts.iter().position(|part| part.role == role).unwrap_or(0);
    let grid = |part: usize, dtype: DType| match layout.cells {
        Cells::All => Grid::single(part, dtype),
        Cells::Rows { cells, .. } => Grid::rows(part, dtype, cells),
        Cells::Blocks { band, cells, .. } => {
            Grid { part, dtype, matrix: u64::MAX, band, bands: u64::MAX, cells }
        }
    };
    let (columns, rows) = (layout.columns(), layout.rows());
    let cells = layout.cells.across();
    let group = match layout.cells {
        Cells::All => columns,
        Cells::Rows { group, .. } | Cells::Blocks { group, .. } => group,
    };
    let scale = grid(part("scale"), layout.scale);
    let zeros = part("zero point");
    let zero = match layout.zero {
        ZeroKind::None => Zero::None,
        ZeroKind::Bytes => Zero::Plain(grid(zeros, DType::I8)),
        ZeroKind::Floats(dtype) => Zero::Floats(grid(zeros, dtype)),
        ZeroKind::Packed { bits, stream } => {
            let words = PackedZeros::words_for(rows, bits, stream);
            Zero::Packed(PackedZeros { part: zeros, bits, stream, rows, words, cells })
        }
    };
    let order = (layout.order == Columns::Listed).then(|| {
        let list = OnceLock::new();
        Order { part: part("group index"), columns, groups: cells, group, list }
    });
    let ordered = order.is_some();
    let factors: Box<dyn Factors> = match (zero, order) {
        (Zero::None, None) if layout.codes == (Kind::E2m1 { global: true }) => {
            let global = Some(Grid::single(part("global scale"), DType::F32));
            Box::new(Scales { global, cell: Cell::OverGlobal, ..Scales::plain(scale) })
        }
        (Zero::None, None) => Box::new(Scales::plain(scale)),
        (Zero::Plain(offset), None) => {
            Box::new(Scales { offset: Some(offset), ..Scales::plain(scale) })
        }
        (zero, order) => Box::new(Arranged { scale, zero, order }),
    };
    let arithmetic = match layout.zero {
        ZeroKind::None => Arithmetic::Times,
        _ => Arithmetic::MinusTimes,
    };
    let matrix = Matrix {
        codes: codes(layout.codes),
        columns,
        row_bytes: layout.row_bytes,
        group: if ordered { 1 } else { group },
        factors,
        arithmetic,
        native: layout.native,
        choice: choice(layout, ordered || settings.are_calibrated(), settings.are_clipped()),
    };
    let groups = || PackedGroups::of(layout, parts, zero, !settings.quantizes_activations(false));
    if let Some(dtype) = layout.stated {
        let shape = layout.shape.clone();
        let recipe = Stated { matrix, part: part("shape"), dtype, shape };
        return Arc::new(WithCodes { recipe, codes: groups() });
    }
    match flat_codes(layout, group, cells, ordered) {
        Some(codes) => {
            let has_activations = settings.quantizes_activations(true);
            let kept_from = has_activations.then_some((Taker::Layout, ACTIVATIONS));
            Arc::new(WithCodes { recipe: matrix, codes: FlatCodes { kept_from, ..codes } })
        }
        None => Arc::new(WithCodes { recipe: matrix, codes: groups() }),
    }
}

/// Its codes, if they are four-bit floats that another scheme may have just so.
fn flat_codes(layout: &Layout, group: u64, cells: u64, ordered: bool) -> Option<FlatCodes> {
    let Kind::E2m1 { global } = layout.codes else { return None };
    let columns = layout.columns();
    let is_flat = layout.row_bytes * 2 == columns && cells * group == columns;
    // The factor stands behind the scales.
    let global = global.then_some(Global { part: 2, divides: true, input: "input_global_scale" });
    let codes = FlatCodes::new(&layout.shape, (group, layout.scale), true);
    let is_plain = layout.zero == ZeroKind::None && !ordered;
    (is_flat && is_plain).then_some(FlatCodes { global, ..codes })
}

/// How codes were chosen. Integers may have been chosen together; nothing but an order of columns
/// says so, and most are without one.
fn choice(layout: &Layout, by_samples: bool, clipped: bool) -> Choice {
    let has_zeros = layout.zero != ZeroKind::None;
    // Codes are rounded as the scale puts the largest number half a code beyond the last; a zero
    // point is rounded, too.
    let beyond = if clipped {
        f32::MAX
    } else if has_zeros {
        1.3
    } else {
        0.7
    };
    let bits = match layout.codes {
        Kind::Packed(bits, _) => bits,
        _ => 8,
    };
    Choice::Nearest(match layout.codes {
        Kind::Packed(..) | Kind::Byte if by_samples => return Choice::Together(calibrated(bits)),
        Kind::Packed(..) | Kind::Byte => {
            let loss = Loss::rounded_to(layout.scale).beyond(beyond);
            return Choice::Either(loss, calibrated(bits));
        }
        Kind::Float(DType::F8_E4M3) if layout.scale == DType::F8_E8M0 => Loss::of_powers(448.0),
        Kind::Float(dtype) => {
            let highest = if dtype == DType::F8_E4M3 { 448.0 } else { 57344.0 };
            Loss::rounded_to(layout.scale).beyond(highest / 224.0)
        }
        Kind::E2m1 { global: true } => Loss::of_small_scales(true),
        Kind::E2m1 { global: false } => Loss::of_powers(6.0),
        Kind::E2m3 => Loss::of_powers(7.5),
    })
}

#[allow(clippy::cast_possible_wrap)] // A byte is read as signed on purpose.
pub(super) fn codes(kind: Kind) -> Codes {
    match kind {
        Kind::Packed(bits, packing) => {
            let half = f32::from(1u8 << (bits - 1));
            Codes::new(packing, |code| f32::from(code) - half)
        }
        Kind::Byte => Codes::new(Packing::Bytes, |code| f32::from(code as i8)),
        Kind::Float(dtype) => Codes::new(Packing::Bytes, |code| plain::number(dtype, &[code], 0)),
        Kind::E2m1 { .. } => FLOATS4.clone(),
        Kind::E2m3 => six_bits::codes(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bit_floats_are_those_of_the_standard() {
        let all = codes(Kind::E2m1 { global: false }).numbers;
        let positive = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        assert_eq!(all[..8], positive);
        assert!(all[8..16].iter().zip(positive).all(|(a, b)| a.to_bits() == (-b).to_bits()));
        assert!(
            [(31, 7.5), (8, 1.0), (7, 0.875), (63, -7.5)]
                .iter()
                .all(|&(c, v)| codes(Kind::E2m3).numbers[c] == v)
        );
    }
}
