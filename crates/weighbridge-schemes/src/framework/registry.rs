//! The schemes that there are, as one value: whoever needs to know all of them is handed it.

use std::sync::Arc;

use crate::catalog::{Metadata, TensorInfo};
use crate::config::Config;
use crate::error::{Error, Remedy, Result};
use crate::framework::{
    CodedWeight, ConfigFile, Configs, Encoder, Evidence, PackedWeight, Quantizer, Roster, Scheme,
    SchemeChoice, TargetLayout, ToLayOut, Traces,
};
use crate::text::{did_you_mean, escaped};

/// What tensors that no scheme bids for are called in reports.
pub const PLAIN: &str = "plain";

/// Schemes, in an order that decides nothing.
#[derive(Clone, Copy)]
pub struct Registry<'s>(&'s [&'s dyn Scheme]);

impl<'s> Registry<'s> {
    /// These schemes.
    #[must_use]
    pub const fn new(schemes: &'s [&'s dyn Scheme]) -> Self {
        Self(schemes)
    }

    /// Every scheme.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'s dyn Scheme> {
        self.0.iter().copied()
    }

    /// The scheme of that name.
    #[must_use]
    pub fn scheme(self, name: &str) -> Option<&'s dyn Scheme> {
        self.iter().find(|scheme| scheme.name() == name)
    }

    /// The traces of the schemes of these names.
    pub fn traces(self, names: &[&str]) -> impl Iterator<Item = Traces> {
        self.iter().filter(|scheme| names.contains(&scheme.name())).map(Scheme::traces)
    }

    /// Whether the variants of a scheme are types of stored tensors, which no config gives another
    /// meaning.
    #[must_use]
    pub fn is_named_by_type(self, name: &str) -> bool {
        name == PLAIN || self.scheme(name).is_some_and(Scheme::is_named_by_type)
    }

    /// What they state about themselves.
    pub(crate) fn roster(self) -> Roster {
        let mut all = Roster::default();
        for scheme in self.iter() {
            all.names.push(scheme.name());
            all.methods.extend(scheme.methods().iter().map(|method| (scheme.name(), method)));
            all.config_keys.extend(scheme.config_keys());
            all.layer_formats.extend(scheme.layer_formats());
            for file in scheme.config_files() {
                if !all.config_files.iter().any(|known| known.name == file.name) {
                    all.config_files.push(file);
                }
            }
        }
        all
    }

    /// The schemes that read models of a method, by name.
    pub fn of_method(self, method: &str) -> Vec<&'static str> {
        self.roster().owners(method).map(|(scheme, _)| scheme).collect()
    }

    /// The method that configs name or, where they name none, that the surest sign implies.
    #[must_use]
    pub fn method_of(self, configs: &[Config]) -> Option<String> {
        if configs.is_empty() {
            return None;
        }
        let configs = &Configs::new(configs, self);
        let implied = || {
            let signs = self.iter().filter_map(|scheme| scheme.implied_method(configs));
            signs.min().map(|(_, method)| method.to_owned())
        };
        let name = configs.named_method().or_else(implied)?;
        Some(configs.roster.method(&name).map_or(name, |method| method.name.to_owned()))
    }

    /// The files that schemes read beside the model's own config, each once.
    #[must_use]
    pub fn config_files(self) -> Vec<&'static ConfigFile> {
        self.roster().config_files
    }

    /// Every encoder.
    pub fn encoders(self) -> impl Iterator<Item = Arc<dyn Encoder>> {
        self.iter().flat_map(Scheme::encoders)
    }

    /// The encoder of that name, in any letter case.
    #[must_use]
    pub fn encoder(self, name: &str) -> Option<Arc<dyn Encoder>> {
        self.encoders().find(|encoder| encoder.name().eq_ignore_ascii_case(name))
    }

    /// Every quantizer.
    pub fn quantizers(self) -> impl Iterator<Item = &'static dyn Quantizer> {
        self.iter().flat_map(|scheme| scheme.quantizers().iter().copied())
    }

    /// The quantizer of exactly that name, or else of that name in another letter case.
    #[must_use]
    pub fn quantizer(self, name: &str) -> Option<&'static dyn Quantizer> {
        let exact = self.quantizers().find(|quantizer| quantizer.name() == name);
        exact.or_else(|| self.quantizers().find(|one| one.name().eq_ignore_ascii_case(name)))
    }

    /// The quantizer of that name in a layout: the one that is called by both, `NAME-LAYOUT`. The
    /// error names the layouts that there are.
    pub fn quantizer_of(self, name: &str, layout: Option<&str>) -> Result<&'static dyn Quantizer> {
        let unknown = || Error::usage(format!("unknown type {}", escaped(name)));
        let Some(layout) = layout else { return self.quantizer(name).ok_or_else(unknown) };
        let found = self.quantizer(&format!("{name}-{layout}"));
        found.ok_or_else(|| {
            let layouts: Vec<&str> =
                self.quantizers().filter_map(|one| layout_of(one.name(), name)).collect();
            match (self.quantizer(name), &layouts[..]) {
                (None, []) => unknown(),
                (_, []) => Error::usage(format!("{} has no other layouts", escaped(name))),
                (_, layouts) => Error::usage(format!(
                    "{} has no layout {}; available: {}",
                    escaped(name),
                    escaped(layout),
                    layouts.join(", ")
                )),
            }
        })
    }

    /// Every layout, with the name of the scheme that it is of.
    pub fn layouts(self) -> impl Iterator<Item = (&'static str, &'static dyn TargetLayout)> {
        let layouts =
            |scheme: &'s dyn Scheme| scheme.layouts().iter().map(|one| (scheme.name(), *one));
        self.iter().flat_map(layouts)
    }

    /// The layout of that name, with the name of the scheme that it is of.
    #[must_use]
    pub fn layout(self, name: &str) -> Option<(&'static str, &'static dyn TargetLayout)> {
        self.layouts().find(|(_, layout)| layout.name() == Some(name))
    }

    /// The blocks that hold the codes of a weight, if there are such.
    #[must_use]
    pub fn in_blocks(self, weight: CodedWeight<'_>) -> Option<PackedWeight> {
        let model = ToLayOut { weights: &[weight], plain: &[] };
        let mut blocks = self.layouts().filter(|(_, layout)| layout.name().is_none());
        blocks.find_map(|(_, layout)| layout.lay_out(&model).ok()?.weights.pop())
    }
}

