//! How a module is read: the group of the config that fits its tensors, and the bid.

use super::config::{Args, Settings, Writer};
use super::layout::{Columns, Layout};
use super::module::{Attempt, Checked, Form, Module};
use super::recipe::recipe;
use crate::framework::{Bid, Bids};

/// Why a module is not decoded: the kind of finding, and what it says.
type Refusal = (&'static str, String);

impl Module<'_, '_> {
    /// Bids for the module, or says why it cannot be decoded.
    pub(super) fn bid(&self, settings: &Settings, bids: &mut Bids) {
        let layout = if self.has_plain_weight {
            Err((
                "undecodable",
                format!(
                    "{}.weight is also stored, and the right one is unknown; remove one of them",
                    self.name
                ),
            ))
        } else {
            self.layout(settings)
        };
        match layout {
            Ok(layout) => bids.weights.push(Bid {
                name: self.weight_name(),
                shape: layout.shape.clone(),
                variant: layout.variant().into(),
                native: Some(layout.native),
                recipe: Ok(recipe(&layout, settings, &self.parts())),
                parts: self.parts(),
            }),
            Err((kind, reason)) => self.refuse(kind, &reason, bids),
        }
    }

    /// The layout that the tensors and the config agree on. Groups that do not fit the tensors
    /// are out; where several fit and differ, names decide, and then the user.
    fn layout(&self, settings: &Settings) -> Result<Layout, Refusal> {
        let groups = self.guesses(settings);
        let mut fitting: Vec<Layout> = Vec::new();
        for args in &groups {
            let layout = self.try_layout(args, settings.writer);
            fitting.extend(layout.ok().filter(|layout| !fitting.contains(layout)));
        }
        let named = || settings.named(self.name);
        let layout = match &fitting[..] {
            [layout] => layout.clone(),
            [] => self
                .try_layout(&named().unwrap_or_else(|| groups[0].clone()), settings.writer)
                .map_err(|reason| ("undecodable", reason))?,
            _ => match named().and_then(|args| self.try_layout(&args, settings.writer).ok()) {
                Some(layout) => layout,
                None => self.by_choice(&fitting, "the config does not state its layout")?,
            },
        };
        match layout.order {
            _ if settings.transforms(self.name) => self.by_choice(
                &[layout],
                "the config transforms its activations at run time (transform_config), so its \
                 values are only valid with that transform; to decode them anyway, set its scheme",
            ),
            Columns::Missing => self.by_choice(
                &[layout],
                "the config says act-order (actorder), but its group index `weight_g_idx` is \
                 missing; files without it usually have their columns in order",
            ),
            _ => Ok(layout),
        }
    }

    /// The layout that the user says it is.
    fn by_choice(&self, possible: &[Layout], why: &str) -> Result<Layout, Refusal> {
        let answer = self.evidence.chosen(&self.weight_name());
        let named = answer.and_then(|answer| answer.strip_prefix("compressed/"));
        if let Some(one) = possible.iter().find(|one| Some(&*one.variant()) == named) {
            return Ok(one.clone());
        }
        let kinds: Vec<String> =
            possible.iter().map(|one| format!("compressed/{}", one.variant())).collect();
        let reason = format!("{why}; choices: {}", kinds.join(" or "));
        Err(("ambiguous", reason))
    }

    /// The arguments of every group; where no width of integers is stated, every width.
    fn guesses(&self, settings: &Settings) -> Vec<Args> {
        let all = settings.all();
        match (&all[..], self.form()) {
            ([Args { bits: None, .. }], Form::Words) => {
                (1..=8).map(|bits| Args { bits: Some(bits), ..Args::default() }).collect()
            }
            _ => all,
        }
    }

    fn try_layout(&self, args: &Args, writer: Writer) -> Checked<Layout> {
        if let Some(format) = &args.format {
            let format = crate::text::shortened(format, 40);
            refuse!("format `{format}` is not supported");
        }
        self.scale()?;
        let attempt = Attempt { module: self, args, writer };
        match self.form() {
            Form::Words => attempt.packed_integers(),
            Form::FloatBytes => attempt.packed_floats(),
            Form::Bytes => attempt.bytes(),
            Form::Unknown => {
                Err(format!("weight_packed is {}, expected I32 or U8", self.codes.1.stored.name()))
            }
        }
    }
}
