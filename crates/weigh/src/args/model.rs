//! Help that lists what a MODEL can be.

/// The short help of a model that may be standard input.
pub(crate) const MODEL: &str = "File, directory, hf://owner/name, URL; `-` for stdin";

/// The short help of a model that cannot be standard input.
pub(crate) const STORED_MODEL: &str = "File, directory, hf://owner/name or URL";

const PLACES: &str = "\
The model. One of:
  model.gguf, model/   a file or a directory
  hf://owner/name      a repository on the Hugging Face Hub
  https://..           a file on a web server
  s3://, gs://, az://  an object store
  ollama:name:tag      a model in the local Ollama store
  owner/name           a repository in the local Hub cache";

const SHARDS: &str = "\
An index stands for all its shards. Any part of a split GGUF file stands for the whole.";

/// The long help of a model that may be standard input.
pub(crate) fn model_help() -> String {
    format!("{PLACES}\n  -                    standard input\n\n{SHARDS}")
}

/// The long help of a model that cannot be standard input.
pub(crate) fn stored_model_help() -> String {
    format!("{PLACES}\n\n{SHARDS}")
}
