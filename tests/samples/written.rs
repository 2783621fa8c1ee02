//! Every sample written into every container, opened again, and compared with what the sample's own
//! library reads in it: its stored bytes, and its weights as that library decodes them.
//!
//! `oracles/check_outputs.py` does the same with the canonical reader of each container.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::common::fixtures::Fixture;
use crate::common::{Sample, root, sha256, stored, tensor_bytes};
use crate::{FIXTURES, SAMPLES, counts, every_fixture, trial};
use libtest_mimic::Trial;
use weighbridge::catalog::TensorInfo;
use weighbridge::internals::blocks::Standing;
use weighbridge::internals::containers::WRITERS;
use weighbridge::internals::containers::writing::{FileContext, Planned, Writer};
use weighbridge::internals::dtype::StoredType;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};
use weighbridge::{DType, Model, OpenOptions, Select, Stores, Weight, bf16};

/// What each sample is written as, in each format.
pub const AS: [(OutputType, &str); 3] =
    [(OutputType::Keep, "keep"), (OutputType::Native, "native"), (OutputType::F32, "f32")];

/// The formats that samples are written in: all whose files hold more than one tensor.
pub fn formats() -> impl Iterator<Item = &'static dyn Writer> {
    let stored = StoredType::from(DType::F32);
    let two = ["a", "b"].map(|name| Planned { name, stored: &stored, shape: &[1], bytes: 4 });
    let context = FileContext { metadata: &[], part: (0, 1), tensors: 2, streamed: false };
    let able: Vec<_> = WRITERS.iter().filter(|w| w.lay_out(&two, &context).is_ok()).collect();
    able.into_iter().copied()
}

/// What a tensor must be, by the canonical library.
#[derive(Clone)]
enum Golden {
    /// Its bytes in a type; any NaN equals any other.
    Values(DType, Vec<u8>),
    /// Its type's name, and the SHA-256 of its bytes.
    Sum(String, String),
}

type Goldens = HashMap<String, Golden>;

/// A sample as it is stored, and as it is decoded to its native type and to f32.
struct Known {
    model: Model,
    stored: Goldens,
    native: Goldens,
    single: Goldens,
}

/// Whether a format has a place for a tensor. Of the formats below this is known from their own
/// libraries; of others, from their writers.
fn holds(writer: &dyn Writer, tensor: &Planned<'_>) -> bool {
    let is_terminated = !tensor.name.contains('\0');
    let dtype = tensor.stored.element();
    match writer.format() {
        "safetensors" => dtype.is_some_and(|dtype| !matches!(dtype, DType::C32 | DType::C128)),
        "gguf" => {
            let short = tensor.name.len() < 64 && tensor.shape.len() <= 4;
            is_ggml_type(tensor) && is_terminated && short
        }
        "npz" => {
            // Python's zipfile reads a backslash as a slash on Windows.
            let name = tensor.name.replace('\\', "/");
            let climbs = name.starts_with('/') || name.split('/').any(|at| at == "..");
            dtype.is_some_and(is_numpy_type) && is_terminated && !climbs
        }
        _ => writer.refuses(tensor).is_none(),
    }
}

fn is_ggml_type(tensor: &Planned<'_>) -> bool {
    use DType::{BF16, F16, F32, F64, I8, I16, I32, I64};
    match tensor.stored {
        StoredType::Element(dtype) => {
            matches!(dtype, F32 | F16 | BF16 | F64 | I8 | I16 | I32 | I64)
        }
        StoredType::Block(block) => {
            let columns = tensor.shape.last().copied().unwrap_or(1);
            matches!(block.standing, Standing::Current | Standing::IkLlama)
                && columns.is_multiple_of(block.elements.into())
        }
        StoredType::Opaque(_) => false,
    }
}

