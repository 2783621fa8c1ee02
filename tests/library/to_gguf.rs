//! Hugging Face models as GGUF files, against what llama.cpp's own converter makes of them: the same
//! tensors in the same order, to the byte, and the same metadata in type and value.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value as Json, json};
use weighbridge::catalog::Value;
use weighbridge::internals::families::{FAMILIES, Family, of_config};
use weighbridge::ops::{self, ConvertOptions, Names, NextLayers, OutputType};
use weighbridge::{DType, Model, OpenOptions, Select, Source, Stores};

use crate::common::root;

/// Keys that the converter takes from the name of the folder that a model lies in.
const BY_FOLDER: [&str; 5] = [
    "general.name",
    "general.basename",
    "general.finetune",
    "general.version",
    "general.size_label",
];

/// Types that the converter is asked for.
const TYPES: [&str; 4] = ["auto", "f32", "f16", "bf16"];

/// The converter's file in a model's folder.
pub(crate) fn golden(folder: &Path, dtype: &str) -> PathBuf {
    folder.join(format!("model-{dtype}.gguf"))
}

pub(crate) fn folder(family: &str) -> PathBuf {
    root().join("tests/files/to-gguf").join(family)
}

pub(crate) fn open(path: &Path) -> Model {
    OpenOptions::new().stores(Stores::none()).open(path).unwrap()
}

/// Converts a family's model into every type that there is a file of the converter's for.
fn check(family: &str) {
    let home = folder(family);
    let model = open(&home.join("hf"));
    let types = [OutputType::Auto, OutputType::F32, OutputType::F16, OutputType::Bf16];
    for (name, dtype) in TYPES.into_iter().zip(types) {
        let golden = golden(&home, name);
        // The converter makes F16 of what is stored as F32, unless it is told otherwise.
        let is_single = model.weights().any(|weight| weight.native() == Some(DType::F32));
        let dtype = if name == "auto" && is_single { OutputType::F16 } else { dtype };
        if golden.exists() {
            let options = ConvertOptions::new("-")
                .to("gguf")
                .names(Names::Gguf)
                .allow_lossy_config(true)
                .dtype(dtype);
            let mut bytes = Vec::new();
            ops::convert_to(&model, &options, &mut bytes).unwrap();
            let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
            compare(&made, &open(&golden), &format!("{family} {name}"));
        }
    }
}

/// The layers that predict further tokens dropped, and in a file of their own.
#[test]
fn next_token_layers_become_the_files_of_the_converter() {
    let kinds = [(NextLayers::Drop, "without-next.gguf"), (NextLayers::Only, "next.gguf")];
    let mut compared = 0;
    for family in converted() {
        let home = folder(&family);
        for (asked, name) in kinds {
            let golden = home.join(name);
            if golden.exists() {
                let golden = open(&golden);
                let stored = golden.weight("token_embd.weight").unwrap().native().unwrap();
                let dtype = match stored {
                    DType::F32 => OutputType::F32,
                    DType::F16 => OutputType::F16,
                    _ => OutputType::Bf16,
                };
                let options = ConvertOptions::new("-")
                    .to("gguf")
                    .names(Names::Gguf)
                    .allow_lossy_config(true)
                    .next_layers(asked)
                    .dtype(dtype);
                let mut bytes = Vec::new();
                ops::convert_to(&open(&home.join("hf")), &options, &mut bytes).unwrap();
                let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
                compare(&made, &golden, &format!("{family} {name}"));
                compared += 1;
            }
        }
    }
    assert!(compared >= 4, "{compared}");
}

pub(crate) fn compare(made: &Model, golden: &Model, what: &str) {
    let (ours, theirs) = (&made.sources()[0], &golden.sources()[0]);
    let names = |source: &Source| -> Vec<String> {
        source.catalog().tensors.iter().map(|tensor| tensor.name.to_string()).collect()
    };
    assert_eq!(names(ours), names(theirs), "{what}");
    for (a, b) in ours.catalog().tensors.iter().zip(&theirs.catalog().tensors) {
        let what = format!("{what} {}", a.name);
        assert_eq!((&a.shape, &a.stored), (&b.shape, &b.stored), "{what}");
        assert!(bytes(ours, a) == bytes(theirs, b), "{what}: other bytes");
    }
    let entries = |source: &Source| -> Vec<(String, Value)> {
        let all = source.catalog().metadata.iter();
        let wanted = all.filter(|(key, _)| !BY_FOLDER.contains(key));
        wanted.map(|(key, value)| (key.to_owned(), whole_of(source, value))).collect()
    };
    let (ours, theirs) = (entries(ours), entries(theirs));
    let keys = |all: &[(String, Value)]| all.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
    assert_eq!(keys(&ours), keys(&theirs), "{what}");
    for ((key, a), (_, b)) in ours.iter().zip(&theirs) {
        assert_eq!(a, b, "{what} {key}");
    }
}

