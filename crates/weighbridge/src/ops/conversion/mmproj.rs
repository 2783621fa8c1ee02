//! Which files a multimodal model becomes.

/// What becomes of the encoders of images and sound that a model has beside its language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mmproj {
    /// They are left out.
    #[default]
    None,
    /// They are all that is written.
    Only,
    /// They are written too: `NAME.gguf` gets a `mmproj-NAME.gguf` next to it, a directory `NAME` gets one
    /// inside.
    Beside,
}
