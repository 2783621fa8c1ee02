//! Dequantized repositories: their configs, their types, and every file beside the weights.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tempfile::TempDir;
use weighbridge::ops::{self, ConvertOptions, ConvertReport, OutputType, Progress};
use weighbridge::{DType, Model, OpenOptions, Remedy};

use crate::common::root;

/// What a repository is made from.
const GPTQ: &str = "samples/tiny-llama-gptq";
const FP8: &str = "tests/files/fp8/hf-block";

/// A folder for a test, with a copy of a sample as `in`.
struct Place(TempDir);

impl Place {
    fn with(sample: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        copy(&root().join(sample), &place.at("in"));
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        fs::write(self.at(name), text).unwrap();
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_str(&self.text(name)).unwrap()
    }

    fn model(&self, name: &str) -> Model {
        Model::open(self.at(name)).unwrap()
    }

    fn options(&self, name: &str) -> ConvertOptions {
        ConvertOptions::new(self.at(name)).verify(true)
    }

    /// Dequantizes `in`; the output is verified.
    fn dequantized(&self, name: &str) -> ConvertReport {
        let report = ops::dequantize(&self.model("in"), &self.options(name)).unwrap();
        assert!(report.verified.as_ref().unwrap().ok, "{:?}", report.verified);
        report
    }

