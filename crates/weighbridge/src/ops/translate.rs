//! A Hugging Face model as llama.cpp wants it: other names, changed values, metadata, a tokenizer.
//!
//! The result is a model like any other, made of the weights of the first, so that everything that
//! can be done with a model (converting, verifying, resuming) needs to know nothing about it.

use std::collections::HashMap;
use std::path::{Component, Path};
use std::sync::Arc;

use serde_json::Value as Json;

use super::Dropped;
use super::convert_options::ConvertOptions;
use super::refusals::refuse_problems;
use crate::catalog::Value;
use crate::config;
use crate::containers::writing::{Entries, Holds, WRITERS};
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::input::EntryKind;
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names::{self, Named, Side, keys};
use crate::pipeline::{Cast, OutputType, Target, set_entry};
use crate::text::escaped;
use crate::tokenizer;

/// Whether names, values and metadata are translated on the way into another format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Names {
    /// They stay as they are.
    #[default]
    Keep,
    /// The model becomes a GGUF file that llama.cpp runs.
    Gguf,
}

/// A model as llama.cpp wants it.
pub(super) struct Translated {
    /// Its weights, under their new names.
    pub(super) model: Model,
    /// Their types.
    pub(super) casts: Vec<Cast>,
    /// The metadata of the file.
    pub(super) metadata: Entries,
    /// Weights that the file does not have.
    pub(super) left_out: Vec<Dropped>,
}

/// The largest file beside the weights that is read into memory.
const LARGEST: u64 = 256 << 20;

/// Translates a model, if the options ask for it.
pub(super) fn translated(
    model: &Model,
    options: &ConvertOptions,
    target: &Target,
) -> Result<Option<Translated>> {
    if options.names == Names::Keep {
        return Ok(None);
    }
    check_options(model, options, target)?;
    // Problems are known by the names that the model itself has.
    refuse_problems(model, &options.select, false)?;
    to_gguf(model, options).map(Some).map_err(|error| error.in_file(model.path()))
}

fn check_options(model: &Model, options: &ConvertOptions, target: &Target) -> Result<()> {
    let refused = |message: &str| Err(Error::usage(message).in_file(model.path()));
    // The one format with a place for what is translated.
    if target.writer.holds() != Holds::Values {
        let able = WRITERS.iter().filter(|writer| writer.holds() == Holds::Values);
        let names: Vec<&str> = able.map(|writer| writer.format()).collect();
        return refused(&format!("names are translated into {} only", names.join(", ")));
    }
    if model.format() == target.writer.format() {
        return refused("its names are those of that format already");
    }
    let some_only = !options.select.is_all() || options.skip_unreadable;
    if some_only || !options.casts.is_empty() || !options.renames.is_empty() {
        return refused(
            "all weights are translated, or none: they cannot be chosen, cast or renamed",
        );
    }
    if options.dtype == OutputType::Keep {
        return refused("what is translated cannot be kept as it is stored");
    }
    Ok(())
}

fn to_gguf(model: &Model, options: &ConvertOptions) -> Result<Translated> {
    let config = config::find(model.configs(), config::HUGGING_FACE).ok_or_else(|| {
        let message = "no config.json lies beside the weights, so nobody knows what model it is";
        Error::unsupported(message).remedy(Remedy::KeepNames)
    })?;
    if keys::architecture(config).is_none() {
        let family = config["model_type"].as_str().unwrap_or("no stated family");
        let message = format!("models of the family `{}` are not translated", escaped(family));
        return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
    }
    let weights: Vec<Weight> = model.weights().collect();
    let tokenizer = tokenizer_entries(model, config, options.pre.as_deref())?;
    let tokens = tokenizer.iter().find_map(|(key, value)| match value {
        Value::List(tokens) if key == tokenizer::TOKENS => Some(tokens.len() as u64),
        _ => None,
    });
    let side = Side {
        weights: weights.iter().map(|w| Named { name: w.name(), shape: w.shape() }).collect(),
        configs: model.configs(),
        metadata: Vec::new(),
    };
    let translation = names::to_gguf(&side, &order(&weights), tokens)?;
    let mut derived: Vec<Derived> = computed(config);
    for tensor in translation.tensors {
        let pieces = tensor.pieces.into_iter();
        let pieces = pieces.map(|(index, view)| (weights[index].clone(), view)).collect();
        let from = MadeOf::Weights(pieces);
        derived.push(Derived { name: tensor.name, shape: tensor.shape, from });
    }
    check_rows(&derived, tokens)?;
    let types = types(&derived, options.dtype);
    let file_type = file_type(&derived, &types);
    let metadata = metadata(model, config, &derived, file_type, tokenizer)?;
    check_layers(&derived, &metadata)?;
    check_classes(&derived, &metadata)?;
    let left_out = translation
        .left_out
        .into_iter()
        .map(|(index, reason)| Dropped { name: weights[index].name().to_owned(), reason });
    let left_out = left_out.collect();
    Ok(Translated { model: model.derived(derived)?, casts: casts(types), metadata, left_out })
}

