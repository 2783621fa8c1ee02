//! Stores a model in fewer bits, from whatever it is stored in, and says what that costs.

use super::options::ConvertOptions;
use super::quantize_options::{Goal, QuantizeOptions};
use crate::containers::writing::Writer;
use crate::error::{Error, Result};
use crate::near::did_you_mean;
use crate::ops::inspect::bits_per_weight;
use crate::pipeline::{Job, Plan, Target, formats_of};
use crate::schemes::{Quantizer, SCHEMES};
use crate::text::escaped;

mod choose;
mod for_size;
mod report;

pub(super) use choose::{Quantizing, block_of};
pub(super) use report::report;
pub use report::{CostReport, QuantizeReport, QuantizedWeight, TypeReport};

/// The types that a model can be quantized to: what users call them, and what they are.
pub fn quantizers() -> impl Iterator<Item = (&'static str, &'static str)> {
    SCHEMES.quantizers().map(|quantizer| (quantizer.name(), quantizer.about()))
}

/// The least that an aim is lowered by is this share of the goal.
const STEPS: u64 = 1000;

/// A lower aim, if a plan that was made for one misses the goal.
pub(super) fn lower(goal: Goal, aim: Goal, plan: &Plan) -> Option<Goal> {
    match (goal, aim) {
        (Goal::Bytes(goal), Goal::Bytes(aim)) => {
            let over = plan.bytes().checked_sub(goal).filter(|over| *over > 0)?;
            // What was chosen may lie far below the aim, and be chosen again for a little less.
            let chosen = aim.min(plan.data_bytes());
            Some(Goal::Bytes(chosen.saturating_sub(over.max(goal / STEPS))))
        }
        (Goal::Bits(goal), Goal::Bits(aim)) => {
            let elements = plan.jobs().map(Job::elements).fold(0, u64::saturating_add);
            let over = bits_per_weight(plan.data_bytes(), elements).unwrap_or(0.0) - goal;
            #[allow(clippy::cast_precision_loss)] // A small number.
            (over > 0.0).then_some(Goal::Bits(aim - over.max(goal / STEPS as f64)))
        }
        _ => None,
    }
}

/// Finds a quantizer by name. Names may differ in case only, or be extended by a layout
/// (`NAME-LAYOUT`): the first one that the output's format can store wins, else the exact name.
pub(super) fn found(how: &QuantizeOptions, target: &Target) -> Result<&'static dyn Quantizer> {
    let layout = how.wishes.layout.as_deref();
    let called = layout.map_or_else(|| how.name.clone(), |layout| format!("{}-{layout}", how.name));
    let is_called = |of: &&dyn Quantizer| of.name().eq_ignore_ascii_case(&called);
    let mut all: Vec<_> = SCHEMES.quantizers().filter(is_called).collect();
    if !all.is_empty() && layout.is_none() {
        let start = format!("{called}-").to_lowercase();
        let has_layout = |of: &&dyn Quantizer| of.name().to_lowercase().starts_with(&start);
        all.extend(SCHEMES.quantizers().filter(has_layout));
    }
    let says_format = target.is_stated || !target.is_folder();
    let is_held = |of: &&&dyn Quantizer| {
        let format = target.writer.format();
        formats_of(of.types(), of.needs_configs()).any(|writer| writer.format() == format)
    };
    let held = all.iter().filter(|_| says_format && all.len() > 1).find(is_held);
    let exact = all.iter().find(|of| of.name() == called);
    held.or(exact).or(all.first()).copied().ok_or_else(|| no_such(how))
}

fn no_such(how: &QuantizeOptions) -> Error {
    let names = || SCHEMES.quantizers().map(Quantizer::name);
    let layout = how.wishes.layout.as_deref();
    if layout.is_some()
        && let Err(error) = SCHEMES.quantizer_of(&how.name, layout)
    {
        return error;
    }
    let what = format!("unknown quantization type `{}`", escaped(&how.name));
    let all = || format!("known types: {}", names().collect::<Vec<_>>().join(", "));
    // A type with other digits is a different type, not a typo.
    let digits = |name: &str| name.chars().filter(char::is_ascii_digit).collect::<String>();
    let near = names().filter(|name| digits(name) == digits(&how.name));
    Error::usage(what).hint(did_you_mean(&how.name, near).unwrap_or_else(all))
}

/// The output in a format that can hold the type: the one that is stated, or else the first.
pub(super) fn held(
    quantizer: &dyn Quantizer,
    target: &Target,
    options: &ConvertOptions,
) -> Result<Target> {
    let formats: Vec<&str> =
        formats_of(quantizer.types(), quantizer.needs_configs()).map(Writer::format).collect();
    let name = quantizer.name();
    let Some(first) = formats.first() else {
        return Err(Error::unsupported(format!("no output format can store {name}")));
    };
    let target = target.or_in(first);
    let chosen = target.writer.format();
    if !formats.contains(&chosen) {
        let message = format!("{chosen} cannot store {name}");
        let hint = format!("formats that can: {}", formats.join(", "));
        return Err(Error::usage(message).in_file(&options.target).hint(hint));
    }
    if quantizer.needs_configs() && !target.is_folder() {
        let message = format!("{name} needs a config, so the output must be a directory");
        let hint = "give an output name without an extension";
        return Err(Error::usage(message).in_file(&options.target).hint(hint));
    }
    Ok(target)
}
