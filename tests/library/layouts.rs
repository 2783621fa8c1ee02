//! Codes that are moved into another layout: the same numbers, bit for bit, in other tensors.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;
use weighbridge::ops::{self, ConvertOptions};
use weighbridge::{DType, Error, Model};

use crate::common::root;

/// A sample with the layouts that hold its codes as they are.
const MOVED: [(&str, &[&str]); 11] = [
    ("tests/files/gptq/asym-v1", &["compressed-tensors", "awq"]),
    ("tests/files/gptq/asym-v1-zero", &["compressed-tensors", "awq"]),
    ("tests/files/gptq/bits8", &["compressed-tensors"]),
    ("tests/files/gptq/group-all", &["compressed-tensors", "awq"]),
    ("tests/files/gptq/v2", &["compressed-tensors", "awq"]),
    ("samples/tiny-llama-gptq", &["compressed-tensors", "awq"]),
    ("tests/files/awq/gemm-g32", &["compressed-tensors", "gptq"]),
    ("tests/files/awq/gemm-channel", &["compressed-tensors", "gptq"]),
    ("tests/files/compressed/int4-g16-asym", &["gptq", "awq"]),
    ("tests/files/compressed/int4-g32-f16", &["gptq", "awq"]),
    ("tests/files/compressed/int8-channel-asym-f32", &["gptq"]),
];

/// A folder with a copy of a sample as `in`.
struct Place(TempDir);

impl Place {
    fn with(sample: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.at("in")).unwrap();
        for entry in fs::read_dir(root().join(sample)).unwrap().map(|entry| entry.unwrap()) {
            let name = entry.file_name().into_string().unwrap();
            if !name.starts_with("expected") && entry.path().is_file() {
                fs::copy(entry.path(), place.at("in").join(name)).unwrap();
            }
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn options(&self, to: &str, layout: &str) -> ConvertOptions {
        ConvertOptions::new(self.at(to)).layout(layout)
    }

    /// Moves the codes of one folder into another; the output is verified. Returns the kinds of warnings.
    fn moved(&self, from: &str, to: &str, layout: &str) -> Vec<&'static str> {
        let model = Model::open(self.at(from)).unwrap();
        let report = ops::convert(&model, &self.options(to, layout).verify(true)).unwrap();
        assert!(report.verified.as_ref().unwrap().ok, "{layout}: {:?}", report.verified);
        report.warnings.iter().map(|warning| warning.kind).collect()
    }

    fn refused(&self, layout: &str) -> Error {
        let model = Model::open(self.at("in")).unwrap();
        let error = ops::convert(&model, &self.options("out", layout)).unwrap_err();
        assert!(!self.at("out").exists(), "{error}");
        error
    }

    fn config(&self, folder: &str) -> Value {
        config_of(&self.at(folder))
    }
}

fn config_of(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap()
}

/// A weight's name, its native type, and its numbers in f32 and in that type.
type Numbers = (String, DType, Vec<u8>, Vec<u8>);

