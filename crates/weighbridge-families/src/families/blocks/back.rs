//! The way back: what of a config the files of a family tell in other ways than by an entry, and what
//! they do not say.

use serde_json::{Map, Value as Json};

use crate::error::Result;
use crate::families::told::Told;

/// How a file becomes a config of the family's first class.
pub(crate) struct Back {
    /// Whether a file of the architecture is of this family. The first that is counts.
    pub is: fn(&Told<'_>) -> bool,
    /// Refuses files that do not say enough.
    pub refuse: fn(&Told<'_>) -> Result<()>,
    /// Whether a layer does without a tensor that others have.
    pub lacks: fn(&str, u64) -> bool,
    /// Tensors that two rows name. The second row counts if the first layer has the other tensor.
    pub second: &'static [(&'static str, &'static str)],
    /// Keys that follow from several of a config's, and the one that is set from them.
    pub made: &'static [(&'static str, &'static str)],
    /// The part of a head that is rotated: the config's key for it.
    pub rotated: Option<&'static str>,
    /// Keys that say whether all of these tensors are there, or, with a `!`, that none of them is;
    /// without a key they have to be.
    pub flags: Flags,
    /// Values that no file says, but llama.cpp computes with, where the class has another one.
    pub fixed: &'static [(&'static str, Fixed)],
    /// Keys that no file says, beside those of all families, each with what the class takes where the
    /// config does not state it.
    pub untold: &'static [(&'static str, &'static str)],
    /// Whether the token that ends a turn stands before the one that ends a text.
    pub turns_first: bool,
    /// The key of the activation, and what the class takes.
    pub activation: (&'static str, &'static str),
}

/// A config that is being made.
pub(crate) type Config = Map<String, Json>;

/// A value that no file says: what follows from the file and the config so far.
pub(crate) type Fixed = fn(&Told<'_>, &Config) -> Option<Json>;

pub(crate) const Q: &str = "blk.#.attn_q.bias";
pub(crate) const K: &str = "blk.#.attn_k.bias";
pub(crate) const V: &str = "blk.#.attn_v.bias";
pub(crate) const O: &str = "blk.#.attn_output.bias";
pub(crate) const GATE: &str = "blk.#.ffn_gate.bias";
pub(crate) const UP: &str = "blk.#.ffn_up.bias";
pub(crate) const DOWN: &str = "blk.#.ffn_down.bias";

/// Keys of a config, and the tensors that tell them by being there.
pub(crate) type Flags = &'static [(&'static str, &'static [&'static str])];

pub(crate) const ATTENTION_BIAS: Flags = &[("attention_bias", &[Q, K, V, O])];
pub(crate) const ALL_BIASES: Flags =
    &[("attention_bias", &[Q, K, V, O]), ("mlp_bias", &[GATE, UP, DOWN])];

/// A file that says everything.
pub(crate) const BACK: Back = Back {
    is: |_| true,
    refuse: |_| Ok(()),
    lacks: |_, _| false,
    second: &[],
    made: &[],
    rotated: None,
    flags: &[],
    fixed: &[],
    untold: &[],
    turns_first: false,
    activation: ("hidden_act", "silu"),
};

/// The class default of the sliding window switch, which GGUF files do not store.
pub(crate) const NO_WINDOWS: (&str, &str) = ("use_sliding_window", "false");
