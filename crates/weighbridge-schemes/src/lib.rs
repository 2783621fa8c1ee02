//! Schemes: how stored tensors become numbers, one folder each.
//!
//! A scheme looks at all stored tensors of a model at once, with the configs beside them, and
//! *bids* for the groups it understands (`x.qweight` + `x.scales` + ..). Every stored tensor ends
//! in exactly one weight, is plain, or is dropped for a stated reason; two bids for one tensor
//! are a finding, so the order of [`SCHEMES`] cannot matter. To add a scheme: its folder, one
//! `mod` line and one line in the table.

// The ground, under its own names.
use weighbridge_core::{
    blocks, bounds, catalog, change, compare, config, dtype, error, number, shape, simd, source,
    text, view,
};

mod arithmetic;
mod framework;

pub mod apr;
pub mod awq;
pub mod bnb;
pub mod compressed;
pub mod fp8;
pub mod ggml;
pub mod gptq;
pub mod known;
pub mod mlx;
pub mod mx;
pub mod nvfp4;

use std::sync::Arc;

pub use crate::config::Config;
use crate::error::{Error, Result};
pub use crate::number::{Element, Out};
use crate::text::escaped;
pub use arithmetic::{
    Composed, Computed, FlatCodes, InTurn, Reshaped, SmallFloats, Stretch, WithCodes, plain,
};
pub use framework::*;

/// Every scheme that bids. `plain` is not here: it takes what no scheme bids for.
pub static SCHEMES: &[&dyn Scheme] = &[
    &gptq::Gptq,
    &ggml::Ggml,
    &apr::Apr,
    &known::Known,
    &fp8::Fp8,
    &awq::Awq,
    &bnb::Bnb,
    &nvfp4::Nvfp4,
    &mx::Mx,
    &mlx::Mlx,
    &compressed::Compressed,
];

/// The traces of the schemes of these names.
pub fn traces<'a>(names: &'a [&str]) -> impl Iterator<Item = Traces> + 'a {
    SCHEMES.iter().filter(|scheme| names.contains(&scheme.name())).map(|scheme| scheme.traces())
}

/// The method that configs name or imply.
#[must_use]
pub fn method_of(configs: &[Config]) -> Option<String> {
    framework::method::of_configs(Configs::new(configs), SCHEMES)
}

/// The schemes that read models of a method, by name.
pub fn of_method(method: &str) -> impl Iterator<Item = &'static str> {
    let own = |scheme: &&&dyn Scheme| scheme.methods().iter().any(|own| own.is_called(method));
    SCHEMES.iter().filter(own).map(|scheme| scheme.name())
}

/// Every encoder, as the schemes offer them.
pub fn encoders() -> impl Iterator<Item = Arc<dyn Encoder>> {
    SCHEMES.iter().flat_map(|scheme| scheme.encoders())
}

/// The encoder of that name, in any letter case.
#[must_use]
pub fn encoder(name: &str) -> Option<Arc<dyn Encoder>> {
    encoders().find(|encoder| encoder.name().eq_ignore_ascii_case(name))
}

/// Every quantizer, as the schemes offer them.
pub fn quantizers() -> impl Iterator<Item = &'static dyn Quantizer> {
    SCHEMES.iter().flat_map(|scheme| scheme.quantizers().iter().copied())
}

/// The quantizer of exactly that name, or else of that name in another letter case.
#[must_use]
pub fn quantizer(name: &str) -> Option<&'static dyn Quantizer> {
    let exact = quantizers().find(|quantizer| quantizer.name() == name);
    exact.or_else(|| quantizers().find(|one| one.name().eq_ignore_ascii_case(name)))
}

/// The quantizer of that name in a layout: the one that is called by both, `NAME-LAYOUT`. The error
/// names the layouts that there are.
pub fn quantizer_of(name: &str, layout: Option<&str>) -> Result<&'static dyn Quantizer> {
    let unknown = || Error::usage(format!("there is no type {}", escaped(name)));
    let Some(layout) = layout else { return quantizer(name).ok_or_else(unknown) };
    let layouts: Vec<&str> = quantizers().filter_map(|one| layout_of(one.name(), name)).collect();
    quantizer(&format!("{name}-{layout}")).ok_or_else(|| match (quantizer(name), &layouts[..]) {
        (None, []) => unknown(),
        (_, []) => Error::usage(format!("{} has no other layouts", escaped(name))),
        (_, layouts) => Error::usage(format!(
            "{} has no layout {}, but {}",
            escaped(name),
            escaped(layout),
            layouts.join(", ")
        )),
    })
}

/// What stands behind a name in a longer one.
fn layout_of<'n>(long: &'n str, name: &str) -> Option<&'n str> {
    let (start, layout) = long.split_at_checked(name.len())?;
    let layout = layout.strip_prefix('-')?;
    start.eq_ignore_ascii_case(name).then_some(layout)
}

/// Whether a scheme is that of numbers that stand alone.
#[must_use]
pub fn is_plain(name: &str) -> bool {
    name == plain::NAME
}

/// Whether the variants of a scheme are types of stored tensors, which no config gives another
/// meaning.
#[must_use]
pub fn is_named_by_type(name: &str) -> bool {
    let own = |scheme: &&&dyn Scheme| scheme.name() == name;
    name == plain::NAME || SCHEMES.iter().find(own).is_some_and(|scheme| scheme.is_named_by_type())
}

/// Whether a scheme decodes layers of that format, as descriptions inside files name it.
pub fn decodes_layers_as(format: &str) -> bool {
    SCHEMES.iter().any(|scheme| scheme.layer_formats().contains(&format))
}

/// The names of all files that schemes read beside the model's own config, each once.
#[must_use]
pub fn config_files() -> Vec<&'static str> {
    framework::method::config_files(SCHEMES).iter().map(|file| file.name).collect()
}
