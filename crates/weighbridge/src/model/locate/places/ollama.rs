//! Models of the local Ollama store.
//!
//! ```text
//! manifests/<host>/<namespace>/<name>/<tag>     JSON: {"config": LAYER, "layers": [LAYER, ..]}
//! blobs/sha256-<64 hex digits>                  the bytes of a layer
//!
//! LAYER = {"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:..", "size": 1234,
//!          "name": "text_encoder/model.norm.weight"}
//! ```
//!
//! `image.model` is a GGUF file (`projector`, `adapter` and `draft` are more of them, for the same
//! model). `image.tensor` is a safetensors file with one tensor and its scales; there is one for
//! each tensor of the model, and `image.json` layers are its configs. A tensor's layer name may
//! begin with `component/`, in which case each component is a model.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::catalog::Finding;
use crate::error::{Error, Result};
use crate::model::locate::resolvers::Typed;
use crate::model::locate::search::Search;
use crate::model::locate::{Located, configs, keep_a_model, shown, some_of};
use crate::near::closest;
use crate::text::escaped;

const MEDIA: &str = "application/vnd.ollama.image.";

/// Where Ollama's Linux service keeps its models, out of sight of the user's own store.
const PULL_AGAIN: &str = "`ollama pull` the model again";
const SERVICE_STORE: &str = "/usr/share/ollama/.ollama/models";

#[derive(serde::Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    digest: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    name: String,
}

impl Layer {
    /// `model` of `application/vnd.ollama.image.model; type=..`.
    fn kind(&self) -> &str {
        let kind = self.media_type.strip_prefix(MEDIA).unwrap_or_default();
        kind.split(';').next().unwrap_or_default().trim()
    }

    /// The component a tensor or config belongs to, and its name there.
    fn component(&self) -> (&str, &str) {
        self.name.split_once('/').unwrap_or(("", &self.name))
    }
}

/// The models of a name of the local store.
pub(super) fn locate(name: &str, typed: &Typed<'_>, search: &Search<'_>) -> Result<Vec<Located>> {
    let (typed, stores) = (typed.path, typed.stores());
    let Some(store) = &stores.ollama else {
        let error = Error::usage("no Ollama store found").in_file(typed);
        return Err(error.hint("set OLLAMA_MODELS to the directory with `manifests` and `blobs`"));
    };
    let Some(parts) = parse(name) else {
        let error = Error::usage("not a valid Ollama name").in_file(typed);
        return Err(error.hint("write ollama:name, ollama:name:tag or ollama:namespace/name:tag"));
    };
    let path = parts.iter().fold(store.join("manifests"), |path, part| path.join(part));
    if !search.is_file(&path) {
        return Err(unknown(typed, store, &path, search));
    }
    let text = search.read(&path, 64 << 20)?;
    search.budget.charge((text.len() as u64).saturating_mul(4), "a manifest")?;
    let manifest: Manifest = serde_json::from_slice(&text).map_err(|error| {
        let message = format!("the manifest is not valid ({error})");
        Error::malformed(message).in_file(&path).hint(PULL_AGAIN)
    })?;
    let layers = Layers { typed, search, blobs: store.join("blobs"), all: &manifest.layers };
    layers.models().map_err(|e| e.in_file(typed))
}

/// Host, namespace, model and tag, each as a folder or file name.
fn parse(name: &str) -> Option<[String; 4]> {
    let (path, tag) = match name.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => (path, tag),
        _ => (name, "latest"),
    };
    let parts: Vec<&str> = path.split('/').collect();
    let (host, namespace, model) = match parts[..] {
        [model] => ("registry.ollama.ai", "library", model),
        [namespace, model] => ("registry.ollama.ai", namespace, model),
        [host, namespace, model] => (host, namespace, model),
        _ => return None,
    };
    let parts = [host, namespace, model, tag];
    // Only a host may have a port.
    let ports = [namespace, model, tag].iter().any(|part| part.contains(':'));
    (!ports && parts.iter().all(|part| is_part(part))).then(|| parts.map(str::to_owned))
}

/// Begins with a letter, digit or underscore, so that it cannot climb out of the store.
fn is_part(part: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    part.starts_with(word)
        && part.chars().all(|c| word(c) || matches!(c, '-' | '.' | ':'))
        && part.len() <= 350
}

/// A manifest's layers and where their bytes are.
struct Layers<'a> {
    typed: &'a Path,
    search: &'a Search<'a>,
    blobs: PathBuf,
    all: &'a [Layer],
}

