//! GGUF files as repositories: what llama.cpp's converter made of a model becomes that model again,
//! and its file again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weighbridge::catalog::Value;
use weighbridge::internals::families::FAMILIES;
use weighbridge::ops::{self, ConvertOptions, Names, OutputType};
use weighbridge::{DType, Model, OpenOptions, Select, Source, Weight};

use crate::to_gguf::{config, converted, every, folder, golden, is_plain, known, open};

/// The repository that a GGUF file becomes.
fn repository(
    gguf: &Path,
    options: impl Fn(ConvertOptions) -> ConvertOptions,
) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    let chosen = options(ConvertOptions::new(place.path().join("out")).names(Names::Hf));
    let report = ops::convert(&open(gguf), &chosen.verify(true)).unwrap();
    assert!(report.verified.unwrap().ok, "{}", gguf.display());
    place
}

/// Weights that a repository has, and its file does not: heads that are the embedding, masks, and the
/// layer that predicts one more token, which the converter leaves out of DeepSeek's.
fn left_out(source: &Model) -> Vec<String> {
    let options = ConvertOptions::new("-").to("gguf").names(Names::Gguf).allow_lossy_config(true);
    let report = ops::convert_to(source, &options, Vec::new()).unwrap();
    report.dropped.into_iter().map(|dropped| dropped.name).collect()
}

/// Every weight of the source, in its own type, to the bit.
fn check_weights(family: &str, made: &Model, source: &Model) {
    let wanted: BTreeMap<String, Weight> =
        source.weights().map(|weight| (weight.name().to_owned(), weight)).collect();
    // Older repositories have names without what stands before all others today.
    let is_bare =
        wanted.keys().any(|name| ["wte.weight", "word_embeddings.weight"].contains(&&**name));
    let bare = |name: &str| {
        name.split_once('.').filter(|_| is_bare).map_or(String::new(), |(_, rest)| rest.to_owned())
    };
    // What has a head has a name before those of the model.
    let inside = wanted.keys().find_map(|name| {
        name.strip_suffix(".embeddings.word_embeddings.weight")
            .or(name.strip_suffix(".embeddings.tok_embeddings.weight"))
    });
    let inside = |name: &str| inside.map_or(String::new(), |model| format!("{model}.{name}"));
    let mut count = 0;
    for weight in made.weights() {
        let what = format!("{family} {}", weight.name());
        let older = inside(weight.name()).replace("LayerNorm.weight", "LayerNorm.gamma");
        let older = older.replace("LayerNorm.bias", "LayerNorm.beta");
        // T5's embedding has several names.
        let copy = weight.name().replace("shared.", "encoder.embed_tokens.");
        let others = [bare(weight.name()), inside(weight.name()), older, copy];
        let original = wanted.get(weight.name());
        let original = original.or_else(|| others.iter().find_map(|name| wanted.get(name)));
        let original = original.unwrap_or_else(|| panic!("{what} is new"));
        assert_eq!(weight.shape(), original.shape(), "{what}");
        // What decides between experts is F32 in repositories, though not in this small one.
        let is_single = what.ends_with("e_score_correction_bias");
        let dtype = if is_single { DType::F32 } else { original.native().unwrap() };
        assert_eq!(weight.native(), Some(dtype), "{what}");
        let (a, b) = (weight.read_to_vec(dtype).unwrap(), original.read_to_vec(dtype).unwrap());
        let is_norm = known(family).norm_add != 0.0 && what.contains("norm");
        assert!(a == b || is_norm && lost_by_one(&weight, original), "{what}: other numbers");
        count += 1;
    }
    let dropped = left_out(source);
    let carried = wanted.keys().filter(|name| !dropped.contains(name)).count();
    assert_eq!(count, carried, "{family}");
}

/// Whether norms differ only in what was lost when one was added to them: numbers below 2^-16 of
/// BF16, and whatever F16 cannot hold beside the one, since the converter adds to it in F16.
fn lost_by_one(a: &Weight, b: &Weight) -> bool {
    let least = |number: f32| match b.native() {
        Some(DType::F16) => (number + 1.0).abs() * (-11.0_f32).exp2(),
        _ => (-16.0_f32).exp2(),
    };
    let (a, b) = (a.decode_to_vec::<f32>().unwrap(), b.decode_to_vec::<f32>().unwrap());
    a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= least(*b))
}

const ADD_BOS: &str = "tokenizer.ggml.add_bos_token";

