//! A Hugging Face model as llama.cpp wants it.

use std::collections::HashMap;
use std::mem::take;
use std::path::{Component, Path};

use serde_json::Value as Json;

use super::Translated;
use super::next_layers::{self, NextLayers};
use super::siblings::{file, file_names, home};
use crate::catalog::Value;
use crate::config;
use crate::containers::writing::Entries;
use crate::dtype::DType;
use crate::error::{Error, Remedy, Result};
use crate::families::unsupported_family;
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names::{self, Named, Side, keys, keys::NextCount};
use crate::ops::Dropped;
use crate::ops::conversion::Task;
use crate::ops::conversion::repacked::{Packed, Repacked, repacked};
use crate::pipeline::{Kept, OutputType, set_entry};
use crate::text::escaped;
use crate::tokenizer;
use crate::warning::Warning;

/// What a file of a model is made of, before it is known which codes are moved.
pub(super) struct Draft {
    derived: Vec<Derived>,
    tokenizer: Vec<(String, Value)>,
    /// Files that tell more about the model.
    generation: Option<Json>,
    pooling: Option<Json>,
    card: Option<String>,
    /// Layers that predict further tokens, as metadata count them.
    next_layers: NextCount,
    /// Whether there are no other layers.
    is_next_only: bool,
    /// Settings that weights have as numbers.
    measured: Vec<(&'static str, Json)>,
}

/// Translates a model that is named as Hugging Face names it.
pub(super) fn to_gguf(model: &Model, task: &Task<'_>) -> Result<Translated> {
    let config = config::find(model.configs(), config::HUGGING_FACE).ok_or_else(|| {
        let message = "cannot tell the model family: no config.json beside the weights";
        Error::unsupported(message).remedy(Remedy::KeepNames)
    })?;
    let architecture = keys::architecture(config).ok_or_else(|| unsupported_family(config))?;
    let weights: Vec<Weight> = model.weights().collect();
    let mut tokenizer = tokenizer_entries(model, config, task.options.pre.as_deref())?;
    let tokens = tokenizer.iter().find(|(key, _)| key == tokenizer::TOKENS);
    let tokens = tokens.and_then(|(_, value)| value.list_len()).map(|count| count as u64);
    let side = Side {
        weights: weights.iter().map(|w| Named { name: w.name(), shape: w.shape() }).collect(),
        configs: model.configs(),
        metadata: Vec::new(),
    };
    let mut translation = names::to_gguf(&side, &order(&weights), tokens)?;
    let dropped = next_layers::select(&mut translation, &weights, task.options.next_layers)?;
    let mut derived: Vec<Derived> = computed(config);
    for mut tensor in translation.tensors {
        let pieces = tensor.pieces.into_iter();
        let pieces = pieces.map(|(index, view)| (weights[index].clone(), view)).collect();
        let rows = keys::padded_rows(config, &tensor.name).unwrap_or(0);
        let from = match tensor.shape.first_mut() {
            Some(own) if *own < rows => {
                *own = rows;
                MadeOf::Padded(pieces)
            }
            _ => MadeOf::Weights(pieces),
        };
        derived.push(Derived { name: tensor.name, shape: tensor.shape, from });
    }
    let rows = rows_of_tokens(&derived, tokens)?;
    tokenizer::fill_up(&mut tokenizer, rows);
    let asked = task.values.dtype();
    let writer = (asked == OutputType::Auto).then_some(task.target.writer);
    let rename = |name: &str| task.options.renamed(name);
    let moved = match writer {
        Some(writer) => repacked(model, &derived, writer, architecture, &rename)?,
        None => Repacked::default(),
    };
    let note_on_codes = moved.note(architecture);
    let (counted, next_layers) = counted(&side, task.options.next_layers);
    let is_next_only = task.options.next_layers == NextLayers::Only;
    let measured = names::measured(&side, &|index| weights[index].decode_to_vec())?;
    let draft =
        Draft { next_layers, is_next_only, measured, ..Draft::new(model, derived, tokenizer)? };
    let translated = draft.finish(model, asked, moved.tensors)?;
    let mut left_out = left_out(translation.left_out, &weights);
    left_out.extend(dropped);
    let notes = keys::note_on_next_layers(config, counted).into_iter().collect();
    Ok(Translated { left_out, notes, note_on_codes, ..translated })
}

/// How many layers predict further tokens, by the weights, and as the metadata is to count them.
fn counted(side: &Side<'_>, asked: NextLayers) -> (Option<u64>, NextCount) {
    if asked == NextLayers::Drop {
        return (None, NextCount::Dropped);
    }
    let counted = names::next_layers(side);
    (counted, counted.map_or(NextCount::Stated, NextCount::Counted))
}

/// Weights that a translation leaves out.
pub(super) fn left_out(left_out: Vec<(usize, String)>, weights: &[Weight]) -> Vec<Dropped> {
    let name = |index: usize| weights[index].name().to_owned();
    left_out.into_iter().map(|(at, reason)| Dropped { name: name(at), reason }).collect()
}

impl Draft {
    /// Reads the files that tell more about the model.
    fn new(model: &Model, derived: Vec<Derived>, tokenizer: Vec<(String, Value)>) -> Result<Self> {
        let generation = json_file(model, "generation_config.json")?;
        let (pooling, card) = (pooling(model)?, card(model)?);
        Ok(Self {
            derived,
            tokenizer,
            generation,
            pooling,
            card,
            next_layers: NextCount::Stated,
            is_next_only: false,
            measured: Vec::new(),
        })
    }

