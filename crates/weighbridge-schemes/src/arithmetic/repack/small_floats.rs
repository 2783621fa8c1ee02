//! Stores four-bit floats of other schemes in three tensors: codes, one scale per group, and a
//! global scale.
//!
//! Some libraries multiply scales by the global scale, others divide by it. Multiplying by a number
//! and dividing by its reciprocal rarely give the same result after rounding. So a global scale is
//! converted only if every possible scale gives a bit-identical product.

use std::sync::Arc;

use crate::arithmetic::plain;
use crate::dtype::DType;
use crate::error::Result;
use crate::framework::{
    CodeNumbers, CodedWeight, EncodedTensor, Groups, PackedWeight, Packer, Panel,
};

/// Names of the tensors, and the use of the global scale.
#[derive(Clone, Copy, Debug)]
pub struct SmallFloats {
    /// Suffixes of their names: codes, scales, global scale.
    pub ends: [&'static str; 3],
    /// Dimensions of the global scale.
    pub factor_shape: &'static [u64],
    /// Whether scales are divided by the global scale.
    pub divides: bool,
    /// Whether code 8 is minus zero.
    pub has_minus_zero: bool,
}

/// Type of the scales, and the group size.
pub const SCALE: DType = DType::F8_E4M3;
const GROUP: u64 = 16;

/// Search range around the reciprocal, in units in the last place.
const NEAR: u32 = 2;

impl SmallFloats {
    /// Returns the tensors that a weight becomes, or why it does not fit.
    pub fn packed(self, weight: &CodedWeight<'_>) -> Result<PackedWeight, String> {
        let form = weight.form;
        let module =
            weight.name.strip_suffix(".weight").ok_or("its name does not end in `.weight`")?;
        let CodeNumbers::Floats { has_minus_zero } = form.numbers else {
            return Err("its codes are integers, but this layout stores floats".to_owned());
        };
        if (form.scale, form.group) != (SCALE, GROUP) {
            let (scale, group) = (form.scale.name(), form.group);
            return Err(format!(
                "its scales are {scale} with group size {group}, but this layout has {} with group \
                 size {GROUP}",
                SCALE.name()
            ));
        }
        let (factor, divides) = weight.global.ok_or("it has no global scale")?;
        let factor = exchanged(factor, divides, self.divides).ok_or_else(|| inexact(factor))?;
        let (rows, columns) = (form.rows, form.columns);
        let tensor = |end: &str, dtype: DType, shape: &[u64], groups: Groups| {
            EncodedTensor::of(format!("{module}.{end}"), dtype, shape, groups)
        };
        let [codes, scales, global] = self.ends;
        let each = |elements: u64| Groups::Of { elements, bytes: 1 };
        let tensors = vec![
            tensor(codes, DType::U8, &[rows, columns / 2], each(2)),
            tensor(scales, SCALE, &[rows, form.groups()], each(GROUP)),
            tensor(global, DType::F32, self.factor_shape, Groups::Once),
        ];
        let drops_sign = self.has_minus_zero && !has_minus_zero;
        Ok(PackedWeight { form, tensors, packer: Arc::new(FloatPacker { factor, drops_sign }) })
    }
}

fn inexact(factor: f32) -> String {
    format!(
        "its global scale {factor} multiplies in one layout and divides in the other, and no \
         reciprocal gives bit-identical values"
    )
}

/// Returns the divisor that replaces a factor, or the factor that replaces a divisor.
fn exchanged(factor: f32, divides: bool, to_divide: bool) -> Option<f32> {
    if divides == to_divide {
        return Some(factor);
    }
    let middle = (1.0 / factor).to_bits();
    let candidates = (middle.checked_sub(NEAR)?..=middle.checked_add(NEAR)?).map(f32::from_bits);
    let scaled = |scale: f32, factor: f32, divides: bool| {
        if divides { (scale / factor).to_bits() } else { (scale * factor).to_bits() }
    };
    // Negative scales follow from the positive ones; the last code is NaN.
    let mut candidates = candidates.filter(|other| other.is_finite() && *other > 0.0);
    candidates.find(|other| {
        let mut scales = (0..127).map(|code| plain::number(SCALE, &[code], 0));
        scales.all(|s| scaled(s, factor, divides) == scaled(s, *other, to_divide))
    })
}

/// Packs codes, scales and the global scale.
struct FloatPacker {
    factor: f32,
    /// Whether code 8 was zero and would become minus zero.
    drops_sign: bool,
}

impl Packer for FloatPacker {
    fn pack(&self, panel: &Panel<'_>, out: &mut [&mut [u8]]) -> Result<()> {
        let [codes, scales, factor] = out else { return Ok(()) };
        let code = |code: u8| if self.drops_sign && code == 8 { 0 } else { code };
        for (out, pair) in codes.iter_mut().zip(panel.codes) {
            *out = code(pair & 15) | code(pair >> 4) << 4;
        }
        scales.copy_from_slice(panel.scales);
        factor.iter_mut().zip(self.factor.to_le_bytes()).for_each(|(out, byte)| *out = byte);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_exchanged_only_where_every_product_stays() {
        assert_eq!(exchanged(0.25, false, true), Some(4.0));
        assert_eq!(exchanged(512.0, true, false), Some(1.0 / 512.0));
        assert_eq!(exchanged(3.0, true, true), Some(3.0));
        let factors = (1..400u16).map(|n| f32::from(n) / 2688.0);
        let (mut kept, mut refused) = (0, 0);
        for factor in factors {
            match exchanged(factor, false, true) {
                None => refused += 1,
                Some(other) => {
                    kept += 1;
                    for code in 0..127 {
                        let scale = plain::number(SCALE, &[code], 0);
                        assert_eq!((scale * factor).to_bits(), (scale / other).to_bits());
                    }
                }
            }
        }
        assert!(kept > 10 && refused > 100, "{kept} {refused}");
        for odd in [0.0, f32::NAN, f32::INFINITY, f32::MIN_POSITIVE / 8.0, -1.0] {
            assert_eq!(exchanged(odd, false, true), None, "{odd}");
        }
    }
}
