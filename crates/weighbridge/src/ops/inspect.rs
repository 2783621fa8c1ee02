//! Reports what a model holds, from headers alone.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::blocks::Block;
use crate::catalog::{Finding, TensorInfo, Value, element_count};
use crate::dtype::DType;
use crate::error::Result;
use crate::model::{Model, Select, Weight};
use crate::ops::adapter::{self, AdapterReport};
use crate::ops::identity;
use crate::ops::reports::reports;
use crate::pipeline::{OutputType, is_short, kept_names};
use crate::source::Source;

/// What a report contains beyond the summary, and for which weights.
///
/// ```
/// use weighbridge::Select;
/// use weighbridge::ops::InspectOptions;
/// let options = InspectOptions {
///     tensors: true,
///     select: Select::new().include(|name| name.starts_with("model.layers.0.")),
///     ..InspectOptions::default()
/// };
/// ```
#[derive(Clone, Debug, Default)]
pub struct InspectOptions {
    /// Lists every weight with its stored tensors.
    pub tensors: bool,
    /// Shows metadata arrays in full.
    pub full_metadata: bool,
    /// Selects the weights to list and count. Problems and dropped tensors always cover the whole
    /// model.
    pub select: Select,
}

reports! {
    /// The contents of a model. The field names are those of the JSON report.
    #[derive(Default)]
    pub struct Report {
        pub path: String,
        pub format: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub detail: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub architecture: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub adapter: Option<AdapterReport>,
        pub files: Vec<FileReport>,
        pub file_bytes: u64,
        pub stored_tensors: u64,
        pub weights: u64,
        pub parameters: u64,
        pub bits_per_weight: Option<f64>,
        pub schemes: Vec<SchemeReport>,
        pub dtypes: BTreeMap<String, u64>,
        pub decoded_bytes: DecodedBytes,
        pub dropped: Vec<Dropped>,
        pub problems: Vec<Finding>,
        pub notes: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub would_run: Option<Vec<String>>,
        pub metadata: serde_json::Map<String, Json>,
        pub metadata_types: BTreeMap<String, String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tensors: Option<Vec<TensorReport>>,
    }

    /// One file of a model.
    pub struct FileReport {
        pub path: String,
        pub bytes: u64,
    }

    /// All weights of one scheme and variant.
    #[derive(Default)]
    pub struct SchemeReport {
        pub scheme: &'static str,
        pub variant: String,
        pub weights: u64,
        pub parameters: u64,
        pub bytes: u64,
    }

    /// The payload a conversion would write.
    #[derive(Default)]
    pub struct DecodedBytes {
        pub auto: u64,
        pub bf16: u64,
        pub f16: u64,
        pub f32: u64,
        pub q8_0: u64,
    }

    /// A stored tensor that no weight needs.
    #[derive(Clone)]
    pub struct Dropped {
        pub name: String,
        pub reason: String,
    }

    /// One weight.
    pub struct TensorReport {
        pub name: String,
        pub shape: Vec<u64>,
        pub scheme: &'static str,
        pub variant: String,
        pub native: Option<&'static str>,
        pub parameters: u64,
        pub bytes: u64,
        pub parts: Vec<PartReport>,
    }

    /// One stored tensor of a weight.
    pub struct PartReport {
        pub name: String,
        pub role: &'static str,
        pub dtype: String,
        pub shape: Vec<u64>,
        pub file: String,
        pub offset: Option<u64>,
        pub bytes: u64,
    }
}

