//! What transformers takes for granted where a config says nothing.
//!
//! The converter sees configs through transformers' classes, so a GGUF file has entries that
//! config.json does not have. The values are those of the configuration classes of transformers 5.22.

/// What a class of configs fills in.
pub(crate) struct Defaults {
    /// What it calls the sizes that every class has.
    pub names: [&'static str; 6],
    /// Their values; zero where it has no such key, or no value for it.
    pub sizes: [u64; 6],
    /// Key heads.
    pub key_heads: KeyHeads,
    /// The width of a head.
    pub head: Head,
    /// The key of the norms' epsilon, and its value; no key where nothing states it.
    pub epsilon: (&'static str, f64),
    /// The base of rotary frequencies.
    pub theta: f64,
    /// Their base in layers with a sliding window, where those have one of their own.
    pub local_theta: Option<f64>,
    /// The part of a head that is rotated, where the class states one.
    pub rotated: Option<f64>,
    /// Whether the context before scaling stands beside the rotary parameters, and is this.
    pub original_context: Option<u64>,
    /// How rotary positions are scaled where the config does not say: the kind, and its parameters.
    pub scaling: Option<(&'static str, &'static [(&'static str, f64)])>,
    /// Whether positions are learned, and so not rotary. Such a model has a key head for each query
    /// head, which goes without saying.
    pub learns_positions: bool,
    /// Further keys with numbers.
    pub more: &'static [(&'static str, f64)],
    /// Further keys with truth values.
    pub flags: &'static [(&'static str, bool)],
    /// Further keys with texts.
    pub texts: &'static [(&'static str, &'static str)],
}

/// Whether a class knows the width of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    /// It has no such key.
    Unsaid,
    /// Where the config does not say, what the heads make of the hidden size.
    Share,
    /// Where the config does not say, this.
    Of(u64),
    /// Where the config does not say, this; what the heads make of the hidden size if it says null.
    OfOrShare(u64),
    /// Where the config does not say, what another key says.
    As(&'static str),
    /// What another key says, whatever the config says.
    AlwaysAs(&'static str),
}

/// Whether a class knows how many key heads there are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyHeads {
    /// Where the config does not say, as many as query heads.
    AsHeads,
    /// Where the config does not say, this many; as many as query heads if it says null.
    Of(u64),
    /// It leaves them unsaid.
    Unsaid,
}

/// What most classes call the sizes of a model.
const SIZES: [&str; 6] = [
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
];

/// A class that knows no sizes.
pub(crate) const DEFAULTS: Defaults = Defaults {
    names: SIZES,
    sizes: [0; 6],
    key_heads: KeyHeads::AsHeads,
    head: Head::Unsaid,
    epsilon: ("rms_norm_eps", 1e-6),
    theta: 10000.0,
    local_theta: None,
    rotated: None,
    original_context: None,
    scaling: None,
    learns_positions: false,
    more: &[],
    flags: &[],
    texts: &[],
};
