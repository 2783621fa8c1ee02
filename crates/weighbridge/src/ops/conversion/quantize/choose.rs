//! What a quantizer decides about a model.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use super::for_size::{Choice, Ladders};
use crate::blocks::Tiling;
use crate::catalog::Value;
use crate::containers::writing::MetadataValue;
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Remedy, Result};
use crate::families::takes_as_saved;
use crate::model::{ImportanceMatrix, Model, Weight};
use crate::ops::conversion::Task;
use crate::ops::conversion::quantize_options::{Goal, QuantizeOptions};
use crate::ops::conversion::translate::Translated;
use crate::ops::inspect::bits_per_weight;
use crate::pipeline::{announce_weight_now, steps_of};
use crate::schemes::{
    Candidate, Chosen, Configs, Encoder, Largest, LoaderFault, Quantizer, Request, SCHEMES,
    StoredModel, TypeAssignment,
};
use crate::stop::lock;
use crate::warning::Warning;

/// Fewer bits a weight than this are few: encoding such numbers again costs quality.
const FEW_BITS: f64 = 7.9;

/// Numbers that are looked at together for the largest of them.
const STEP: u64 = 1 << 18;

/// A model that is quantized: what is known before a size decides about types.
pub(in crate::ops::conversion) struct Quantizing<'a> {
    quantizer: &'static dyn Quantizer,
    pub(in crate::ops::conversion) how: &'a QuantizeOptions,
    /// The model as it will be written, and the one that it was made of.
    translated: &'a Translated,
    original: &'a Model,
    /// The weights that are decided about.
    pub(in crate::ops::conversion) weights: Vec<Weight>,
    /// Their names in the output.
    names: Vec<String>,
    matrix: Option<ImportanceMatrix>,
    /// What is chosen where no size decides.
    chosen: Chosen,
    /// What the types of weights cost, if a size decides.
    ladders: Option<Ladders>,
}

/// A quantizer, and what users ask of it.
type How<'a> = (&'static dyn Quantizer, &'a QuantizeOptions);

impl<'a> Quantizing<'a> {
    /// Asks a quantizer what becomes of a model.
    pub(in crate::ops::conversion) fn new(
        translated: &'a Translated,
        original: &'a Model,
        task: &Task<'_>,
        how: How<'a>,
    ) -> Result<Self> {
        let found = Self::chosen(translated, original, task, how).and_then(|mut found| {
            if how.1.goal.is_some() {
                found.ladders = Some(found.measure(task.options.work.workers())?);
            }
            Ok(found)
        });
        found.map_err(|error| error.in_file(original.path()))
    }

    /// Decides whether codes are moved or decoded: a model is decoded as a whole if the quantizer
    /// encodes anything whose codes could be moved.
    pub(in crate::ops::conversion) fn settle_codes(
        translated: Translated,
        original: &Model,
        task: &Task<'_>,
        how: How<'_>,
    ) -> Result<Translated> {
        if translated.repacked.is_empty() {
            return Ok(translated);
        }
        let failed = |error: Error| error.in_file(original.path());
        let found = Quantizing::chosen(&translated, original, task, how).map_err(failed)?;
        let fates = found.weights.iter().zip(&found.chosen.fates);
        let encodes = |(weight, fate): (&Weight, &TypeAssignment)| {
            matches!(fate, TypeAssignment::Encode(_))
                && translated.repacked.contains_key(weight.name())
        };
        if !fates.into_iter().any(encodes) {
            return Ok(translated);
        }
        found.check_requantizing(&found.chosen.fates).map_err(failed)?;
        translated.with_decoded_codes(original).map_err(failed)
    }

    fn chosen(
        translated: &'a Translated,
        original: &'a Model,
        task: &Task<'_>,
        (quantizer, how): How<'a>,
    ) -> Result<Self> {
        let wanted = |weight: &Weight| task.options.select.wants(weight.name());
        let weights: Vec<Weight> = translated.model.weights().filter(wanted).collect();
        let names = weights.iter().map(|weight| task.options.renamed(weight.name())).collect();
        let matrix = how.importance.as_ref().map(ImportanceMatrix::open).transpose()?;
        let (chosen, ladders) = (Chosen::default(), None);
        let mut found =
            Self { quantizer, how, translated, original, weights, names, matrix, chosen, ladders };
        found.chosen = found.ask(|request| quantizer.choose(request))?;
        if found.chosen.fates.len() != found.weights.len() {
            return Err(Error::usage("the quantizer did not assign a type to every weight"));
        }
        Ok(found)
    }

    /// What becomes of each weight, in a size if there is one to aim at.
    pub(in crate::ops::conversion) fn choose(&self, aim: Option<Goal>) -> Result<Chosen> {
        self.chosen_for(aim).map_err(|error| error.in_file(self.original.path()))
    }

