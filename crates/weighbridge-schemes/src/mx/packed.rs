//! Weights whose codes are stored row by row, with scales under various names.

use std::sync::Arc;

use serde_json::Value as Json;

use super::GROUP;
use crate::arithmetic::matrix::{Arithmetic, Choice, Codes, FLOATS4, Grid, Loss, Matrix, Scales};
use crate::arithmetic::{FlatCodes, WithCodes, six_bits};
use crate::catalog::{Shape, TensorInfo, element_count};
use crate::dtype::DType;
use crate::framework::parts::{described, parts_of};
use crate::framework::{
    Bid, Bids, Evidence, NOT_MOVED, Part, Recipe, StoredTensor, Taker, TensorId,
};
use crate::text::escaped;

/// Bids for a weight with E8M0 scales.
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
    let Some(scale) = scale_of_weight(evidence, info, stored) else {
        let in_band = quark.is_some_and(|quark| quark.in_band);
        if in_band && stored == DType::U8 && info.name.ends_with(".weight") {
            refuse_in_band(id, info, bids);
        }
        return;
    };
    let parts = parts_of([("weight", Some((id, info))), ("scales", Some(scale))]);
    let native = evidence.model_dtype().unwrap_or(DType::BF16);
    let bid = match understood(info, stored, scale.1, quark) {
        Ok((kind, shape)) => {
            let columns = shape.last().copied().unwrap_or(1);
            let steps = quark.map(|_| native);
            let matrix = rows_of_codes(kind.codes(), columns, steps, native);
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

/// Returns the scale of a weight, if it belongs to this scheme.
fn scale_of_weight<'a>(
    evidence: &Evidence<'a>,
    info: &TensorInfo,
    stored: DType,
) -> Option<StoredTensor<'a>> {
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

/// Type of the codes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Fp4,
    /// Six bits, `exponent` of them for the exponent.
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
            Self::Fp6 { exponent } => six_bits::codes(exponent),
        }
    }
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
    let columns = cells.checked_mul(GROUP).ok_or("it has too many scales")?;
    // Elements, for a type that counts them; else bytes.
    let (four, six) = match stored {
        DType::F4 => (columns, None),
        _ => (columns / 2, Some(columns / 4 * 3)),
    };
    let kind = match front == scale_front && front.len() < 3 && !front.is_empty() {
        true if last == four => Kind::Fp4,
        true if Some(last) == six && stored == DType::U8 => six_bits(quark)?,
        _ => refuse!(
            "{} is {}; for {}, MXFP4 has one scale per 16 bytes of a row, MXFP6 one per 24",
            escaped(&scale.name),
            described(scale),
            described(info)
        ),
    };
    if quark.is_some_and(|quark| quark.e5m3) {
        return Err("Quark's e5m3 scales are not supported".to_owned());
    }
    let shape: Shape = front.iter().copied().chain([columns]).collect();
    element_count(&shape).and(element_count(&shape[1..])).ok_or("it is too large")?;
    Ok((kind, shape))
}

/// Returns the six-bit float that the config names.
fn six_bits(quark: Option<&Quark>) -> Result<Kind, String> {
    let named = quark.map(|quark| &quark.six_bits[..]).unwrap_or_default();
    match named.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["fp6_e2m3"] => Ok(Kind::Fp6 { exponent: 2 }),
        ["fp6_e3m2"] => Ok(Kind::Fp6 { exponent: 3 }),
        _ => Err("MXFP6, but the config names neither fp6_e2m3 nor fp6_e3m2, or both".to_owned()),
    }
}

/// AMD Quark's name for its method.
pub(super) const QUARK: &str = "quark";

/// Quark's settings, at any depth.
pub(super) struct Quark {
    /// Whether scales are between the codes, as in its older format.
    in_band: bool,
    /// Whether scales have a format other than E8M0.
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

/// Returns every text under a key, anywhere in the quantization settings.
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

/// Rejects Quark's older format, which has its scales between the codes.
fn refuse_in_band(id: TensorId, info: &TensorInfo, bids: &mut Bids) {
    let reason = "Quark's dtype `mx`, which interleaves scales and codes, is not supported; export \
                  it with scale_format e8m0";
    bids.refuse_tensor(info, vec![Part { role: "weight", tensor: id }], reason);
}

/// Adds access to the codes to a recipe. They have four bits and no scales except powers of two.
pub(super) fn with_codes(recipe: Matrix, shape: &[u64]) -> WithCodes<Matrix, FlatCodes> {
    let codes = FlatCodes {
        kept_from: Some((Taker::Layout, NOT_MOVED)),
        ..FlatCodes::new(shape, (GROUP, DType::F8_E8M0), true)
    };
    WithCodes { recipe, codes }
}

/// Returns the recipe for rows of codes with one scale per 32; scales are part 1.
pub(super) fn rows_of_codes(
    codes: Codes,
    columns: u64,
    steps: Option<DType>,
    native: DType,
) -> Matrix {
    let scale = Grid::rows(1, DType::F8_E8M0, columns / GROUP);
    let highest = codes.numbers.iter().fold(0.0, |most: f32, number| most.max(*number));
    Matrix {
        row_bytes: codes.packing.row_bytes(columns),
        codes,
        columns,
        group: GROUP,
        factors: Box::new(Scales { steps, ..Scales::plain(scale) }),
        arithmetic: Arithmetic::Times,
        native,
        choice: Choice::Nearest(Loss::of_powers(highest)),
    }
}