    /// Takes the settings of quantization out of the config of `in`.
    fn take_settings(&self) -> (Value, Value) {
        let mut config = self.json("in/config.json");
        let settings = config.as_object_mut().unwrap().remove("quantization_config").unwrap();
        (config, settings)
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        if !name.starts_with("expected") && entry.path().is_file() {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// Every file below a folder but the marker.
fn files_in(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(inner).unwrap().map(|entry| entry.unwrap().path()) {
            let name = entry.strip_prefix(folder).unwrap().to_str().unwrap().replace('\\', "/");
            match entry.is_dir() {
                true => folders.push(entry),
                false if name == ".weigh.json" => {}
                false => drop(all.insert(name, fs::read(entry).unwrap())),
            }
        }
    }
    all
}

fn types(model: &Model) -> Vec<&'static str> {
    let mut types: Vec<_> =
        model.weights().map(|weight| weight.native().map_or("?", DType::name)).collect();
    types.sort_unstable();
    types.dedup();
    types
}

/// Only the section is taken out, whatever spelling the rest has; and it is read although the text
/// is not what JSON's standard allows.
#[test]
fn a_config_loses_its_section_and_nothing_else() {
    let place = Place::with(FP8);
    let (mut config, settings) = place.take_settings();
    config.as_object_mut().unwrap().remove("rms_norm_eps");
    let rest = serde_json::to_string_pretty(&config).unwrap();
    let rest = rest.strip_prefix("{\n").unwrap();
    let odd = "\u{feff}{\n  \"rms_norm_eps\": 1e-06,\n  \"rope\": [Infinity, -Infinity, NaN],\n  \
               \"long\": 0.1234567890123456789012345,\n  \"seed\": 36893488147419103232,\n  \
               \"x\":   1.0E+2,\n";
    let section = format!("  \"quantization_config\": {settings},\n");
    place.write("in/config.json", format!("{odd}{section}{section}{rest}\r\n"));
    let report = place.dequantized("out");
    assert_eq!(place.text("out/config.json"), format!("{odd}{rest}\r\n"));
    let rewritten = &report.rewritten[0];
    assert_eq!(
        (&*rewritten.name, &rewritten.removed[..]),
        ("config.json", &["quantization_config".to_owned()][..])
    );
    assert!(rewritten.changed.is_empty() && report.rewritten.len() == 1);
    // As the last member, and beside duplicates.
    let last = rest.trim_end().strip_suffix("\n}").unwrap();
    place
        .write("in/config.json", format!("{{\n{last},\n  \"quantization_config\": {settings}\n}}"));
    place.dequantized("last");
    assert_eq!(place.text("last/config.json"), format!("{{\n{last}\n}}"));
}

#[test]
fn a_config_that_cannot_be_read_is_an_error_by_name() {
    let place = Place::with(FP8);
    let text = place.text("in/config.json");
    place.write("in/config.json", text.replace("1e-06", "1e-06,,"));
    let error = ops::dequantize(&place.model("in"), &place.options("out")).unwrap_err();
    assert!(error.to_string().contains("config.json"), "{error}");
    assert!(!place.at("out").exists());
    // Files that say all about themselves are opened without it.
    let place = Place(tempfile::tempdir().unwrap());
    place.write("in/config.json", "{ not JSON");
    let gguf = root().join("tests/files/names/qwen3-q8/model.gguf");
    fs::copy(gguf, place.at("in/model.gguf")).unwrap();
    let options = place.options("out").to("gguf");
    let error = ops::dequantize(&place.model("in"), &options).unwrap_err();
    assert!(error.to_string().contains("config.json"), "{error}");
}

/// The section may describe a model inside the model, at any depth.
#[test]
fn the_section_is_found_and_removed_wherever_it_is() {
    let plain = Place::with(GPTQ);
    plain.dequantized("out");
    let expected = files_in(&plain.at("out"));
    for path in [
        "text_config",
        "llm_config",
        "language_config",
        "thinker_config",
        "thinker_config/text_config",
        "some_config/decoder_config",
    ] {
        let place = Place::with(GPTQ);
        let (config, settings) = place.take_settings();
        let mut inner = json!({ "quantization_config": settings, "num_layers": 2 });
        for key in path.split('/').rev() {
            inner = json!({ key: inner, "model_type": "x" });
        }
        let mut with = config.clone();
        with.as_object_mut().unwrap().extend(inner.as_object().unwrap().clone());
        place.write("in/config.json", with.to_string());
        let model = place.model("in");
        assert!(model.findings().is_empty(), "{path}: {:?}", model.findings());
        assert!(model.weights().any(|weight| weight.scheme() == "gptq"), "{path}");
        let report = place.dequantized("out");
        let removed = format!("{}.quantization_config", path.replace('/', "."));
        assert_eq!(report.rewritten[0].removed, [removed], "{path}");
        assert!(!place.text("out/config.json").contains("quantization_config"), "{path}");
        let files = files_in(&place.at("out"));
        assert!(files["model.safetensors"] == expected["model.safetensors"], "{path}");
    }
}

/// The config says bfloat16, the scheme's library decodes to float16.
#[test]
fn decoded_weights_follow_the_type_of_the_config() {
    let place = Place::with(GPTQ);
    let before = place.json("in/config.json");
    assert_eq!(before["dtype"], "bfloat16");
    let report = place.dequantized("auto");
    let decoded = &report.decoded_as[0];
    assert_eq!(decoded.dtype, "BF16");
    assert_eq!(decoded.reason, "from config.json; the native type is F16");
    assert_eq!(types(&place.model("auto")), ["BF16"]);
    assert_eq!(place.json("auto/config.json")["dtype"], "bfloat16");
    assert!(report.rewritten[0].changed.is_empty());
    // Each value is the exact one, rounded once.
    let (model, output) = (place.model("in"), place.model("auto"));
    for weight in model.weights().filter(|weight| weight.scheme() == "gptq") {
        let exact = weight.decode_to_vec::<f32>().unwrap();
        let once: Vec<_> = exact.iter().map(|&value| weighbridge::bf16::from_f32(value)).collect();
        let found = output.weight(weight.name()).unwrap();
        assert!(found.decode_to_vec::<weighbridge::bf16>().unwrap() == once, "{}", weight.name());
    }
    // What the library decodes to, and the config follows.
    let native = place.options("native").dtype(OutputType::Native);
    let report = ops::dequantize(&model, &native).unwrap();
    assert_eq!(report.decoded_as[0].dtype, "F16");
    assert_eq!(types(&place.model("native")), ["BF16", "F16"]);
    let changed = &report.rewritten[0].changed[0];
    let keys = (&*changed.key, changed.from.as_deref(), &*changed.to);
    assert_eq!(keys, ("dtype", Some("bfloat16"), "float16"));
    let named = ops::dequantize(&model, &place.options("f32").dtype(OutputType::F32)).unwrap();
    assert_eq!(
        (&*named.decoded_as[0].dtype, types(&place.model("f32"))),
        ("F32", vec!["BF16", "F32"])
    );
    assert_eq!(place.json("f32/config.json")["dtype"], "float32");
    for (name, dtype) in
        [("auto", OutputType::Auto), ("native", OutputType::Native), ("f32", OutputType::F32)]
    {
        let options = ConvertOptions::new(place.at(name));
        let verify = |dtype| {
            let options = options.clone().dtype(dtype);
            ops::verify_dequantized(&place.model(name), &model, &options).unwrap().ok
        };
        assert!(verify(dtype), "{name}");
        let other = if name == "auto" { OutputType::Native } else { OutputType::Auto };
        assert!(!verify(other), "{name}");
    }
    // A conversion has no config to follow.
    let report = ops::convert(&model, &ConvertOptions::new(place.at("c.safetensors"))).unwrap();
    assert!(report.conversions.iter().any(|row| row.scheme == "gptq" && row.dtype == "F16"));
    let native = ConvertOptions::new(place.at("n.safetensors")).dtype(OutputType::Native);
    ops::convert(&model, &native).unwrap();
    let [auto, native] =
        ["c", "n"].map(|name| fs::read(place.at(&format!("{name}.safetensors"))).unwrap());
    assert!(auto == native);
}

#[test]
fn a_type_that_only_the_language_model_names_counts() {
    let place = Place::with(GPTQ);
    let (mut config, settings) = place.take_settings();
    config.as_object_mut().unwrap().remove("dtype");
    config["llm_config"] = json!({ "dtype": "bfloat16", "quantization_config": settings });
    config["vision_config"] = json!({ "dtype": "float32" });
    place.write("in/config.json", config.to_string());
    assert_eq!(place.dequantized("out").decoded_as[0].dtype, "BF16");
    let f16 = place.options("f16").dtype(OutputType::F16);
    ops::dequantize(&place.model("in"), &f16).unwrap();
    let config = place.json("f16/config.json");
    assert_eq!(config["llm_config"]["dtype"], "float16");
    assert_eq!(config["vision_config"]["dtype"], "float32");
}

/// A config that was left behind beside plain weights is only worth a note.
#[test]
fn plain_weights_beside_an_old_section_are_taken_as_they_are() {
    let place = Place::with(GPTQ);
    let (_, settings) = place.take_settings();
    place.dequantized("plain");
    let merged = place.at("merged");
    copy(&place.at("plain"), &merged);
    fs::remove_file(merged.join(".weigh.json")).unwrap();
    let clean = place.json("plain/config.json");
    let on_the_fly = json!({ "quant_method": "bitsandbytes", "load_in_4bit": true });
    for (at, section) in [settings, on_the_fly].into_iter().enumerate() {
        let mut config = clean.clone();
        config["quantization_config"] = section;
        place.write("merged/config.json", format!("{config:#}\n"));
        let model = place.model("merged");
        assert!(model.findings().is_empty(), "{:?}", model.findings());
        assert!(model.notes()[0].contains("but no tensor is"), "{:?}", model.notes());
        ops::convert(&model, &ConvertOptions::new(place.at(&format!("{at}.safetensors")))).unwrap();
        let out = format!("out{at}");
        let report = ops::dequantize(&model, &place.options(&out)).unwrap();
        assert_eq!(report.rewritten[0].removed, ["quantization_config"]);
        assert!(report.decoded_as.is_empty() && report.notes[0].contains("but no tensor is"));
        assert_eq!(place.json(&format!("{out}/config.json")), clean);
        let files = files_in(&place.at(&out));
        assert!(files["model.safetensors"] == files_in(&merged)["model.safetensors"]);
    }
    // An adapter beside the config of its quantized base.
    fs::rename(merged.join("model.safetensors"), merged.join("adapter_model.safetensors")).unwrap();
    let adapter = place.model("merged");
    assert!(adapter.findings().is_empty(), "{:?}", adapter.findings());
    ops::convert(&adapter, &ConvertOptions::new(place.at("adapter.safetensors"))).unwrap();
}

#[test]
fn a_model_that_is_not_quantized_is_not_copied() {
    let place = Place::with(GPTQ);
    place.dequantized("plain");
    let error = ops::dequantize(&place.model("plain"), &place.options("again")).unwrap_err();
    assert!(error.message().contains("is not quantized"), "{error}");
    assert_eq!(error.remedies(), [Remedy::ConvertOrCopy]);
    assert!(!place.at("again").exists());
    let keep = place.options("kept").dtype(OutputType::Keep);
    let error = ops::dequantize(&place.model("in"), &keep).unwrap_err();
    assert!(error.message().contains("cannot keep tensors as stored"), "{error}");
}

/// Everything is replaced, copied to the byte, or left behind for a reason that is said.
#[test]
fn no_file_vanishes_without_a_word() {
    let place = Place::with(GPTQ);
    let weights = fs::read(root().join("tests/files/safetensors/shapes.safetensors")).unwrap();
    for name in ["2_Dense/model.safetensors", "speech_tokenizer/model.safetensors"] {
        place.write(&format!("in/{name}"), &weights);
    }
    let copied =
        ["2_Dense/config.json", "model.onnx", "onnx/model.onnx", "training_args.bin", "x.gguf"];
    for name in copied {
        place.write(&format!("in/{name}"), name);
    }
    let left = ["pytorch_model.bin", "quantize_config.json", "tf_model.h5", ".gitattributes"];
    for name in left {
        place.write(&format!("in/{name}"), "{}");
    }
    fs::write(place.at("in/.weigh.json"), "{}").unwrap();
    let report = place.dequantized("out");
    let (before, after) = (files_in(&place.at("in")), files_in(&place.at("out")));
    for name in &report.copied {
        assert!(before[name] == after[name], "{name}");
    }
    let has = |name: &str| report.copied.iter().any(|copied| copied == name);
    assert!(copied.iter().all(|name| has(name)) && has("2_Dense/model.safetensors"));
    let mut names: Vec<_> = report.left_behind.iter().map(|left| &*left.name).collect();
    names.sort_unstable();
    let mut expected = left;
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert!(report.left_behind.iter().all(|left| !left.reason.is_empty()));
    let note = report.notes.iter().find(|note| note.contains("2_Dense/model.safetensors"));
    assert!(note.unwrap().contains("speech_tokenizer/model.safetensors"));
    // Every file of the model has its place in the report, or a new file in its place.
    let rewritten = report.rewritten.iter().map(|file| file.name.clone());
    let mut known: Vec<String> = report.copied.iter().cloned().chain(rewritten).collect();
    known.extend(left.map(str::to_owned));
    known.push("model.safetensors".to_owned());
    for name in before.keys() {
        let is_shard = name.starts_with("model-0000") || name.ends_with(".index.json");
        assert!(known.contains(name) || is_shard, "{name} is nowhere in the report");
    }
}

/// What a pipeline holds: a quantized component, a plain one, and files beside them.
fn pipeline() -> Place {
    let place = Place(tempfile::tempdir().unwrap());
    copy(&root().join(FP8), &place.at("in/transformer"));
    copy(&root().join(GPTQ), &place.at("in/text_encoder"));
    let plain = root().join("tests/files/safetensors/metadata.safetensors");
    place.write("in/vae/diffusion_pytorch_model.safetensors", fs::read(plain).unwrap());
    place.write("in/vae/config.json", "{\"scaling_factor\": 1e-06}");
    place.write("in/scheduler/scheduler_config.json", "{}");
    let component = json!(["diffusers", "X"]);
    let index = json!({ "_class_name": "P", "transformer": component,
        "text_encoder": component, "vae": component, "scheduler": component });
    place.write("in/model_index.json", index.to_string());
    place
}

fn components(place: &Place, name: &str) -> Vec<Model> {
    OpenOptions::new().open_pipeline(place.at(name)).unwrap().unwrap()
}

#[test]
fn a_pipeline_is_dequantized_component_by_component() {
    let place = pipeline();
    let models = components(&place, "in");
    assert_eq!(models.len(), 3);
    let planned =
        ops::dequantize_pipeline(&models, &place.options("out").verify(false).dry_run(true));
    assert_eq!(planned.unwrap().files.len(), 2);
    assert!(!place.at("out").exists());
    let report = ops::dequantize_pipeline(&models, &place.options("out")).unwrap();
    assert!(report.verified.as_ref().unwrap().ok, "{:?}", report.verified);
    let (before, after) = (files_in(&place.at("in")), files_in(&place.at("out")));
    for name in ["model_index.json", "vae/config.json", "vae/diffusion_pytorch_model.safetensors"] {
        assert!(before[name] == after[name] && report.copied.contains(&name.to_owned()), "{name}");
    }
    for (component, sample) in [("transformer", FP8), ("text_encoder", GPTQ)] {
        let alone = Place::with(sample);
        alone.dequantized("out");
        for (name, bytes) in files_in(&alone.at("out")) {
            assert!(after[&format!("{component}/{name}")] == bytes, "{component}/{name}");
        }
        let name = format!("{component}/config.json");
        assert!(report.rewritten.iter().any(|file| file.name == name), "{name}");
    }
    assert_eq!(report.decoded_as.len(), 2);
    let outputs = components(&place, "out");
    let options = ConvertOptions::new(place.at("out"));
    let verified = ops::verify_pipeline(&outputs, &models, &options).unwrap();
    assert!(verified.ok && verified.checked_files > 3, "{verified:?}");
    fs::remove_file(place.at("out/vae/config.json")).unwrap();
    let verified = ops::verify_pipeline(&outputs, &models, &options).unwrap();
    assert!(!verified.ok && verified.files[0].name == "vae/config.json", "{verified:?}");
    let error = ops::dequantize_pipeline(&models, &ConvertOptions::new(place.at("in/new")));
    assert!(error.unwrap_err().message().contains("inside the model's directory"));
    let plain: Vec<Model> = models.into_iter().filter(|m| m.path().ends_with("vae")).collect();
    let error = ops::dequantize_pipeline(&plain, &place.options("none")).unwrap_err();
    assert!(error.message().contains("is not quantized"), "{error}");
}

#[test]
fn a_pipeline_goes_on_where_it_was_interrupted() {
    let place = pipeline();
    let models = components(&place, "in");
    let options = |name: &str| place.options(name).max_shard_size(60_000);
    ops::dequantize_pipeline(&models, &options("whole")).unwrap();
    let whole = files_in(&place.at("whole"));
    for after in [1, 1_000, 100_000, 160_000] {
        let stop = Arc::new(AtomicBool::new(false));
        let heard = stop.clone();
        let heard = move |at: Progress| heard.store(at.done >= after, Ordering::Relaxed);
        let stopped = options("out").progress(Arc::new(heard)).cancel(stop);
        let one = stopped.threads(1.try_into().unwrap());
        let error = ops::dequantize_pipeline(&models, &one).unwrap_err();
        assert!(error.to_string().contains("stopped"), "{error}");
        ops::dequantize_pipeline(&models, &options("out").resume(true)).unwrap();
        assert!(files_in(&place.at("out")) == whole, "{after}");
        fs::remove_dir_all(place.at("out")).unwrap();
        assert!(!place.at("out.weigh-partial").exists());
    }
}

/// An index, a config or a copied file that is wrong or missing is found and named.
#[test]
fn every_file_of_an_output_is_verified() {
    let place = Place::with(GPTQ);
    let model = place.model("in");
    let options = place.options("out").max_shard_size(60_000);
    ops::dequantize(&model, &options).unwrap();
    let whole = files_in(&place.at("out"));
    let index = "model.safetensors.index.json";
    let verify = || {
        let output = place.model("out");
        assert!(ops::was_dequantized(&output, &model));
        ops::verify_dequantized(&output, &model, &ConvertOptions::new(place.at("out"))).unwrap()
    };
    let report = verify();
    assert!(report.ok && report.checked_files == whole.len() as u64 - 6, "{report:?}");
    let text = |name: &str| String::from_utf8(whole[name].clone()).unwrap();
    let swapped = text(index).replacen("00002-of-00005", "00001-of-00005", 1);
    let sized = text(index).replace("\"total_size\": ", "\"total_size\": 1");
    for (name, new, problem) in [
        (index, None, "is missing"),
        (index, Some(swapped), "but it is in model-00002-of-00005.safetensors"),
        (index, Some(sized), "total_size"),
        ("config.json", Some(text("config.json").replace("silu", "gelu")), "first at byte 206"),
        ("config.json", Some(fs::read_to_string(place.at("in/config.json")).unwrap()), "differs"),
        ("tokenizer.json", None, "is missing"),
        ("tokenizer_config.json", Some(text("tokenizer_config.json") + " "), "differs"),
    ] {
        match &new {
            Some(new) => fs::write(place.at("out").join(name), new).unwrap(),
            None => fs::remove_file(place.at("out").join(name)).unwrap(),
        }
        let report = verify();
        let found: Vec<_> = report.files.iter().map(|file| (&*file.name, &*file.problem)).collect();
        assert!(!report.ok && found.len() == 1, "{name}: {report:?}");
        assert!(found[0].0 == name && found[0].1.contains(problem), "{found:?}");
        fs::write(place.at("out").join(name), &whole[name]).unwrap();
    }
    // Without its marker it is known by its config, and a conversion is known by its own.
    fs::remove_file(place.at("out/.weigh.json")).unwrap();
    assert!(verify().ok);
    ops::convert(&model, &ConvertOptions::new(place.at("weights")).max_shard_size(60_000)).unwrap();
    place.write("weights/config.json", "{}");
    let output = place.model("weights");
    assert!(!ops::was_dequantized(&output, &model));
    let options = ConvertOptions::new(place.at("weights"));
    assert!(ops::verify(&output, &model, &options).unwrap().ok);
    fs::remove_file(place.at("weights").join(index)).unwrap();
    let report = ops::verify(&place.model("weights"), &model, &options).unwrap();
    assert_eq!((report.ok, &*report.files[0].name), (false, index));
}
