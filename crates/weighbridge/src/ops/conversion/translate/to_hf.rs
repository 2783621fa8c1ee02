//! A GGUF model as a repository that Hugging Face's libraries load.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use super::Translated;
use super::base::Base;
use super::siblings::config_name;
use super::to_gguf::left_out;
use crate::catalog::Value;
use crate::config::HUGGING_FACE;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::{Derived, MadeOf, Model, Weight};
use crate::names::keys::back::{self, Told};
use crate::names::{self, Named, Side};
use crate::ops::conversion::Task;
use crate::pipeline::{ExtraFile, OutputType};
use crate::source::Source;
use crate::text::escaped;
use crate::tokenizer;

/// Tensors of rotary factors are small: one number for two of a head's.
const MOST_FACTORS: u64 = 1 << 15;

/// Lists with a value for each layer are not longer.
const MOST_LAYERS: u64 = 1 << 12;

const GENERATION: &str = "generation_config.json";

/// Translates a GGUF model.
pub(super) fn to_hf(model: &Model, task: &Task<'_>) -> Result<Translated> {
    let (options, asked) = (task.options, task.values.dtype());
    let weights: Vec<Weight> = model.weights().collect();
    let metadata = Metadata::of(model)?;
    let named = || weights.iter().map(|w| Named { name: w.name(), shape: w.shape() });
    let side = Side { weights: named().collect(), configs: &[], metadata: metadata.listed() };
    let numbers = |name: &str| factors(&weights, name);
    let told = Told {
        metadata: &|key| metadata.value(key),
        keys: metadata.values.keys().copied().collect(),
        tensors: weights.iter().map(|weight| (weight.name(), weight.shape())).collect(),
        numbers: &numbers,
    };
    back::refuse_unknown(&told)?;
    let translation = names::to_hf(&side)?;
    let common = common_type(&weights, asked);
    let pre = options.pre.as_deref();
    let Made { files, not_carried, notes } = match &options.base {
        Some(path) => Made { files: Base::at(path).files(&told, common, pre)?, ..Made::default() },
        None => own_files(&told, common, pre)?,
    };
    metadata.refuse_failed()?;
    let mut types = HashMap::new();
    let mut derived = Vec::new();
    for tensor in translation.tensors {
        let pieces = tensor.pieces.into_iter();
        let pieces: Vec<_> = pieces.map(|(index, view)| (weights[index].clone(), view)).collect();
        let dtype = type_of(&tensor.name, &pieces[0].0, asked, common);
        types.insert(tensor.name.clone(), dtype);
        let from = match tensor.turns {
            1 => MadeOf::Weights(pieces),
            turns => MadeOf::InTurn(pieces, turns),
        };
        derived.push(Derived { name: tensor.name, shape: tensor.shape, from });
    }
    let left_out = left_out(translation.left_out, &weights);
    let model = model.derived(derived)?;
    Ok(Translated { types, left_out, files, not_carried, notes, ..Translated::new(model) })
}

/// The metadata of a model's files. Lists of layers are read; longer arrays, when they are asked for.
struct Metadata<'m> {
    values: BTreeMap<&'m str, (Cow<'m, Value>, &'m Source)>,
    failed: RefCell<Option<Error>>,
}

impl<'m> Metadata<'m> {
    fn of(model: &'m Model) -> Result<Self> {
        let all = model.metadata().into_iter();
        let read = |value: &'m Value, source: &'m Source| {
            Ok(match value {
                Value::Array(array) if array.len <= MOST_LAYERS => {
                    Cow::Owned(Value::List(source.array(array)?))
                }
                value => Cow::Borrowed(value),
            })
        };
        let values = all.map(|(key, value, source)| Ok((key, (read(value, source)?, source))));
        Ok(Self { values: values.collect::<Result<_>>()?, failed: RefCell::new(None) })
    }

    fn listed(&self) -> Vec<(&'m str, &Value)> {
        self.values.iter().map(|(key, (value, _))| (*key, &**value)).collect()
    }

    fn value(&self, key: &str) -> Option<Value> {
        let (value, source) = self.values.get(key)?;
        match &**value {
            Value::Array(array) => match source.array(array) {
                Ok(values) => Some(Value::List(values)),
                Err(error) => {
                    self.failed.borrow_mut().get_or_insert(error);
                    None
                }
            },
            other => Some(other.clone()),
        }
    }

