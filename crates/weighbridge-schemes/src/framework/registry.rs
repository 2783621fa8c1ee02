//! A registry of schemes, passed to code that needs all of them.

use std::sync::Arc;

use crate::catalog::{Metadata, TensorInfo};
use crate::config::Config;
use crate::error::{Error, Remedy, Result};
use crate::framework::{
    CodedWeight, ConfigFile, Configs, Encoder, Evidence, PackedWeight, Quantizer, Roster, Scheme,
    SchemeChoice, TargetLayout, ToLayOut, Traces,
};
use crate::near::did_you_mean;
use crate::text::escaped;

/// Name of tensors that no scheme bids for, in reports.
pub const PLAIN: &str = "plain";

/// A set of schemes. Their order does not matter.
#[derive(Clone, Copy)]
pub struct Registry<'s>(&'s [&'s dyn Scheme]);

impl<'s> Registry<'s> {
    /// Creates a registry of these schemes.
    #[must_use]
    pub const fn new(schemes: &'s [&'s dyn Scheme]) -> Self {
        Self(schemes)
    }

    /// Returns every scheme.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = &'s dyn Scheme> {
        self.0.iter().copied()
    }

    /// Returns the scheme of that name.
    #[must_use]
    pub fn scheme(self, name: &str) -> Option<&'s dyn Scheme> {
        self.iter().find(|scheme| scheme.name() == name)
    }

    /// Returns the traces of the schemes with these names.
    pub fn traces(self, names: &[&str]) -> impl Iterator<Item = Traces> {
        self.iter().filter(|scheme| names.contains(&scheme.name())).map(Scheme::traces)
    }

    /// Whether the variants of a scheme are types of stored tensors, whose meaning no config
    /// changes.
    #[must_use]
    pub fn is_named_by_type(self, name: &str) -> bool {
        name == PLAIN || self.scheme(name).is_some_and(Scheme::is_named_by_type)
    }

    /// Returns the facts that all schemes state about themselves.
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

    /// Returns the names of the schemes that read models of a method.
    pub fn of_method(self, method: &str) -> Vec<&'static str> {
        self.roster().owners(method).map(|(scheme, _)| scheme).collect()
    }

    /// Returns the method that configs name or, if they name none, that the strongest sign implies.
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

    /// Returns the files that schemes read next to the model's own config, each once.
    #[must_use]
    pub fn config_files(self) -> Vec<&'static ConfigFile> {
        self.roster().config_files
    }

    /// Returns every encoder.
    pub fn encoders(self) -> impl Iterator<Item = Arc<dyn Encoder>> {
        self.iter().flat_map(Scheme::encoders)
    }

    /// Returns the encoder of that name, in any letter case.
    #[must_use]
    pub fn encoder(self, name: &str) -> Option<Arc<dyn Encoder>> {
        self.encoders().find(|encoder| encoder.name().eq_ignore_ascii_case(name))
    }

    /// Returns every quantizer.
    pub fn quantizers(self) -> impl Iterator<Item = &'static dyn Quantizer> {
        self.iter().flat_map(|scheme| scheme.quantizers().iter().copied())
    }

    /// Returns the quantizer of exactly that name, or else of that name in another letter case.
    #[must_use]
    pub fn quantizer(self, name: &str) -> Option<&'static dyn Quantizer> {
        let exact = self.quantizers().find(|quantizer| quantizer.name() == name);
        exact.or_else(|| self.quantizers().find(|one| one.name().eq_ignore_ascii_case(name)))
    }

    /// Returns the quantizer of that name in a layout, which is called `NAME-LAYOUT`. The error
    /// lists the available layouts.
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

    /// Returns every layout, with the name of its scheme.
    pub fn layouts(self) -> impl Iterator<Item = (&'static str, &'static dyn TargetLayout)> {
        let layouts =
            |scheme: &'s dyn Scheme| scheme.layouts().iter().map(|one| (scheme.name(), *one));
        self.iter().flat_map(layouts)
    }

    /// Returns the layout of that name, with the name of its scheme.
    #[must_use]
    pub fn layout(self, name: &str) -> Option<(&'static str, &'static dyn TargetLayout)> {
        self.layouts().find(|(_, layout)| layout.name() == Some(name))
    }

    /// Returns the blocks that store the codes of a weight, if a block type fits.
    #[must_use]
    pub fn in_blocks(self, weight: CodedWeight<'_>) -> Option<PackedWeight> {
        let model = ToLayOut { weights: &[weight], plain: &[] };
        let mut blocks = self.layouts().filter(|(_, layout)| layout.name().is_none());
        blocks.find_map(|(_, layout)| layout.lay_out(&model).ok()?.weights.pop())
    }
}

impl<'a> Configs<'a> {
    /// Creates the configs of a model that may hold the settings of these schemes.
    #[must_use]
    pub fn new(all: &'a [Config], schemes: Registry<'_>) -> Self {
        Self { all, roster: schemes.roster() }
    }
}

impl<'a> Evidence<'a> {
    /// Gathers the evidence of a model for these schemes.
    pub fn new(
        catalogs: impl Iterator<Item = (&'a [TensorInfo], &'a Metadata)>,
        configs: &'a [Config],
        schemes: Registry<'_>,
    ) -> Self {
        Self::of(catalogs, Configs::new(configs, schemes), schemes.method_of(configs))
    }
}

impl SchemeChoice {
    /// Checks that the choice names one of these schemes and a variant.
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

/// Returns the layout in a long name `NAME-LAYOUT`.
fn layout_of<'n>(long: &'n str, name: &str) -> Option<&'n str> {
    let (start, layout) = long.split_at_checked(name.len())?;
    let layout = layout.strip_prefix('-')?;
    start.eq_ignore_ascii_case(name).then_some(layout)
}