pub(crate) fn whole_of(source: &Source, value: &Value) -> Value {
    match value {
        Value::Array(array) => Value::List(source.array(array).unwrap()),
        other => other.clone(),
    }
}

fn bytes(source: &Source, tensor: &weighbridge::catalog::TensorInfo) -> Vec<u8> {
    crate::common::tensor_bytes(source, tensor).unwrap()
}

/// The names of all models that there is a file of the converter's for.
pub(crate) fn converted() -> Vec<String> {
    let has_file = |path: &Path| TYPES.iter().any(|name| golden(path, name).exists());
    let folders = fs::read_dir(folder("")).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<String> = folders
        .filter(|path| path.join("hf").is_dir() && has_file(path))
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

/// Checks all of them, and names those that fail. `WEIGHBRIDGE_ONLY` has the starts of names, with commas, of
/// those that are checked while somebody works on them.
pub(crate) fn every(names: &[String], check: impl Fn(&str) + Sync) {
    let only = std::env::var("WEIGHBRIDGE_ONLY").unwrap_or_default();
    let is_asked = |name: &&String| only.split(',').any(|start| name.starts_with(start));
    let names: Vec<&String> = names.iter().filter(is_asked).collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            if catch_unwind(AssertUnwindSafe(|| check(name))).is_err() {
                wrong.lock().unwrap().push(name);
            }
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// The config of a model.
pub(crate) fn config(family: &str) -> Json {
    serde_json::from_slice(&fs::read(folder(family).join("hf/config.json")).unwrap()).unwrap()
}

/// The family of a model.
pub(crate) fn known(name: &str) -> &'static Family {
    of_config(&config(name)).unwrap_or_else(|| panic!("{name} is of no family"))
}

#[test]
fn models_become_the_files_of_the_converter() {
    let names = converted();
    assert!(names.len() > 50, "{names:?}");
    every(&names, check);
}

#[test]
fn every_family_has_a_file_of_the_converter() {
    let names = converted();
    let found: BTreeSet<&str> = names.iter().map(|name| known(name).types[0]).collect();
    let families: BTreeSet<&str> = FAMILIES.iter().map(|family| family.types[0]).collect();
    assert_eq!(found, families);
}

pub(crate) fn copy_files(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copy = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_files(&entry.path(), &copy),
            false => drop(fs::copy(entry.path(), copy).unwrap()),
        }
    }
}

/// llama.cpp loads no file with fewer tokens than the embedding has rows.
#[test]
fn every_row_of_the_embedding_has_a_token() {
    let whole = open(&folder("llama").join("model-f32.gguf"));
    let rows = whole.weight("token_embd.weight").unwrap().shape()[0];
    let fewer = with_setting("llama", "vocab_size", json!(rows - 1));
    let options = ConvertOptions::new("-").to("gguf").dtype(OutputType::F32);
    let mut bytes = Vec::new();
    ops::convert_to(&open(fewer.path()), &options, &mut bytes).unwrap();
    let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
    for key in ["tokenizer.ggml.tokens", "tokenizer.ggml.token_type"] {
        let list = |model: &Model| {
            let source = &model.sources()[0];
            whole_of(source, source.catalog().metadata.get(key).unwrap())
        };
        assert_eq!(list(&made), list(&whole), "{key}");
    }
}