/// Entries that do not come back, and why.
const LOST: &[(&str, &str)] = &[
    ("general.name", "taken from the name of the folder"),
    ("general.basename", "taken from the name of the folder"),
    ("general.finetune", "taken from the name of the folder"),
    ("general.version", "taken from the name of the folder"),
    ("general.size_label", "taken from the name of the folder"),
    ("general.license", "of the model card, which is not written"),
    ("general.base_model.", "of the model card, which is not written"),
    ("general.dataset", "of the model card, which is not written"),
    ("general.tags", "of the model card, which is not written"),
    ("general.languages", "of the model card, which is not written"),
];

/// The file of the repository is the file that the repository was made of.
fn check_again(family: &str, made: &Model, golden: &Model, dtype: OutputType) {
    let options = ConvertOptions::new("-")
        .to("gguf")
        .names(Names::Gguf)
        .allow_lossy_config(true)
        .dtype(dtype);
    let mut bytes = Vec::new();
    ops::convert_to(made, &options, &mut bytes).unwrap();
    let again = OpenOptions::new().open_bytes(bytes, "again.gguf").unwrap();
    let (ours, theirs) = (&again.sources()[0], &golden.sources()[0]);
    let tensors = |source: &Source| -> BTreeMap<String, (Vec<u64>, Vec<u8>)> {
        let of = |tensor: &weighbridge::catalog::TensorInfo| {
            let bytes = crate::common::tensor_bytes(source, tensor).unwrap();
            (tensor.name.to_string(), (tensor.shape.to_vec(), bytes))
        };
        source.catalog().tensors.iter().map(of).collect()
    };
    let (ours_by_name, theirs_by_name) = (tensors(ours), tensors(theirs));
    let names = |all: &BTreeMap<String, _>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours_by_name), names(&theirs_by_name), "{family}");
    for (name, tensor) in &ours_by_name {
        assert!(*tensor == theirs_by_name[name], "{family} {name}: other numbers");
    }
    let entries = |source: &Source| -> BTreeMap<String, Value> {
        let wanted = source.catalog().metadata.iter();
        let wanted =
            wanted.filter(|(key, _)| !LOST.iter().any(|(start, _)| key.starts_with(start)));
        wanted.map(|(key, value)| (key.to_owned(), whole(source, value))).collect()
    };
    let (mut ours, theirs) = (entries(ours), entries(theirs));
    // Readers of pieces put a token before a text, unless they are told not to.
    let is_pieces = theirs.get("tokenizer.ggml.model").and_then(Value::as_str) == Some("llama");
    if is_pieces && !theirs.contains_key(ADD_BOS) {
        assert_eq!(ours.remove(ADD_BOS), Some(Value::Bool(true)), "{family}");
    }
    // What readers of T5's pieces assume is stated.
    let is_t5 = theirs.get("tokenizer.ggml.model").and_then(Value::as_str) == Some("t5");
    for key in ["add_eos_token", "unknown_token_id"].map(|key| format!("tokenizer.ggml.{key}")) {
        if is_t5 && !theirs.contains_key(&key) {
            ours.remove(&key);
        }
    }
    for key in ours.keys().chain(theirs.keys()) {
        assert_eq!(ours.get(key), theirs.get(key), "{family} {key}");
    }
}

fn whole(source: &Source, value: &Value) -> Value {
    match value {
        Value::Array(array) => Value::List(source.array(array).unwrap()),
        other => other.clone(),
    }
}

/// Every file of the converter's that keeps all numbers of a family's model becomes that model
/// again.
fn check(family: &str) {
    let home = folder(family);
    let source = open(&home.join("hf"));
    let stored =
        source.weights().find(|weight| weight.shape().len() > 1).unwrap().native().unwrap();
    let own = match stored {
        DType::BF16 => OutputType::Bf16,
        DType::F16 => OutputType::F16,
        _ => OutputType::F32,
    };
    for (name, dtype) in [
        ("f32", OutputType::F32),
        ("bf16", OutputType::Bf16),
        ("f16", OutputType::F16),
        ("auto", if own == OutputType::Bf16 { own } else { OutputType::F16 }),
    ] {
        let golden = golden(&home, name);
        if !golden.exists() {
            continue;
        }
        if name != "f32" && dtype != own {
            // Other numbers than the model's, but the file's own come back all the same.
            let place = repository(&golden, |options| options.dtype(OutputType::F32));
            check_again(family, &open(&place.path().join("out")), &open(&golden), dtype);
            continue;
        }
        // What is stored in the model's type becomes that by itself.
        let asked = if dtype == own { OutputType::Auto } else { own };
        let place = repository(&golden, |options| options.dtype(asked));
        let made = open(&place.path().join("out"));
        check_weights(family, &made, &source);
        check_again(family, &made, &open(&golden), dtype);
    }
}

/// Whether a model puts texts into classes, which none does again.
fn is_classifier(name: &str) -> bool {
    let class = config(name)["architectures"][0].as_str().map(str::to_owned);
    class.is_some_and(|class| class.ends_with("ForSequenceClassification"))
}

