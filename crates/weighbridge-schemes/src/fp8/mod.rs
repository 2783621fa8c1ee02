//! FP8: 8-bit floats, and a scale for the tensor, each row, each group or each block.
//!
//! ```text
//! X.weight              F8_E4M3, F8_E5M2, either FNUZ   [out, in], experts [E, out, in]
//! X.weight_scale_inv    blocks (DeepSeek, Qwen, ..); a multiplier, whatever its name says
//! X.weight_scale        one, per row, or blocks (vLLM, fbgemm, ModelOpt, ComfyUI's newer files)
//! X.scale_weight        ComfyUI's older files, with a marker tensor `scaled_fp8`
//! X.qscale_weight       Mistral's own files
//! X.scale               DeepSeek V4, a grid; one number or one a row only if a config or the user says so
//! P_scale, P_scale_inv, P_weight_scale   of a parameter P that is not called `weight` (experts)
//! ```
//!
//! Scales are F32, BF16, F16 or E8M0; bytes beside 8-bit floats are E8M0 too, never integers.
//! A grid has a cell for each block, the last ones may be partial, and it may be padded. The
//! block size is the config's; without one it is taken from the grid if only one explains it.
//! `blockwise_int8` is the same with I8 codes.
//!
//! Recipes: `w = q * scale`, never divided.
//! - transformers 5.22.2 `Fp8Dequantize` (and DeepSeek's `weight_dequant`): both in f32, the
//!   product rounded once to the model's type; without a config to that of the scales if it has
//!   at least 16 bits, else to bf16. ModelOpt's MXFP8 (`MXFP8QTensor.dequantize`) is the same.
//! - ModelOpt 0.47.0 `from_quantized_weight` and `FP8QTensor.dequantize`: the scale is rounded to
//!   the model's type first (bf16 if not stated), then the product.
//! - comfy-kitchen 0.2.40 `dequantize_per_tensor_fp8`: the same in bf16. Its `dequantize_mxfp8`:
//!   both in f32, rounded once to bf16; the scales lie in tiles.
//! - f32: the product in f32.

use std::sync::Arc;

use crate::arithmetic::matrix::{
    Arithmetic, Choice, Codes, Factors, Loss, Matrix, Packing, Scales, scale_of,
};
use crate::arithmetic::plain;
use crate::arithmetic::swizzle::Tiles;
use crate::arithmetic::tiled_scales::TiledScales;
use crate::catalog::TensorInfo;
use crate::dtype::DType;
use crate::framework::conventions::comfy::UNREADABLE;
use crate::framework::conventions::modelopt;
use crate::framework::{
    Bid, Bids, Configs, Evidence, Part, Recipe, Scheme, Sign, StoredTensor, Summary,
};
use crate::text::shortened;

mod comfy;
mod encode;
mod geometry;
mod names;
mod settings;
#[cfg(test)]
mod tests;
mod tiled;

use self::comfy::Comfy;
use geometry::{Geometry, Hints, geometry};
use names::{module_of, scales_of};
use settings::Settings;
use tiled::tiles_of;

/// The FP8 scheme.
pub struct Fp8;

impl Scheme for Fp8 {
    facts! {
        name: "fp8",
        methods: settings::METHODS,
        config_files: &[modelopt::FILE],
        layer_formats: &comfy::FORMATS,
        traces: modelopt::TRACES,
        #[cfg(feature = "encoders")]
        quantizers: encode::QUANTIZERS,
    }

    fn implied_method(&self, configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        let mistral = || settings::is_mistral(configs).then_some((Sign::Settings, self.name()));
        modelopt::implied_method(configs).or_else(mistral)
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.has_type(&FP8)
            || summary.may_end_with(&["_scale_inv", ".comfy_quant", "scaled_fp8"])
            || summary.metadata_mentions_quantization()
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        if evidence.belongs_to_another(self.name()) {
            return;
        }
        let model =
            Model { evidence, settings: Settings::of(evidence), comfy: Comfy::of(evidence) };
        for &(id, info) in evidence.tensors() {
            model.bid_for((id, info), bids);
        }
        model.drop_markers(bids);
    }
}