/// Every weight of a folder.
fn numbers(folder: &Path) -> Vec<Numbers> {
    let model = Model::open(folder).unwrap();
    assert!(model.findings().is_empty(), "{:?}", model.findings());
    let of = |weight: weighbridge::Weight| {
        let native = weight.native().unwrap();
        let [single, own] = [DType::F32, native].map(|dtype| weight.read_to_vec(dtype).unwrap());
        (weight.name().to_owned(), native, single, own)
    };
    let mut all: Vec<Numbers> = model.weights().map(of).collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

#[test]
fn numbers_stay_the_same_there_and_back() {
    for (sample, layouts) in MOVED {
        let place = Place::with(sample);
        let own = place.config("in")["quantization_config"]["quant_method"].clone();
        for layout in layouts {
            place.moved("in", layout, layout);
            assert!(numbers(&place.at("in")) == numbers(&place.at(layout)), "{sample} {layout}");
            let config = place.config(layout);
            assert_eq!(config["quantization_config"]["quant_method"], *layout);
            let back = format!("{layout}-back");
            place.moved(layout, &back, own.as_str().unwrap());
            assert!(numbers(&place.at("in")) == numbers(&place.at(&back)), "{sample} {back}");
        }
    }
}

/// What is refused is named, with the reason, and nothing is written.
#[test]
fn what_a_layout_cannot_hold_is_refused() {
    for (sample, layout, reason) in [
        ("gptq/desc-act", "compressed-tensors", "act-order"),
        ("gptq/bits2", "compressed-tensors", "its codes have 2 bits"),
        ("gptq/bits3", "compressed-tensors", "its codes have 3 bits"),
        ("gptq/bits8", "awq", "its codes have 8 bits, but AWQ has 4"),
        ("gptq/dynamic", "compressed-tensors", "its codes have 2 bits"),
        ("gptq/v2", "gptq", "already has the layout gptq"),
        ("gptq/v2", "other", "unknown layout `other`"),
        ("compressed/old-actorder", "gptq", "act-order"),
        ("compressed/experts", "gptq", "stacks of matrices"),
        ("compressed/mixed", "gptq", "its codes are not integers"),
        ("compressed/nvfp4", "modelopt", "activations are quantized too"),
        ("compressed/mxfp4", "modelopt", "its scales are F8_E8M0 with group size 32"),
        ("compressed/int4-g32-f16", "modelopt", "its codes are integers"),
        ("nvfp4/modelopt", "compressed-tensors", "activations are quantized too"),
        ("nvfp4/modelopt-experts", "compressed-tensors", "activations are quantized too"),
        ("compressed/w8a8", "gptq", "activations"),
        ("mx/gpt-oss", "compressed-tensors", "its experts are stacked"),
        ("fp8/hf-block", "compressed-tensors", "cannot be moved to another layout"),
    ] {
        let error = Place::with(&format!("tests/files/{sample}")).refused(layout);
        assert!(error.to_string().contains(reason), "{sample}: {error}");
    }
}

/// Replaces bytes of a stored tensor.
fn patch(folder: &Path, ends: &str, change: impl Fn(&mut [u8])) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_none_or(|extension| extension != "safetensors") {
            continue;
        }
        let mut bytes = fs::read(&entry).unwrap();
        let (length, rest) = bytes.split_at_mut(8);
        let length = u64::from_le_bytes(length.try_into().unwrap()).try_into().unwrap();
        let (header, data) = rest.split_at_mut(length);
        let header: Value = serde_json::from_slice(header).unwrap();
        for (_, tensor) in header.as_object().unwrap().iter().filter(|(n, _)| n.ends_with(ends)) {
            let [from, to] = [0, 1]
                .map(|end| usize::try_from(tensor["data_offsets"][end].as_u64().unwrap()).unwrap());
            change(&mut data[from..to]);
        }
        fs::write(&entry, bytes).unwrap();
    }
}

/// A ModelOpt model whose activations stay as they are.
fn four_bit_floats() -> Place {
    let place = Place::with("tests/files/nvfp4/modelopt");
    for name in ["in/config.json", "in/hf_quant_config.json"] {
        let text = fs::read_to_string(place.at(name)).unwrap();
        fs::write(place.at(name), text.replace("\"NVFP4\"", "\"W4A16_NVFP4\"")).unwrap();
    }
    place
}