impl Layers<'_> {
    fn models(&self) -> Result<Vec<Located>> {
        let mut models = Vec::new();
        for layer in self.all {
            let companion = match layer.kind() {
                "model" => None,
                "projector" => Some("a multimodal projector"),
                "adapter" => Some("an adapter"),
                "draft" => Some("a draft model"),
                _ => continue,
            };
            models.push(self.whole_file(layer, companion)?);
        }
        for component in self.components() {
            models.push(self.tensors(component)?);
        }
        keep_a_model(&mut models);
        if models.is_empty() {
            let kinds: Vec<&str> = self.all.iter().map(|layer| &*layer.media_type).collect();
            let message = format!("its manifest lists no weights, only {}", some_of(&kinds, 6));
            return Err(Error::usage(message)
                .hint("cloud models have no local weights; pull a local model"));
        }
        Ok(models)
    }

    /// The components that have tensors, in the order of the manifest.
    fn components(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let tensors = self.all.iter().filter(|layer| layer.kind() == "tensor");
        let components = tensors.map(|layer| layer.component().0);
        components.filter(|component| seen.insert(*component)).collect()
    }

    /// A layer that is a model by itself. The model proper keeps the name that was typed.
    fn whole_file(&self, layer: &Layer, companion: Option<&'static str>) -> Result<Located> {
        let several = self.all.iter().filter(|layer| layer.kind() == "model").count() > 1;
        let place =
            if companion.is_some() || several { self.blob(layer)? } else { self.typed.to_owned() };
        let mut model = Located::new(place, self.search);
        model.companion = companion;
        match self.add(layer, &mut model)? {
            Some(problem) => Err(Error::usage(problem).hint(PULL_AGAIN)),
            None => Ok(model),
        }
    }

    /// A model of one blob for each tensor.
    fn tensors(&self, component: &str) -> Result<Located> {
        let place = match component {
            "" => self.typed.to_owned(),
            _ => self.typed.join(component),
        };
        let mut model = Located::new(place, self.search);
        if component == "draft" {
            model.companion = Some("a draft model");
        }
        for layer in self.all.iter().filter(|layer| layer.component().0 == component) {
            match layer.kind() {
                "tensor" => {
                    if let Some(problem) = self.add(layer, &mut model)? {
                        let message = format!("{problem}; {PULL_AGAIN}");
                        model.findings.push(Finding::of(&layer.name, "missing-shard", message));
                    }
                }
                "json" => {
                    let (blob, name) = (self.blob(layer)?, layer.component().1);
                    configs::read(&blob, name, &mut model, self.search)?;
                }
                _ => {}
            }
        }
        if model.files.is_empty() {
            let message = "the store has none of the tensors in its manifest";
            return Err(Error::usage(message).hint(PULL_AGAIN));
        }
        model.files.sort();
        model.files.dedup();
        Ok(model)
    }

    /// Gives a model the blob of a layer; what is wrong if it is not there.
    fn add(&self, layer: &Layer, model: &mut Located) -> Result<Option<String>> {
        let blob = self.blob(layer)?;
        let problem = absence(&blob, self.search);
        if problem.is_none() {
            model.findings.extend(size_mismatch(layer, &blob, self.search));
            model.files.push(blob);
        }
        Ok(problem)
    }

    /// Where a layer's bytes are. Only a digest names a file: anything else could lead anywhere.
    fn blob(&self, layer: &Layer) -> Result<PathBuf> {
        let hex = layer.digest.strip_prefix("sha256:").or(layer.digest.strip_prefix("sha256-"));
        let valid = |hex: &&str| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        match hex.filter(valid) {
            Some(hex) => Ok(self.blobs.join(format!("sha256-{hex}"))),
            None => {
                let digest = crate::text::shortened(&layer.digest, 80);
                Err(Error::malformed(format!(
                    "its manifest names the layer `{digest}`, which is not a SHA-256 digest"
                )))
            }
        }
    }
}

fn absence(blob: &Path, search: &Search<'_>) -> Option<String> {
    if search.is_file(blob) {
        return None;
    }
    let partial = blob.with_extension("").to_string_lossy().into_owned() + "-partial";
    let state = if search.is_there(Path::new(&partial)) {
        "is only partly downloaded"
    } else {
        "is missing"
    };
    Some(format!("the blob {} {state}", shown(blob)))
}

fn size_mismatch(layer: &Layer, blob: &Path, search: &Search<'_>) -> Option<Finding> {
    let size = search.file_len(blob)?;
    (layer.size != 0 && layer.size != size).then(|| {
        let message = format!(
            "the blob {} has {size} bytes, but the manifest says {}; {PULL_AGAIN}",
            shown(blob),
            layer.size
        );
        Finding::general("size-mismatch", message)
    })
}

/// The store does not have the name: says what it has.
fn unknown(typed: &Path, store: &Path, manifest: &Path, search: &Search<'_>) -> Error {
    let names_in = |folder: &Path| search.names_in(folder);
    let message = format!(
        "the Ollama store {} has no such model (looked for {})",
        shown(store),
        shown(manifest)
    );
    let error = Error::usage(message).in_file(typed);
    let tags: Vec<String> = manifest.parent().map(names_in).unwrap_or_default();
    if !tags.is_empty() {
        return error.hint(format!("available tags: {}", some_of(&tags, 8)));
    }
    let wanted = manifest.parent().and_then(Path::file_name).unwrap_or_default();
    let models = manifest.ancestors().nth(2).map(names_in).unwrap_or_default();
    let close = closest(&wanted.to_string_lossy(), models.iter().map(String::as_str));
    if !close.is_empty() {
        return error.hint(format!("did you mean {}?", close.join(" or ")));
    }
    if store != Path::new(SERVICE_STORE) && search.is_folder(Path::new(SERVICE_STORE)) {
        return error.hint(format!(
            "for the store of the Ollama service, set OLLAMA_MODELS={SERVICE_STORE}"
        ));
    }
    if models.is_empty() {
        return error.hint("run `ollama list`, or set OLLAMA_MODELS to another store");
    }
    error.hint(format!("available models: {}", escaped(&some_of(&models, 8))))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn names_fill_in_what_is_left_out() {
        let full = |name| parse(name).map(|parts| parts.join("/"));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(full("llama3.2"), some("registry.ollama.ai/library/llama3.2/latest"));
        assert_eq!(full("llama3.2:1b"), some("registry.ollama.ai/library/llama3.2/1b"));
        assert_eq!(full("me/mine:q4"), some("registry.ollama.ai/me/mine/q4"));
        assert_eq!(full("hf.co/org/name:Q4_K_M"), some("hf.co/org/name/Q4_K_M"));
        assert_eq!(full("host:5000/ns/name"), some("host:5000/ns/name/latest"));
        for bad in ["", ":", "../x", "a/../b", "a/b/c/d", "a b", "/etc", "x:../y"] {
            assert_eq!(full(bad), None, "{bad}");
        }
    }
}