/// All facts about a model.
struct Model<'e, 'a> {
    evidence: &'e Evidence<'a>,
    settings: Settings<'e>,
    comfy: Comfy<'a>,
}

/// Location of the scales.
enum Layout {
    /// In a grid.
    Grid(Geometry),
    /// In tiles, one per 32 columns.
    Tiled(Tiles),
}

/// A weight whose evidence agrees.
struct Agreed {
    layout: Layout,
    codes: DType,
    scale_type: DType,
    native: DType,
    /// Whether the scale is rounded to the native type before use.
    scale_rounded: bool,
}

impl<'a> Model<'_, 'a> {
    fn bid_for(&self, weight: StoredTensor<'a>, bids: &mut Bids) {
        let (_, info) = weight;
        let module = module_of(&info.name);
        let layer = self.comfy.layer(self.evidence, module).filter(|_| module != &*info.name);
        let fp8 = info.stored.element().is_some_and(is_fp8);
        let scales = match &layer {
            Some(layer) if layer.belongs_to_another(fp8, self.evidence.schemes()) => return,
            None if !fp8 => self.inverse_scale(info),
            _ => scales_of(self.evidence, &info.name),
        };
        if scales.is_empty() && !self.lacks_scales(info) {
            return;
        }
        let mut parts = vec![Part { role: "weight", tensor: weight.0 }];
        parts.extend(scales.iter().map(|(_, (id, _))| Part { role: "scales", tensor: *id }));
        let format = layer.as_ref().map(|layer| layer.format.clone()).transpose();
        let agreed = format.and_then(|format| self.agree(info, &scales, format.as_deref()));
        match agreed {
            Ok(agreed) => match self.doubt(info, &scales, layer.is_some(), &agreed) {
                None => bids.weights.push(agreed.bid(info, parts)),
                Some(reason) => {
                    let bid = Bid::refused(&*info.name, info.shape.clone(), parts, &reason);
                    bids.refuse(info, "ambiguous", bid);
                }
            },
            Err(reason) => bids.refuse_tensor(info, parts, &reason),
        }
        if let Some((id, _)) = layer.and_then(|layer| layer.tensor) {
            bids.dropped.push((id, "ComfyUI layer description, not a weight".to_owned()));
        }
    }

    /// Combines all evidence about one weight.
    fn agree(
        &self,
        info: &TensorInfo,
        scales: &[(&'static str, StoredTensor<'a>)],
        format: Option<&str>,
    ) -> Result<Agreed, String> {
        if self.comfy.unreadable && format.is_none() {
            return Err(UNREADABLE.to_owned());
        }
        let codes = self.codes_of(info, format)?;
        let (ending, scale) = match scales {
            [] => refuse!(
                "the config says FP8 with scales, but this one has none; fetch the file with its \
                 scales"
            ),
            [(ending, (_, scale))] => (*ending, *scale),
            [(_, (_, first)), (_, (_, second)), ..] => {
                refuse!("it has two scales, {} and {}, expected one", first.name, second.name)
            }
        };
        let scale_type = scale_type(scale)?;
        refuse_if!(
            self.evidence.beside(&info.name, "_scale_2").is_some(),
            "8-bit floats with two levels of scales (weight_scale_2) are not supported"
        );
        let comfy =
            format.is_some() || ending == ".scale_weight" || self.comfy.is_marked(&info.name);
        let layout = match format {
            Some("mxfp8") if scale_type == DType::F8_E8M0 => {
                Layout::Tiled(tiles_of(&info.shape, &scale.shape)?)
            }
            Some("mxfp8") => return Err("its scales should be E8M0 for MXFP8".to_owned()),
            _ => {
                let hints = self.hints(info, comfy)?;
                Layout::Grid(geometry(&info.shape, &scale.shape, hints)?)
            }
        };
        let wide = scale_type != DType::F8_E8M0;
        let made_in = self.settings.model_dtype;
        let native = match () {
            () if comfy => DType::BF16,
            () if self.settings.is_modelopt() => made_in.unwrap_or(DType::BF16),
            () => made_in.unwrap_or(if wide { scale_type } else { DType::BF16 }),
        };
        let scale_rounded = wide && (comfy || self.settings.is_modelopt());
        Ok(Agreed { layout, codes, scale_type, native, scale_rounded })
    }

    /// Returns why it is uncertain that the only scale is one, unless the user states it. No known
    /// library writes `X.scale` with one number, or one per row. DeepSeek's is a grid; elsewhere it
    /// is a divisor or a model parameter.
    fn doubt(
        &self,
        info: &TensorInfo,
        scales: &[(&'static str, StoredTensor<'a>)],
        is_described: bool,
        agreed: &Agreed,
    ) -> Option<String> {
        let [(".scale", (_, scale))] = scales else { return None };
        let is_said = self.settings.method.is_some()
            || self.settings.scales_expected
            || is_described
            || self.comfy.is_marked(&info.name);
        if is_said || scale.shape.len() > 1 {
            return None;
        }
        let choice = self.evidence.chosen(&info.name);
        let reading = format!("{}/{}", Fp8.name(), agreed.variant());
        if choice == Some(&*reading) {
            return None;
        }
        let not_it = choice.map_or_else(String::new, |choice| {
            format!("; '{}' was given, but does not match", shortened(choice, 40))
        });
        Some(format!(
            "no config says what {} of shape {:?} is: a factor to multiply by ({reading}), a \
             divisor, or an unrelated parameter; add config.json or, if it is a factor, set its \
             scheme{not_it}",
            shortened(&scale.name, 120),
            &scale.shape[..],
        ))
    }

    /// Returns the type of a weight's codes, if nothing contradicts it.
    fn codes_of(&self, info: &TensorInfo, format: Option<&str>) -> Result<DType, String> {
        let method = self.settings.method;
        match info.stored.element() {
            Some(dtype) if is_fp8(dtype) => {
                let said = format.and_then(|format| comfy::misfit(format, dtype));
                let said = said.or_else(|| self.comfy.contradicts(&info.name, dtype));
                said.or_else(|| self.settings.contradicts(dtype)).map_or(Ok(dtype), Err)
            }
            Some(DType::I8) if method == Some("blockwise_int8") => Ok(DType::I8),
            _ if let Some(format) = format => Err(format!(
                "ComfyUI format `{format}` with a weight of {} is not supported",
                info.stored.name()
            )),
            _ => Err(format!(
                "its dtype is {}, but a scale `_scale_inv` needs 8-bit floats, or I8 with \
                 quant_method blockwise_int8 in the config",
                info.stored.name()
            )),
        }
    }

    fn hints(&self, info: &TensorInfo, comfy: bool) -> Result<Hints, String> {
        let block = if comfy { None } else { self.settings.block(module_of(&info.name))? };
        let fbgemm = self.settings.method == Some("fbgemm_fp8");
        let transposed = fbgemm && info.shape.len() == 3;
        Ok(Hints { block, fused: self.settings.fused(&info.name), transposed })
    }

    /// Returns a scale called an inverse, which is a multiplier, for a weight of any type: no other
    /// scheme has that name. Powers of two with integers belong to 4-bit floats in pairs.
    fn inverse_scale(&self, info: &TensorInfo) -> Vec<(&'static str, StoredTensor<'a>)> {
        let Some((id, scale)) = self.evidence.beside(&info.name, "_scale_inv") else {
            return Vec::new();
        };
        match scale_type(scale) {
            Ok(DType::F8_E8M0) | Err(_) => Vec::new(),
            Ok(_) => vec![("_scale_inv", (id, scale))],
        }
    }

    /// Whether a weight without scales contradicts the config.
    fn lacks_scales(&self, info: &TensorInfo) -> bool {
        self.settings.scales_expected
            && info.stored.element().is_some_and(is_fp8)
            && info.shape.len() >= 2
            // A scale may itself be stored in 8-bit floats.
            && !info.name.rsplit('.').next().is_some_and(|own| own.contains("scale"))
            && !self.settings.excludes(module_of(&info.name))
    }

    fn drop_markers(&self, bids: &mut Bids) {
        for &id in &self.comfy.marker_ids {
            bids.dropped.push((id, "ComfyUI marker for scaled FP8 weights".to_owned()));
        }
    }
}

