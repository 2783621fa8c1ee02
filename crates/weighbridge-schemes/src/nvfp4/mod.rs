//! NVFP4: four-bit floats (E2M1), an E4M3 scale for every 16 of a row, an F32 factor for all.
//!
//! ```text
//! P.weight          U8       [.., out, in / 2]    two codes a byte
//! P.weight_scale    F8_E4M3  [.., out, in / 16]   or swizzled, see below
//! P.weight_scale_2  F32      [], [1], or one for each of stacked matrices; it multiplies
//! ```
//!
//! Fused experts that are not called `weight` (`experts.down_proj`) have `_weight_scale` and
//! `_weight_scale_2` behind their name.
//!
//! Two writers use these names and lay the bytes differently. Neither names nor, for many sizes,
//! shapes can tell; `layout` says what does.
//!
//! | variant | first of two codes | scales | recipe | canonical |
//! |---|---|---|---|---|
//! | `modelopt` | low nibble | row by row | ModelOpt's | nvidia-modelopt 0.47.0, `NVFP4QTensor.dequantize` |
//! | `modelopt-swizzled` | low nibble | swizzled | ModelOpt's | the same, after `swizzle_nvfp4_scales` |
//! | `comfy` | high nibble | swizzled | comfy-kitchen's | comfy-kitchen 0.2.40, `dequantize_nvfp4` on a CPU |
//! | `comfy-linear` | high nibble | row by row | comfy-kitchen's | the same, after `from_blocked` |
//!
//! Swizzled scales lie in tiles of 128 rows and 4 columns (`swizzle`), the last ones padded.
//!
//! Recipes. ModelOpt: `number * (scale * scale_2)`, both products rounded to f32, the result
//! once to the native type, which is that of the model; code 8 is plus zero. comfy-kitchen works
//! in the output's type: with T for bf16, `T(number * T(T(scale) * T(scale_2)))`; code 8 is minus
//! zero. f32 has no rounding but f32's own.
//!
//! comfy-kitchen pads rows and columns to multiples of 16 and leaves the true sides to the model.
//! They are taken from `orig_shape` in the weight's description or, for rows, from the length of
//! `P.bias`; without them the weight keeps its padding, which is zeros.

use std::sync::Arc;

use crate::arithmetic::matrix::{
    Arithmetic, Cell, Choice, Codes, E2M1, Factors, Grid, Loss, Matrix, Packing, Scales,
};
use crate::arithmetic::swizzle::Tiles;
use crate::arithmetic::tiled_scales::TiledScales;
use crate::arithmetic::{FlatCodes, WithCodes};
use crate::catalog::{Shape, TensorInfo};
use crate::dtype::DType;
use crate::framework::conventions::{comfy, modelopt};
use crate::framework::parts::parts_of;
use crate::framework::{
    Bid, Bids, Configs, Evidence, Global, NOT_MOVED, Part, Recipe, Scheme, Sign, StoredTensor,
    Summary, Taker, TensorId,
};

mod encode;
mod layout;
mod sides;
mod target;

use layout::{Files, Layout};
use sides::Sides;

/// The NVFP4 scheme.
pub struct Nvfp4;

/// Columns that share a scale.
const GROUP: u64 = 16;

impl Scheme for Nvfp4 {
    facts! {
        name: "nvfp4",
        methods: &[modelopt::METHOD],
        config_files: &[modelopt::FILE],
        layer_formats: &[layout::FORMAT],
        layouts: &[&target::ModelOptLayout],
        traces: modelopt::TRACES,
        #[cfg(feature = "encoders")]
        quantizers: &[&encode::ModelOpt],
    }

    fn implied_method(&self, configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        modelopt::implied_method(configs)
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.has_type(&[DType::U8]) && summary.may_end_with(&["_scale", "_scale_2"])
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        if evidence.belongs_to_another(self.name()) {
            return;
        }
        let files = Files::of(evidence);
        for &(id, info) in evidence.tensors() {
            if let Some(found) = Candidate::of(evidence, id, info) {
                bid_for(evidence, &files, &found, bids);
            }
        }
    }
}

/// A weight with the companions that exist.
struct Candidate<'a> {
    id: TensorId,
    weight: &'a TensorInfo,
    /// `a` for `a.weight`; the whole name of a parameter with another name.
    module: &'a str,
    scales: Option<StoredTensor<'a>>,
    global: Option<StoredTensor<'a>>,
}

impl<'a> Candidate<'a> {
    /// Returns a candidate: bytes with a type of scale that only this scheme has.
    fn of(evidence: &Evidence<'a>, id: TensorId, weight: &'a TensorInfo) -> Option<Self> {
        if weight.stored.element() != Some(DType::U8) {
            return None;
        }
        let module = weight.name.strip_suffix(".weight").unwrap_or(&weight.name);
        ["", "_weight"].iter().find_map(|end| {
            let find = |role: &str| evidence.find(&format!("{}{end}_{role}", weight.name));
            let (scales, global) = (find("scale"), find("scale_2"));
            let e4m3 = |(_, info): (_, &TensorInfo)| info.stored.element() == Some(DType::F8_E4M3);
            // ModelOpt's four-bit integers have float scales.
            let whole = |(_, info): (_, &TensorInfo)| {
                matches!(info.stored.element(), Some(DType::F32 | DType::BF16 | DType::F16))
                    && evidence.method() == Some(modelopt::METHOD.name)
            };
            let ours = global.is_some() && !scales.is_some_and(whole);
            (ours || scales.is_some_and(e4m3)).then_some(Self {
                id,
                weight,
                module,
                scales,
                global,
            })
        })
    }