fn is_numpy_type(dtype: DType) -> bool {
    use DType::{Bool, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let whole = matches!(dtype, Bool | U8 | I8 | U16 | I16 | U32 | I32 | U64 | I64);
    whole || matches!(dtype, F16 | F32 | F64 | C64 | C128)
}

/// What is written, by name: whether it can be, and what it must be where a library has said so.
struct Wanted {
    name: String,
    can_be_written: bool,
    golden: Option<Golden>,
}

/// Stored tensors, which `keep` copies.
fn kept(known: &Known, writer: &dyn Writer) -> Vec<Wanted> {
    let wanted = |info: &TensorInfo| {
        let tensor = Planned {
            name: &info.name,
            stored: &info.stored,
            shape: &info.shape,
            bytes: info.bytes,
        };
        Wanted {
            name: info.name.to_string(),
            can_be_written: holds(writer, &tensor) && info.refused.is_none(),
            golden: known.stored.get(&*info.name).cloned(),
        }
    };
    stored(&known.model).map(|(_, info)| wanted(info)).collect()
}

/// Weights, as numbers of a type.
fn decoded(known: &Known, writer: &dyn Writer, asked: OutputType) -> Vec<Wanted> {
    let wanted = |weight: Weight| {
        let dtype = asked.of(&weight);
        let held = dtype.is_some_and(|dtype| {
            let bytes = weight.len() as u64 * u64::from(dtype.bits()) / 8;
            let (name, stored) = (weight.name(), &dtype.into());
            // A file of the same format has a flattened weight as it was stored.
            let (_, source, part) = weight.parts().next().expect("a weight has a part");
            let is_flattened = source.catalog().original_shapes.iter().any(|(of, _)| **of == *name);
            let stays = is_flattened && source.format() == writer.format();
            let shape = if stays { &part.shape[..] } else { weight.shape() };
            holds(writer, &Planned { name, stored, shape, bytes })
        });
        let is_copied = weight.scheme() == "plain" && dtype == weight.native();
        let readable = match is_copied {
            true => weight.parts().all(|(_, _, info)| info.refused.is_none()),
            false => weight.undecodable().is_none(),
        };
        Wanted {
            name: weight.name().to_owned(),
            can_be_written: held && readable,
            golden: golden(known, &weight, asked),
        }
    };
    known.model.weights().map(wanted).collect()
}

fn options() -> OpenOptions {
    OpenOptions::new().stores(Stores::none())
}

/// A file of expected values.
fn values(path: &Path) -> Goldens {
    let Ok(model) = options().open(path) else {
        return Goldens::new();
    };
    let golden = |weight: Weight| {
        let bytes = weight.bytes().unwrap().to_vec();
        (weight.name().to_owned(), Golden::Values(weight.native().unwrap(), bytes))
    };
    model.weights().map(golden).collect()
}

/// The layers of the demo model, as GPTQModel decodes them.
fn demo_values() -> Goldens {
    let folder = root().join("tests/files/gptq");
    let list: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
    let golden = |entry: &serde_json::Value| {
        let bytes = std::fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap();
        (entry["name"].as_str().unwrap().to_owned(), Golden::Values(DType::F16, bytes))
    };
    list.as_array().unwrap().iter().map(golden).collect()
}

/// Tensors as they lie in the model.
fn as_stored(model: &Model) -> Goldens {
    let golden = |(source, info): (&_, &TensorInfo)| {
        let bytes = tensor_bytes(source, info).ok()?;
        Some((info.name.to_string(), Golden::Sum(info.stored.name().to_owned(), sha256(&bytes))))
    };
    stored(model).filter_map(golden).collect()
}

pub fn trials() -> Vec<Trial> {
    let mut trials = every_fixture("written", |fixture| check_all(&known_fixture(fixture)));
    let homes: HashSet<_> = FIXTURES.iter().map(|fixture| &fixture.path).collect();
    for sample in SAMPLES.iter() {
        // The files of a fixture are part of it.
        if !homes.contains(&sample.path.parent().unwrap().to_owned()) {
            let name = format!("{}::written", sample.name());
            trials
                .push(trial(name, move || known_sample(sample).map_or(Ok(()), |k| check_all(&k))));
        }
    }
    trials
}

fn known_fixture(fixture: &Fixture) -> Known {
    let folder = fixture.model();
    // The copy may go: on Unix an open file stays readable.
    let model = options().open(folder.path()).unwrap();
    let native = values(&fixture.path.join("expected.safetensors"));
    let single = values(&fixture.path.join("expected-f32.safetensors"));
    Known { stored: as_stored(&model), model, native, single }
}

/// A sample, unless it is refused as a whole.
fn known_sample(sample: &Sample) -> Option<Known> {
    let model = options().open(&sample.path).ok()?;
    let is_dangerous = model.findings().iter().any(|f| f.kind == "dangerous-global");
    if is_dangerous || sample.is_damaged() {
        let error = convert(&model, "safetensors", OutputType::Auto, &HashSet::new());
        assert!(error.is_err(), "it was converted");
        return None;
    }
    let golden = |tensor: &serde_json::Value| {
        let text = |key: &str| tensor[key].as_str().map(str::to_owned);
        Some((text("name")?, Golden::Sum(text("dtype")?, text("sha256")?)))
    };
    let listed = sample.expect["tensors"].as_array().unwrap().iter();
    let stem = sample.path.with_extension("");
    let stem = stem.display().to_string().replace("-big-endian", "");
    let mut native = values(Path::new(&format!("{stem}.expected.safetensors")));
    if sample.path.ends_with("tiny-llama-gptq") {
        native = demo_values();
    }
    let stored = listed.filter_map(golden).collect();
    Some(Known { model, stored, native, single: Goldens::new() })
}

/// A model's chosen weights as a file in memory; nothing chosen is everything.
fn convert(
    model: &Model,
    format: &str,
    asked: OutputType,
    chosen: &HashSet<String>,
) -> Result<(Model, HashMap<String, String>), String> {
    let mut options = ConvertOptions::new("-").to(format).dtype(asked).names(Names::Keep);
    if !chosen.is_empty() {
        let chosen = chosen.clone();
        options = options.select(Select::new().include(move |name| chosen.contains(name)));
    }
    let mut bytes = Vec::new();
    let report = ops::convert_to(model, &options, &mut bytes).map_err(|error| error.to_string())?;
    let ties = report.tied.into_iter().map(|tie| (tie.name, tie.to)).collect();
    let written = Model::open_bytes(bytes, &format!("out.{format}")).map_err(|e| e.to_string())?;
    let verified = ops::verify(&written, model, &options).map_err(|error| error.to_string())?;
    match verified.ok {
        true => Ok((written, ties)),
        false => Err(format!("verify: {verified:?}")),
    }
}

/// What a tensor of the output must be; `None` if no library has read it.
fn golden(known: &Known, weight: &Weight, asked: OutputType) -> Option<Golden> {
    let name = weight.name();
    if weight.scheme() == "plain" {
        let same = asked.of(weight) == weight.native();
        return known.stored.get(name).filter(|_| same).cloned();
    }
    let wanted = asked.of(weight)?;
    let native = known.native.get(name)?;
    match (native, known.single.get(name)) {
        (Golden::Values(dtype, _), _) if *dtype == wanted => Some(native.clone()),
        (Golden::Values(DType::F32, bytes), _) if wanted == DType::BF16 => {
            let numbers = bytes.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk));
            let bytes = numbers.flat_map(|v| bf16::from_f32(v).to_le_bytes()).collect();
            Some(Golden::Values(DType::BF16, bytes))
        }
        (_, Some(single)) if wanted == DType::F32 => Some(single.clone()),
        _ => None,
    }
}