/// Types of codes.
const FP8: [DType; 4] = [DType::F8_E4M3, DType::F8_E5M2, DType::F8_E4M3FNUZ, DType::F8_E5M2FNUZ];

fn is_fp8(dtype: DType) -> bool {
    FP8.contains(&dtype)
}

/// Returns the type of a scale's numbers.
fn scale_type(scale: &TensorInfo) -> Result<DType, String> {
    match scale.stored.element() {
        Some(dtype @ (DType::F32 | DType::BF16 | DType::F16 | DType::F8_E8M0)) => Ok(dtype),
        Some(DType::U8) => Ok(DType::F8_E8M0),
        _ => Err(format!(
            "its scale {} is {}, expected F32, BF16, F16 or F8_E8M0",
            scale.name,
            scale.stored.name()
        )),
    }
}

impl Agreed {
    fn bid(self, info: &TensorInfo, parts: Vec<Part>) -> Bid {
        Bid {
            name: info.name.to_string(),
            shape: info.shape.clone(),
            variant: self.variant().into(),
            native: Some(self.native),
            parts,
            recipe: Ok(Arc::new(self.matrix(&info.shape)) as Arc<dyn Recipe>),
        }
    }

    /// Returns the variant, such as `e4m3-b128x128`, with `-e8m0` for power-of-two scales.
    fn variant(&self) -> String {
        let codes = match self.codes {
            DType::I8 => "int8".to_owned(),
            dtype => dtype.name().trim_start_matches("F8_").to_lowercase(),
        };
        let scales = if self.scale_type == DType::F8_E8M0 { "-e8m0" } else { "" };
        match &self.layout {
            Layout::Grid(geometry) => format!("{codes}-{}{scales}", geometry.name()),
            Layout::Tiled(_) => format!("{codes}-g{}{scales}-tiled", tiled::GROUP),
        }
    }

