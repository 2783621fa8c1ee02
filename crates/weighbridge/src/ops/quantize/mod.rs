//! Stores a model in fewer bits, from whatever it is stored in, and says what that costs.

use std::io::Write;

use super::convert::Conversion;
use super::convert_options::ConvertOptions;
use super::convert_report::ConvertReport;
use super::repository::Repository;
use crate::containers::writing::Writer;
use crate::error::{Error, Result};
use crate::model::Model;
use crate::output::Stream;
use crate::pipeline::{OutputType, Place, Target, formats_of};
use crate::schemes::{Quantizer, SCHEMES};
use crate::text::escaped;

mod choose;
mod options;
mod report;
mod target;

pub(super) use choose::{Quantized, ToQuantize, choose};
pub use options::QuantizeOptions;
pub(super) use report::report;
pub use report::{CostReport, QuantizeReport, QuantizedWeight, TypeReport};
use target::Goal;

/// Quantizes a model. Whatever cannot be quantized is an error before any output exists.
pub fn quantize(
    model: &Model,
    options: &ConvertOptions,
    how: &QuantizeOptions,
) -> Result<ConvertReport> {
    Conversion::plan_quantized(model, options, how)?.run()
}

/// Quantizes a model into anything that can be written front to back. The target in the options is
/// ignored.
pub fn quantize_to(
    model: &Model,
    options: &ConvertOptions,
    how: &QuantizeOptions,
    out: impl Write + Send,
) -> Result<ConvertReport> {
    let options = ConvertOptions { target: "-".into(), ..options.clone() };
    Conversion::quantized(model, &options, how, |_| Ok(true))?.run_into(&Stream::new(out))
}

/// The types that a model can be quantized to: what users call them, and what they are.
pub fn quantizers() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.quantizers().map(|quantizer| (quantizer.name(), quantizer.about()))
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
            Ok(target.is_in_turn())
        })
    }

    pub(super) fn quantized(
        model: &Model,
        options: &ConvertOptions,
        how: &QuantizeOptions,
        check: impl FnOnce(&Target) -> Result<bool>,
    ) -> Result<Self> {
        options.refuse_layout()?;
        let quantizer = found(how, options)?;
        if options.dtype != OutputType::Auto || !options.casts.is_empty() {
            let message = "the type decides about all weights: none can be cast besides";
            return Err(Error::usage(message).in_file(model.path()));
        }
        let mut options = options.clone().quantizing(how);
        options.to = Some(format(quantizer, &options)?);
        let mut conversion = Self::planned(&[(model, String::new())], &options, check)?;
        // What lies around the numbers is known only now.
        let (mut aim, mut tries) = (how.goal, TRIES);
        while let Some(lower) =
            how.goal.zip(aim).and_then(|(goal, aim)| lower(goal, aim, &conversion))
        {
            if tries == 0 {
                return Err(
                    Error::usage("it cannot be made as small as that").in_file(model.path())
                );
            }
            (aim, tries) = (Some(lower), tries - 1);
            let how = QuantizeOptions { goal: aim, ..how.clone() };
            let again = options.clone().quantizing(&how);
            conversion =
                Self::planned(&[(model, String::new())], &again, |target| Ok(target.is_in_turn()))?;
        }
        let repository = Repository::of(model).filter(|_| conversion.is_folder());
        let is_translated = conversion.parts.iter().any(|part| part.is_translated);
        if let Some(repository) = repository.filter(|_| !is_translated) {
            conversion.take_side_files(&repository, &[model], &options)?;
        }
        Ok(conversion)
    }
}

/// How often types are chosen anew for a size that they do not keep to.
const TRIES: usize = 16;

/// The least that an aim is lowered by is this share of the goal.
const STEPS: u64 = 1000;

/// A lower aim, if a plan that was made for one misses the goal.
fn lower(goal: Goal, aim: Goal, conversion: &Conversion) -> Option<Goal> {
    let report = conversion.report();
    match (goal, aim) {
        (Goal::Bytes(goal), Goal::Bytes(aim)) => {
            let over = report.write_bytes.checked_sub(goal).filter(|over| *over > 0)?;
            // What was chosen may lie far below the aim, and be chosen again for a little less.
            let chosen = aim.min(conversion.data_bytes());
            Some(Goal::Bytes(chosen.saturating_sub(over.max(goal / STEPS))))
        }
        (Goal::Bits(goal), Goal::Bits(aim)) => {
            let over = report.quantized.as_ref()?.bits_per_weight - goal;
            #[allow(clippy::cast_precision_loss)] // A small number.
            (over > 0.0).then_some(Goal::Bits(aim - over.max(goal / STEPS as f64)))
        }
        _ => None,
    }
}

/// The quantizer that is asked for. Of two that are called the same but for their letters, the one
/// that the output's format can hold, or else the one that is called exactly so.
pub(super) fn found(
    how: &QuantizeOptions,
    options: &ConvertOptions,
) -> Result<&'static dyn Quantizer> {
    let layout = how.wishes.layout.as_deref();
    let called = layout.map_or_else(|| how.name.clone(), |layout| format!("{}-{layout}", how.name));
    let all: Vec<_> = SCHEMES.quantizers().filter(|of| is_called(*of, &called)).collect();
    let target = Target::of(&options.target, options.to.as_deref(), None)?;
    let says_format = options.to.is_some() || !matches!(target.place, Place::Folder(_));
    let is_held = |of: &&&dyn Quantizer| {
        let format = target.writer.format();
        formats_of(of.types(), of.needs_configs()).any(|writer| writer.format() == format)
    };
    let held = all.iter().filter(|_| says_format && all.len() > 1).find(is_held);
    let exact = all.iter().find(|of| of.name() == called);
    held.or(exact).or(all.first()).copied().ok_or_else(|| no_such(how))
}

fn is_called(of: &dyn Quantizer, name: &str) -> bool {
    of.name().eq_ignore_ascii_case(name)
}

fn no_such(how: &QuantizeOptions) -> Error {
    let names: Vec<&str> = SCHEMES.quantizers().map(Quantizer::name).collect();
    let layout = how.wishes.layout.as_deref();
    if layout.is_some()
        && let Err(error) = SCHEMES.quantizer_of(&how.name, layout)
    {
        return error;
    }
    let what = format!("there is no type `{}`", escaped(&how.name));
    Error::usage(what).hint(format!("there are {}", names.join(", ")))
}

/// The format of the output: the one that is asked for, if it can hold the type, or else the first
/// that can.
fn format(quantizer: &dyn Quantizer, options: &ConvertOptions) -> Result<String> {
    let formats: Vec<&str> =
        formats_of(quantizer.types(), quantizer.needs_configs()).map(Writer::format).collect();
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
