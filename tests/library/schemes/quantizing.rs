//! A model through a quantizer, beside what a library made of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use weighbridge::catalog::{Shape, TensorInfo};
use weighbridge::internals::schemes::{
    Candidate, Chosen, Configs, Decoded, EncodedTensor, Encoder, Largest, QuantizeWishes,
    Quantizer, Request, SCHEMES, TypeAssignment,
};
use weighbridge::ops::{self, ConvertOptions, QuantizeOptions, Warning};
use weighbridge::output::Memory;
use weighbridge::{DType, Model, Result, Select, StoredType, Weight};

use super::run::{Run, decoded, stored};
use crate::common::{root, sha256};

/// A folder of samples.
pub fn samples(name: &str) -> PathBuf {
    root().join("tests/files").join(name)
}

/// A stored tensor: its type, its shape and its bytes.
pub type Tensor = (StoredType, Shape, Vec<u8>);

/// All stored tensors of a model.
pub fn stored_tensors(model: &Model) -> BTreeMap<String, Tensor> {
    let mut bytes = stored(model);
    let infos = model.sources().iter().flat_map(|source| &source.catalog().tensors);
    let tensor = |info: &TensorInfo| {
        let bytes = bytes.remove(&*info.name).unwrap();
        (info.name.to_string(), (info.stored.clone(), info.shape.clone(), bytes))
    };
    infos.map(tensor).collect()
}

/// What a quantizer decides about a model, the weights that `keeps` names left alone.
pub fn chosen(
    model: &Model,
    quantizer: &dyn Quantizer,
    wishes: &QuantizeWishes,
    keeps: &dyn Fn(&str) -> bool,
) -> Result<Chosen> {
    let weights: Vec<_> = model.weights().collect();
    let dtype = |weight: &Weight| weight.native().unwrap_or(DType::F32);
    let candidate = |weight| {
        let weight: &Weight = weight;
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
        configs: Configs::new(model.configs(), SCHEMES),
        takes_as_saved: &|_, model_type| model_type == "llama",
        wishes,
        keeps,
        asked: &|_| None,
        importance: &|_| None,
        largest: &largest,
    })
}

