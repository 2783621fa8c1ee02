//! What every scheme states about itself.

use std::sync::Arc;

use crate::framework::{
    Bids, Configs, Encoder, Evidence, Method, Quantizer, Sign, Summary, TargetLayout,
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
    fn implied_method(&self, _configs: Configs<'_>) -> Option<(Sign, &'static str)> {
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

/// What mentions a scheme of which nothing more is known.
pub const SHARED: Traces =
    Traces { config_keys: &["quantization_config"], files: &[], metadata: &[] };

/// A file beside the weights that a scheme reads.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub holds: Holds,
}

/// What a config file of a scheme holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The settings that `quantization_config` of the model's config holds elsewhere.
    Settings,
    /// More settings, under this key, and the name of the method beside it.
    MoreSettings(&'static str),
    /// Something that only the scheme itself reads.
    Other,
}

/// What mentions a scheme beside the weights.
#[derive(Clone, Copy, Debug)]
pub struct Traces {
    /// Keys of the model's config.
    pub config_keys: &'static [&'static str],
    /// Files that hold nothing else.
    pub files: &'static [&'static str],
    /// Keys of the metadata of weight files.
    pub metadata: &'static [&'static str],
}

/// What encoded weights need beside them, so that other programs know how they are stored: the
/// counterpart of [`Traces`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Additions {
    /// Keys of the model's config and what they hold. They reach dequantized repositories.
    pub config_keys: Vec<(String, serde_json::Value)>,
    /// Files by name, beside the config.
    pub files: Vec<(String, Vec<u8>)>,
    /// Keys of the metadata of weight files and their values, in every format that holds metadata.
    pub metadata: Vec<(String, String)>,
}
