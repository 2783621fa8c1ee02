//! What lies beside weights for the sake of a scheme: files, keys of configs, metadata.

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
