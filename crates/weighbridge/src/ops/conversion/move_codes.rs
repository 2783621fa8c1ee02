//! Lays out a model's codes and factors in another way, undecoded: the same numbers in other tensors.
//!
//! The result is a repository again, whose config says how its weights lie. What another layout cannot
//! hold as it is is an error, before there is an output: nothing is decoded.

use std::collections::HashMap;

use super::options::ConvertOptions;
use super::values::Values;
use crate::config;
use crate::containers::writing::Writer;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::{Model, Scratch, Weight};
use crate::near::did_you_mean;
use crate::ops::refusals::{Obstacle, refusal, refuse_problems};
use crate::pipeline::{Target, formats_of};
use crate::schemes::{
    Additions, Candidate, CodedWeight, GroupedForm, LaidOut, LayoutMismatch, LoaderFault,
    PackedWeight, SCHEMES, StoredModel, Taker, TargetLayout, ToLayOut,
};
use crate::text::escaped;
use crate::warning::Warning;

/// The names of the layouts that codes can be moved into.
pub fn layouts() -> impl Iterator<Item = &'static str> {
    SCHEMES.layouts().filter_map(|(_, layout)| layout.name())
}

/// The layout of that name.
pub(super) fn layout(name: &str) -> Result<Values> {
    let found = SCHEMES.layout(name).map(|(scheme, layout)| Values::Layout { scheme, layout });
    found.ok_or_else(|| {
        let all = || format!("known layouts: {}", layouts().collect::<Vec<_>>().join(", "));
        Error::usage(format!("unknown layout `{}`", escaped(name)))
            .hint(did_you_mean(name, layouts()).unwrap_or_else(all))
    })
}

/// The error for a model without a config that says how its weights are laid out.
pub(super) fn no_config(what: &str, model: &Model) -> Error {
    let name = config::HUGGING_FACE;
    Error::usage(format!("a layout change needs {name} {what}")).in_file(model.path())
}

/// An error if readers of the format do not look at configs.
pub(super) fn refuse_format(target: &Target, options: &ConvertOptions) -> Result<()> {
    let format = target.writer.format();
    let formats: Vec<&str> =
        formats_of(vec![DType::I32.into()], true).map(Writer::format).collect();
    if formats.contains(&format) {
        return Ok(());
    }
    let message = format!("{format} output has no config to describe the layout");
    let hint = format!("write a directory of {} files", formats.join(" or "));
    Err(Error::usage(message).in_file(&options.target).hint(hint))
}

/// What becomes of a model whose codes are laid out in another way.
pub(super) struct Moved {
    /// What becomes of each weight with codes, by its name in the model.
    pub(super) packed: HashMap<String, PackedWeight>,
    /// What a repository needs beside its weights.
    pub(super) additions: Additions,
    /// What users should know.
    pub(super) notes: Vec<String>,
    /// What loaders of the layout do wrong.
    pub(super) warnings: Vec<Warning>,
}