#[test]
fn four_bit_floats_are_moved_where_no_product_changes() {
    let error = four_bit_floats().refused("compressed-tensors");
    assert!(error.to_string().contains("no reciprocal gives"), "{error}");
    let place = four_bit_floats();
    let power = |bytes: &mut [u8]| bytes.copy_from_slice(&(1.0f32 / 4096.0).to_le_bytes());
    patch(&place.at("in"), ".weight_scale_2", power);
    assert_eq!(place.moved("in", "there", "compressed-tensors"), [""; 0]);
    assert!(numbers(&place.at("in")) == numbers(&place.at("there")));
    assert_eq!(place.config("there")["quantization_config"]["format"], "nvfp4-pack-quantized");
    assert!(!place.at("there/hf_quant_config.json").exists());
    assert_eq!(place.moved("there", "back", "modelopt"), ["will-not-load"]);
    assert!(numbers(&place.at("in")) == numbers(&place.at("back")));
    assert!(place.at("back/hf_quant_config.json").exists());
    // ModelOpt's reader has no minus zero.
    patch(&place.at("there"), ".weight_packed", |bytes| bytes[0] = 0x88);
    place.moved("there", "signs", "modelopt");
    for (one, other) in numbers(&place.at("there")).iter().zip(numbers(&place.at("signs"))) {
        for (one, other) in one.2.as_chunks().0.iter().zip(other.2.as_chunks().0) {
            let (one, other) = (f32::from_le_bytes(*one), f32::from_le_bytes(*other));
            assert!(one.to_bits() == other.to_bits() || one == 0.0 && other == 0.0);
        }
    }
}

/// Weights of several kinds in one model: a config with a group for each, or a refusal by name.
#[test]
fn kinds_of_weights_are_told_apart() {
    let place = Place::with("tests/files/gptq/dynamic");
    let select = || weighbridge::Select::new().exclude(|name| name.contains("gate_proj"));
    let model = Model::open(place.at("in")).unwrap();
    let options = place.options("out", "compressed-tensors").select(select()).verify(true);
    assert!(ops::convert(&model, &options).unwrap().verified.unwrap().ok);
    let groups = &place.config("out")["quantization_config"]["config_groups"];
    assert_eq!(groups.as_object().unwrap().len(), 2, "{groups}");
    let mut own = numbers(&place.at("in"));
    own.retain(|(name, ..)| !name.contains("gate_proj"));
    assert!(own == numbers(&place.at("out")));
    let error = Place::with("tests/files/gptq/dynamic");
    let model = Model::open(error.at("in")).unwrap();
    let found = ops::convert(&model, &error.options("out", "awq").select(select())).unwrap_err();
    assert!(found.to_string().contains("this layout needs the same for all weights"), "{found}");
}

/// Tiles of any size and any number of workers give the same bytes.
#[test]
fn tiles_do_not_matter() {
    let place = Place::with("tests/files/gptq/asym-v1");
    for (from, layout) in [("in", "compressed-tensors"), ("whole-compressed-tensors", "gptq")] {
        let whole = format!("whole-{layout}");
        place.moved(from, &whole, layout);
        let model = Model::open(place.at(from)).unwrap();
        let small = format!("small-{layout}");
        let options =
            place.options(&small, layout).threads(3.try_into().unwrap()).max_memory(6 * 1024);
        ops::convert(&model, &options).unwrap();
        let [one, other] = [whole, small]
            .map(|folder| fs::read(place.at(&folder).join("model.safetensors")).unwrap());
        assert!(one == other, "{layout}");
    }
}