impl<'a> Configs<'a> {
    /// These configs, which may hold the settings of these schemes.
    #[must_use]
    pub fn new(all: &'a [Config], schemes: Registry<'_>) -> Self {
        Self { all, roster: schemes.roster() }
    }
}

impl<'a> Evidence<'a> {
    /// Gathers the evidence of a model, for these schemes.
    pub fn new(
        catalogs: impl Iterator<Item = (&'a [TensorInfo], &'a Metadata)>,
        configs: &'a [Config],
        schemes: Registry<'_>,
    ) -> Self {
        Self::of(catalogs, Configs::new(configs, schemes), schemes.method_of(configs))
    }
}

impl SchemeChoice {
    /// An error if it names none of these schemes, or no variant.
    pub fn check(&self, schemes: Registry<'_>) -> Result<()> {
        let message = match self.says.split_once('/') {
            None | Some((_, "")) => "is not of the form SCHEME/VARIANT",
            Some((scheme, _)) if schemes.scheme(scheme).is_some() => return Ok(()),
            Some(_) => "is not a supported scheme",
        };
        let scheme = self.says.split_once('/').map_or(&*self.says, |(scheme, _)| scheme);
        let names = || schemes.iter().map(Scheme::name);
        let all = || format!("supported schemes: {}", names().collect::<Vec<_>>().join(", "));
        Err(Error::usage(format!("'{}' {message}", escaped(&self.says)))
            .hint(did_you_mean(scheme, names()).unwrap_or_else(all))
            .remedy(Remedy::ListProblems))
    }
}

/// What stands behind a name in a longer one.
fn layout_of<'n>(long: &'n str, name: &str) -> Option<&'n str> {
    let (start, layout) = long.split_at_checked(name.len())?;
    let layout = layout.strip_prefix('-')?;
    start.eq_ignore_ascii_case(name).then_some(layout)
}
