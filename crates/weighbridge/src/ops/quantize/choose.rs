//! What a quantizer decides about a model, brought into the form that a plan needs.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::QuantizeOptions;
use super::target::{Choice, Goal, fit};
use crate::blocks::Tiling;
use crate::catalog::Value;
use crate::containers::writing::{Entries, MetadataValue};
use crate::dtype::{DType, StoredType};
use crate::error::{Error, Remedy, Result};
use crate::model::{ImportanceMatrix, Model, Weight};
use crate::ops::convert_options::ConvertOptions;
use crate::ops::repacked::Packed;
use crate::pipeline::{Cast, announce_weight_now, set_last};
use crate::schemes::{
    Additions, Candidate, Chosen, Configs, Encoder, Fate, Largest, Quantizer, Request, SCHEMES,
};

/// Fewer bits a weight than this are few: encoding such numbers again costs quality.
const FEW_BITS: f64 = 7.9;

/// Numbers that are looked at together for the largest of them.
const STEP: u64 = 1 << 18;

/// What becomes of a model that is quantized.
pub(in crate::ops) struct Quantized {
    /// What becomes of each weight, by its name in the model.
    fates: HashMap<String, Fate>,
    /// The place of each weight in the output.
    ranks: HashMap<String, usize>,
    metadata: Vec<(String, Value)>,
    /// What a repository needs beside its weights.
    pub(in crate::ops) additions: Additions,
    /// What users should know.
    pub(in crate::ops) notes: Vec<String>,
}

impl Quantized {
    /// The encoder of a weight, if it has one.
    pub(in crate::ops) fn encoder(&self, weight: &Weight) -> Option<Arc<dyn Encoder>> {
        match self.fates.get(weight.name()) {
            Some(Fate::Encode(encoder)) => Some(encoder.clone()),
            _ => None,
        }
    }

    /// Whether the weight of that name is encoded.
    pub(in crate::ops) fn encodes(&self, name: &str) -> bool {
        matches!(self.fates.get(name), Some(Fate::Encode(_)))
    }

    /// Whether a weight stays as it is stored, and is stored in blocks.
    pub(in crate::ops) fn keeps(&self, weight: &Weight) -> bool {
        let is_kept = matches!(self.fates.get(weight.name()), Some(Fate::Keep));
        is_kept && block_of(weight).is_some()
    }

    /// The place of a weight in the output.
    pub(in crate::ops) fn rank(&self, weight: &Weight) -> usize {
        self.ranks.get(weight.name()).copied().unwrap_or(usize::MAX)
    }

    /// Types of weights that are stored as plain numbers.
    pub(in crate::ops) fn casts(&self) -> impl Iterator<Item = Cast> {
        [DType::F32, DType::BF16, DType::F16].into_iter().map(|dtype| {
            let is_cast = |fate: &Fate| matches!(fate, Fate::Cast(to) if *to == dtype);
            let names: HashSet<String> = self
                .fates
                .iter()
                .filter(|(_, fate)| is_cast(fate))
                .map(|(name, _)| name.clone())
                .collect();
            let matches = move |name: &str| names.contains(name);
            Cast { matches: Arc::new(matches), dtype }
        })
    }

    /// Puts its entries behind all others.
    pub(in crate::ops) fn describe(&self, entries: &mut Entries) {
        for (key, value) in &self.metadata {
            set_last(entries, key, value.clone());
        }
    }
}

/// A model that is to be quantized, as it will be written.
pub(in crate::ops) struct ToQuantize<'a> {
    pub(in crate::ops) model: &'a Model,
    /// The model that it was made of, where it is translated.
    pub(in crate::ops) original: &'a Model,
    /// The metadata of the output.
    pub(in crate::ops) metadata: &'a Entries,
    /// What is not decoded, by its name.
    pub(in crate::ops) repacked: Option<&'a Packed>,
}

