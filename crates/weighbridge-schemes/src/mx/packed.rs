//! Weights whose codes lie row by row, with their scales under various names.

use std::sync::Arc;

use serde_json::Value as Json;

use super::GROUP;
use crate::arithmetic::matrix::{
    Arithmetic, Choice, Codes, FLOATS4, Grid, Loss, Matrix, Packing, Scales,
};
use crate::arithmetic::{FlatCodes, WithCodes, plain};
use crate::catalog::{Shape, TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::{Bid, Bids, Evidence, NOT_MOVED, Part, Recipe, Taker, TensorId};
use crate::text::escaped;

/// Bids for a weight with E8M0 scales beside it.
pub(super) fn bid_for(
    evidence: &Evidence<'_>,
    id: TensorId,
    info: &TensorInfo,
    quark: Option<&Quark>,
    bids: &mut Bids,
) {
    let Some(stored) = info.stored.element() else { return };
    if ![DType::U8, DType::I8, DType::F4].contains(&stored) {
        return;
    }
    let Some((scale_id, scale)) = scale_of_weight(evidence, info, stored) else {
        let in_band = quark.is_some_and(|quark| quark.in_band);
        if in_band && stored == DType::U8 && info.name.ends_with(".weight") {
            refuse_in_band(id, info, bids);
        }
        return;
    };
    let parts =
        vec![Part { role: "weight", tensor: id }, Part { role: "scales", tensor: scale_id }];
    let native = evidence.model_dtype().unwrap_or(DType::BF16);
    let bid = match understood(info, stored, scale, quark) {
        Ok((kind, shape)) => {
            let columns = shape.last().copied().unwrap_or(1);
            let outer = plain::columns(&shape);
            let steps = quark.map(|_| native);
            let matrix = rows_of_codes(kind.codes(), columns, outer, steps, native);
            let recipe: Arc<dyn Recipe> = match kind {
                Kind::Fp4 => Arc::new(with_codes(matrix, &shape)),
                Kind::Fp6 { .. } => Arc::new(matrix),
            };
            Bid {
                name: info.name.to_string(),
                shape,
                variant: kind.name().into(),
                native: Some(native),
                parts,
                recipe: Ok(recipe),
            }
        }
        Err(reason) => return bids.refuse_tensor(info, parts, &reason),
    };
    bids.weights.push(bid);
}

/// The scale beside a weight, if it is of this scheme.
fn scale_of_weight<'a>(
    evidence: &Evidence<'a>,
    info: &TensorInfo,
    stored: DType,
) -> Option<(TensorId, &'a TensorInfo)> {
    let name = &info.name;
    if evidence.find(&format!("{name}_scale_2")).is_some() {
        return None;
    }
    let module = name.strip_suffix(".weight");
    let mut names = vec![format!("{name}_scale"), format!("{name}_scale_inv")];
    names.push(module.map_or_else(|| format!("{name}_weight_scale"), |m| format!("{m}.scale")));
    names.into_iter().find_map(|name| evidence.find(&name)).filter(|(_, scale)| {
        match scale.stored.element() {
            Some(DType::F8_E8M0) => true,
            Some(DType::U8) => stored != DType::U8 || scale.shape.len() == info.shape.len(),
            _ => false,
        }
    })
}

/// What codes are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Fp4,
    /// Six bits, `exponent` of which are the exponent's.
    Fp6 {
        exponent: u32,
    },
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Fp4 => "mxfp4",
            Self::Fp6 { exponent: 2 } => "mxfp6-e2m3",
            Self::Fp6 { .. } => "mxfp6-e3m2",
        }
    }

    fn codes(self) -> Codes {
        match self {
            Self::Fp4 => FLOATS4.clone(),
            Self::Fp6 { exponent } => Codes::new(Packing::Stream(6), |code| fp6(exponent, code)),
        }
    }
}

/// The number of a six-bit float: a sign, `exponent_bits` bits of exponent, the rest mantissa. There
/// is neither infinity nor NaN.
fn fp6(exponent_bits: u32, code: u8) -> f32 {
    let mantissa_bits = 5 - exponent_bits;
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = i32::from(code & 31) >> mantissa_bits;
    let mantissa = f32::from(code & ((1 << mantissa_bits) - 1)) / (1u32 << mantissa_bits) as f32;
    let size = match exponent {
        0 => mantissa * 2f32.powi(1 - bias),
        _ => (1.0 + mantissa) * 2f32.powi(exponent - bias),
    };
    if code & 32 == 0 { size } else { -size }
}

