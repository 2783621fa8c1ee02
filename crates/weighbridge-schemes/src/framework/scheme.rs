//! What every scheme states about itself.

use std::sync::Arc;

use crate::framework::{
    Bids, ConfigFile, Configs, Encoder, Evidence, Method, Quantizer, SHARED, Sign, Summary,
    TargetLayout, Traces,
};

/// A quantization scheme.
pub trait Scheme: Sync {
    /// Its name in reports, which is its folder's name.
    fn name(&self) -> &'static str;

    /// The quantization methods that configs name for models it reads.
    fn methods(&self) -> &'static [Method];

    /// Files beside the weights that it reads, other than the model's own config.
    fn config_files(&self) -> &'static [ConfigFile] {
        &[]
    }

    /// Keys of the model's config that hold its settings, other than `quantization_config`.
    fn config_keys(&self) -> &'static [&'static str] {
        &[]
    }

    /// Formats of single layers that it decodes, as descriptions inside a file name them.
    fn layer_formats(&self) -> &'static [&'static str] {
        &[]
    }

    /// Which of its methods the configs imply when they name none, and by which sign.
    fn implied_method(&self, _configs: &Configs<'_>) -> Option<(Sign, &'static str)> {
        None
    }

    /// Whether its variants are types of stored tensors, which no config gives another meaning.
    fn is_named_by_type(&self) -> bool {
        false
    }

    /// Whether [`bid`](Self::bid) could say anything about a model of that summary. Saying yes is
    /// always right; saying no keeps opening such models cheap.
    fn may_bid(&self, summary: &Summary<'_, '_>) -> bool;

    /// Bids for what it understands.
    fn bid(&self, evidence: &Evidence<'_>, bids: &mut Bids);

    /// Its encoders: the ways in which it stores numbers.
    fn encoders(&self) -> Vec<Arc<dyn Encoder>> {
        Vec::new()
    }

    /// Its quantizers: the ways in which it stores whole models.
    fn quantizers(&self) -> &'static [&'static dyn Quantizer] {
        &[]
    }

    /// Its layouts: the ways in which its tensors or blocks hold what other schemes have stored
    /// already.
    fn layouts(&self) -> &'static [&'static dyn TargetLayout] {
        &[]
    }

    /// What says beside the weights that they are stored this way, to be removed once they are
    /// decoded.
    fn traces(&self) -> Traces {
        SHARED
    }
}