/// Reports the files, weights, schemes, metadata and problems of a model.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// let report = ops::inspect(&Model::open("model.gguf")?, &ops::InspectOptions::default())?;
/// println!("{} weights, {} parameters", report.weights, report.parameters);
/// # Ok::<(), weighbridge::Error>(())
/// ```
pub fn inspect(model: &Model, options: &InspectOptions) -> Result<Report> {
    let sources = model.sources();
    let weights: Vec<_> = model.weights().select(options.select.clone()).collect();
    check_cost(model, &weights, options.tensors)?;
    let mut report = Report {
        path: model.path().to_string_lossy().into_owned(),
        format: model.format(),
        detail: sources.first().and_then(|s| s.catalog().detail.clone()),
        name: identity::name(model),
        architecture: identity::architecture(model),
        adapter: adapter::report(model),
        files: sources
            .iter()
            .map(|s| FileReport { path: name_of(s), bytes: s.file_bytes() })
            .collect(),
        file_bytes: sources.iter().map(Source::file_bytes).fold(0, u64::saturating_add),
        weights: weights.len() as u64,
        dropped: model.dropped().map(Dropped::of).collect(),
        problems: model.findings().iter().chain(model.hazards()).cloned().collect(),
        notes: identity::purpose(model).into_iter().chain(model.notes().to_vec()).collect(),
        would_run: would_run(sources),
        metadata: metadata_of(model, options)?,
        metadata_types: model
            .metadata()
            .into_iter()
            .map(|(key, value, _)| (key.to_owned(), value.type_name()))
            .collect(),
        tensors: options.tensors.then(|| weights.iter().map(tensor_report).collect()),
        ..Report::default()
    };
    if options.select.is_all() {
        add_stored(sources.iter().flat_map(|s| &s.catalog().tensors), &mut report);
    } else {
        let parts = weights.iter().flat_map(|weight| weight.parts().map(|(.., info)| info));
        add_stored(parts, &mut report);
        let all = model.weights().len();
        report.notes.push(format!("{} of {all} weights are selected and counted", weights.len()));
    }
    add_totals(&weights, &mut report);
    model.refuse_changed()?;
    Ok(report)
}

/// An error if the report would take more memory than the model's limits leave.
fn check_cost(model: &Model, weights: &[Weight], tensors: bool) -> Result<()> {
    let problems = model.findings().iter().chain(model.hazards());
    let problems = problems.map(Finding::cost).fold(0, u64::saturating_add);
    let listed = weights.iter().filter(|_| tensors).map(|weight| {
        let part = |(_, source, info): (_, &Source, &TensorInfo)| {
            let text = info.name.len() + source.input().name().as_os_str().len();
            (2 * text + size_of::<PartReport>() + 64) as u64
        };
        // Whoever shows it makes a line of text of it.
        let own = 2 * weight.name().len() + 2 * size_of::<TensorReport>() + 256;
        weight.parts().map(part).fold(own as u64, u64::saturating_add)
    });
    let handles = (weights.len() as u64).saturating_mul(2 * size_of::<Weight>() as u64 + 16);
    let bytes = listed.fold(problems.saturating_add(handles), u64::saturating_add);
    model.check_beside(bytes, "the report")
}

/// What loading its files would run, each thing once; `None` if none of them is a program.
fn would_run(sources: &[Source]) -> Option<Vec<String>> {
    let lists = sources.iter().filter_map(|source| source.catalog().would_run.as_ref());
    let mut seen = HashSet::with_hasher(foldhash::fast::RandomState::default());
    lists.fold(None, |all: Option<Vec<String>>, list| {
        let mut all = all.unwrap_or_default();
        all.extend(list.iter().filter(|path| seen.insert(*path)).cloned());
        Some(all)
    })
}

fn name_of(source: &Source) -> String {
    source.input().name().to_string_lossy().into_owned()
}

/// Counts stored tensors by type.
fn add_stored<'a>(tensors: impl Iterator<Item = &'a TensorInfo>, report: &mut Report) {
    for tensor in tensors {
        report.stored_tensors += 1;
        match report.dtypes.get_mut(tensor.stored.name()) {
            Some(count) => *count += 1,
            None => drop(report.dtypes.insert(tensor.stored.name().to_owned(), 1)),
        }
    }
}

fn add_totals(weights: &[Weight], report: &mut Report) {
    let mut stored = 0u64;
    // A hostile file may name a variant for each tensor, so rows are found by hash.
    let mut rows: HashMap<(&str, &str), usize, foldhash::fast::RandomState> = HashMap::default();
    for weight in weights {
        let (parameters, bytes) = (weight.elements(), weight.stored_bytes());
        report.parameters = report.parameters.saturating_add(parameters);
        stored = stored.saturating_add(bytes);
        let index = *rows.entry((weight.scheme(), weight.variant())).or_insert_with(|| {
            let (scheme, variant) = (weight.scheme(), weight.variant().to_owned());
            report.schemes.push(SchemeReport { scheme, variant, ..SchemeReport::default() });
            report.schemes.len() - 1
        });
        let row = &mut report.schemes[index];
        row.weights += 1;
        row.parameters = row.parameters.saturating_add(parameters);
        row.bytes = row.bytes.saturating_add(bytes);
    }
    for weight in without_ties(weights) {
        add_decoded(weight, &mut report.decoded_bytes);
    }
    report.schemes.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.variant.cmp(&b.variant)));
    report.bits_per_weight = bits_per_weight(stored, report.parameters);
}

