//! Whose names an output has.

/// Whether names, values and metadata are translated on the way into another format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// Into a format that programs load models from, models become what those programs load: a GGUF
    /// file that llama.cpp runs, a directory of a GGUF file that Hugging Face's libraries load. Models
    /// that only a part is taken of, that are kept as they are stored, or that have that format
    /// already, and single files of other formats, keep everything.
    #[default]
    Auto,
    /// They stay as they are.
    Keep,
    /// The model becomes a directory that Hugging Face's libraries load.
    Hf,
    /// The model becomes a GGUF file that llama.cpp runs.
    Gguf,
}
