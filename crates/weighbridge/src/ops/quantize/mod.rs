//! Stores a model in fewer bits, from whatever it is stored in, and says what that costs.

use super::convert::Conversion;
use super::convert_options::ConvertOptions;
use super::convert_report::ConvertReport;
use super::repository::Repository;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::pipeline::{OutputType, Place, Target, formats_of};
use crate::schemes::{self, Quantizer};

mod choose;
mod options;
mod report;

pub(super) use choose::{Quantized, ToQuantize, choose};
pub use options::QuantizeOptions;
pub(super) use report::report;
pub use report::{CostReport, QuantizeReport, QuantizedWeight, TypeReport};

/// Quantizes a model. Whatever cannot be quantized is an error before any output exists.
pub fn quantize(
    model: &Model,
    options: &ConvertOptions,
    how: &QuantizeOptions,
) -> Result<ConvertReport> {
    Conversion::plan_quantized(model, options, how)?.run()
}

/// The types that a model can be quantized to: what users call them, and what they are.
pub fn quantizers() -> impl Iterator<Item = (&'static str, &'static str)> {
    schemes::quantizers().map(|quantizer| (quantizer.name(), quantizer.about()))
}

impl Conversion {
    /// Plans what [`quantize`] does.
    pub fn plan_quantized(
        model: &Model,
        options: &ConvertOptions,
        how: &QuantizeOptions,
    ) -> Result<Self> {
        Self::quantized(model, options, how, |target| {
            target.check(model, options.force)?;
            Ok(target.is_streamed())
        })
    }

    pub(super) fn quantized(
        model: &Model,
        options: &ConvertOptions,
        how: &QuantizeOptions,
        check: impl FnOnce(&Target) -> Result<bool>,
    ) -> Result<Self> {
        options.refuse_layout()?;
        let quantizer = found(how)?;
        if options.dtype != OutputType::Auto || !options.casts.is_empty() {
            let message = "the type decides about all weights: none can be cast besides";
            return Err(Error::usage(message).in_file(model.path()));
        }
        let mut options = options.clone().quantizing(how);
        options.to = Some(format(quantizer, &options)?);
        let mut conversion = Self::planned(&[(model, String::new())], &options, check)?;
        let repository = Repository::of(model).filter(|_| conversion.is_folder());
        let is_translated = conversion.parts.iter().any(|part| part.is_translated);
        if let Some(repository) = repository.filter(|_| !is_translated) {
            conversion.take_side_files(&repository, &[model], &options)?;
        }
        Ok(conversion)
    }
}

/// The quantizer that is asked for.
pub(super) fn found(how: &QuantizeOptions) -> Result<&'static dyn Quantizer> {
    let layout = how.wishes.layout.as_deref();
    schemes::quantizer_of(&how.name, layout).ok_or_else(|| {
        let names: Vec<&str> = schemes::quantizers().map(Quantizer::name).collect();
        let what = match layout {
            Some(layout) => format!("there is no type `{}` with the layout `{layout}`", how.name),
            None => format!("there is no type `{}`", how.name),
        };
        Error::usage(what).hint(format!("there are {}", names.join(", ")))
    })
}

/// The format of the output: the one that is asked for, if it can hold the type, or else the first
/// that can.
fn format(quantizer: &dyn Quantizer, options: &ConvertOptions) -> Result<String> {
    let formats: Vec<&str> =
        formats_of(quantizer.types(), quantizer.needs_configs()).map(|w| w.format()).collect();
    let name = quantizer.name();
    let Some(first) = formats.first() else {
        return Err(Error::unsupported(format!("no format holds weights of type {name}")));
    };
    // Without a format that is asked for, the name of a directory says nothing.
    let target = Target::of(&options.target, options.to.as_deref(), Some(first))?;
    let chosen = target.writer.format();
    if !formats.contains(&chosen) {
        let message = format!("weights of type {name} cannot be stored in {chosen}");
        let hint = format!("{} can hold them", formats.join(", "));
        return Err(Error::usage(message).in_file(&options.target).hint(hint));
    }
    if quantizer.needs_configs() && !matches!(target.place, Place::Folder(_)) {
        let message =
            format!("weights of type {name} need a config beside them, which one file has not");
        let hint = "give a name without an extension, for a directory";
        return Err(Error::usage(message).in_file(&options.target).hint(hint));
    }
    Ok(chosen.to_owned())
}