impl Dropped {
    /// A stored tensor that is part of no weight, and why.
    pub(super) fn of((info, reason): (&TensorInfo, &str)) -> Self {
        Self { name: info.name.to_string(), reason: reason.to_owned() }
    }
}

/// How many bits each of some elements takes.
#[allow(clippy::cast_precision_loss)] // A ratio for people.
pub(super) fn bits_per_weight(bytes: u64, elements: u64) -> Option<f64> {
    (elements > 0).then(|| bytes as f64 * 8.0 / elements as f64)
}

/// The weights without those that share their stored numbers with another.
fn without_ties(weights: &[Weight]) -> impl Iterator<Item = &Weight> {
    let kept = kept_names(weights, plain_place, |weight| weight.name(), |_, _| true);
    weights.iter().enumerate().filter(move |(index, _)| kept[*index] == *index).map(|(_, w)| w)
}

/// Where a plain weight is stored.
fn plain_place(weight: &Weight) -> Option<(&Source, &TensorInfo)> {
    let part = weight.is_plain().then(|| weight.parts().next())?;
    part.map(|(_, source, info)| (source, info))
}

/// Adds what a conversion would write for one weight, in each output type.
fn add_decoded(weight: &Weight, decoded: &mut DecodedBytes) {
    let elements = weight.elements();
    let (is_plain, native) = (weight.is_plain(), weight.native());
    let bytes = |output_type: OutputType| match output_type.of_stored(is_plain, native) {
        Some(dtype) => dtype.bytes_for(elements).unwrap_or(0),
        None => weight.stored_bytes(),
    };
    decoded.auto = decoded.auto.saturating_add(bytes(OutputType::Auto));
    decoded.bf16 = decoded.bf16.saturating_add(bytes(OutputType::Bf16));
    decoded.f16 = decoded.f16.saturating_add(bytes(OutputType::F16));
    decoded.f32 = decoded.f32.saturating_add(bytes(OutputType::F32));
    let blocks = if becomes_f32(is_plain, native) { in_blocks(weight.shape()) } else { None };
    let q8_0 = blocks.unwrap_or_else(|| bytes(OutputType::F32));
    decoded.q8_0 = decoded.q8_0.saturating_add(q8_0);
}

/// Whether a weight would become f32 if that were asked for: integers and what has no type do not.
fn becomes_f32(is_plain: bool, native: Option<DType>) -> bool {
    OutputType::F32.of_stored(is_plain, native) == Some(DType::F32)
}

/// Bytes of a matrix, or of several, in blocks of 32 numbers with a scale; `None` for a vector, and
/// where rows are not made of whole blocks.
fn in_blocks(shape: &[u64]) -> Option<u64> {
    let (columns, [_, ..]) = shape.split_last()? else { return None };
    let rows = element_count(&shape[..shape.len() - 1])?;
    static Q8_0: LazyLock<Option<&Block>> = LazyLock::new(|| Block::from_name("Q8_0"));
    (*Q8_0)?.bytes_for(rows, *columns)
}

fn metadata_of(model: &Model, options: &InspectOptions) -> Result<serde_json::Map<String, Json>> {
    let mut all = serde_json::Map::new();
    for (key, value, source) in model.metadata() {
        let json = match value {
            Value::Array(array) if options.full_metadata => json_list(&source.array(array)?),
            // An array that cannot be read is at least described.
            Value::Array(array) if is_short(array) => {
                source.array(array).map_or_else(|_| value.to_json(), |all| json_list(&all))
            }
            other => other.to_json(),
        };
        all.insert(key.to_owned(), json);
    }
    Ok(all)
}

fn json_list(values: &[Value]) -> Json {
    values.iter().map(Value::to_json).collect()
}

fn tensor_report(weight: &Weight) -> TensorReport {
    TensorReport {
        name: weight.name().to_owned(),
        shape: weight.shape().to_vec(),
        scheme: weight.scheme(),
        variant: weight.variant().to_owned(),
        native: weight.native().map(DType::name),
        parameters: weight.elements(),
        bytes: weight.stored_bytes(),
        parts: weight
            .parts()
            .map(|(role, source, info)| PartReport {
                name: info.name.to_string(),
                role,
                dtype: info.stored.name().to_owned(),
                shape: info.shape.to_vec(),
                file: name_of(source),
                offset: info.file_offset(),
                bytes: info.bytes,
            })
            .collect(),
    }
}
