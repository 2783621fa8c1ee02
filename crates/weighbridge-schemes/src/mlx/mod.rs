//! MLX: integers packed into words along the input dimension, a scale and a bias per group.
//!
//! ```text
//! P.weight   U32 [.., out, in * bits / 32]   one stream of codes a row, low bits first; codes of
//!                                            3, 5 and 6 bits cross bytes and words
//! P.scales   [.., out, in / group]           affine: F16, BF16 or F32; other modes: U8
//! P.biases   [.., out, in / group]           affine only, of the scales' type (P.bias is the
//!                                            layer's own bias, a plain tensor)
//! P.global_scale  F32 [] or [experts]        nvfp4 only, where mlx-lm was told to make one
//! ```
//!
//! | mode | code | scale | group |
//! |---|---|---|---|
//! | affine | integer of 2, 3, 4, 5, 6 or 8 bits | float, with a bias | 32, 64 or 128 |
//! | mxfp4 | E2M1 | E8M0 | 32 |
//! | mxfp8 | E4M3 | E8M0 | 32 |
//! | nvfp4 | E2M1 | E4M3 | 16 |
//!
//! A layer is quantized if it has `scales`. Neither names nor widths tell 4 bits in groups of 64
//! from 8 bits in groups of 32: bits, group and mode are in config.json (`settings`), and are
//! derived from the shapes only where one reading is left (`layout`).
//!
//! Recipes, after `mx.dequantize` of MLX 0.32.4 on its CPU backend:
//! - affine: `code * scale + bias`. The native type T is that of the scales: the product is
//!   rounded to T, then the sum. At f32 each step is rounded to f32.
//! - mxfp4, mxfp8, nvfp4: `code * scale`, native bf16: all factors are exact in it, so that it is
//!   the product rounded once.
//! - nvfp4 with a global scale: `code * (scale * (global / 2688))`, each step in f32, which is
//!   also what that library returns, whatever type it is asked for.
//! - `metal`, as transformers 5.22.2 writes it (`qbiases` instead of `biases`; 2, 4 or 8 bits):
//!   `code * scale + bias` in f32, rounded once to the scales' type (`_affine_dequantize_tensor`).
//!
//! The encoding arithmetic is documented in `affine` and `floats`.

use std::sync::Arc;

use crate::arithmetic::matrix::{
    Arithmetic, Choice, Codes, E2M1, Grid, Loss, Matrix, Packing, Scales,
};
use crate::arithmetic::plain;
use crate::dtype::DType;
use crate::framework::{Bids, Configs, Evidence, Recipe, SHARED, Scheme, Sign, Summary, Traces};

mod affine;
mod decoding;
mod encoder;
mod floats;
mod global;
mod kind;
mod layout;
mod packing;
mod quantizers;
mod settings;
#[cfg(test)]
mod tests;

use kind::{Kind, Mode};
use layout::Layout;
use settings::{KEY, Settings};

/// The MLX scheme.
pub struct Mlx;

impl Scheme for Mlx {
    facts! {
        name: "mlx",
        methods: &settings::METHODS,
        traces: Traces { config_keys: &["quantization_config", "quantization"], ..SHARED },
        #[cfg(feature = "encoders")]
        quantizers: quantizers::ALL,
    }

    fn implied_method(&self, configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        let is_there = settings::is_there(configs);
        is_there.then_some((Sign::Key, self.name()))
    }

    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool {
        summary.has_type(&[DType::U32]) || summary.may_end_with(&["scales"])
    }

    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids) {
        if evidence.belongs_to_another(self.name()) {
            return;
        }
        let settings = Settings::of(evidence);
        for &found in evidence.tensors() {
            let name = &*found.1.name;
            if let Some(prefix) = module_of(name, "weight") {
                layout::bid_for(prefix, found, evidence, &settings, bids);
            } else if let Some(prefix) =
                ["scales", "biases", "qbiases"].iter().find_map(|role| module_of(name, role))
            {
                layout::check_orphan(prefix, found, evidence, &settings, bids);
            }
        }
    }
}

/// Returns the prefix of a tensor's own name in its full name: nothing, or a path up to its dot.
fn module_of<'a>(name: &'a str, own: &str) -> Option<&'a str> {
    name.strip_suffix(own).filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
}

/// Returns the recipe of a weight. Its parts are weight, scales, and then biases or a global scale.
fn recipe(layout: &Layout) -> Arc<dyn Recipe> {
    let Layout { kind, cells, rows, .. } = *layout;
    let grid = |part, dtype| Grid::rows(part, dtype, cells);
    let scales = grid(1, layout.scale_type());
    let factors: Box<dyn crate::arithmetic::matrix::Factors> = match layout.global {
        Some(of_each) => Box::new(global::GlobalScale::new(scales, rows, of_each)),
        None => Box::new(Scales {
            offset: (kind.mode == Mode::Affine).then(|| grid(2, layout.stored)),
            ..Scales::plain(scales)
        }),
    };
    let arithmetic = match kind.mode {
        Mode::Affine => Arithmetic::TimesPlus,
        _ => Arithmetic::Times,
    };
    Arc::new(Matrix {
        codes: codes(kind),
        columns: layout.columns,
        row_bytes: layout.words * 4,
        group: kind.group,
        factors,
        arithmetic,
        // Only MLX itself rounds in steps.
        native: if layout.metal { DType::F32 } else { layout.native() },
        choice: Choice::Nearest(loss(layout)),
    })
}

/// Returns further losses if codes are the nearest.
fn loss(layout: &Layout) -> Loss {
    match layout.kind.mode {
        // Codes are chosen before scales and biases are rounded. A scale is fitted to the end that
        // is farther from zero; the other may be up to a scale beyond.
        Mode::Affine => Loss::rounded_to(layout.stored).beyond(1.3),
        Mode::Mxfp4 => Loss::of_nearest_powers(6.0),
        Mode::Mxfp8 => Loss::of_nearest_powers(448.0),
        Mode::Nvfp4 => Loss::of_small_scales(layout.global.is_some()),
    }
}

fn codes(kind: Kind) -> Codes {
    let packing = match kind.bits {
        8 => Packing::Bytes,
        4 => Packing::LowNibbles,
        bits => Packing::Stream(bits),
    };
    match kind.mode {
        Mode::Affine => Codes::new(packing, f32::from),
        Mode::Mxfp8 => Codes::new(packing, |code| plain::number(DType::F8_E4M3, &[code], 0)),
        Mode::Mxfp4 | Mode::Nvfp4 => Codes::new(packing, |code| E2M1[usize::from(code)]),
    }
}