/// Asks a quantizer what becomes of a model.
pub(in crate::ops) fn choose(
    quantizer: &dyn Quantizer,
    of: &ToQuantize<'_>,
    how: &QuantizeOptions,
    options: &ConvertOptions,
) -> Result<Quantized> {
    let wanted = |weight: &Weight| options.select.wants(weight.name());
    let weights: Vec<Weight> = of.model.weights().filter(wanted).collect();
    let names: Vec<String> = weights.iter().map(|weight| options.renamed(weight.name())).collect();
    let packed = |weight: &Weight| of.repacked.and_then(|all| all.get(weight.name()));
    let candidates: Vec<Candidate<'_>> = weights
        .iter()
        .zip(&names)
        .map(|(weight, name)| Candidate {
            name,
            shape: weight.shape(),
            dtype: weight.native().unwrap_or(DType::F32),
            block: match packed(weight).map(|packed| &packed.tensors[0].stored) {
                Some(StoredType::Block(block)) => Some(block.name),
                _ => block_of(weight),
            },
        })
        .collect();
    let matrix = how.importance.as_ref().map(ImportanceMatrix::open).transpose()?;
    let importance = |name: &str| matrix.as_ref().and_then(|matrix| matrix.of(name));
    let request = Request {
        weights: &candidates,
        metadata: &|key| entry(of, key),
        configs: Configs::new(of.model.configs(), SCHEMES),
        wishes: &how.wishes,
        keeps: &|name| how.keep.iter().any(|matches| matches(name)),
        asked: &|name| {
            let asked = how.types.iter().find(|(matches, _)| matches(name));
            asked.map(|(_, asked)| asked.clone())
        },
        importance: &importance,
        largest: &|places| largest(places.iter().filter_map(|&at| weights.get(at)).cloned()),
    };
    let mut chosen = quantizer.choose(&request)?;
    if chosen.fates.len() != weights.len() {
        return Err(Error::usage("a quantizer has to decide about every weight"));
    }
    if let Some(goal) = how.goal {
        let note = fit_all(quantizer, &request, &weights, &mut chosen, goal, options)?;
        chosen.notes.push(note);
    }
    let note = check_requantizing(of.original, &weights, &chosen, how)?;
    chosen.metadata.extend(matrix.iter().flat_map(ImportanceMatrix::entries));
    chosen.notes.extend(note);
    let own = |weight: &Weight| weight.name().to_owned();
    let ranked = |(rank, at): (usize, usize)| Some((own(weights.get(at)?), rank));
    let order = chosen.order.unwrap_or_else(|| (0..weights.len()).collect());
    Ok(Quantized {
        ranks: order.into_iter().enumerate().filter_map(ranked).collect(),
        fates: weights.iter().map(own).zip(chosen.fates).collect(),
        metadata: chosen.metadata,
        additions: chosen.additions,
        notes: chosen.notes,
    })
}

/// Gives every weight that is encoded the type that serves a goal best, unless users chose one for
/// it. Returns what they should know.
fn fit_all(
    quantizer: &dyn Quantizer,
    request: &Request<'_>,
    weights: &[Weight],
    chosen: &mut Chosen,
    goal: Goal,
    options: &ConvertOptions,
) -> Result<String> {
    let (mut choices, mut places, mut fixed) = (Vec::new(), Vec::new(), 0u64);
    for (at, (weight, fate)) in weights.iter().zip(&chosen.fates).enumerate() {
        let name = request.weights[at].name;
        let is_free = matches!(fate, Fate::Encode(_)) && (request.asked)(name).is_none();
        let encoders = if is_free { quantizer.alternatives(request, at) } else { Vec::new() };
        if encoders.is_empty() {
            fixed = fixed.saturating_add(bytes_of(fate, weight, name));
            continue;
        }
        choices.push(Choice { weight, name, encoders });
        places.push(at);
    }
    if choices.is_empty() {
        let message =
            format!("{} has one type for all weights, and none to choose", quantizer.name());
        return Err(Error::usage(message));
    }
    let elements = weights.iter().map(Weight::elements).fold(0, u64::saturating_add);
    let (fates, note) = fit(&choices, goal, fixed, elements, options.work.workers())?;
    for (at, fate) in places.into_iter().zip(fates) {
        chosen.fates[at] = fate;
    }
    let described = quantizer.described(&chosen.fates, request);
    for (key, value) in described {
        chosen.metadata.retain(|(known, _)| *known != key);
        chosen.metadata.push((key, value));
    }
    Ok(note)
}

