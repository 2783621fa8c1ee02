//! For tests: a model through a quantizer, weight by weight, beside what a library made of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::catalog::Shape;
use crate::dtype::{DType, StoredType};
use crate::error::Result;
use crate::framework::{
    Candidate, Chosen, Configs, EncodedTensor, Encoder, Fate, QuantizeWishes, Request, quantizer,
};
use crate::model::{Model, Select};
use crate::pipeline::testing::{Run, decoded, stored};

/// A stored tensor: its type, its dimensions and its bytes.
pub(crate) type Tensor = (StoredType, Shape, Vec<u8>);

/// Where the samples of a scheme's encoders are.
pub(crate) fn samples(scheme: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/files")
        .join(format!("encoded-{scheme}"))
}

/// What a quantizer decides about a model.
pub(crate) fn choose(
    model: &Model,
    name: &str,
    wishes: &QuantizeWishes,
    keeps: &dyn Fn(&str) -> bool,
) -> Result<Chosen> {
    let weights: Vec<_> = model.weights().collect();
    let candidates: Vec<Candidate<'_>> = weights
        .iter()
        .map(|weight| Candidate {
            name: weight.name(),
            shape: weight.shape(),
            dtype: weight.native().unwrap_or(DType::F32),
            block: None,
        })
        .collect();
    quantizer(name).unwrap_or_else(|| panic!("no {name}")).choose(&Request {
        weights: &candidates,
        metadata: &|_| None,
        configs: Configs::new(model.configs()),
        takes_as_saved: &|_, model_type| model_type == "llama",
        wishes,
        keeps,
        asked: &|_| None,
        importance: &|_| None,
        largest: &|_| Arc::new(|| Ok(0.0)),
    })
}

/// The file that an encoder makes of one weight, which does not depend on workers and tiles.
pub(crate) fn file_of(model: &Model, weight: &str, encoder: &Arc<dyn Encoder>) -> Vec<u8> {
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
pub(crate) fn compare_cost(model: &Model, fates: &[Fate], golden: &Model) {
    for (weight, fate) in model.weights().zip(fates) {
        let Fate::Encode(encoder) = fate else { continue };
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
        let (mut ours, mut levels) = (vec![f32::NAN; values.len()], Vec::new());
        assert!(own.decode(all, &encoded, &mut ours, &mut levels).unwrap());
        assert!(ours == decoded(&golden.weight(weight.name()).unwrap()), "{}", weight.name());
        let counted: usize = levels.iter().map(|same| same.elements).sum();
        assert!(levels.is_empty() || counted == values.len(), "{}", weight.name());
    }
}

/// Every tensor that a model is stored in.
pub(crate) fn tensors(model: &Model) -> BTreeMap<String, Tensor> {
    let infos = model.sources().iter().flat_map(|source| &source.catalog().tensors);
    let mut infos: BTreeMap<String, _> = infos
        .map(|info| (info.name.to_string(), (info.stored.clone(), info.shape.clone())))
        .collect();
    let tensor = |(name, bytes): (String, Vec<u8>)| {
        let (stored, shape) = infos.remove(&name)?;
        Some((name, (stored, shape, bytes)))
    };
    stored(model).into_iter().filter_map(tensor).collect()
}

/// Every tensor of a model after a quantizer has decided about it.
pub(crate) fn quantized(model: &Model, chosen: &Chosen) -> BTreeMap<String, Tensor> {
    let mut all = tensors(model);
    for (weight, fate) in model.weights().zip(&chosen.fates) {
        if let Fate::Encode(encoder) = fate {
            let file = file_of(model, weight.name(), encoder);
            all.remove(weight.name());
            all.extend(tensors(&Model::open_bytes(file, "out.safetensors").unwrap()));
        }
    }
    all
}

/// The same tensors with the same types, shapes and bytes.
#[track_caller]
pub(crate) fn compare(
    ours: &BTreeMap<String, Tensor>,
    golden: &BTreeMap<String, Tensor>,
    case: &str,
) {
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
pub(crate) fn json(folder: &Path, name: &str) -> Json {
    serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
}

/// The entry of a config that a quantizer adds, which must have the same keys in the same order.
#[track_caller]
pub(crate) fn compare_config(chosen: &Chosen, folder: &Path, key: &str) {
    let golden = json(folder, "config.json");
    let ours = chosen.additions.config_keys.iter().find(|(own, _)| own == key);
    let (_, ours) = ours.unwrap_or_else(|| panic!("no {key}"));
    assert_eq!(ours.to_string(), golden[key].to_string(), "{}", folder.display());
}

/// Weights decode to what the library decodes them to, by the sums of their bytes. The sign of zero
/// is left out: the library's own decoders differ in it.
#[track_caller]
pub(crate) fn compare_decoded(model: &Model, folder: &Path) {
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
        let own: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(Some(&*own), sum.as_str(), "{}: {name}", folder.display());
    }
}