    fn chosen_for(&self, aim: Option<Goal>) -> Result<Chosen> {
        let mut chosen = self.chosen.clone();
        if let (Some(ladders), Some(aim)) = (&self.ladders, aim) {
            let (encoders, note) = ladders.fit(aim)?;
            chosen.notes = self.notes_on(&encoders)?;
            for (at, encoder) in encoders {
                chosen.fates[at] = TypeAssignment::Encode(encoder);
            }
            let described = self.ask(|request| self.quantizer.described(&chosen.fates, request));
            for (key, value) in described {
                chosen.metadata.retain(|(known, _)| *known != key);
                chosen.metadata.push((key, value));
            }
            chosen.notes.push(note);
        }
        chosen.notes.extend(self.ignored_types());
        chosen.warnings = self.loader_warnings(&chosen.fates);
        let note = self.check_requantizing(&chosen.fates)?;
        chosen.metadata.extend(self.matrix.iter().flat_map(ImportanceMatrix::entries));
        chosen.notes.extend(note);
        Ok(chosen)
    }

    /// Warnings about loaders that fail with the weights that are encoded.
    fn loader_warnings(&self, fates: &[TypeAssignment]) -> Vec<Warning> {
        let (faults, name) = (self.quantizer.loader_faults(), self.quantizer.name());
        self.ask(|request| {
            let encoded = request.weights.iter().zip(fates);
            let encoded = encoded.filter(|(_, fate)| matches!(fate, TypeAssignment::Encode(_)));
            let model = StoredModel { encoded: encoded.map(|(weight, _)| weight).collect() };
            LoaderFault::warnings(faults, "type", name, &model)
        })
    }

    /// A note if users set the types of single weights, and the quantizer has only one.
    fn ignored_types(&self) -> Option<String> {
        let QuantizeOptions { wishes, types, .. } = self.how;
        let is_set =
            !types.is_empty() || wishes.output_type.is_some() || wishes.embedding_type.is_some();
        let name = self.quantizer.name();
        (is_set && !self.quantizer.takes_types())
            .then(|| format!("types set for single weights are ignored: {name} has only one type"))
    }

    /// What users should know if these weights, by their places, have these types: what the
    /// quantizer says if users ask for them. Its first notes are about other types.
    fn notes_on(&self, encoders: &[(usize, Arc<dyn Encoder>)]) -> Result<Vec<String>> {
        let types: HashMap<&str, &str> =
            encoders.iter().map(|(at, encoder)| (&*self.names[*at], encoder.name())).collect();
        let asked = |name: &str| types.get(name).map(|&of| of.to_owned());
        let asked = |name: &str| asked(name).or_else(|| self.asked(name));
        Ok(self.ask_with(&asked, |request| self.quantizer.choose(request))?.notes)
    }