/// A repository of one module `p` in four bits, whose codes, zero points and scales are counted up.
#[allow(clippy::cast_possible_truncation)] // Any bytes will do, and groups are few.
fn made(outputs: usize, inputs: usize, group: usize, sym: bool) -> Place {
    let place = Place(tempfile::tempdir().unwrap());
    fs::create_dir(place.at("in")).unwrap();
    let groups = inputs.div_ceil(group);
    let zero_words = outputs.div_ceil(8);
    let bytes = |len: usize| (0..len).map(|at| (at * 37 + at / 7) as u8).collect::<Vec<u8>>();
    let zeros =
        if sym { vec![0x77; groups * zero_words * 4] } else { bytes(groups * zero_words * 4) };
    let scales =
        (0..groups * outputs).flat_map(|at| (0x2000 + (at % 4096) as u16).to_le_bytes()).collect();
    let index = (0..inputs).flat_map(|input| ((input / group) as u32).to_le_bytes()).collect();
    let tensors: [(&str, &str, Vec<usize>, Vec<u8>); 5] = [
        ("p.g_idx", "I32", vec![inputs], index),
        ("p.qweight", "I32", vec![inputs / 8, outputs], bytes(inputs / 2 * outputs)),
        ("p.qzeros", "I32", vec![groups, zero_words], zeros),
        ("p.scales", "F16", vec![groups, outputs], scales),
        ("p_plain.weight", "F16", vec![2, 2], bytes(8)),
    ];
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        let entry = json!({ "dtype": dtype, "shape": shape, "data_offsets": offsets });
        header.insert(name.to_owned(), entry);
        data.extend(bytes);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    fs::write(place.at("in/model.safetensors"), file).unwrap();
    let settings = json!({ "quant_method": "gptq", "bits": 4, "group_size": group, "sym": sym });
    let config = json!({ "quantization_config": settings, "dtype": "float16" });
    fs::write(place.at("in/config.json"), config.to_string()).unwrap();
    place
}

#[test]
fn sides_that_fill_no_words_are_refused() {
    for (place, layout, reason) in [
        (
            made(64, 48, 32, true),
            "compressed-tensors",
            "row length 48 is not a multiple of the group size (32)",
        ),
        (
            made(64, 48, 12, true),
            "compressed-tensors",
            "48 columns in groups of 12 do not fill whole words",
        ),
        (made(60, 64, 32, false), "compressed-tensors", "60 rows do not fill whole words"),
        (made(60, 64, 32, true), "awq", "60 rows do not fill whole words"),
    ] {
        let error = place.refused(layout);
        assert!(error.to_string().contains(reason), "{error}");
    }
    // Without zero points there are no words to be filled with them.
    let place = made(60, 64, 32, true);
    place.moved("in", "out", "compressed-tensors");
    assert!(numbers(&place.at("in")) == numbers(&place.at("out")));
    let names = place.config("out")["quantization_config"]["ignore"].clone();
    assert_eq!(names, json!(["p_plain", "lm_head"]));
}

/// Weights of several tiles in both directions, with zero points of every value.
#[test]
fn large_weights_are_moved_piece_by_piece() {
    let place = made(2056, 2048, 64, false);
    for (from, to, layout) in [
        ("in", "a", "compressed-tensors"),
        ("a", "b", "awq"),
        ("b", "c", "gptq"),
        ("in", "d", "awq"),
    ] {
        place.moved(from, to, layout);
        assert!(numbers(&place.at("in")) == numbers(&place.at(to)), "{from} {to}");
    }
    // A zero point is 0, which cannot be stored less one by itself.
    let settings = &place.config("c")["quantization_config"];
    assert_eq!(settings["checkpoint_format"], "gptq_v2");
    assert_eq!(settings["dynamic"], json!({ "-:^p_plain$": {} }));
}

/// A file without a folder around it has no config, and what is no directory cannot have one.
#[test]
fn only_repositories_become_repositories() {
    let place = made(64, 64, 32, true);
    let model = Model::open(place.at("in")).unwrap();
    let options = ConvertOptions::new(place.at("out.safetensors")).layout("awq");
    let error = ops::convert(&model, &options).unwrap_err();
    assert!(error.to_string().contains("config.json"), "{error}");
    fs::rename(place.at("in/config.json"), place.at("in/quantize_config.json")).unwrap();
    let text = fs::read_to_string(place.at("in/quantize_config.json")).unwrap();
    let settings: Value = serde_json::from_str(&text).unwrap();
    let settings = settings["quantization_config"].to_string();
    fs::write(place.at("in/quantize_config.json"), settings).unwrap();
    let error = place.refused("awq");
    assert!(
        error.to_string().contains("needs config.json in the directory of the weights"),
        "{error}"
    );
}
