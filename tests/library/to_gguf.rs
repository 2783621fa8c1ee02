//! Hugging Face models as GGUF files, against what llama.cpp's own converter makes of them: the same
//! tensors in the same order, to the byte, and the same metadata in type and value.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};
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
    let types = [
        ("auto", OutputType::Auto),
        ("f32", OutputType::F32),
        ("f16", OutputType::F16),
        ("bf16", OutputType::Bf16),
    ];
    let mut checked = 0;
    for (name, dtype) in types {
        let golden = home.join(format!("model-{name}.gguf"));
        // The converter makes F16 of what is stored as F32, unless it is told otherwise.
        let is_single = model.weights().any(|weight| weight.native() == Some(DType::F32));
        let dtype = if name == "auto" && is_single { OutputType::F16 } else { dtype };
        if golden.exists() {
            let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).dtype(dtype);
            let mut bytes = Vec::new();
            ops::convert_to(&model, &options, &mut bytes).unwrap();
            let made = OpenOptions::new().open_bytes(bytes, "made.gguf").unwrap();
            compare(&made, &open(&golden), &format!("{family} {name}"));
            checked += 1;
        }
    }
    assert!(checked > 0, "there is nothing to compare {family} with");
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

fn whole_of(source: &Source, value: &Value) -> Value {
    match value {
        Value::Array(array) => Value::List(source.array(array).unwrap()),
        other => other.clone(),
    }
}

fn bytes(source: &Source, tensor: &weighbridge::catalog::TensorInfo) -> Vec<u8> {
    crate::common::tensor_bytes(source, tensor).unwrap()
}

macro_rules! families {
    ($($test:ident: $family:literal,)*) => {
        $(#[test]
        fn $test() {
            check($family);
        })*
    };
}

families! {
    llama: "llama",
    llama_with_sentencepiece: "llama-sentencepiece",
    mistral: "mistral",
    mixtral: "mixtral",
    qwen2: "qwen2",
    qwen3: "qwen3",
    qwen3_moe: "qwen3_moe",
    gemma: "gemma",
    gemma2: "gemma2",
    gemma3: "gemma3",
    gemma3_with_vision: "gemma3-vision",
    phi3: "phi3",
    granite: "granite",
    smollm3: "smollm3",
    olmo2: "olmo2",
    starcoder2: "starcoder2",
    cohere2: "cohere2",
    qwen2_moe: "qwen2_moe",
    glm4: "glm4",
    gpt_oss: "gpt_oss",
    gpt_oss_in_blocks: "gpt_oss-mxfp4",
    bert: "bert",
    bert_with_a_head_and_older_names: "bert-masked",
    bert_with_classes: "bert-classes",
    roberta: "roberta",
    xlm_roberta: "xlm-roberta",
    xlm_roberta_with_classes: "xlm-roberta-classes",
    llama_in_small_floats: "llama-nvfp4",
    llama_in_packed_small_floats: "llama-nvfp4-packed",
    qwen3_moe_in_small_floats: "qwen3_moe-nvfp4",
    qwen3_in_eight_bits: "qwen3-fp8",
    llama_in_eight_bits: "llama-fp8-channel",
    llama_in_gptq: "llama-gptq",
    llama_in_integers: "llama-int4",
    nomic_bert: "nomic_bert",
    cohere: "cohere",
    cohere_plus: "cohere-plus",
    olmo3: "olmo3",
    glm4_moe: "glm4_moe",
    deepseek_v3: "deepseek_v3",
    deepseek_v2: "deepseek_v2",
    deepseek_v2_lite: "deepseek_v2-lite",
    llama4: "llama4",
    llama4_with_vision: "llama4-vision",
    qwen3_5: "qwen3_5",
    qwen3_5_with_vision: "qwen3_5-vision",
    qwen3_5_moe: "qwen3_5_moe",
}

fn copy_files(from: &Path, to: &Path) {
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
fn changed(family: &str, name: &str, contents: Option<&str>) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    copy_files(&folder(family).join("hf"), copy.path());
    match contents {
        Some(contents) => fs::write(copy.path().join(name), contents).unwrap(),
        None => fs::remove_file(copy.path().join(name)).unwrap(),
    }
    copy
}

/// The same with one value of its config changed.
fn with_setting(family: &str, key: &str, value: Json) -> tempfile::TempDir {
    let config = fs::read(folder(family).join("hf/config.json")).unwrap();
    let mut config: Json = serde_json::from_slice(&config).unwrap();
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
    says(&with_setting("nomic_bert", "moe_every_n_layers", json!(2)), "moe_every_n_layers");
    says(&with_setting("nomic_bert", "n_positions", json!(4096)), "context_length");
    says(&with_setting("xlm-roberta", "pad_token_id", json!(30)), "positions begin at row 31");
    let two = json!({ "0": "no", "1": "yes" });
    says(&with_setting("bert-classes", "id2label", two), "2 classes, but the classifier has 3");
    let pooling = r#"{"pooling_mode_max_tokens": true}"#;
    says(&changed("bert", "1_Pooling/config.json", Some(pooling)), "cannot be pooling_type");
    says(&changed("bert", "1_Pooling/config.json", None), "1_Pooling/config.json, which is not");
    says(&changed("bert-classes", "tokenizer.json", Some(r#"{"model":{"type":"BPE"}}"#)), "`BPE`");
}

fn refused(model: &Path) -> String {
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
    says(&with_setting("llama", "num_hidden_layers", json!(40)), "no weights of layer");
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
    let odd = "is not the shape that the config makes it";
    says("deepseek_v3", "v_head_dim", json!(6), odd);
    says("deepseek_v3", "qk_nope_head_dim", json!(5), odd);
    says("deepseek_v3", "num_attention_heads", json!(5), odd);
    says("deepseek_v2", "n_routed_experts", json!(4), "states 4 experts, and there are 3");
    says("glm4_moe", "num_nextn_predict_layers", json!(0), "weights of layer 2");
    says("glm4_moe", "num_nextn_predict_layers", json!(2), "no weights of layer 3");
    says("llama4", "num_local_experts", json!(2), "states 2 experts, and there are 3");
    says("qwen3_5", "linear_num_value_heads", json!(4), odd);
    says("qwen3_5", "linear_num_value_heads", json!(5), odd);
    says("qwen3_5", "linear_key_head_dim", json!(8), odd);
    says("qwen3_5", "mtp_num_hidden_layers", json!(0), "weights of layer 2");
    says("qwen3_5", "layer_types", json!(["linear_attention"]), "recurrent_layers");
    says("olmo3", "layer_types", json!("all"), "sliding_window_pattern");
}

#[test]
fn what_is_converted_can_be_compared() {
    let families = [
        ("cohere-plus", "bf16"),
        ("olmo3", "bf16"),
        ("glm4_moe", "bf16"),
        ("deepseek_v3", "bf16"),
        ("deepseek_v2", "bf16"),
        ("deepseek_v2-lite", "f16"),
        ("llama4-vision", "bf16"),
        ("qwen3_5", "f32"),
        ("qwen3_5-vision", "bf16"),
        ("qwen3_5_moe", "f16"),
    ];
    for (family, dtype) in families {
        let (hf, gguf) = (folder(family).join("hf"), format!("model-{dtype}.gguf"));
        let gguf = open(&folder(family).join(gguf));
        let report = ops::diff(&open(&hf), &gguf, &ops::DiffOptions::default()).unwrap();
        assert!(report.ok, "{family}: {:?}", report.summary);
    }
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
