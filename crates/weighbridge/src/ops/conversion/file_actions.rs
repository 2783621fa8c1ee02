//! What becomes of each file of a repository whose weights are decoded.

use std::path::{Path, PathBuf};

use super::Part;
use crate::containers;
use crate::pipeline::stem_of;

/// Endings of weights in formats that other frameworks read.
const OTHER_WEIGHTS: [&str; 4] = [".h5", ".msgpack", ".onnx", ".ot"];

/// How libraries call a model's weights in those formats.
const OTHER_FORMS: [(&str, &str); 3] =
    [("tf_model", ".h5"), ("flax_model", ".msgpack"), ("rust_model", ".ot")];

/// What becomes of a file.
#[derive(Debug, PartialEq)]
pub(super) enum FileAction {
    /// It is copied.
    Copy,
    /// It is copied, although it holds weights: they belong to something else.
    CopyWeights,
    /// Something is written in its place.
    Replace,
    /// It stays where it is, for this reason.
    LeaveBehind(&'static str),
}

/// A model in a repository whose weights are written anew.
pub(super) struct Decoded {
    /// The folder of the repository that it lies in; empty for the repository itself.
    folder: PathBuf,
    /// Its weight files, by their names in the repository.
    files: Vec<PathBuf>,
    /// Files in its folder that say how it was quantized, and nothing else.
    sidecars: Vec<&'static str>,
}

impl Decoded {
    /// A model in a folder of the repository at `root`.
    pub(super) fn new(root: &Path, part: &Part, sidecars: Vec<&'static str>) -> Self {
        let Part { model, folder, .. } = part;
        let folder = PathBuf::from(folder);
        let inside = |path: &Path| match path.strip_prefix(root) {
            Ok(inside) => inside.to_owned(),
            Err(_) => folder.join(path.file_name().unwrap_or_default()),
        };
        let files = model.sources().iter().map(|source| inside(source.input().name())).collect();
        Self { folder, files, sidecars }
    }

    /// Whether a file of that name is the index of its files.
    fn is_index(&self, name: &str) -> bool {
        let stem = self.files.first().and_then(|file| stem_of(file)).unwrap_or_default();
        let stems = containers::by_preference().into_iter().filter_map(|of| of.index_stem(name));
        let extension = self.files.first().and_then(|file| file.extension()?.to_str());
        let is_same_format = extension.is_some_and(|end| name.contains(&format!(".{end}.")));
        is_same_format && stems.into_iter().any(|(of, is_variant)| of == stem && !is_variant)
    }
}

/// What becomes of a file of a repository in which these models are decoded.
pub(super) fn action(inside: &Path, decoded: &[Decoded]) -> FileAction {
    if decoded.iter().any(|model| model.files.iter().any(|file| file == inside)) {
        return FileAction::Replace;
    }
    let name = inside.file_name().unwrap_or_default().to_string_lossy();
    let folder = inside.parent().unwrap_or(Path::new(""));
    if let Some(model) = decoded.iter().find(|model| model.folder == folder) {
        if model.sidecars.iter().any(|sidecar| *sidecar == name) {
            return FileAction::LeaveBehind("describes only the quantization");
        }
        if model.is_index(&name) {
            return FileAction::Replace;
        }
        if is_set_of_weights(&name) {
            let reason = "is another copy of the weights that does not match the new config";
            return FileAction::LeaveBehind(reason);
        }
    }
    if holds_weights(&name) { FileAction::CopyWeights } else { FileAction::Copy }
}

/// Whether a file beside decoded weights has a name that libraries give to all weights of a model,
/// or says which files hold them. The weights of an adapter are its own.
fn is_set_of_weights(name: &str) -> bool {
    let is_other = |(start, end): &(&str, &str)| name.starts_with(start) && name.ends_with(end);
    containers::is_index(name)
        || OTHER_FORMS.iter().any(is_other)
        || known(name).is_some_and(|is_known| is_known && !name.starts_with("adapter"))
}

/// Whether a file holds weights, by its name.
fn holds_weights(name: &str) -> bool {
    OTHER_WEIGHTS.iter().any(|end| name.ends_with(end)) || known(name).is_some()
}

/// Whether a file of weights has one of the names that come first; `None` for another file.
fn known(name: &str) -> Option<bool> {
    let (stem, extension) = name.rsplit_once('.')?;
    let (container, extension) = containers::by_extension(extension)?;
    let is_known = container.conventions().knows_beginning(stem);
    let is_weights = extension.listed && !containers::is_not_weights(name);
    (is_weights && (is_known || !extension.shared)).then_some(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(folder: &str, files: &[&str]) -> Decoded {
        let files = files.iter().map(|file| Path::new(folder).join(file)).collect();
        Decoded { folder: folder.into(), files, sidecars: vec!["quantize_config.json"] }
    }

    #[test]
    fn everything_that_is_not_replaced_is_copied_or_said() {
        let shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
        let all = [decoded("", &shards), decoded("unet", &["diffusion_pytorch_model.safetensors"])];
        let action = |name: &str| action(Path::new(name), &all);
        for name in [shards[0], shards[1], "model.safetensors.index.json"] {
            assert_eq!(action(name), FileAction::Replace, "{name}");
        }
        assert_eq!(action("unet/diffusion_pytorch_model.safetensors"), FileAction::Replace);
        for name in [
            "pytorch_model.bin",
            "pytorch_model.bin.index.json",
            "model.safetensors.index.fp16.json",
            "consolidated.safetensors",
            "tf_model.h5",
            "flax_model.msgpack",
            "quantize_config.json",
            "unet/diffusion_pytorch_model.fp16.safetensors",
        ] {
            assert!(matches!(action(name), FileAction::LeaveBehind(_)), "{name}");
        }
        for name in [
            "2_Dense/model.safetensors",
            "speech_tokenizer/model.safetensors",
            "onnx/model.onnx",
            "model_q4.onnx",
            "x.gguf",
            "adapter_model.safetensors",
            "mm_projector.safetensors",
            "vae/diffusion_pytorch_model.safetensors",
        ] {
            assert_eq!(action(name), FileAction::CopyWeights, "{name}");
        }
        for name in [
            "tokenizer.json",
            "README.md",
            "training_args.bin",
            "vocab.bin",
            "more/quantize_config.json",
            "modeling_x.py",
        ] {
            assert_eq!(action(name), FileAction::Copy, "{name}");
        }
    }
}