/// About as many bytes as a weight takes in the output.
fn bytes_of(fate: &Fate, weight: &Weight, name: &str) -> u64 {
    let plain = |dtype: DType| dtype.bytes_for(weight.elements()).unwrap_or(0);
    match fate {
        Fate::Encode(encoder) => {
            let outputs = encoder.outputs(name, weight.shape()).unwrap_or_default();
            outputs.iter().map(|output| output.bytes).sum()
        }
        Fate::Cast(dtype) => plain(*dtype),
        Fate::Keep if block_of(weight).is_some() => weight.stored_bytes(),
        Fate::Keep => plain(weight.native().unwrap_or(DType::F32)),
    }
}

/// The block type that a weight is stored in, if it is one tensor of blocks.
fn block_of(weight: &Weight) -> Option<&'static str> {
    let mut parts = weight.parts();
    let (_, _, info) = parts.next().filter(|_| parts.next().is_none())?;
    let StoredType::Block(block) = &info.stored else { return None };
    // Some formats pad rows, or let blocks cross their ends.
    let is_by_rows = block.tiling(&info.shape, info.bytes) == Some(Tiling::Rows);
    is_by_rows.then_some(block.name)
}

/// An entry of the metadata that the output is going to have.
fn entry(of: &ToQuantize<'_>, key: &str) -> Option<Value> {
    let (_, value) = of.metadata.iter().find(|(known, _)| known == key)?;
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
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = *known {
            return Ok(known);
        }
        let mut most = 0f32;
        for weight in &weights {
            most = most.max(largest_of(weight)?);
        }
        *known = Some(most);
        Ok(most)
    })
}

fn largest_of(weight: &Weight) -> Result<f32> {
    announce_weight_now(weight);
    let (rows, columns) = weight.rows_and_columns();
    let (step, mut most, mut values) = ((STEP / columns.max(1)).max(1), 0f32, Vec::new());
    let mut start = 0;
    while start < rows {
        let end = rows.min(start + step);
        let too_large = |_| Error::limit("a row is larger than this machine can address");
        let count = usize::try_from((end - start) * columns).map_err(too_large)?;
        values.resize(count, 0f32);
        weight.decode_rows(start..end, &mut values)?;
        most = values
            .iter()
            .fold(most, |most, value| if value.abs() > most { value.abs() } else { most });
        start = end;
    }
    Ok(most)
}

/// The schemes and variants of a model whose weights have so few bits that encoding them again costs
/// quality.
fn with_few_bits(model: &Model) -> HashSet<(&'static str, String)> {
    let has_few = |weight: &Weight| {
        #[allow(clippy::cast_precision_loss)] // A ratio.
        let bits = weight.stored_bytes() as f64 * 8.0 / weight.elements().max(1) as f64;
        !weight.is_plain() && bits < FEW_BITS
    };
    let kind = |weight: Weight| (weight.scheme(), weight.variant().to_owned());
    model.weights().filter(has_few).map(kind).collect()
}

/// An error if weights that are stored in few bits would be encoded again, and nobody said so;
/// otherwise a note on them.
fn check_requantizing(
    original: &Model,
    weights: &[Weight],
    chosen: &Chosen,
    how: &QuantizeOptions,
) -> Result<Option<String>> {
    let few = with_few_bits(original);
    let is_again = |(weight, fate): &(&Weight, &Fate)| {
        let kind = (weight.scheme(), weight.variant().to_owned());
        matches!(fate, Fate::Encode(_)) && few.contains(&kind)
    };
    let again: Vec<_> = weights.iter().zip(&chosen.fates).filter(is_again).collect();
    let Some((first, _)) = again.first() else { return Ok(None) };
    let count = again.len();
    if how.allow_requantize {
        return Ok(Some(format!(
            "{count} weights were stored in fewer than eight bits and are quantized again: the cost \
             below is that of the second time alone"
        )));
    }
    let message = format!(
        "{count} of {} weights are stored in fewer than eight bits already (this one as {}), and \
         quantizing them again costs quality",
        weights.len(),
        first.variant()
    );
    let error = Error::usage(message).in_tensor(first.name()).in_file(first.model_path());
    Err(error.remedy(Remedy::AllowRequantize))
}