    /// Returns further losses if codes are the nearest.
    fn loss(&self) -> Loss {
        let highest = match self.codes {
            DType::F8_E4M3 => 448.0,
            DType::F8_E4M3FNUZ => 240.0,
            _ => 57344.0,
        };
        match (self.scale_type, self.codes) {
            (DType::F8_E8M0, _) => Loss::of_powers(highest),
            (scales, DType::I8) => Loss::rounded_to(scales).beyond(0.7),
            // Scales may have been computed at lower precision than they are stored. Some writers
            // divide in BF16, regardless of the stored type.
            (_, _) => Loss::rounded_to(DType::BF16).beyond(highest / 224.0),
        }
    }

    fn matrix(self, shape: &[u64]) -> Matrix {
        let (codes, dtype, loss) = (self.codes, self.scale_type, self.loss());
        let steps = self.scale_rounded.then_some(self.native);
        let (columns, group, factors): (_, _, Box<dyn Factors>) = match self.layout {
            Layout::Grid(geometry) => {
                let grid = geometry.grid(1, dtype);
                let [columns, group] = geometry.columns();
                (columns, group, Box::new(Scales { steps, ..Scales::plain(grid) }))
            }
            Layout::Tiled(tiles) => {
                let scales = TiledScales { tiles, dtype, has_global: false, steps: None };
                (plain::columns(shape), tiled::GROUP, Box::new(scales))
            }
        };
        Matrix {
            codes: Codes::new(Packing::Bytes, |code| scale_of(codes, &[code], 0)),
            columns,
            row_bytes: columns,
            group,
            factors,
            arithmetic: Arithmetic::Times,
            native: self.native,
            choice: Choice::Nearest(loss),
        }
    }
}
