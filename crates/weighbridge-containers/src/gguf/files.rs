//! How GGUF files are named and found, and what is easily taken for one.

use super::reader::MAGIC;
use crate::conventions::{Configs, Conventions, Extension, Header, Magic, Signature};

/// What the format says about its files.
pub(super) static FILES: Conventions = Conventions {
    name: "gguf",
    label: "GGUF",
    promise: "a GGUF file, which begins with `GGUF`",
    extensions: &[Extension::new("gguf", Configs::Never)],
    // It holds the vocabulary.
    header: Header::First(1 << 20),
    preference: 1,
    magic: &[Magic::start(MAGIC)],
    any_part_is_whole: true,
    companions: &[("*mmproj*", "a multimodal projector"), ("*imatrix*", "an importance matrix")],
    look_alikes: &[
        before(b"lmgg", "a pre-GGUF ggml file without a version"),
        before(b"fmgg", "a pre-GGUF ggml file (ggmf)"),
        before(b"tjgg", "a pre-GGUF ggml file (ggjt)"),
        before(b"algg", "a pre-GGUF ggml adapter (ggla)"),
        Signature {
            magic: Magic::start(b"MZqFpD"),
            what: "a llamafile (an executable with the model inside)",
            hint: || "unpack it (`unzip model.llamafile`) and open the .gguf inside".to_owned(),
            ambiguous: false,
        },
    ],
    ..Conventions::USUAL
};

/// A format that GGUF took the place of.
const fn before(magic: &'static [u8], what: &'static str) -> Signature {
    let hint = || {
        "convert it to GGUF first (llama.cpp: convert_llama_ggml_to_gguf.py), or fetch the GGUF \
         of this model"
            .to_owned()
    };
    Signature { magic: Magic::start(magic), what, hint, ambiguous: false }
}