/// Lays out a model as a scheme does.
pub(super) fn moved(
    model: &Model,
    scheme: &str,
    layout: &dyn TargetLayout,
    options: &ConvertOptions,
) -> Result<Moved> {
    refuse_problems(model, &options.select, false)?;
    let wanted = |weight: &Weight| options.select.wants(weight.name());
    let (plain, coded): (Vec<_>, Vec<_>) =
        model.weights().filter(wanted).partition(Weight::is_plain);
    if coded.is_empty() {
        let message = "has no quantized weights, so there is no layout to change";
        return Err(Error::usage(message).in_file(model.path()));
    }
    if coded.iter().all(|weight| weight.scheme() == scheme) {
        let name = layout.name().unwrap_or_default();
        return Err(Error::usage(format!("already has the layout {name}")).in_file(model.path()));
    }
    let renamed = |weights: &[Weight]| -> Vec<String> {
        weights.iter().map(|weight| options.renamed(weight.name())).collect()
    };
    let (plain_names, names) = (renamed(&plain), renamed(&coded));
    let forms = forms(model, &coded)?;
    let with_codes = names.iter().zip(&forms).zip(&coded);
    let with_codes = with_codes.map(|((name, &(form, zeros, global)), weight)| {
        let shape = weight.shape();
        CodedWeight { name, shape, form, zeros, global }
    });
    let without = plain.iter().zip(&plain_names).map(as_candidate);
    let (weights, plain): (Vec<_>, Vec<_>) = (with_codes.collect(), without.collect());
    let found = layout.lay_out(&ToLayOut { weights: &weights, plain: &plain });
    let LaidOut { weights, additions, mut notes, loader_faults } =
        found.map_err(|unfit| refused(model, &coded, &unfit))?;
    let name = layout.name().unwrap_or_default();
    let candidates: Vec<_> = coded.iter().zip(&names).map(as_candidate).collect();
    let stored = StoredModel { encoded: candidates.iter().collect() };
    let warnings = LoaderFault::warnings(loader_faults, "layout", name, &stored);
    let named = coded.iter().map(|weight| weight.name().to_owned());
    notes.extend(note_on_scales(model, &forms));
    Ok(Moved { packed: named.zip(weights).collect(), additions, notes, warnings })
}

/// A weight with its name in the output.
fn as_candidate<'a>((weight, name): (&'a Weight, &'a String)) -> Candidate<'a> {
    let (shape, dtype) = (weight.shape(), weight.native().unwrap_or(DType::U8));
    Candidate { name, shape, dtype, block: None }
}

/// What the codes of a weight are, the ends of its zero points, and its factor.
type Form = (GroupedForm, [u8; 2], Option<(f32, bool)>);

/// What the codes of each weight are, and the ends of its zero points; an error names all weights
/// whose codes cannot be moved.
fn forms(model: &Model, coded: &[Weight]) -> Result<Vec<Form>> {
    let (mut forms, mut unfit, mut scratch) = (Vec::new(), Vec::new(), Scratch::default());
    for (index, weight) in coded.iter().enumerate() {
        let form = match weight.form_of_codes(Taker::Layout) {
            Ok(form) => weight.refuses_to_move(&mut scratch)?.map_or(Ok(form), Err),
            refused => refused,
        };
        match form {
            Err(reason) => unfit.push(LayoutMismatch { weight: index, reason }),
            Ok(form) => {
                let zeros = weight.zero_points(&form, &mut scratch)?;
                let factors = <[f32; 1]>::try_from(weight.factors_of_codes(false)?).ok();
                let global = weight.global_of_codes().zip(factors);
                let global = global.map(|(of, [factor])| (factor, of.divides));
                forms.push((form, zeros, global));
            }
        }
    }
    if unfit.is_empty() { Ok(forms) } else { Err(refused(model, coded, &unfit)) }
}

/// A note if loaders that take every tensor in the type of the model would round scales.
fn note_on_scales(model: &Model, forms: &[Form]) -> Option<String> {
    let dtype = config::model_dtype(model.configs())?;
    let wide = |dtype: DType| matches!(dtype, DType::F32 | DType::BF16 | DType::F16);
    let other = forms.iter().map(|(form, ..)| form.scale);
    let other =
        other.into_iter().find(|scale| wide(*scale) && *scale != dtype && dtype != DType::F32)?;
    let (scale, dtype) = (other.name(), dtype.name());
    Some(format!(
        "scales stay {scale}, but the config names {dtype}; a loader that casts every tensor to \
         {dtype} rounds the scales; load the model as {scale} to get the same values"
    ))
}

fn refused(model: &Model, coded: &[Weight], unfit: &[LayoutMismatch]) -> Error {
    let obstacles = unfit.iter().filter_map(|LayoutMismatch { weight, reason }| {
        let weight = coded.get(*weight)?;
        Some(Obstacle::new(weight.name(), weight.variant(), reason.clone()))
    });
    let obstacles: Vec<Obstacle<'_>> = obstacles.collect();
    let nothing = || Error::unsupported("no weight can change its layout");
    refusal(model, &obstacles).unwrap_or_else(nothing)
}
