//! Schemes: how stored tensors become numbers, one folder each.
//!
//! A scheme looks at all stored tensors of a model at once, with the configs beside them, and
//! *bids* for the groups it understands (`x.qweight` + `x.scales` + ..). Every stored tensor ends
//! in exactly one weight, is plain, or is dropped for a stated reason; two bids for one tensor
//! are a finding, so the order of [`SCHEMES`] cannot matter. A member depends on `framework` and
//! `arithmetic`; neither knows a member. To add a scheme: its folder and one line in the list.

// Members state their encoders in one place each; without them, what these use has no caller.
#![cfg_attr(not(feature = "encoders"), allow(dead_code, unused_imports))]

// The ground, under its own names.
use weighbridge_core::{
    blocks, bounds, catalog, change, compare, config, dtype, error, near, number, shape, simd,
    source, text, view,
};

// Its macros serve the modules after it.
#[macro_use]
mod framework;

mod arithmetic;

pub use arithmetic::{
    Composed, Computed, FlatCodes, InTurn, SmallFloats, Stretch, WithCodes, plain,
};
pub use framework::*;

pub use crate::config::Config;
pub use crate::number::{Element, Out};

/// The members, one line each: its module and its scheme.
macro_rules! members {
    ($($module:ident::$scheme:ident,)*) => {
        $(pub mod $module;)*

        /// Every scheme that bids. `plain` is not here: it takes what no scheme bids for.
        pub static SCHEMES: Registry<'static> = Registry::new(&[$(&$module::$scheme),*]);
    };
}

members! {
    gptq::Gptq,
    ggml::Ggml,
    apr::Apr,
    known::Known,
    fp8::Fp8,
    awq::Awq,
    bnb::Bnb,
    nvfp4::Nvfp4,
    mx::Mx,
    mlx::Mlx,
    compressed::Compressed,
}