    /// Returns a tensor of the weight's module.
    fn beside<'e>(&self, evidence: &Evidence<'e>, role: &str) -> Option<StoredTensor<'e>> {
        evidence.find(&format!("{}.{role}", self.module))
    }

    fn parts(&self, evidence: &Evidence<'_>) -> Vec<Part> {
        let weight = Some((self.id, self.weight));
        let own = [("weight", weight), ("scales", self.scales), ("scale_2", self.global)];
        let factors = ["pre_quant_scale", "svdquant_lora_a", "svdquant_lora_b"];
        let factors = factors.map(|role| (role, self.beside(evidence, role)));
        [parts_of(own), parts_of(factors)].concat()
    }
}

fn bid_for(evidence: &Evidence<'_>, files: &Files, found: &Candidate<'_>, bids: &mut Bids) {
    let parts = found.parts(evidence);
    if let Some((id, _)) = evidence.beside(found.module, comfy::TENSOR) {
        bids.dropped.push((id, "layout description, not a weight".to_owned()));
    }
    let bid = match understood(evidence, files, found, &parts) {
        Ok((layout, sides, native)) => Bid {
            name: found.weight.name.to_string(),
            shape: sides.shape(),
            variant: layout.name().into(),
            native: Some(native),
            parts,
            recipe: Ok(recipe(layout, &sides, native, files.may_move)),
        },
        Err((kind, reason)) => {
            let (name, shape) = (&*found.weight.name, unpacked_shape(&found.weight.shape));
            return bids.refuse(found.weight, kind, Bid::refused(name, shape, parts, &reason));
        }
    };
    bids.weights.push(bid);
}

/// Kind and message of a finding.
type Refusal = (&'static str, String);

fn understood(
    evidence: &Evidence<'_>,
    files: &Files,
    found: &Candidate<'_>,
    parts: &[Part],
) -> Result<(Layout, Sides, DType), Refusal> {
    let undecodable = |reason: String| ("undecodable", reason);
    refuse_factored(parts).map_err(undecodable)?;
    let sides = Sides::of(found).map_err(undecodable)?;
    let layout = layout::decide(evidence, files, found, &sides)?;
    if layout.is_comfy() {
        let sides = sides.trimmed(evidence, found).map_err(undecodable)?;
        return Ok((layout, sides, DType::BF16));
    }
    Ok((layout, sides, evidence.model_dtype().unwrap_or(DType::BF16)))
}

/// Rejects weights that are one of several factors.
fn refuse_factored(parts: &[Part]) -> Result<(), String> {
    let has = |role: &str| parts.iter().any(|part| part.role == role);
    refuse_if!(
        has("svdquant_lora_a") || has("svdquant_lora_b"),
        "NVFP4_SVD is not supported: the weight is the sum of these codes and a low-rank product \
         (svdquant_lora_a, svdquant_lora_b), with a factor per input (pre_quant_scale)"
    );
    refuse_if!(
        has("pre_quant_scale"),
        "NVFP4_AWQ is not supported: the layer multiplies its input by pre_quant_scale, so these \
         codes alone are not the weight"
    );
    Ok(())
}

/// Returns the shape of the weight: two codes per byte.
fn unpacked_shape(stored: &Shape) -> Shape {
    let mut shape = stored.clone();
    if let Some(last) = shape.last_mut() {
        *last = last.saturating_mul(2);
    }
    shape
}

fn recipe(layout: Layout, sides: &Sides, native: DType, may_move: bool) -> Arc<dyn Recipe> {
    let matrix = matrix(layout, sides, native);
    let is_flat = sides.row_bytes * 2 == sides.columns && sides.scales.1 * GROUP == sides.columns;
    if layout.is_comfy() || layout.is_swizzled() || !is_flat {
        return Arc::new(matrix);
    }
    let codes = FlatCodes {
        global: Some(Global { part: 2, divides: false, input: "input_scale" }),
        kept_from: Some(if may_move {
            (Taker::Layout, ACTIVATIONS)
        } else {
            (Taker::Blocks, NOT_MOVED)
        }),
        ..FlatCodes::new(&sides.shape(), (GROUP, DType::F8_E4M3), false)
    };
    Arc::new(WithCodes { recipe: matrix, codes })
}

/// Reason for weights whose activations are quantized too.
const ACTIVATIONS: &str = "its activations are quantized too (NVFP4, not W4A16_NVFP4), which other \
                           layouts express differently";

fn matrix(layout: Layout, sides: &Sides, native: DType) -> Matrix {
    let (packing, zero) =
        if layout.is_comfy() { (Packing::HighNibbles, -0.0) } else { (Packing::LowNibbles, 0.0) };
    let steps = layout.is_comfy().then_some(native);
    let stacked = |grid: Grid| match sides.globals {
        1 => grid,
        // One factor per stacked matrix.
        _ => Grid { matrix: sides.rows, band: u64::MAX, ..grid },
    };
    let global = stacked(Grid::single(2, DType::F32));
    let factors: Box<dyn Factors> = if layout.is_swizzled() {
        let tiles = Tiles::of_columns(sides.scales.1);
        Box::new(TiledScales { tiles, dtype: DType::F8_E4M3, has_global: true, steps })
    } else {
        Box::new(Scales {
            scale: Grid::rows(1, DType::F8_E4M3, sides.scales.1),
            global: Some(global),
            cell: Cell::TimesGlobal,
            offset: None,
            steps,
        })
    };
    Matrix {
        codes: Codes::new(packing, |code| if code == 8 { zero } else { E2M1[usize::from(code)] }),
        columns: sides.columns,
        row_bytes: sides.row_bytes,
        group: GROUP,
        factors,
        arithmetic: Arithmetic::Times,
        native,
        choice: Choice::Nearest(Loss::of_small_scales(true)),
    }
}

#[cfg(test)]
mod tests;