/// An error unless the embedding has a row for every token.
fn check_rows(derived: &[Derived], tokens: Option<u64>) -> Result<()> {
    let embedding = derived.iter().find(|tensor| tensor.name == "token_embd.weight");
    let rows = embedding.and_then(|tensor| tensor.shape.first().copied());
    match (tokens, rows) {
        (Some(tokens), Some(rows)) if tokens > rows => {
            let message = format!("the tokenizer has {tokens} tokens, the embedding {rows} rows");
            Err(Error::malformed(message))
        }
        (_, None) => Err(Error::malformed("there is no embedding of tokens: is a file missing?")),
        _ => Ok(()),
    }
}

/// An error unless there are weights for as many layers as the metadata states.
fn check_layers(derived: &[Derived], metadata: &Entries) -> Result<()> {
    let stated = metadata.iter().find(|(key, _)| key.ends_with(".block_count"));
    let Some(stated) = stated.and_then(|(_, value)| value.value()?.as_u64()) else {
        return Ok(());
    };
    let layer =
        |tensor: &Derived| tensor.name.strip_prefix("blk.")?.split('.').next()?.parse().ok();
    let found: std::collections::BTreeSet<u64> = derived.iter().filter_map(layer).collect();
    if let Some(missing) = (0..stated).find(|layer| !found.contains(layer)) {
        let message = format!(
            "the config states {stated} layers, but there are no weights of layer {missing}: is a \
             file missing?"
        );
        return Err(Error::malformed(message));
    }
    match found.last() {
        Some(last) if *last >= stated => Err(Error::malformed(format!(
            "the config states {stated} layers, but there are weights of layer {last}"
        ))),
        _ => Ok(()),
    }
}

/// An error unless a classifier has a row for each class that the metadata names.
fn check_classes(derived: &[Derived], metadata: &Entries) -> Result<()> {
    let classifier = derived.iter().find(|tensor| tensor.name == "cls.output.weight");
    let Some(&rows) = classifier.and_then(|tensor| tensor.shape.first()) else { return Ok(()) };
    let named = metadata.iter().find(|(key, _)| key.ends_with(".classifier.output_labels"));
    let classes = match named.and_then(|(_, value)| value.value()) {
        Some(Value::List(classes)) => classes.len() as u64,
        // Readers take a classifier without names for one of a single class.
        _ => 1,
    };
    match rows == classes {
        true => Ok(()),
        false => Err(Error::malformed(format!(
            "the config names {classes} classes, but the classifier has {rows} rows"
        ))),
    }
}

/// The order in which llama.cpp's converter meets weights: file by file, by name.
fn order(weights: &[Weight]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_cached_key(|&index| {
        let weight = &weights[index];
        let file = weight.parts().next().map(|(_, source, _)| source.input().name().to_owned());
        (file, weight.name().as_bytes().to_vec())
    });
    order
}

/// Tensors that follow from the config.
fn computed(config: &Json) -> Vec<Derived> {
    let tensors = keys::computed_tensors(config).into_iter();
    let derived = tensors.map(|(name, numbers)| Derived {
        name: name.to_owned(),
        shape: [numbers.len() as u64].into_iter().collect(),
        from: MadeOf::Numbers(numbers),
    });
    derived.collect()
}

/// The type of each tensor, by its name.
fn types(derived: &[Derived], asked: OutputType) -> HashMap<String, DType> {
    let of = |tensor: &Derived| match &tensor.from {
        _ if names::wants_single(&tensor.name, &tensor.shape) => DType::F32,
        MadeOf::Numbers(_) => DType::F32,
        MadeOf::Weights(pieces) => {
            let first = pieces.first().map(|(weight, _)| (weight.is_plain(), weight.native()));
            let (is_plain, native) = first.unwrap_or((true, None));
            match asked.of_stored(is_plain, native) {
                Some(dtype @ (DType::F16 | DType::BF16)) => dtype,
                _ => DType::F32,
            }
        }
    };
    derived.iter().map(|tensor| (tensor.name.clone(), of(tensor))).collect()
}

fn casts(types: HashMap<String, DType>) -> Vec<Cast> {
    let types = Arc::new(types);
    let cast = |dtype: DType| {
        let types = types.clone();
        Cast { matches: Arc::new(move |name| types.get(name) == Some(&dtype)), dtype }
    };
    [DType::F32, DType::BF16, DType::F16].into_iter().map(cast).collect()
}

/// llama.cpp's number for the type of the first matrix that need not be F32.
fn file_type(derived: &[Derived], types: &HashMap<String, DType>) -> u32 {
    let mut matrices = derived.iter().filter(|t| !names::wants_single(&t.name, &t.shape));
    match matrices.next().and_then(|tensor| types.get(&tensor.name)) {
        Some(DType::F16) => 1,
        Some(DType::BF16) => 32,
        _ => 0,
    }
}