/// Whether bytes are the same, where any NaN equals any other.
fn same(found: &[u8], wanted: &[u8], dtype: DType) -> bool {
    let is_nan = |bytes: &[u8]| match dtype {
        DType::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::BF16 => bf16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        DType::F16 => weighbridge::f16::from_le_bytes(bytes.try_into().unwrap()).is_nan(),
        _ => false,
    };
    let width = dtype.bits() as usize / 8;
    let pairs = found.chunks_exact(width).zip(wanted.chunks_exact(width));
    found.len() == wanted.len() && pairs.into_iter().all(|(a, b)| a == b || is_nan(a) && is_nan(b))
}

fn compare(written: &Model, name: &str, golden: &Golden) -> Result<(), String> {
    let (source, info) =
        stored(written).find(|(_, info)| &*info.name == name).ok_or("is missing")?;
    let bytes = tensor_bytes(source, info).map_err(|error| error.to_string())?;
    let right = match golden {
        Golden::Values(dtype, wanted) => {
            info.stored.element() == Some(*dtype) && same(&bytes, wanted, *dtype)
        }
        Golden::Sum(dtype, sum) => info.stored.name() == dtype && sha256(&bytes) == *sum,
    };
    if right { Ok(()) } else { Err(format!("as {} differs from the golden", info.stored.name())) }
}

/// One sample into one container; how many tensors were compared.
fn check(known: &Known, writer: &dyn Writer, asked: OutputType) -> Result<usize, String> {
    let format = writer.format();
    let wanted = match asked {
        OutputType::Keep => kept(known, writer),
        _ => decoded(known, writer, asked),
    };
    // Findings, such as two tensors of one name, keep a weight from being written too.
    let found = known.model.findings().iter().filter_map(|finding| finding.tensor.as_deref());
    let found: HashSet<&str> = found.collect();
    let (can, cannot): (Vec<_>, Vec<_>) =
        wanted.iter().partition(|wanted| wanted.can_be_written && !found.contains(&*wanted.name));
    let refused = cannot.iter().find(|wanted| !wanted.can_be_written);
    if let Some(refused) = refused
        && convert(&known.model, format, asked, &HashSet::new()).is_ok()
    {
        return Err(format!("{} was written", refused.name));
    }
    if can.is_empty() {
        return Ok(0);
    }
    let chosen = can.iter().map(|wanted| wanted.name.clone()).collect();
    let (written, ties) = convert(&known.model, format, asked, &chosen)?;
    let mut compared = 0;
    for wanted in can {
        if let Some(golden) = &wanted.golden {
            let name = ties.get(&wanted.name).unwrap_or(&wanted.name);
            compare(&written, name, golden).map_err(|failure| format!("{name}: {failure}"))?;
            compared += 1;
        }
    }
    Ok(compared)
}

/// A sample is the same in every container, stored and decoded.
fn check_all(known: &Known) -> Result<(), String> {
    for writer in formats() {
        for (asked, word) in AS {
            let kind = format!("{} {word}", writer.format());
            let compared = check(known, writer, asked);
            counts::add(&kind, compared.map_err(|failure| format!("as {kind}: {failure}"))?);
        }
    }
    Ok(())
}