    /// The model in the types that are asked for, with the codes that are moved.
    pub(super) fn finish(
        mut self,
        model: &Model,
        asked: OutputType,
        moved: Option<(Vec<Derived>, Packed)>,
    ) -> Result<Translated> {
        // Codes that are moved may have to be decoded after all.
        let (is_final, tokens) = (moved.is_none(), &mut self.tokenizer);
        let tokenizer = if is_final { take(tokens) } else { tokens.clone() };
        let (derived, repacked) = moved.unwrap_or_else(|| (take(&mut self.derived), Packed::new()));
        let config = config::find(model.configs(), config::HUGGING_FACE);
        let keeps = |name: &str| config.is_some_and(|config| keys::keeps_type(config, name));
        let types = types(&derived, asked, &keeps);
        let packed = derived.iter().find_map(|tensor| repacked.get(&tensor.name));
        let file_type = packed.and_then(|packed| packed.packer.file_type());
        let file_type = file_type.unwrap_or_else(|| self::file_type(&derived, &types));
        let (entries, warnings) = self.metadata(model, &derived, file_type, tokenizer)?;
        if !self.is_next_only {
            check_layers(&derived, &entries)?;
        }
        check_experts(&derived, &entries)?;
        check_classes(&derived, &entries)?;
        let metadata = Kept { entries, left_out: Vec::new() };
        let (draft, made) = ((!is_final).then_some(self), model.derived(derived)?);
        Ok(Translated { types, repacked, metadata, warnings, draft, ..Translated::new(made) })
    }

