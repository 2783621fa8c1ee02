//! The schemes that there are, as one value: whoever needs to know all of them is handed it.

use std::sync::Arc;

use crate::config::Config;
use crate::error::{Error, Result};
use crate::framework::method::name_in;
use crate::framework::{
    CodedWeight, ConfigFile, Configs, Encoder, Holds, Method, PackedWeight, Quantizer, Scheme,
    TargetLayout, ToLayOut, Traces,
};
use crate::text::escaped;

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

    /// Whether a scheme decodes layers of that format, as descriptions inside files name it.
    pub(crate) fn decodes_layers_as(self, format: &str) -> bool {
        self.iter().any(|scheme| scheme.layer_formats().contains(&format))
    }

    /// Every method of every scheme, with the scheme's name.
    pub(crate) fn methods(self) -> impl Iterator<Item = (&'static str, &'static Method)> {
        self.iter().flat_map(|scheme| scheme.methods().iter().map(|method| (scheme.name(), method)))
    }

    /// The schemes that read models of a method, by name.
    pub fn of_method(self, method: &str) -> impl Iterator<Item = &'static str> {
        self.methods().filter(move |(_, own)| own.is_called(method)).map(|(scheme, _)| scheme)
    }

    /// The method of that name, in lower case.
    pub(crate) fn method(self, name: &str) -> Option<&'static Method> {
        self.methods().map(|(_, method)| method).find(|method| method.is_called(name))
    }

    /// The method that configs name or, where they name none, that the surest sign implies.
    #[must_use]
    pub fn method_of(self, configs: &[Config]) -> Option<String> {
        let configs = Configs::new(configs, self);
        let settings = configs.quantization().and_then(|(_, json)| name_in(json));
        let more = || {
            let files = self.iter().flat_map(Scheme::config_files);
            let more = files.filter(|file| matches!(file.holds, Holds::MoreSettings(_)));
            more.filter_map(|file| name_in(configs.file(file.name)?)).min()
        };
        let implied = || {
            let signs = self.iter().filter_map(|scheme| scheme.implied_method(configs));
            signs.min().map(|(_, method)| method.to_owned())
        };
        let name = settings.or_else(more).or_else(implied)?;
        Some(self.method(&name).map_or(name, |method| method.name.to_owned()))
    }

    /// The files that schemes read beside the model's own config, each once.
    #[must_use]
    pub fn config_files(self) -> Vec<&'static ConfigFile> {
        let mut files: Vec<&ConfigFile> = Vec::new();
        for file in self.iter().flat_map(Scheme::config_files) {
            if !files.iter().any(|known| known.name == file.name) {
                files.push(file);
            }
        }
        files
    }

    /// The keys of a model's config that hold settings of single schemes.
    pub(crate) fn config_keys(self) -> impl Iterator<Item = &'static str> {
        self.iter().flat_map(|scheme| scheme.config_keys().iter().copied())
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
        let unknown = || Error::usage(format!("there is no type {}", escaped(name)));
        let Some(layout) = layout else { return self.quantizer(name).ok_or_else(unknown) };
        let found = self.quantizer(&format!("{name}-{layout}"));
        found.ok_or_else(|| {
            let layouts: Vec<&str> =
                self.quantizers().filter_map(|one| layout_of(one.name(), name)).collect();
            match (self.quantizer(name), &layouts[..]) {
                (None, []) => unknown(),
                (_, []) => Error::usage(format!("{} has no other layouts", escaped(name))),
                (_, layouts) => Error::usage(format!(
                    "{} has no layout {}, but {}",
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

/// What stands behind a name in a longer one.
fn layout_of<'n>(long: &'n str, name: &str) -> Option<&'n str> {
    let (start, layout) = long.split_at_checked(name.len())?;
    let layout = layout.strip_prefix('-')?;
    start.eq_ignore_ascii_case(name).then_some(layout)
}