/// In parts as llama.cpp splits models: every tensor of the whole file, in its order, and the metadata in
/// the first part only.
#[test]
fn a_directory_is_split_as_llama_cpp_does() {
    let home = folder("llama");
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("parts");
    let options =
        ConvertOptions::new(&out).to("gguf").dtype(OutputType::F32).max_shard_size(40_000);
    ops::convert(&open(&home.join("hf")), &options).unwrap();
    let (made, golden) = (open(&out), open(&home.join("model-f32.gguf")));
    let parts = made.sources();
    assert_eq!(parts.len(), 4);
    let tensors =
        parts.iter().flat_map(|part| part.catalog().tensors.iter().map(move |t| (part, t)));
    let whole = &golden.sources()[0];
    let mut count = 0;
    for ((part, a), b) in tensors.zip(&whole.catalog().tensors) {
        assert_eq!((&a.name, &a.shape, &a.stored), (&b.name, &b.shape, &b.stored));
        assert!(bytes(part, a) == bytes(whole, b), "{}", a.name);
        count += 1;
    }
    assert_eq!(count, whole.catalog().tensors.len());
    for (number, part) in parts.iter().enumerate() {
        let name = format!("parts-{:05}-of-00004.gguf", number + 1);
        assert!(part.input().name().ends_with(name));
        let metadata = &part.catalog().metadata;
        assert_eq!(metadata.get("split.no"), Some(&Value::Unsigned(16, number as u64)));
        assert_eq!(metadata.get("split.count"), Some(&Value::Unsigned(16, 4)));
        assert_eq!(
            metadata.get("split.tensors.count"),
            Some(&Value::Signed(32, i64::try_from(count).unwrap()))
        );
        assert_eq!(metadata.get("general.architecture").is_some(), number == 0);
    }
}

/// A copy of a family's model, with one of its files changed or, without contents, removed.
pub(crate) fn changed(family: &str, name: &str, contents: Option<&str>) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_files(&folder(family).join("hf"), copy.path());
    match contents {
        Some(contents) => fs::write(copy.path().join(name), contents).unwrap(),
        None => fs::remove_file(copy.path().join(name)).unwrap(),
    }
    copy
}

/// The same with one value of its config changed.
pub(crate) fn with_setting(family: &str, key: &str, value: Json) -> tempfile::TempDir {
    let mut config = config(family);
    config[key] = value;
    changed(family, "config.json", Some(&config.to_string()))
}

#[test]
fn encoders_are_the_same_by_value_too() {
    for (family, dtype) in [("bert", "f32"), ("xlm-roberta", "f32"), ("nomic_bert", "f16")] {
        let model = open(&folder(family).join("hf"));
        let golden = open(&folder(family).join(format!("model-{dtype}.gguf")));
        let report = ops::diff(&model, &golden, &ops::DiffOptions::default()).unwrap();
        assert!(report.ok, "{family} {:?}", report.summary);
    }
}