/// Files that are refused: with layers beside the model, whose names are other ones in repositories, and
/// of a class beside that of the family.
const REFUSED: &[&str] = &["exaone_moe-next", "granitemoe-shared"];

#[test]
fn files_become_the_models_that_they_were_made_of() {
    let mut names = converted();
    names.retain(|name| !REFUSED.contains(&&**name));
    // What more a repository has than a language model in plain numbers is in no file.
    names.retain(|name| {
        let has_text = || config(name).get("text_config").is_none();
        known(name).goes_back()
            && has_text()
            && !is_classifier(name)
            && is_plain(&open(&folder(name).join("hf")))
    });
    let found: BTreeSet<&str> = names.iter().map(|name| known(name).types[0]).collect();
    let families = FAMILIES.iter().filter(|family| family.goes_back());
    assert_eq!(found, families.map(|family| family.types[0]).collect());
    every(&names, check);
}

/// A family's file with one thing changed.
fn changed(
    family: &str,
    change: impl Fn(ConvertOptions) -> ConvertOptions,
) -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("changed.gguf");
    let options = change(ConvertOptions::new(&out).names(Names::Keep));
    let golden = ["f32", "bf16"].map(|name| folder(family).join(format!("model-{name}.gguf")));
    let golden = golden.iter().find(|path| path.exists()).unwrap();
    ops::convert(&open(golden), &options).unwrap();
    (place, out)
}

fn refused(gguf: &Path, options: impl Fn(ConvertOptions) -> ConvertOptions) -> String {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let options = options(ConvertOptions::new(&out).names(Names::Hf));
    let error = ops::convert(&open(gguf), &options).unwrap_err();
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "nothing is left behind");
    error.to_string()
}

#[test]
fn what_is_not_understood_is_refused_by_name() {
    let number = |key: &'static str, value: f32| {
        move |options: ConvertOptions| options.metadata(key, Value::F32(value))
    };
    let says = |changed: (tempfile::TempDir, PathBuf), words: &str| {
        let error = refused(&changed.1, |options| options);
        assert!(error.contains(words), "{error}");
    };
    let other =
        |options: ConvertOptions| options.metadata("general.architecture", Value::text("other"));
    says(changed("llama", other), "`other`");
    says(changed("llama", number("llama.logit_scale", 0.5)), "`llama.logit_scale`");
    // Other frequencies, other factors: no parameters give those of the file.
    says(changed("llama", number("llama.rope.freq_base", 12345.0)), "rope_freqs.weight");
    let without = |part: &'static str| {
        changed("llama", move |options| {
            options.select(Select::new().exclude(move |name| name.contains(part)))
        })
    };
    says(without("blk.1."), "no tensors for layer 1");
    says(without("blk.0.attn_v"), "`blk.0.attn_v.weight` is missing");
    says(without("ffn_norm"), "`blk.0.ffn_norm.weight` is missing");
    says(without("output_norm"), "`output_norm.weight` is missing");
    let error = refused(&folder("llama").join("hf"), |options| options);
    assert!(error.contains("become a repository"), "{error}");
}

#[test]
fn metadata_that_changes_nothing_is_dropped_with_a_note() {
    let strange = |options: ConvertOptions| {
        let options = options.metadata("llama.made.up", Value::F32(1.0));
        let options = options.metadata("llama.tensor_data_layout", Value::text("old"));
        options
            .metadata("llama.logit_scale", Value::F32(0.0))
            .metadata("other.key", Value::F32(1.0))
    };
    let (place, gguf) = changed("llama", strange);
    let options = ConvertOptions::new(place.path().join("out")).names(Names::Hf);
    let report = ops::convert(&open(&gguf), &options).unwrap();
    let note = report.notes.iter().find(|note| note.contains("dropped")).unwrap();
    for key in ["llama.made.up", "llama.tensor_data_layout", "llama.logit_scale", "other.key"] {
        assert!(note.contains(key), "{note}");
    }
}

/// A copy of a family's repository with one value of its config changed.
fn base(family: &str, key: &str, value: Json) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder(family).join("hf")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), copy.path().join(entry.file_name())).unwrap();
    }
    let path = copy.path().join("config.json");
    let mut config: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config[key] = value;
    fs::write(&path, config.to_string()).unwrap();
    copy
}