fn understood(
    info: &TensorInfo,
    stored: DType,
    scale: &TensorInfo,
    quark: Option<&Quark>,
) -> Result<(Kind, Shape), String> {
    let (Some((&last, front)), Some((&cells, scale_front))) =
        (info.shape.split_last(), scale.shape.split_last())
    else {
        refuse!("it has no dimensions")
    };
    let columns = cells.checked_mul(GROUP).ok_or("its scales are too many")?;
    // Elements, for a type that counts them; else bytes.
    let (four, six) = match stored {
        DType::F4 => (columns, None),
        _ => (columns / 2, Some(columns / 4 * 3)),
    };
    let kind = match front == scale_front && front.len() < 3 && !front.is_empty() {
        true if last == four => Kind::Fp4,
        true if Some(last) == six && stored == DType::U8 => six_bits(quark)?,
        _ => refuse!(
            "{} is {} {:?}; for {} {:?}, MXFP4 has a scale for every 16 bytes of a row, MXFP6 for \
             every 24",
            escaped(&scale.name),
            scale.stored.name(),
            scale.shape,
            info.stored.name(),
            info.shape
        ),
    };
    if quark.is_some_and(|quark| quark.e5m3) {
        return Err("Quark's scales of format e5m3 cannot be decoded by this version".to_owned());
    }
    let shape: Shape = front.iter().copied().chain([columns]).collect();
    element_count(&shape).and(element_count(&shape[1..])).ok_or("it is too large")?;
    Ok((kind, shape))
}

/// Which six-bit float, as the config says.
fn six_bits(quark: Option<&Quark>) -> Result<Kind, String> {
    let named = quark.map(|quark| &quark.six_bits[..]).unwrap_or_default();
    match named.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fp6_e2m3"] => Ok(Kind::Fp6 { exponent: 2 }),
        ["fp6_e3m2"] => Ok(Kind::Fp6 { exponent: 3 }),
        _ => Err("MXFP6, but the config does not say whether its elements are fp6_e2m3 or \
                  fp6_e3m2, or names both"
            .to_owned()),
    }
}

/// What AMD's Quark calls its method.
pub(super) const QUARK: &str = "quark";

/// What Quark's config says, at any depth.
pub(super) struct Quark {
    /// Scales between the codes: its older kind.
    in_band: bool,
    /// Scales of a format that is not E8M0.
    e5m3: bool,
    /// The six-bit floats that are named.
    six_bits: Vec<String>,
}

impl Quark {
    pub(super) fn of(evidence: &Evidence<'_>) -> Self {
        let types = mentions(evidence, "dtype");
        let mut six_bits = types.clone();
        six_bits.retain(|dtype| dtype.starts_with("fp6"));
        six_bits.sort();
        six_bits.dedup();
        Self {
            in_band: types.iter().any(|dtype| dtype == "mx"),
            e5m3: mentions(evidence, "scale_format").iter().any(|format| format == "e5m3"),
            six_bits,
        }
    }
}

/// Every text under a key, anywhere in the config's settings of quantization.
fn mentions(evidence: &Evidence<'_>, key: &str) -> Vec<String> {
    fn walk(json: &Json, key: &str, found: &mut Vec<String>) {
        match json {
            Json::Object(members) => {
                for (name, value) in members {
                    let text = value.as_str().filter(|_| name == key);
                    found.extend(text.map(str::to_lowercase));
                    walk(value, key, found);
                }
            }
            Json::Array(items) => items.iter().for_each(|item| walk(item, key, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    if let Some((_, json)) = evidence.quantization() {
        walk(json, key, &mut found);
    }
    found
}

/// Quark's older kind has its scales between the codes, and nothing beside the weight.
fn refuse_in_band(id: TensorId, info: &TensorInfo, bids: &mut Bids) {
    let reason = "Quark's dtype `mx`, whose scales stand between the codes, cannot be decoded by \
                  this version; export it with scale_format e8m0";
    bids.refuse_tensor(info, vec![Part { role: "weight", tensor: id }], reason);
}

/// Rows of codes with a scale for every 32; scales are part 1.
/// The same with its codes, which are of four bits and have no scale but their powers of two.
pub(super) fn with_codes(recipe: Matrix, shape: &[u64]) -> WithCodes<Matrix, FlatCodes> {
    let codes = FlatCodes {
        kept_from: Some((Taker::Layout, NOT_MOVED)),
        ..FlatCodes::new(shape, (GROUP, DType::F8_E8M0), true)
    };
    WithCodes { recipe, codes }
}

pub(super) fn rows_of_codes(
    codes: Codes,
    columns: u64,
    outer: u64,
    steps: Option<DType>,
    native: DType,
) -> Matrix {
    let scale = Grid::rows(1, DType::F8_E8M0, columns / GROUP);
    let highest = codes.numbers.iter().fold(0.0, |most: f32, number| most.max(*number));
    Matrix {
        row_bytes: codes.packing.row_bytes(columns),
        codes,
        columns,
        outer,
        group: GROUP,
        factors: Box::new(Scales { steps, ..Scales::plain(scale) }),
        arithmetic: Arithmetic::Times,
        native,
        choice: Choice::Nearest(Loss::of_powers(highest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends and middle of both six-bit floats, from the OCP specification of MX formats.
    #[test]
    fn six_bit_floats_are_those_of_the_specification() {
        let e2m3 = [(0, 0.0), (1, 0.125), (7, 0.875), (8, 1.0), (31, 7.5), (33, -0.125)];
        let e3m2 = [(0, 0.0), (1, 0.0625), (3, 0.1875), (4, 0.25), (31, 28.0), (63, -28.0)];
        e2m3.iter().for_each(|&(code, number)| assert_eq!(fp6(2, code), number));
        e3m2.iter().for_each(|&(code, number)| assert_eq!(fp6(3, code), number));
        assert!(fp6(2, 32).is_sign_negative() && fp6(2, 32) == 0.0);
    }
}
