//! Files, config keys and metadata that accompany the weights of a scheme.

/// Traces that any scheme may leave.
pub const SHARED: Traces =
    Traces { config_keys: &["quantization_config"], files: &[], metadata: &[] };

/// A config file that a scheme reads next to the weights.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile {
    /// File name.
    pub name: &'static str,
    /// Contents.
    pub holds: Holds,
}

/// Contents of a scheme's config file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The settings that are usually under `quantization_config` in the model's config.
    Settings,
    /// More settings, under this key, next to the name of the method.
    MoreSettings(&'static str),
    /// Contents that only the scheme itself reads.
    Other,
}

/// Places next to the weights that mention a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Traces {
    /// Keys of the model's config.
    pub config_keys: &'static [&'static str],
    /// Files that serve only this scheme.
    pub files: &'static [&'static str],
    /// Keys of the metadata of weight files.
    pub metadata: &'static [&'static str],
}

/// Files, config keys and metadata that other programs need to read encoded weights. The
/// counterpart of [`Traces`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Additions {
    /// Keys of the model's config with their values. They reach dequantized repositories.
    pub config_keys: Vec<(String, serde_json::Value)>,
    /// Files by name, next to the config.
    pub files: Vec<(String, Vec<u8>)>,
    /// Keys of the metadata of weight files and their values, in every format that holds metadata.
    pub metadata: Vec<(String, String)>,
}