    /// The error of an array that could not be read.
    fn refuse_failed(&self) -> Result<()> {
        self.failed.borrow_mut().take().map_or(Ok(()), Err)
    }
}

/// The numbers of a tensor of rotary factors, if it is there.
fn factors(weights: &[Weight], name: &str) -> Result<Option<Vec<f32>>> {
    let Some(weight) = weights.iter().find(|weight| weight.name() == name) else { return Ok(None) };
    if weight.elements() > MOST_FACTORS {
        return Err(Error::malformed("it has more values than an attention head").in_tensor(name));
    }
    weight.decode_to_vec::<f32>().map(Some)
}

/// The type that most of a repository's numbers have: under `Auto` the one 16-bit type of the
/// matrices, BF16 if they are quantized, and F32 only if all of them are.
fn common_type(weights: &[Weight], asked: OutputType) -> DType {
    match asked {
        OutputType::F32 => return DType::F32,
        OutputType::F16 => return DType::F16,
        OutputType::Bf16 => return DType::BF16,
        OutputType::Auto | OutputType::Native | OutputType::Keep => {}
    }
    let matrices = || weights.iter().filter(|weight| weight.shape().len() > 1);
    if matrices().any(|weight| !weight.is_plain()) {
        return DType::BF16;
    }
    let count = |dtype: DType| -> u64 {
        let of = matrices().filter(|weight| weight.native() == Some(dtype));
        of.map(Weight::elements).fold(0, u64::saturating_add)
    };
    match (count(DType::BF16), count(DType::F16)) {
        (0, 0) => DType::F32,
        (bf16, f16) if f16 > bf16 => DType::F16,
        _ => DType::BF16,
    }
}

fn type_of(name: &str, first: &Weight, asked: OutputType, common: DType) -> DType {
    let native = || asked.of_stored(first.is_plain(), first.native());
    match asked {
        _ if names::keeps_single(name) => DType::F32,
        OutputType::Native => match native() {
            Some(dtype @ (DType::F16 | DType::BF16)) => dtype,
            _ => DType::F32,
        },
        _ => common,
    }
}

/// The files beside the weights.
#[derive(Default)]
struct Made {
    files: Vec<ExtraFile>,
    /// What the model does not tell, with what is taken for it.
    not_carried: Vec<String>,
    notes: Vec<String>,
}

/// The files that follow from what the model itself says.
fn own_files(told: &Told<'_>, dtype: DType, pre: Option<&str>) -> Result<Made> {
    let described = back::describe(told, config_name(dtype))?;
    let mut files = vec![
        ExtraFile::made(HUGGING_FACE, text(&described.config)),
        ExtraFile::made(GENERATION, text(&back::generation(told))),
    ];
    let mut not_carried = described.not_carried;
    if let Some(pooling) = back::pooling(told)? {
        files.push(ExtraFile::made("modules.json", text(&back::steps())));
        files.push(ExtraFile::made("1_Pooling/config.json", text(&pooling)));
        not_carried.push("normalize: false".to_owned());
    }
    let unused = unused_note(&described.unused);
    let written = tokenizer::back::files(told.metadata, pre)?;
    files.extend(written.files.into_iter().map(|(name, bytes)| ExtraFile::made(name, bytes)));
    not_carried.extend(written.not_carried);
    let notes = unused.into_iter().chain(written.notes).collect();
    Ok(Made { files, not_carried, notes })
}

/// Names metadata that is dropped.
fn unused_note(keys: &[String]) -> Option<String> {
    const SHOWN: usize = 8;
    let shown: Vec<String> =
        keys.iter().take(SHOWN).map(|key| format!("`{}`", escaped(key))).collect();
    let more = match keys.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let dropped =
        format!("metadata without a config setting was dropped: {}{more}", shown.join(", "));
    (!keys.is_empty()).then_some(dropped)
}

/// A document as transformers writes it: by key, indented.
fn text(json: &Json) -> Vec<u8> {
    let sorted: Option<BTreeMap<_, _>> = json.as_object().map(|all| all.iter().collect());
    let text = sorted.map_or_else(
        || serde_json::to_vec_pretty(json),
        |sorted| serde_json::to_vec_pretty(&sorted),
    );
    let mut text = text.unwrap_or_default();
    text.push(b'\n');
    text
}
