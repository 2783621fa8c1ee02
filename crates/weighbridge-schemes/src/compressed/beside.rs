//! Companions of a module's codes: scales, zero points, group indices. Each must have the type and
//! the shape that the arguments of its group require.

use super::config::{Strategy, Writer};
use super::factors::PackedZeros;
use super::layout::{Cells, Columns, ZeroKind};
use super::module::{Attempt, Checked, Form};
use crate::catalog::{Shape, TensorInfo};
use crate::dtype::DType;
use crate::framework::parts::described;

/// Checks a global scale: one number in f32. Without a dimension it would not widen the scales it
/// divides.
pub(super) fn check_global(global: &TensorInfo) -> Checked<()> {
    let is_single = global.stored == DType::F32.into() && global.shape[..] == [1];
    refuse_if!(!is_single, "weight_global_scale is {}, expected F32 [1]", described(global));
    Ok(())
}

impl Attempt<'_, '_, '_> {
    /// Returns the type of scales that are floats.
    pub(super) fn float_scale(&self) -> Checked<DType> {
        let scale = self.module.scale()?;
        match scale.stored.element() {
            Some(dtype @ (DType::F32 | DType::BF16 | DType::F16)) => Ok(dtype),
            _ => Err(format!("weight_scale is {}, expected a float type", described(scale))),
        }
    }

    /// Returns which codes share a scale, by the config or, if it is silent, by the scales' shape.
    pub(super) fn cells(&self, shape: &[u64]) -> Checked<Cells> {
        let (scale, args) = (self.module.scale()?, self.args);
        let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        let strategy = match args.strategy {
            Some(strategy) => strategy,
            None if args.has_unknown_strategy => refuse!("the config's strategy is unknown"),
            None => strategy_by_shape(scale, shape)?,
        };
        let stack = &shape[..shape.len() - 2];
        let shaped = |rows: u64, cells: u64| {
            let (head, tail) = scale.shape.split_at(scale.shape.len().min(stack.len()));
            head == stack && tail == [rows, cells]
        };
        let fits =
            match strategy {
                Strategy::Tensor => {
                    let one = scale.shape.len() <= 2 && scale.shape.iter().all(|&side| side == 1);
                    one.then_some(Cells::All)
                }
                Strategy::Channel => {
                    shaped(rows, 1).then_some(Cells::Rows { group: columns, cells: 1 })
                }
                Strategy::Group(group) => {
                    let cells = columns.div_ceil(group);
                    let whole = columns.is_multiple_of(group) || columns < group;
                    // A single partial group is a channel, regardless of its name.
                    let group = group.min(columns);
                    (whole && shaped(rows, cells)).then_some(Cells::Rows { group, cells })
                }
                Strategy::Block(band, group) => {
                    let cells = columns.div_ceil(group);
                    (stack.is_empty() && shaped(rows.div_ceil(band), cells))
                        .then_some(Cells::Blocks { band, group, cells })
                }
            };
        fits.ok_or_else(|| {
            format!(
                "weight_scale is {}, which does not fit {strategy} for a weight of {shape:?}",
                described(scale)
            )
        })
    }

    /// Returns how zero points are stored: one number each in the shape of the scales, or packed
    /// down the rows.
    pub(super) fn zeros(&self, bits: u32, stream: bool, shape: &[u64]) -> Checked<ZeroKind> {
        let scale = self.module.scale()?;
        let Some((_, zero)) = self.module.zero else {
            // Early versions omitted zero points that were all zero.
            refuse_if!(
                self.args.symmetric == Some(false) && self.writer != Writer::Early,
                "its `weight_zero_point` is missing, but the config says asymmetric"
            );
            return Ok(ZeroKind::None);
        };
        let packed = self.module.form() == Form::Words;
        match zero.stored.element() {
            Some(DType::I8) if zero.shape == scale.shape => Ok(ZeroKind::Bytes),
            Some(dtype @ (DType::F8_E4M3 | DType::F8_E5M2)) if zero.shape == scale.shape => {
                Ok(ZeroKind::Floats(dtype))
            }
            Some(DType::I32) if packed => {
                let mut expected: Shape = scale.shape.clone();
                let at = expected.len().saturating_sub(2);
                let rows = shape[shape.len() - 2];
                if expected.len() == shape.len() && expected[at] == rows {
                    expected[at] = PackedZeros::words_for(rows, bits, stream);
                }
                let fits = expected == zero.shape && expected.len() == shape.len();
                refuse_if!(
                    !fits || scale.shape[at] != rows,
                    "weight_zero_point is {}, expected I32 {expected:?}",
                    described(zero)
                );
                Ok(ZeroKind::Packed { bits, stream })
            }
            _ => Err(format!(
                "weight_zero_point is {}, expected I8 {:?}{}",
                described(zero),
                scale.shape,
                if packed { " or packed I32" } else { "" }
            )),
        }
    }

    /// Returns the group order of the columns. An order must list all of them, and there must be
    /// groups.
    pub(super) fn order(&self, cells: Cells, columns: u64) -> Checked<Columns> {
        let Some((_, order)) = self.module.order else {
            let several = matches!(cells, Cells::Rows { cells: 2.., .. });
            return Ok(if self.args.ordered && several {
                Columns::Missing
            } else {
                Columns::InOrder
            });
        };
        match (order.stored.element(), cells) {
            (Some(DType::I32), Cells::Rows { .. }) if order.shape[..] == [columns] => {
                Ok(Columns::Listed)
            }
            (_, Cells::Rows { .. }) => {
                Err(format!("weight_g_idx is {}, expected I32 [{columns}]", described(order)))
            }
            _ => Err("weight_g_idx is only defined for groups of columns".to_owned()),
        }
    }
}

/// Returns the strategy that the scales' shape implies.
fn strategy_by_shape(scale: &TensorInfo, shape: &[u64]) -> Checked<Strategy> {
    let columns = shape[shape.len() - 1];
    match scale.shape.split_last() {
        _ if scale.shape.len() < 2 => Ok(Strategy::Tensor),
        Some((1, _)) => Ok(Strategy::Channel),
        Some((&cells, _)) if cells > 0 && columns.is_multiple_of(cells) => {
            Ok(Strategy::Group(columns / cells))
        }
        _ => Err(format!(
            "weight_scale is {}, which does not fit a weight of {shape:?}",
            described(scale)
        )),
    }
}