/// The tensors that a model becomes, the same for any number of workers and any tiles.
pub fn quantized(model: &Model, chosen: &Chosen) -> BTreeMap<String, Tensor> {
    let fates: BTreeMap<String, TypeAssignment> =
        model.weights().map(|w| w.name().to_owned()).zip(chosen.fates.iter().cloned()).collect();
    let encode = |weight: &Weight| match &fates[weight.name()] {
        TypeAssignment::Encode(encoder) => Some(encoder.clone()),
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

/// The file that an encoder makes of one weight, which does not depend on workers and tiles.
pub fn file_of(model: &Model, weight: &str, encoder: &Arc<dyn Encoder>) -> Vec<u8> {
    let name = weight.to_owned();
    let select = Select::new().include(move |other| other == name);
    let run = |workers, max_memory| {
        Run { format: "safetensors", workers, max_memory, select: &select }.file(model, encoder)
    };
    let first = run(1, None);
    assert!(run(3, Some(200_000)) == first, "{weight}");
    first
}

/// An encoder decodes what it has made of a weight to what a reader of `golden` sees.
#[track_caller]
pub fn compare_cost(model: &Model, fates: &[TypeAssignment], golden: &Model) {
    for (weight, fate) in model.weights().zip(fates) {
        let TypeAssignment::Encode(encoder) = fate else { continue };
        let (values, all) = (decoded(&weight), 0..weight.elements());
        let own = encoder.begin(weight.shape());
        if own.needs_first_pass() {
            own.see(all.clone(), &values);
        }
        let tensors = encoder.outputs(weight.name(), weight.shape()).unwrap();
        let room = |tensor: &EncodedTensor| vec![0; tensor.bytes.try_into().unwrap()];
        let mut buffers: Vec<Vec<u8>> = tensors.iter().map(room).collect();
        let mut out: Vec<&mut [u8]> = buffers.iter_mut().map(|buffer| &mut buffer[..]).collect();
        own.encode(all.clone(), &values, &mut out).unwrap();
        let encoded: Vec<&[u8]> = buffers.iter().map(|buffer| &buffer[..]).collect();
        let mut ours = Decoded { numbers: vec![f32::NAN; values.len()], levels: Vec::new() };
        assert!(own.decode(all, &encoded, &mut ours).unwrap());
        let Decoded { numbers, levels } = ours;
        assert!(numbers == decoded(&golden.weight(weight.name()).unwrap()), "{}", weight.name());
        let counted: usize = levels.iter().map(|same| same.elements).sum();
        assert!(levels.is_empty() || counted == values.len(), "{}", weight.name());
    }
}

/// The same tensors with the same types, shapes and bytes.
#[track_caller]
pub fn compare(ours: &BTreeMap<String, Tensor>, golden: &BTreeMap<String, Tensor>, case: &str) {
    let names = |tensors: &BTreeMap<String, Tensor>| tensors.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(ours), names(golden), "{case}");
    for (name, (stored, shape, bytes)) in ours {
        let (golden_stored, golden_shape, golden_bytes) = &golden[name];
        assert_eq!((stored.name(), shape), (golden_stored.name(), golden_shape), "{case}: {name}");
        let differing = bytes.iter().zip(golden_bytes).filter(|(a, b)| a != b).count();
        let first = bytes.iter().zip(golden_bytes).position(|(a, b)| a != b);
        assert!(bytes == golden_bytes, "{case}: {name}: {differing} differ, from {first:?} on");
    }
}

/// A JSON file of a folder.
pub fn json(folder: &Path, name: &str) -> Json {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The entry of a config that a quantizer adds, which must have the same keys in the same order.
#[track_caller]
pub fn compare_config(chosen: &Chosen, folder: &Path, key: &str) {
    let golden = json(folder, "config.json");
    let ours = chosen.additions.config_keys.iter().find(|(own, _)| own == key);
    let (_, ours) = ours.unwrap_or_else(|| panic!("no {key}"));
    assert_eq!(ours.to_string(), golden[key].to_string(), "{}", folder.display());
}

/// Weights decode to what the library decodes them to, by the sums of their bytes. The sign of zero
/// is left out: the library's own decoders differ in it.
#[track_caller]
pub fn compare_decoded(model: &Model, folder: &Path) {
    let golden = json(folder, "decoded.json");
    let golden = golden.as_object().unwrap();
    assert!(!golden.is_empty());
    for (name, sum) in golden {
        let weight = model.weight(name).unwrap();
        let dtype = weight.native().unwrap();
        let mut bytes = weight.read_to_vec(dtype).unwrap();
        for number in bytes.chunks_exact_mut(dtype.bits() as usize / 8) {
            if let [low @ .., high @ 0x80] = number
                && low.iter().all(|byte| *byte == 0)
            {
                *high = 0;
            }
        }
        let own = sha256(&bytes);
        assert_eq!(Some(&*own), sum.as_str(), "{}: {name}", folder.display());
    }
}

/// Quantizes the model in a folder, and holds every tensor and the config's section against what
/// lies in another.
pub fn holds_against(
    [source, golden]: [&Path; 2],
    quantizer: &dyn Quantizer,
    wishes: &QuantizeWishes,
) {
    let [source, golden] = [source, golden].map(|folder| Model::open(folder).unwrap());
    let chosen = chosen(&source, quantizer, wishes, &nothing).unwrap();
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
    let section =
        Configs::new(golden.configs(), SCHEMES).model().and_then(|all| all.get(SECTION)).unwrap();
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

/// What users are told about loaders when a model is quantized.
pub fn loader_warnings(model: &Model, name: &str) -> Vec<Warning> {
    let folder = tempfile::tempdir().unwrap();
    let options = ConvertOptions::new(folder.path().join("out"));
    ops::quantize(model, &options, &QuantizeOptions::new(name)).unwrap().warnings
}

/// No weight.
pub fn nothing(_: &str) -> bool {
    false
}

/// The wish for groups of so many columns.
pub fn grouped(group_size: Option<u64>) -> QuantizeWishes {
    let mut wishes = QuantizeWishes::default();
    wishes.group_size = group_size;
    wishes
}

/// A model of one matrix, with a config.
pub fn made_up(values: &[f32], columns: usize) -> Model {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let header = json!({"model.proj.weight": {
        "dtype": "F32", "shape": [values.len() / columns, columns], "data_offsets": [0, bytes.len()]
    }})
    .to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(bytes);
    Model::open_bytes(file, "model.safetensors").unwrap()
}

/// Numbers as JSON can have them: what is not finite is text.
pub fn numbers_of(values: &Json) -> Vec<f32> {
    let number = |value: &Json| match value.as_f64() {
        #[allow(clippy::cast_possible_truncation)] // They were single precision.
        Some(number) => number as f32,
        None => value.as_str().unwrap().parse().unwrap(),
    };
    values.as_array().unwrap().iter().map(number).collect()
}
