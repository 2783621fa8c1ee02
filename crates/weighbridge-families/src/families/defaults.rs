//! What transformers takes for granted where a config says nothing.
//!
//! The converter sees configs through transformers' classes, so a GGUF file has entries that
//! config.json does not have. The values are those of the configuration classes of transformers 5.22.

/// What a class of configs fills in.
pub(crate) struct Defaults {
    /// The values of [`SIZES`]; zero where it has no such key.
    pub sizes: [u64; 6],
    /// Key heads; as many as there are query heads where this is none.
    pub key_heads: Option<u64>,
    /// The width of a head.
    pub head: Head,
    /// The key of the norms' epsilon, and its value.
    pub epsilon: (&'static str, f64),
    /// The base of rotary frequencies.
    pub theta: f64,
    /// Their base in layers with a sliding window, where those have one of their own.
    pub local_theta: Option<f64>,
    /// The part of a head that is rotated, where the class states one.
    pub rotated: Option<f64>,
    /// Whether the context before scaling stands beside the rotary parameters, and is this.
    pub original_context: Option<u64>,
    /// Rotary parameters of models scaled by YaRN, where the config states none.
    pub yarn: &'static [(&'static str, f64)],
    /// Whether it reads in both directions: such a model has positions of its own, which are not
    /// rotary, and a key head for each query head, which goes without saying.
    pub encoder: bool,
    /// Further keys with numbers.
    pub more: &'static [(&'static str, f64)],
    /// Further keys with truth values.
    pub flags: &'static [(&'static str, bool)],
}

/// Whether a class knows the width of a head.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Head {
    /// It has no such key.
    Unsaid,
    /// Where the config does not say, what the heads make of the hidden size.
    Share,
    /// What the heads make of the hidden size, whatever the config says.
    AlwaysShare,
    /// Where the config does not say, this.
    Of(u64),
    /// What another key says, whatever the config says.
    AlwaysAs(&'static str),
}

/// The keys that every class has.
pub(crate) const SIZES: [&str; 6] = [
    "vocab_size",
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
];

/// A class that knows no sizes.
pub(crate) const DEFAULTS: Defaults = Defaults {
    sizes: [0; 6],
    key_heads: None,
    head: Head::Unsaid,
    epsilon: ("rms_norm_eps", 1e-6),
    theta: 10000.0,
    local_theta: None,
    rotated: None,
    original_context: None,
    yarn: &[],
    encoder: false,
    more: &[],
    flags: &[],
};