    /// Puts a question about the model to the quantizer.
    fn ask<R>(&self, question: impl FnOnce(&Request<'_>) -> R) -> R {
        self.ask_with(&|name| self.asked(name), question)
    }

    /// Puts a question to the quantizer as if users asked for these types.
    fn ask_with<R>(
        &self,
        asked: &dyn Fn(&str) -> Option<String>,
        question: impl FnOnce(&Request<'_>) -> R,
    ) -> R {
        let (weights, how) = (&self.weights, self.how);
        let mut candidates = Vec::with_capacity(weights.len());
        for (weight, name) in weights.iter().zip(&self.names) {
            let (shape, dtype) = (weight.shape(), weight.native().unwrap_or(DType::F32));
            let packed = self.translated.repacked.get(weight.name());
            let block = match packed.map(|packed| &packed.tensors[0].stored) {
                Some(StoredType::Block(block)) => Some(block.name),
                _ => block_of(weight),
            };
            candidates.push(Candidate { name, shape, dtype, block });
        }
        question(&Request {
            weights: &candidates,
            metadata: &|key| entry(self.translated, key),
            configs: Configs::new(self.translated.model.configs(), SCHEMES),
            takes_as_saved: &takes_as_saved,
            wishes: &how.wishes,
            keeps: &|name| how.keep.iter().any(|matches| matches(name)),
            asked,
            importance: &|name| self.matrix.as_ref().and_then(|matrix| matrix.of(name)),
            largest: &|places| largest(places.iter().filter_map(|&at| weights.get(at)).cloned()),
        })
    }

    /// The type that users ask for, for one weight.
    fn asked(&self, name: &str) -> Option<String> {
        let asked = self.how.types.iter().find(|(matches, _)| matches(name));
        asked.map(|(_, asked)| asked.clone())
    }

    /// What types cost the weights that are encoded, unless users chose one for them.
    fn measure(&self, workers: usize) -> Result<Ladders> {
        let (mut choices, mut fixed) = (Vec::new(), 0u64);
        self.ask(|request| {
            for (at, (weight, fate)) in self.weights.iter().zip(&self.chosen.fates).enumerate() {
                let name = &*self.names[at];
                let is_free =
                    matches!(fate, TypeAssignment::Encode(_)) && self.asked(name).is_none();
                let encoders =
                    if is_free { self.quantizer.alternatives(request, at) } else { Vec::new() };
                if encoders.is_empty() {
                    fixed = fixed.saturating_add(bytes_of(fate, weight, name));
                } else {
                    choices.push(Choice { at, weight, name, encoders });
                }
            }
        });
        if choices.is_empty() {
            let name = self.quantizer.name();
            let message = format!("{name} cannot target a size: it stores all weights in one type");
            return Err(Error::usage(message));
        }
        let elements = self.weights.iter().map(Weight::elements).fold(0, u64::saturating_add);
        Ladders::new(choices, fixed, elements, workers)
    }

    /// An error if weights that are stored in few bits would be encoded again, and nobody said so;
    /// otherwise a note on them.
    fn check_requantizing(&self, fates: &[TypeAssignment]) -> Result<Option<String>> {
        let few = with_few_bits(self.original);
        let is_again = |(weight, fate): &(&Weight, &TypeAssignment)| {
            let kind = (weight.scheme(), weight.variant().to_owned());
            matches!(fate, TypeAssignment::Encode(_)) && few.contains(&kind)
        };
        let again: Vec<_> = self.weights.iter().zip(fates).filter(is_again).collect();
        let Some((first, _)) = again.first() else { return Ok(None) };
        let count = again.len();
        if self.how.allow_requantize {
            return Ok(Some(format!(
                "{count} weights stored in fewer than 8 bits are quantized again; the error below \
                 covers only the second quantization"
            )));
        }
        let message = format!(
            "{count} of {} weights are already stored in fewer than 8 bits (this one as {}); \
             quantizing them again lowers quality",
            self.weights.len(),
            first.variant()
        );
        let error = Error::usage(message).in_tensor(first.name()).in_file(first.model_path());
        Err(error.remedy(Remedy::AllowRequantize))
    }
}

/// About as many bytes as a weight takes in the output.
fn bytes_of(fate: &TypeAssignment, weight: &Weight, name: &str) -> u64 {
    let plain = |dtype: DType| dtype.bytes_for(weight.elements()).unwrap_or(0);
    match fate {
        TypeAssignment::Encode(encoder) => {
            let outputs = encoder.outputs(name, weight.shape()).unwrap_or_default();
            outputs.iter().map(|output| output.bytes).sum()
        }
        TypeAssignment::Cast(dtype) => plain(*dtype),
        TypeAssignment::Keep if block_of(weight).is_some() => weight.stored_bytes(),
        TypeAssignment::Keep => plain(weight.native().unwrap_or(DType::F32)),
    }
}

/// The block type that a weight is stored in, if it is one tensor of blocks.
pub(in crate::ops::conversion) fn block_of(weight: &Weight) -> Option<&'static str> {
    let mut parts = weight.parts();
    let (_, _, info) = parts.next().filter(|_| parts.next().is_none())?;
    let StoredType::Block(block) = &info.stored else { return None };
    // Some formats pad rows, or let blocks cross their ends.
    let is_by_rows = block.tiling(&info.shape, info.bytes) == Some(Tiling::Rows);
    is_by_rows.then_some(block.name)
}

/// An entry of the metadata that the output is going to have.
fn entry(of: &Translated, key: &str) -> Option<Value> {
    let (_, value) = of.metadata.entries.iter().find(|(known, _)| known == key)?;
    match value {
        MetadataValue::Value(value) => Some(value.clone()),
        MetadataValue::Raw(_) => {
            let mut all = of.model.metadata().into_iter();
            let (_, value, source) = all.find(|(known, ..)| *known == key)?;
            match value {
                Value::Array(array) => source.array(array).ok().map(Value::List),
                other => Some(other.clone()),
            }
        }
    }
}

/// Finds the largest magnitude of some weights, once.
fn largest(weights: impl Iterator<Item = Weight>) -> Largest {
    let weights: Vec<Weight> = weights.collect();
    let known = Mutex::new(None);
    Arc::new(move || {
        let mut known = lock(&known);
        if let Some(known) = *known {
            return Ok(known);
        }
        let largest = weights.iter().try_fold(0f32, |most, one| Ok(most.max(largest_of(one)?)));
        largest.inspect(|most| *known = Some(*most))
    })
}

fn largest_of(weight: &Weight) -> Result<f32> {
    announce_weight_now(weight);
    let (rows, columns) = weight.rows_and_columns();
    let (mut most, mut values) = (0f32, Vec::new());
    let larger = |most, value: &f32| if value.abs() > most { value.abs() } else { most };
    for some in steps_of(0..rows, STEP / columns.max(1)) {
        let too_large = |_| Error::limit("a row exceeds this machine's address space");
        let count = usize::try_from((some.end - some.start) * columns).map_err(too_large)?;
        values.resize(count, 0f32);
        weight.decode_rows(some, &mut values)?;
        most = values.iter().fold(most, larger);
    }
    Ok(most)
}

/// The schemes and variants of a model whose weights have so few bits that encoding them again costs
/// quality.
fn with_few_bits(model: &Model) -> HashSet<(&'static str, String)> {
    let has_few = |weight: &Weight| {
        let bits = bits_per_weight(weight.stored_bytes(), weight.elements().max(1));
        !weight.is_plain() && bits.is_some_and(|bits| bits < FEW_BITS)
    };
    let kind = |weight: Weight| (weight.scheme(), weight.variant().to_owned());
    model.weights().filter(has_few).map(kind).collect()
}
