//! Derives a layout from one module's tensors and one group's arguments, or why they do not fit.

use super::beside::check_global;
use super::config::{Strategy, Writer};
use super::factors::PackedZeros;
use super::layout::{Cells, Columns, Kind, Layout, ZeroKind};
use super::module::{Attempt, Checked};
use crate::arithmetic::matrix::Packing;
use crate::catalog::{Shape, TensorInfo};
use crate::dtype::DType;
use crate::framework::parts::described;

impl Attempt<'_, '_, '_> {
    /// Tries `weight_packed` of 32-bit words: integers of one to eight bits.
    pub(super) fn packed_integers(&self) -> Checked<Layout> {
        self.refuse_float()?;
        let packed = self.module.codes.1;
        refuse_if!(
            !(2..=3).contains(&packed.shape.len()),
            "weight_packed is {}, expected two or three dimensions",
            described(packed)
        );
        let bits = self.args.bits.unwrap_or(0);
        refuse_if!(
            !(1..=8).contains(&bits),
            "the config says {bits} bits, but packed codes have 1 to 8"
        );
        let (shape, stated) = self.shape(bits)?;
        let (columns, words) = (shape[shape.len() - 1], packed.shape[shape.len() - 1]);
        let cells = self.cells(&shape)?;
        let stream = self.is_stream(bits, words, &shape)?;
        let packing = match bits {
            4 => Packing::LowNibbles,
            8 => Packing::Bytes,
            bits if stream || 32 % bits == 0 => Packing::Stream(bits),
            bits => Packing::Words(bits),
        };
        let scale = self.float_scale()?;
        Ok(Layout {
            codes: Kind::Packed(bits, packing),
            row_bytes: words * 4,
            zero: self.zeros(bits, stream, &shape)?,
            order: self.order(cells, columns)?,
            stated,
            cells,
            scale,
            native: scale,
            shape,
        })
    }

    /// Returns the weight's shape, and the type of `weight_shape` if that was not needed. If there
    /// are several groups, they determine the columns: every column is in one.
    fn shape(&self, bits: u32) -> Checked<(Shape, Option<DType>)> {
        let Self { module, args, .. } = *self;
        let (packed, scale) = (module.codes.1, module.scale()?);
        let sides = packed.shape.len();
        let dtype = module.shape_type(sides)?;
        let (rows, words) = (&packed.shape[..sides - 1], packed.shape[sides - 1]);
        if let (Some(Strategy::Group(group)), Some(&cells @ 2..)) =
            (args.strategy, scale.shape.last())
        {
            let columns =
                cells.checked_mul(group).filter(|columns| columns.checked_mul(8).is_some());
            let columns = columns.ok_or("weight_scale is too large")?;
            let [stream, whole] =
                [true, false].map(|stream| PackedZeros::words_for(columns, bits, stream));
            refuse_if!(
                ![stream, whole].contains(&words) || rows.contains(&0),
                "weight_scale is {}, which gives {columns} columns in groups of {group}; at {bits} \
                 bits these need {stream} words (before 0.18: {whole}), but weight_packed is {}",
                described(scale),
                described(packed)
            );
            return Ok((rows.iter().copied().chain([columns]).collect(), Some(dtype)));
        }
        let shape = module.logical_shape()?;
        match shape.split_last() {
            Some((&columns, sides)) if sides == rows && words.checked_mul(32) >= Some(columns) => {
                Ok((shape, None))
            }
            _ => Err(format!(
                "weight_shape is {shape:?}, which does not fit weight_packed {}",
                described(packed)
            )),
        }
    }

    /// Whether codes cross words. The packed widths of the weight or of its zero points decide; if
    /// both packings have the same widths and still differ, the version does.
    fn is_stream(&self, bits: u32, words: u64, shape: &[u64]) -> Checked<bool> {
        let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        let zeros = self.module.zero.filter(|(_, zero)| zero.stored == DType::I32.into());
        let codes_fit = |stream: bool| PackedZeros::words_for(columns, bits, stream) == words;
        let fits = |stream: bool| {
            let expected = PackedZeros::words_for(rows, bits, stream);
            let stored = |zero: &TensorInfo| zero.shape.iter().rev().nth(1).copied();
            codes_fit(stream) && zeros.is_none_or(|(_, zero)| stored(zero) == Some(expected))
        };
        let per_word = u64::from(32 / bits);
        let alike = columns <= per_word && (zeros.is_none() || rows <= per_word);
        match (fits(false), fits(true)) {
            (true, true) if 32 % bits == 0 || alike => Ok(true),
            (true, true) => match self.writer {
                Writer::Early | Writer::Words => Ok(false),
                Writer::Stream => Ok(true),
                Writer::Unknown => Err(format!(
                    "{columns} columns of {bits} bits need {words} words in both packings, and the \
                     config has no version to choose by (before 0.18: whole codes per word; since: \
                     a bit stream); add the writer's `version` to the config"
                )),
            },
            (words_fit, stream_fits) if words_fit != stream_fits => Ok(stream_fits),
            // In that case the zero points do not fit, which is reported with them.
            _ if codes_fit(true) || codes_fit(false) => Ok(codes_fit(true)),
            _ => Err(format!(
                "{columns} columns of {bits} bits need {} words (before 0.18: {}), but \
                 weight_packed has {words}{}",
                PackedZeros::words_for(columns, bits, true),
                PackedZeros::words_for(columns, bits, false),
                if self.args.bits.is_some() {
                    ""
                } else {
                    ", and no config states the number of bits"
                },
            )),
        }
    }

    /// Tries `weight` of signed bytes or small floats.
    pub(super) fn bytes(&self) -> Checked<Layout> {
        let weight = self.module.codes.1;
        let codes = match weight.stored.element() {
            Some(DType::I8) => {
                self.refuse_float()?;
                Kind::Byte
            }
            Some(
                dtype @ (DType::F8_E4M3 | DType::F8_E5M2 | DType::F8_E4M3FNUZ | DType::F8_E5M2FNUZ),
            ) => match self.args.float {
                Some(false) => refuse!("the config says integers, but weight is {}", dtype.name()),
                _ => Kind::Float(dtype),
            },
            _ => refuse!("weight is {}, expected I8 or an FP8 type", described(weight)),
        };
        let shape = weight.shape.clone();
        if !(2..=3).contains(&shape.len()) || shape.contains(&0) {
            return Err(format!("weight has shape {shape:?}, expected two or three sizes above 0"));
        }
        let cells = self.cells(&shape)?;
        let columns = shape[shape.len() - 1];
        let (scale, native) = match (codes, self.module.scale()?.stored.element()) {
            (Kind::Float(_), Some(DType::U8 | DType::F8_E8M0)) => (DType::F8_E8M0, DType::BF16),
            _ => (self.float_scale()?, self.float_scale()?),
        };
        Ok(Layout {
            codes,
            row_bytes: columns,
            zero: self.zeros(8, true, &shape)?,
            order: self.order(cells, columns)?,
            stated: None,
            cells,
            scale,
            native,
            shape,
        })
    }

    /// Tries `weight_packed` of bytes: four-bit floats, with E4M3 scales and a global one or with
    /// exponents as scales, or six-bit floats.
    pub(super) fn packed_floats(&self) -> Checked<Layout> {
        let Self { module, args, .. } = *self;
        refuse_if!(
            args.float == Some(false),
            "the config says integers, but weight_packed is stored in bytes, as floats are"
        );
        let (packed, scale) = (module.codes.1, module.scale()?);
        let (&[rows, width], &[scale_rows, cells]) = (&packed.shape[..], &scale.shape[..]) else {
            refuse!(
                "weight_packed is {} and weight_scale is {}, expected two dimensions each",
                described(packed),
                described(scale)
            )
        };
        let (codes, group, columns) = match (scale.stored.element(), module.global) {
            (Some(DType::F8_E4M3), Some((_, global))) => {
                check_global(global)?;
                (Kind::E2m1 { global: true }, 16, width.checked_mul(2))
            }
            (Some(DType::F8_E4M3), None) => refuse!("its `weight_global_scale` is missing"),
            (Some(DType::U8 | DType::F8_E8M0), None) => {
                if cells.checked_mul(24) == Some(width) {
                    (Kind::E2m3, 32, cells.checked_mul(32))
                } else {
                    (Kind::E2m1 { global: false }, 32, width.checked_mul(2))
                }
            }
            _ => refuse!(
                "weight_scale is {}, expected F8_E4M3 with a weight_global_scale, or U8 exponents \
                 without one",
                described(scale)
            ),
        };
        let bits = if codes == Kind::E2m3 { 6 } else { 4 };
        refuse_if!(
            args.bits.is_some_and(|said| said != bits),
            "the config says {} bits, but the shapes fit {bits}",
            args.bits.unwrap_or(0)
        );
        let group = match args.strategy {
            Some(Strategy::Group(group)) => group,
            None => group,
            Some(other) => refuse!("the config says {other}, which packed floats do not support"),
        };
        let columns = columns.ok_or("weight_packed is too large")?;
        refuse_if!(
            group != 32 && module.global.is_none(),
            "the config says groups of {group}, but exponent scales need groups of 32; E5M3 scales \
             are not supported"
        );
        refuse_if!(
            rows == 0
                || columns == 0
                || scale_rows != rows
                || cells.checked_mul(group) != Some(columns),
            "weight_scale is {}, expected [{rows}, {}] for groups of {group}",
            described(scale),
            columns / group
        );
        refuse_if!(
            module.zero.is_some() || module.order.is_some(),
            "packed floats cannot have zero points or act-order"
        );
        Ok(Layout {
            shape: [rows, columns].into_iter().collect(),
            codes,
            row_bytes: width,
            cells: Cells::Rows { group, cells },
            scale: if bits == 4 && module.global.is_some() {
                DType::F8_E4M3
            } else {
                DType::F8_E8M0
            },
            zero: ZeroKind::None,
            order: Columns::InOrder,
            stated: None,
            native: DType::BF16,
        })
    }

    fn refuse_float(&self) -> Checked<()> {
        refuse_if!(
            self.args.float == Some(true),
            "the config says floats, but the tensors hold integers"
        );
        Ok(())
    }
}
