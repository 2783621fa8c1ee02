//! The trait that every scheme implements.

use std::sync::Arc;

use crate::framework::{
    Bids, ConfigFile, Configs, Encoder, Evidence, Method, Quantizer, SHARED, Sign, Summary,
    TargetLayout, Traces,
};

/// A quantization scheme.
pub trait Scheme: Sync {
    /// Name in reports, equal to the name of its folder.
    fn name(&self) -> &'static str;

    /// Quantization methods that configs name for models it reads.
    fn methods(&self) -> &'static [Method];

    /// Config files that it reads, other than the model's own config.
    fn config_files(&self) -> &'static [ConfigFile] {
        &[]
    }

    /// Keys of the model's config that hold its settings, other than `quantization_config`.
    fn config_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// Layer formats that it decodes, as named in descriptions inside a file.
    fn layer_formats(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the method that the configs imply when they name none, and the sign that implies it.
    fn implied_method(&self, _configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        None
    }

    /// Whether its variants are types of stored tensors, whose meaning no config changes.
    fn is_named_by_type(&self) -> bool {
        false
    }

    /// Whether [`bid`](Self::bid) could claim anything in a model with that summary. `true` is
    /// always correct; `false` keeps opening such models cheap.
    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool;

    /// Bids for the tensors it recognises.
    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids);

    /// Encoders: the ways in which it stores numbers.
    fn encoders(&self) -> Vec<Arc<dyn Encoder>> {
        Vec::new()
    }

    /// Quantizers: the ways in which it stores whole models.
    fn quantizers(&self) -> &'static [&'static dyn Quantizer] {
        &[]
    }

    /// Layouts: the ways in which its tensors or blocks store the codes of other schemes.
    fn layouts(&self) -> &'static [&'static dyn TargetLayout] {
        &[]
    }

    /// Mentions of the scheme next to the weights, which are removed once the weights are decoded.
    fn traces(&self) -> Traces {
        SHARED
    }
}