#[test]
fn encoders_that_readers_would_misread_are_refused() {
    let says = |model: &tempfile::TempDir, words: &str| {
        let error = refused(model.path());
        assert!(error.contains(words), "{error}");
    };
    says(&with_setting("nomic_bert", "prenorm", json!(true)), "`prenorm` true");
    says(&with_setting("nomic_bert", "moe_every_n_layers", json!(2)), "`nomic-bert-moe` has no");
    says(&with_setting("nomic_bert", "n_positions", json!(4096)), "context_length");
    says(&with_setting("xlm-roberta", "pad_token_id", json!(30)), "positions start at row 31");
    let two = json!({ "0": "no", "1": "yes" });
    says(&with_setting("bert-classes", "id2label", two), "2 classes, but the classifier has 3");
    let pooling = r#"{"pooling_mode_max_tokens": true}"#;
    says(
        &changed("bert", "1_Pooling/config.json", Some(pooling)),
        "invalid value for pooling_type",
    );
    says(
        &changed("bert", "1_Pooling/config.json", None),
        "1_Pooling/config.json, which does not exist",
    );
    says(&changed("bert-classes", "tokenizer.json", Some(r#"{"model":{"type":"BPE"}}"#)), "`BPE`");
}

pub(crate) fn refused(model: &Path) -> String {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out.gguf");
    let options = ConvertOptions::new(&out).names(Names::Gguf);
    let error = ops::convert(&open(model), &options).unwrap_err();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing is left behind");
    error.to_string()
}

#[test]
fn what_would_not_run_is_refused_before_anything_is_written() {
    let says = |model: &tempfile::TempDir, words: &str| {
        let error = refused(model.path());
        assert!(error.contains(words), "{error}");
    };
    says(&changed("llama", "config.json", None), "no config.json");
    says(&with_setting("llama", "num_hidden_layers", json!(40)), "layer 2 has no weights");
    let unknown = with_setting("llama", "architectures", json!(["OtherForCausalLM"]));
    let config = fs::read_to_string(unknown.path().join("config.json")).unwrap();
    let config = config.replace("\"llama\"", "\"other\"");
    fs::write(unknown.path().join("config.json"), config).unwrap();
    says(&unknown, "`other`");
    says(&changed("llama", "tokenizer.json", None), "tokenizer");
    says(&with_setting("llama", "vocab_size", json!(100_000)), "rows");
}

#[test]
fn weights_that_are_missing_are_named() {
    let whole = folder("qwen3_moe").join("hf");
    let place = tempfile::tempdir().unwrap();
    let part = place.path().join("part");
    let select = Select::new().exclude(|name| name.contains(".experts.1.up_proj"));
    let model = open(&whole);
    assert!(model.weights().any(|weight| weight.name().contains(".experts.1.up_proj")));
    ops::convert(&model, &ConvertOptions::new(&part).select(select)).unwrap();
    for name in ["config.json", "tokenizer.json", "tokenizer_config.json"] {
        fs::copy(whole.join(name), part.join(name)).unwrap();
    }
    let error = refused(&part);
    assert!(error.contains("expert 1 is missing"), "{error}");
}

#[test]
fn configs_that_contradict_the_weights_are_refused() {
    let says = |family: &str, key: &str, value: Json, words: &str| {
        let error = refused(with_setting(family, key, value).path());
        assert!(error.contains(words), "{error}");
    };
    let odd = "does not match config.json";
    says("deepseek_v3", "v_head_dim", json!(6), odd);
    says("deepseek_v3", "qk_nope_head_dim", json!(5), odd);
    says("deepseek_v3", "num_attention_heads", json!(5), odd);
    says("deepseek_v2", "n_routed_experts", json!(4), "states 4 experts, but there are 3");
    says("llama4", "num_local_experts", json!(2), "states 2 experts, but there are 3");
    says("qwen3_5", "linear_num_value_heads", json!(4), odd);
    says("qwen3_5", "linear_num_value_heads", json!(5), odd);
    says("qwen3_5", "linear_key_head_dim", json!(8), odd);
    says("qwen3_5", "layer_types", json!(["linear_attention"]), "recurrent_layers");
    says("olmo3", "layer_types", json!("all"), "sliding_window_pattern");
}

/// Files that have a model's numbers as they are.
#[test]
fn what_is_converted_can_be_compared() {
    every(&converted(), |family| {
        let model = open(&folder(family).join("hf"));
        let matrix = model.weights().find(|weight| weight.shape().len() > 1).unwrap();
        let own = matrix.native().map(|dtype| dtype.name().to_lowercase());
        let own = own.filter(|_| is_plain(&model)).unwrap_or_default();
        for dtype in ["f32", &*own] {
            let gguf = golden(&folder(family), dtype);
            if is_plain(&model) && gguf.exists() {
                let report = ops::diff(&model, &open(&gguf), &ops::DiffOptions::default()).unwrap();
                assert!(report.ok, "{family} {dtype}: {:?}", report.summary);
            }
        }
    });
}

/// Whether no weight of a model is quantized.
pub(crate) fn is_plain(model: &Model) -> bool {
    model.weights().all(|weight| weight.scheme() == "plain")
}

#[test]
fn a_quantized_model_is_decoded_on_the_way() {
    let model = open(&root().join("samples/tiny-llama-gptq"));
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out.gguf");
    let options =
        ConvertOptions::new(&out).names(Names::Gguf).pre_tokenizer("llama-bpe").verify(true);
    let report = ops::convert(&model, &options).unwrap();
    assert!(report.verified.unwrap().ok);
    let made = open(&out);
    let report = ops::diff(&model, &made, &ops::DiffOptions::default()).unwrap();
    assert!(report.ok, "{:?}", report.summary);
}

#[test]
fn verifying_looks_at_metadata_too() {
    let model = open(&folder("llama").join("hf"));
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out.gguf");
    let options = ConvertOptions::new(&out).names(Names::Gguf);
    ops::convert(&model, &options).unwrap();
    assert!(ops::verify(&open(&out), &model, &options).unwrap().ok);
    let with = options.clone().metadata("llama.context_length", Value::Unsigned(32, 7));
    let report = ops::verify(&open(&out), &model, &with).unwrap();
    assert!(!report.ok && report.files[0].problem.contains("llama.context_length"));
    let with = options.metadata("general.author", Value::text("nobody"));
    assert!(!ops::verify(&open(&out), &model, &with).unwrap().ok);
}
