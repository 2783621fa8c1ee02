//! Stores codes of other schemes in AWQ's layout for matrix multiplication.
//!
//! Readers skip every module whose name contains that of an unquantized module, so such a name must
//! not be part of a quantized module's.

use serde_json::json;

use crate::arithmetic::columns::{Alike, ColumnPacker, WordLayout, Zeros};
use crate::framework::{LaidOut, LayoutMismatch, TargetLayout, ToLayOut};
use crate::text::shortened;

/// AWQ's layout for matrix multiplication.
pub(super) struct AwqLayout;

impl TargetLayout for AwqLayout {
    fn name(&self) -> Option<&'static str> {
        Some("awq")
    }

    fn lay_out(&self, model: &ToLayOut<'_>) -> Result<LaidOut, Vec<LayoutMismatch>> {
        let alike = Alike::of(model.weights)?;
        let plain: Vec<&str> = model.plain_modules().collect();
        let weights = model.each(|weight| {
            let form = weight.form;
            if form.bits() != 4 {
                return Err(format!("its codes have {} bits, but AWQ has 4", form.bits()));
            }
            if let Some(part) = plain.iter().find(|module| weight.name.contains(**module)) {
                return Err(format!(
                    "AWQ readers would skip it as `{}`, which is not quantized and whose name is \
                     part of this one",
                    shortened(part, 60)
                ));
            }
            let (word_layout, zeros) = (WordLayout::Outputs, Zeros::Interleaved);
            ColumnPacker { form, word_layout, zeros, indexed: false }.packed(weight)
        })?;
        let settings = json!({
            "bits": alike.bits,
            "group_size": alike.group_size(),
            "modules_to_not_convert": if plain.is_empty() { None } else { Some(plain) },
            "quant_method": "awq",
            "version": "gemm",
            "zero_point": true,
        });
        Ok(LaidOut::described(weights, settings))
    }
}