#[test]
fn what_a_file_does_not_tell_comes_from_its_base() {
    let gguf = folder("qwen3_moe").join("model-bf16.gguf");
    let of_base = base("qwen3_moe", "initializer_range", json!(0.5));
    let place = repository(&gguf, |options| options.base(of_base.path()));
    let text = |folder: &Path, name: &str| fs::read(folder.join(name)).unwrap();
    let out = place.path().join("out");
    let config: Json = serde_json::from_slice(&text(&out, "config.json")).unwrap();
    assert_eq!(config["initializer_range"], json!(0.5));
    for name in ["tokenizer.json", "tokenizer_config.json", "generation_config.json"] {
        assert_eq!(text(&out, name), text(of_base.path(), name), "{name}");
    }
    // Without it, that is the class's own, and said so.
    let options = ConvertOptions::new(place.path().join("own")).names(Names::Hf);
    let report = ops::convert(&open(&gguf), &options).unwrap();
    assert!(report.not_carried.iter().any(|line| line == "initializer_range: 0.02"));
    assert!(report.made.iter().any(|name| name == "config.json"));
}

#[test]
fn a_base_that_contradicts_the_file_is_refused() {
    for (key, value, words) in [
        ("rms_norm_eps", json!(0.5), "`qwen3moe.attention.layer_norm_rms_epsilon`"),
        ("num_experts_per_tok", json!(1), "`qwen3moe.expert_used_count`"),
        ("vocab_size", json!(293), "vocab"),
        ("attention_bias", json!(true), "attention_bias"),
        ("architectures", json!(["Qwen3ForCausalLM"]), "`qwen3moe`"),
    ] {
        let of_base = base("qwen3_moe", key, value);
        let gguf = folder("qwen3_moe").join("model-bf16.gguf");
        let error = refused(&gguf, |options| options.base(of_base.path()));
        assert!(error.contains(words) || error.contains("shape"), "{key}: {error}");
    }
    let other = base("mixtral", "initializer_range", json!(0.5));
    let gguf = folder("llama").join("model-bf16.gguf");
    let error = refused(&gguf, |options| options.base(other.path()));
    assert!(error.contains("config.json"), "{error}");
}

#[test]
fn verifying_looks_at_the_files_beside_the_weights() {
    let model = open(&folder("llama").join("model-bf16.gguf"));
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let options = ConvertOptions::new(&out).names(Names::Hf);
    ops::convert(&model, &options).unwrap();
    assert!(ops::verify(&open(&out), &model, &options).unwrap().ok);
    let config = fs::read_to_string(out.join("config.json")).unwrap();
    fs::write(out.join("config.json"), config.replace("500000.0", "10000.0")).unwrap();
    let report = ops::verify(&open(&out), &model, &options).unwrap();
    assert!(!report.ok && report.files[0].name == "config.json");
}

#[test]
fn a_quantized_file_is_dequantized_into_a_repository() {
    let gguf = folder("llama").join("model-q8_0.gguf");
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let options = ConvertOptions::new(&out).verify(true);
    assert!(ops::dequantize(&open(&gguf), &options).unwrap().verified.unwrap().ok);
    let made = open(&out);
    assert!(made.weights().all(|weight| weight.native() == Some(DType::BF16)));
    assert!(made.weight("model.layers.1.self_attn.q_proj.weight").is_ok());
    assert!(out.join("config.json").exists() && out.join("tokenizer.json").exists());
    assert!(ops::was_dequantized(&made, &open(&gguf)));
    assert!(ops::verify_dequantized(&made, &open(&gguf), &ConvertOptions::new(&out)).unwrap().ok);
    // In its own format it keeps its names.
    let kept = place.path().join("kept");
    ops::dequantize(&open(&gguf), &ConvertOptions::new(&kept).to("gguf")).unwrap();
    assert!(open(&kept).weight("blk.1.attn_q.weight").is_ok());
}

#[test]
fn every_layer_of_an_encoder_has_to_be_there() {
    for (family, part, words) in [
        ("t5_encoder", "enc.blk.1.", "no tensors for layer 1"),
        ("t5_encoder", "enc.blk.0.attn_o.", "`enc.blk.0.attn_o.weight` is missing"),
        ("t5_encoder", "enc.output_norm", "`enc.output_norm.weight` is missing"),
        ("modern_bert", "blk.1.attn_norm", "`blk.1.attn_norm.weight` is missing"),
    ] {
        let without = |options: ConvertOptions| {
            options.select(Select::new().exclude(move |name| name.contains(part)))
        };
        let (_place, file) = changed(family, without);
        let error = refused(&file, |options| options);
        assert!(error.contains(words), "{part}: {error}");
    }
}

#[test]
fn encoders_of_which_a_part_is_in_no_file_are_refused() {
    for (file, words) in [
        ("bert-classes/model-bf16.gguf", "classifiers do not become repositories"),
        ("roberta/model-auto.gguf", "without their positions of padding"),
    ] {
        let error = refused(&folder(file), |options| options);
        assert!(error.contains(words), "{file}: {error}");
    }
}
