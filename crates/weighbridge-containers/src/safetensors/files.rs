//! How safetensors files are named and found: as the PyTorch files they took the place of.

use crate::conventions::{Configs, Conventions, Extension};
use crate::pth::{LEFTOVERS, STEMS};

/// What the format says about its files.
pub(super) static FILES: Conventions = Conventions {
    name: "safetensors",
    label: "safetensors",
    promise: "a safetensors file, which begins with the length of its JSON header",
    extensions: &[Extension::new("safetensors", Configs::Always)],
    preference: 0,
    indexed: true,
    independent: false,
    // An old series of MLX: `weights.00.safetensors`, `weights.01.safetensors`.
    together: &["weights.#"],
    stems: STEMS,
    // Not `tokenizer*`: a tokenizer of sound is a model of its own.
    not_weights: &[LEFTOVERS],
    ..Conventions::USUAL
};