    fn metadata(
        &self,
        model: &Model,
        derived: &[Derived],
        file_type: u32,
        tokenizer: Vec<(String, Value)>,
    ) -> Result<(Entries, Vec<Warning>)> {
        let folder = home(model).file_name().unwrap_or_default().to_string_lossy();
        let shapes = derived.iter().map(|tensor| (&*tensor.name, &tensor.shape[..]));
        let about = keys::About {
            config: config::find(model.configs(), config::HUGGING_FACE).unwrap_or(&Json::Null),
            generation: self.generation.as_ref(),
            card: self.card.as_deref(),
            pooling: self.pooling.as_ref(),
            next_layers: self.next_layers,
            measured: &self.measured,
            folder: &folder,
            parameters: keys::Parameters::of(shapes),
            file_type,
        };
        let mut entries = Entries::new();
        for (key, value) in keys::entries(&about)?.into_iter().chain(tokenizer) {
            set_entry(&mut entries, &key, value);
        }
        let names: Vec<&str> = derived.iter().map(|tensor| &*tensor.name).collect();
        Ok((entries, keys::warnings(&about, &names)))
    }
}

/// A JSON document beside the weights, if it is there.
pub(super) fn json_file(model: &Model, name: &str) -> Result<Option<Json>> {
    let parsed = |text: Vec<u8>| config::parse(&text).map_err(|e| e.inside(name));
    file(model, name)?.map(parsed).transpose()
}

/// How vectors are pooled, if the repository says that.
pub(super) fn pooling(model: &Model) -> Result<Option<Json>> {
    let modules = json_file(model, "modules.json")?;
    let Some(name) = modules.as_ref().and_then(pooling_config) else { return Ok(None) };
    let pooling = json_file(model, &name)?.ok_or_else(|| {
        let name = escaped(&name);
        Error::malformed(format!("modules.json names {name}, which does not exist"))
    })?;
    Ok(Some(pooling))
}

/// The text of a model's card, if there is one.
pub(super) fn card(model: &Model) -> Result<Option<String>> {
    let card = file(model, "README.md")?;
    Ok(card.map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// How many rows the embedding has; an error unless there is one for every token.
fn rows_of_tokens(derived: &[Derived], tokens: Option<u64>) -> Result<u64> {
    let embedding = derived.iter().find(|tensor| tensor.name == "token_embd.weight");
    let rows = embedding.and_then(|tensor| tensor.shape.first().copied());
    let missing = || Error::malformed("the token embedding is missing; a shard may be missing");
    let rows = rows.ok_or_else(missing)?;
    match tokens {
        Some(tokens) if tokens > rows => {
            let message =
                format!("the tokenizer has {tokens} tokens, but the embedding has {rows} rows");
            Err(Error::malformed(message))
        }
        _ => Ok(rows),
    }
}

/// An error unless there are weights for as many layers as the metadata states.
fn check_layers(derived: &[Derived], metadata: &Entries) -> Result<()> {
    // An encoder with a decoder has two stacks of layers.
    let has_encoder = derived.iter().any(|tensor| tensor.name.starts_with("enc.blk."));
    let has_convolutions = derived.iter().any(|tensor| tensor.name.starts_with("convnext."));
    if has_convolutions {
        check_stack(derived, metadata, "posnet.", ".posnet.block_count")?;
        return check_stack(derived, metadata, "convnext.", ".convnext.block_count");
    }
    let first = if has_encoder { "enc.blk." } else { "blk." };
    check_stack(derived, metadata, first, ".block_count")?;
    check_stack(derived, metadata, "dec.blk.", ".decoder_block_count")
}

/// An error unless there are weights for as many layers as the metadata states under this key.
fn check_stack(derived: &[Derived], metadata: &Entries, start: &str, key: &str) -> Result<()> {
    let stated = metadata.iter().find(|(known, _)| known.ends_with(key));
    let Some(stated) = stated.and_then(|(_, value)| value.value()?.as_u64()) else {
        return Ok(());
    };
    let layer = |tensor: &Derived| tensor.name.strip_prefix(start)?.split('.').next()?.parse().ok();
    let found: std::collections::BTreeSet<u64> = derived.iter().filter_map(layer).collect();
    if let Some(missing) = (0..stated).find(|layer| !found.contains(layer)) {
        let message = format!(
            "the config states {stated} layers, but layer {missing} has no weights; a shard may be \
             missing"
        );
        return Err(Error::malformed(message));
    }
    match found.last() {
        Some(last) if *last >= stated => Err(Error::malformed(format!(
            "the config states {stated} layers, but layer {last} has weights"
        ))),
        _ => Ok(()),
    }
}

/// An error unless every layer with experts has as many as the metadata states.
fn check_experts(derived: &[Derived], metadata: &Entries) -> Result<()> {
    let stated = metadata.iter().find(|(key, _)| key.ends_with(".expert_count"));
    let stated = stated.and_then(|(_, value)| value.value()?.as_u64()).unwrap_or(0);
    // A norm before experts is no stack.
    let is_stack = |t: &&Derived| t.name.contains("_exps.") && !t.name.contains("norm");
    let count = |tensor: &Derived| tensor.shape.first().copied().unwrap_or(0);
    match derived.iter().filter(is_stack).find(|tensor| count(tensor) != stated) {
        None => Ok(()),
        Some(odd) => {
            let found = count(odd);
            let message = format!("the config states {stated} experts, but there are {found}");
            Err(Error::malformed(message).in_tensor(&odd.name))
        }
    }
}

/// An error unless a classifier has a row for each class that the metadata names.
fn check_classes(derived: &[Derived], metadata: &Entries) -> Result<()> {
    let classifier = derived.iter().find(|tensor| tensor.name == "cls.output.weight");
    let Some(&rows) = classifier.and_then(|tensor| tensor.shape.first()) else { return Ok(()) };
    let named = metadata.iter().find(|(key, _)| key.ends_with(".classifier.output_labels"));
    let names = named.and_then(|(_, value)| value.value()?.list_len());
    // Readers take a classifier without names for one of a single class.
    let classes = names.map_or(1, |count| count as u64);
    if rows == classes {
        Ok(())
    } else {
        Err(Error::malformed(format!(
            "the config names {classes} classes, but the classifier has {rows} rows"
        )))
    }
}

/// The order in which llama.cpp's converter meets weights: file by file, by name; those last that
/// are stored under other names.
pub(super) fn order(weights: &[Weight]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_cached_key(|&index| {
        let weight = &weights[index];
        let first = weight.parts().next();
        let is_renamed = first.is_some_and(|(_, _, info)| *info.name != *weight.name());
        let file = first.map(|(_, source, _)| source.input().name().to_owned());
        (is_renamed, file, weight.name().as_bytes().to_vec())
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

/// The type of each tensor, by its name. `keeps` says which have that of matrices all the same.
pub(super) fn types(
    derived: &[Derived],
    asked: OutputType,
    keeps: &dyn Fn(&str) -> bool,
) -> HashMap<String, DType> {
    let of = |tensor: &Derived| match &tensor.from {
        _ if !keeps(&tensor.name) && names::wants_single(&tensor.name, &tensor.shape) => DType::F32,
        MadeOf::Numbers(_) => DType::F32,
        MadeOf::Weights(pieces) | MadeOf::Padded(pieces) | MadeOf::InTurn(pieces, _) => {
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

/// llama.cpp's number for the type of the first matrix that need not be F32.
fn file_type(derived: &[Derived], types: &HashMap<String, DType>) -> u32 {
    let mut matrices = derived.iter().filter(|t| !names::wants_single(&t.name, &t.shape));
    match matrices.next().and_then(|tensor| types.get(&tensor.name)) {
        Some(DType::F16) => 1,
        Some(DType::BF16) => 32,
        _ => 0,
    }
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

pub(super) fn tokenizer_entries(
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
    let kind = keys::tokenizer(config).ok_or_else(|| {
        let family = config["model_type"].as_str().unwrap_or_default();
        Error::unsupported(format!("the tokenizer of model family `{family}` is not supported"))
            .remedy(Remedy::KeepNames)
    })?;
    tokenizer::entries(&repository, kind, pre)
}
