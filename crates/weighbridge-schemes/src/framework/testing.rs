//! For tests: made-up models, what a scheme says about them, and whole models that are quantized.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use serde_json::Value as Json;

use crate::catalog::{Metadata, Place, Shape, TensorInfo};
use crate::config::Config;
use crate::dtype::{DType, StoredType};
use crate::framework::{
    Bids, Candidate, Chosen, Configs, Evidence, Fate, Largest, QuantizeWishes, Quantizer, Request,
    Scheme,
};
use crate::model::{Model, Select};
use crate::output::Memory;
use crate::pipeline::testing::{Run, decoded, stored};

/// A tensor by name, type and shape.
pub(crate) type Stored<'a> = (&'a str, DType, &'a [u64]);

/// Stored tensors that lie nowhere.
pub(crate) fn tensors(stored: &[Stored<'_>]) -> Vec<TensorInfo> {
    stored.iter().map(|&(name, dtype, shape)| tensor(name, dtype, shape)).collect()
}

/// One of them.
pub(crate) fn tensor(name: &str, dtype: DType, shape: &[u64]) -> TensorInfo {
    TensorInfo {
        name: name.into(),
        shape: shape.iter().copied().collect(),
        stored: dtype.into(),
        bytes: shape.iter().fold(u64::from(dtype.bits()), |a, &b| a.saturating_mul(b)) / 8,
        place: Place::at(0),
        refused: None,
    }
}

/// A `config.json`.
pub(crate) fn config(json: Json) -> Config {
    Config { name: "config.json".into(), json }
}

/// A model of one file without metadata.
pub(crate) fn evidence<'a>(tensors: &'a [TensorInfo], configs: &'a [Config]) -> Evidence<'a> {
    static METADATA: LazyLock<Metadata> = LazyLock::new(Metadata::default);
    Evidence::new(std::iter::once((tensors, &*METADATA)), configs)
}

/// What a scheme says.
pub(crate) fn bids(scheme: &dyn Scheme, evidence: &Evidence<'_>) -> Bids {
    let mut bids = Bids::default();
    scheme.bid(evidence, &mut bids);
    bids
}

/// A folder of samples.
pub(crate) fn samples(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files").join(name)
}

/// A stored tensor: its type, its shape and its bytes.
pub(crate) type Tensor = (StoredType, Shape, Vec<u8>);

/// All stored tensors of a model.
pub(crate) fn stored_tensors(model: &Model) -> BTreeMap<String, Tensor> {
    let mut bytes = stored(model);
    let infos = model.sources().iter().flat_map(|source| &source.catalog().tensors);
    let tensor = |info: &TensorInfo| {
        let bytes = bytes.remove(&*info.name).unwrap();
        (info.name.to_string(), (info.stored.clone(), info.shape.clone(), bytes))
    };
    infos.map(tensor).collect()
}

/// What a quantizer decides about a model, weights whose names have `kept` in them left alone.
pub(crate) fn chosen(
    model: &Model,
    quantizer: &dyn Quantizer,
    wishes: &QuantizeWishes,
    kept: &str,
) -> crate::error::Result<Chosen> {
    let weights: Vec<_> = model.weights().collect();
    let dtype = |weight: &crate::Weight| weight.native().unwrap_or(DType::F32);
    let candidate = |weight| {
        let weight: &crate::Weight = weight;
        let (name, shape) = (weight.name(), weight.shape());
        Candidate { name, shape, dtype: dtype(weight), block: None }
    };
    let candidates: Vec<_> = weights.iter().map(candidate).collect();
    let largest = |places: &[usize]| -> Largest {
        let weights: Vec<_> = places.iter().map(|&place| weights[place].clone()).collect();
        Arc::new(move || {
            let all = weights.iter().flat_map(decoded);
            Ok(all.fold(0f32, |most, number| most.max(number.abs())))
        })
    };
    quantizer.choose(&Request {
        weights: &candidates,
        metadata: &|_| None,
        configs: Configs::new(model.configs()),
        takes_as_saved: &|_, model_type| model_type == "llama",
        wishes,
        keeps: &|name| !kept.is_empty() && name.contains(kept),
        asked: &|_| None,
        importance: &|_| None,
        largest: &largest,
    })
}

/// The tensors that a model becomes, the same for any number of workers and any tiles.
pub(crate) fn quantized(model: &Model, chosen: &Chosen) -> BTreeMap<String, Tensor> {
    let fates: BTreeMap<String, Fate> =
        model.weights().map(|w| w.name().to_owned()).zip(chosen.fates.iter().cloned()).collect();
    let encode = |weight: &crate::Weight| match &fates[weight.name()] {
        Fate::Encode(encoder) => Some(encoder.clone()),
        _ => None,
    };
    let select = &Select::new();
    let run = |workers, max_memory| {
        let memory = Memory::default();
        let run = Run { format: "safetensors", workers, max_memory, select };
        run.encode_each(model, &encode, &memory);
        memory.into_files().into_values().next().unwrap()
    };
    let file = run(1, None);
    assert!(run(3, Some(200_000)) == file, "other tiles give other bytes");
    stored_tensors(&Model::open_bytes(file, "model.safetensors").unwrap())
}

/// Quantizes the model in a folder, and holds every tensor and the config's section against what
/// lies in another.
pub(crate) fn holds_against(
    [source, golden]: [&Path; 2],
    quantizer: &dyn Quantizer,
    wishes: &QuantizeWishes,
) {
    let [source, golden] = [source, golden].map(|folder| Model::open(folder).unwrap());
    let chosen = chosen(&source, quantizer, wishes, "").unwrap();
    let (ours, theirs) = (quantized(&source, &chosen), stored_tensors(&golden));
    for (name, (dtype, shape, bytes)) in &theirs {
        let Some(our) = ours.get(name) else { panic!("{name} is missing") };
        assert_eq!((&our.0, &our.1), (dtype, shape), "{name}");
        let differs = bytes.iter().zip(&our.2).enumerate().filter(|(_, (a, b))| a != b);
        let differs: Vec<_> = differs.map(|(at, (a, b))| (at, *a, *b)).collect();
        let first = &differs[..differs.len().min(12)];
        assert!(differs.is_empty(), "{name}: {} bytes differ: {first:?}", differs.len());
    }
    assert_eq!(ours.len(), theirs.len(), "{:?}", ours.keys());
    // What is written can be read here. Four bits cost these weights about 3 % of their energy;
    // codes or scales in another order would cost all of it.
    for weight in source.weights().filter(|weight| weight.shape().len() > 1) {
        let (before, after) = (decoded(&weight), decoded(&golden.weight(weight.name()).unwrap()));
        let error = |(a, b): (&f32, &f32)| f64::from(a - b).powi(2);
        let [error, all] = [
            before.iter().zip(&after).map(error).sum::<f64>(),
            before.iter().map(|number| f64::from(*number).powi(2)).sum(),
        ];
        assert!(error < all / 10.0, "{}: {error} of {all}", weight.name());
    }
    let section = Configs::new(golden.configs()).model().and_then(|all| all.get(SECTION)).unwrap();
    let own = chosen.additions.config_keys.iter().find(|(key, _)| key == SECTION).unwrap();
    assert_eq!(sorted(&own.1), sorted(section));
}

const SECTION: &str = "quantization_config";

/// A section as text, with lists of modules in one order.
fn sorted(section: &Json) -> String {
    let mut section = section.clone();
    for list in ["ignore", "modules_to_not_convert", "ignored_layers"] {
        if let Some(Json::Array(names)) = section.get_mut(list) {
            names.sort_by_key(ToString::to_string);
        }
    }
    serde_json::to_string_pretty(&section).unwrap()
}
