//! Quantization schemes: each folder turns the stored tensors of one scheme into numbers.
//!
//! A scheme sees all stored tensors of a model and the configs next to them. It *bids* for the
//! groups it recognises (`x.qweight` + `x.scales` + ..). Every stored tensor ends up in exactly one
//! weight, is plain, or is dropped for a stated reason. Two bids for one tensor are a finding, so
//! the order of [`SCHEMES`] does not matter.
//!
//! A member depends on `framework` and `arithmetic`; neither knows a member. Adding a scheme takes
//! a folder and one line in the list.

// Members name their encoders in one place each; without that place, the encoders' code has no
// caller.
#![cfg_attr(not(feature = "encoders"), allow(dead_code, unused_imports))]

// The core crate's modules, under their own names.
use weighbridge_core::{
    blocks, bounds, catalog, change, compare, config, dtype, error, near, number, shape, simd,
    source, text, view, warning,
};

// Its macros are used by the modules after it.
#[macro_use]
mod framework;

mod arithmetic;

pub use arithmetic::{
    Composed, Computed, FlatCodes, InTurn, SmallFloats, Stretch, WithCodes, plain,
};
pub use framework::*;

pub use crate::config::Config;
pub use crate::number::{Element, Out};

/// The members: module and scheme, one line each.
macro_rules! members {
    ($($module:ident::$scheme:ident,)*) => {
        $(pub mod $module;)*

        /// Every scheme that bids. `plain` is not listed: it takes the tensors that no scheme bids
        /// for.
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