fn metadata(
    model: &Model,
    config: &Json,
    derived: &[Derived],
    file_type: u32,
    tokenizer: Vec<(String, Value)>,
) -> Result<Entries> {
    let json = |name: &str| -> Result<Option<Json>> {
        file(model, name)?.map(|text| config::parse(&text).map_err(|e| e.inside(name))).transpose()
    };
    let pooling = match json("modules.json")?.as_ref().and_then(pooling_config) {
        Some(name) => Some(json(&name)?.ok_or_else(|| {
            Error::malformed(format!("modules.json names {}, which is not there", escaped(&name)))
        })?),
        None => None,
    };
    let (generation, card) = (json("generation_config.json")?, file(model, "README.md")?);
    let card = card.map(|text| String::from_utf8_lossy(&text).into_owned());
    let folder = home(model).file_name().unwrap_or_default().to_string_lossy();
    let shapes = derived.iter().map(|tensor| (&*tensor.name, &tensor.shape[..]));
    let about = keys::About {
        config,
        generation: generation.as_ref(),
        card: card.as_deref(),
        pooling: pooling.as_ref(),
        folder: &folder,
        parameters: keys::Parameters::of(shapes),
        file_type,
    };
    let mut entries = Entries::new();
    for (key, value) in keys::entries(&about)?.into_iter().chain(tokenizer) {
        set_entry(&mut entries, &key, value);
    }
    Ok(entries)
}

/// The file that says how vectors are pooled, if the list of a repository's steps has one for that.
fn pooling_config(modules: &Json) -> Option<String> {
    let is_pooling =
        |step: &&Json| step["type"].as_str().is_some_and(|kind| kind.ends_with("Pooling"));
    let folder = modules.as_array()?.iter().find(is_pooling)?["path"].as_str()?;
    // A folder beside the weights, and no other.
    let is_inside = Path::new(folder).components().all(|one| matches!(one, Component::Normal(_)));
    is_inside.then(|| format!("{folder}/config.json"))
}

fn tokenizer_entries(
    model: &Model,
    config: &Json,
    pre: Option<&str>,
) -> Result<Vec<(String, Value)>> {
    let repository = tokenizer::Repository {
        files: &|name| file(model, name),
        names: &|name| file_names(model, name),
        config,
        vocabulary: keys::vocabulary(config).ok_or_else(|| {
            Error::unsupported("config.json does not state vocab_size").remedy(Remedy::KeepNames)
        })?,
    };
    let kind = tokenizer_kind(config).ok_or_else(|| {
        let family = config["model_type"].as_str().unwrap_or_default();
        Error::unsupported(format!("tokenizers of the family `{family}` are not translated"))
            .remedy(Remedy::KeepNames)
    })?;
    tokenizer::entries(&repository, kind, pre)
}

/// How the tokenizer of a family is read.
fn tokenizer_kind(config: &Json) -> Option<tokenizer::Kind> {
    use tokenizer::Kind;
    let inner = config.get("text_config").and_then(|inner| inner["model_type"].as_str());
    Some(match inner.or(config["model_type"].as_str())? {
        "llama" | "mistral" | "mixtral" | "granite" | "smollm3" => Kind::LlamaLike,
        "qwen2" | "qwen2_moe" | "qwen3" | "qwen3_moe" => Kind::QwenLike,
        "gemma" => Kind::Gemma,
        "gemma2" => Kind::Gemma2,
        "gemma3" | "gemma3_text" => Kind::Gemma3,
        "phi3" => Kind::Phi3,
        "olmo2" | "cohere2" | "starcoder2" => Kind::BytePairs,
        "glm4" => Kind::Glm,
        "bert" => Kind::Bert,
        "roberta" => Kind::Roberta,
        "xlm-roberta" => Kind::XlmRoberta,
        "nomic_bert" => Kind::NomicBert,
        _ => return None,
    })
}

/// The folder that a model's files lie in.
fn home(model: &Model) -> &Path {
    match model.folder().kind(model.path()) {
        Ok(EntryKind::Folder) => model.path(),
        _ => model.path().parent().unwrap_or(Path::new("")),
    }
}

/// Names of the files in a folder beside the weights.
fn file_names(model: &Model, name: &str) -> Vec<String> {
    let entries = model.folder().list(&home(model).join(name)).unwrap_or_default().into_iter();
    let files = entries.filter(|entry| matches!(entry.kind, EntryKind::File(_)));
    files.filter_map(|entry| entry.name.into_string().ok()).collect()
}

/// A file beside the weights, if it is there.
fn file(model: &Model, name: &str) -> Result<Option<Vec<u8>>> {
    let (folder, path) = (model.folder(), &home(model).join(name));
    let Ok(EntryKind::File(bytes)) = folder.kind(path) else { return Ok(None) };
    if bytes > LARGEST {
        return Err(Error::limit(format!("{name} has {bytes} bytes, more than {LARGEST}")));
    }
    let failed = |e| Error::io(e, &format!("cannot read {name}"));
    let input = folder.open(path).map_err(failed)?;
    let mut text = vec![0; usize::try_from(bytes).unwrap_or(0)];
    input.read_at(0, &mut text).map_err(failed)?;
    Ok(Some(text))
}
