//! Equal weights with other settings: configs, tokenizers, chat templates.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use weighbridge::Model;
use weighbridge::catalog::Value;
use weighbridge::ops::{self, ConvertOptions, DiffOptions, DiffReport, Names};

use crate::common::root;
use crate::to_gguf::{folder, open};

fn diff(a: &Model, b: &Model) -> DiffReport {
    ops::diff(a, b, &DiffOptions::default()).unwrap()
}

/// The keys that count.
fn counted(report: &DiffReport) -> Vec<&str> {
    report.settings.iter().filter(|one| one.counts).map(|one| &*one.key).collect()
}

/// Every GGUF file that llama.cpp's converter made of a repository, with that repository.
fn converted() -> Vec<(PathBuf, PathBuf)> {
    let folders = ["names", "to-gguf"].map(|name| root().join("tests/files").join(name));
    let models = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut found = Vec::new();
    for home in models.map(|entry| entry.unwrap().path()).filter(|home| home.join("hf").is_dir()) {
        for file in fs::read_dir(&home).unwrap().map(|entry| entry.unwrap().path()) {
            // Files without some of the layers say so.
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let is_part = name.starts_with("without-next") || name.starts_with("next");
            if name.ends_with(".gguf") && !is_part {
                found.push((home.join("hf"), file));
            }
        }
    }
    found
}

#[test]
fn a_converted_repository_has_the_settings_of_its_file() {
    let pairs = converted();
    assert!(pairs.len() > 60, "{}", pairs.len());
    let mut wrong = Vec::new();
    for (hf, gguf) in pairs {
        let report = diff(&open(&hf), &open(&gguf));
        if !counted(&report).is_empty() {
            wrong.push(format!("{}: {:?}", gguf.display(), report.settings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Settings that a file does not store, by how the names of folders begin.
const NOT_STORED: &[(&[&str], &[&str], &str)] = &[
    (
        &["kimi_", "iquestcoder", "dots_ocr", "youtu_vl"],
        &["model_type"],
        "the language model is that of another class",
    ),
    (
        &["rugpt3xl", "stablelm_epoch", "camembert"],
        &["model_type", "bos_token_id", "eos_token_id", "layer_norm_eps", "layer_norm_epsilon"],
        "the class of today has other names, and other tokens where nothing is said",
    ),
    (&["distilbert"], &["layer_norm_eps"], "the class has a number of its own"),
    (
        &["lfm2"],
        &["block_auto_adjust_ff_dim", "block_multiple_of", "intermediate_size"],
        "the inner size is stated as it is, after its adjustment",
    ),
    (
        &["falcon"],
        &["multi_query", "num_kv_heads", "model_type", "rope_theta"],
        "the class ignores some, and has another name for the first models",
    ),
    (&["t5_encoder"], &["tokenizer.added_tokens"], "the file of pieces lists them"),
    (&["dots1"], &["sliding_window"], "no layer has a window"),
    (&["hunyuan_dense"], &["tokenizer.eos_token"], "the config names it, the tokenizer does not"),
    (
        &["exaone", "llava-llama"],
        &["rope_scaling.factor", "rope_scaling.low_freq_factor"],
        "heads this narrow have the same factors with several parameters",
    ),
];

fn is_stored(gguf: &Path, key: &str) -> bool {
    let folder = gguf.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let is_row = |(starts, keys, _): &&(&[&str], &[&str], &str)| {
        starts.iter().any(|start| folder.starts_with(start)) && keys.contains(&key)
    };
    !NOT_STORED.iter().any(|row| is_row(&row))
}

#[test]
fn a_file_that_becomes_a_repository_keeps_its_settings() {
    let mut wrong = Vec::new();
    let pairs = converted().into_iter().filter(|(hf, _)| hf.join("tokenizer.json").exists());
    for (hf, gguf) in pairs {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("out");
        let options = ConvertOptions::new(&out).names(Names::Hf);
        if ops::convert(&open(&gguf), &options).is_ok() {
            let report = diff(&open(&hf), &open(&out));
            // Merges of a SentencePiece model are computed from its scores, and GGUF files have no
            // word for the way in which scores of experts are normalized.
            let is_lost = |key: &str| ["tokenizer.merges", "norm_topk_prob"].contains(&key);
            let is_wrong = |key: &&str| !is_lost(key) && is_stored(&gguf, key);
            let settings: Vec<_> = counted(&report).into_iter().filter(is_wrong).collect();
            if !settings.is_empty() {
                wrong.push(format!("{}: {settings:?}", gguf.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A copy of a repository, changed.
fn copy(of: &Path, change: impl Fn(&Path)) -> (tempfile::TempDir, Model) {
    let place = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(of).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), place.path().join(entry.file_name())).unwrap();
    }
    change(place.path());
    let model = open(place.path());
    (place, model)
}

/// Changes a JSON file.
fn edit(path: &Path, change: impl Fn(&mut Json)) {
    let mut json: Json = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

fn config(home: &Path, change: impl Fn(&mut Json)) {
    edit(&home.join("config.json"), change);
}

#[test]
fn repositories_with_other_settings_differ() {
    let home = folder("llama").join("hf");
    let original = open(&home);
    type Change = fn(&Path);
    let cases: [(&str, Change); 8] = [
        ("rope_theta", |home| config(home, |it| it["rope_parameters"]["rope_theta"] = json!(1e4))),
        ("rope_scaling.factor", |home| {
            config(home, |it| it["rope_parameters"]["factor"] = json!(16.0));
        }),
        ("rms_norm_eps", |home| config(home, |it| it["rms_norm_eps"] = json!(1e-5))),
        ("hidden_act", |home| config(home, |it| it["hidden_act"] = json!("gelu"))),
        ("sliding_window", |home| config(home, |it| it["sliding_window"] = json!(1024))),
        ("bos_token_id", |home| config(home, |it| it["bos_token_id"] = json!(1))),
        ("tokenizer.added_tokens", |home| {
            edit(&home.join("tokenizer.json"), |it| it["added_tokens"][0]["content"] = json!("x"));
        }),
        ("chat_template", |home| {
            fs::write(home.join("chat_template.jinja"), "{{ messages }}").unwrap();
        }),
    ];
    for (key, change) in cases {
        let (_place, changed) = copy(&home, change);
        for report in [diff(&original, &changed), diff(&changed, &original)] {
            assert_eq!((report.ok, counted(&report)), (false, vec![key]));
            assert_eq!(report.summary.failed + report.summary.missing, 0);
        }
        let options = DiffOptions::default().weights_only(true);
        let report = ops::diff(&original, &changed, &options).unwrap();
        assert_eq!((report.ok, counted(&report)), (true, vec![key]));
    }
}

#[test]
fn settings_that_describe_a_model_do_not_count() {
    let home = folder("llama").join("hf");
    let (_place, changed) = copy(&home, |home| {
        config(home, |it| {
            it["_name_or_path"] = json!("elsewhere");
            it["torch_dtype"] = json!("float16");
            it["transformers_version"] = json!("4.0.0");
            it["use_cache"] = json!(false);
            // As older versions have it.
            let mut scaling = it["rope_parameters"].take();
            let theta = scaling.as_object_mut().unwrap().remove("rope_theta").unwrap();
            it.as_object_mut().unwrap().remove("rope_parameters");
            (it["rope_theta"], it["rope_scaling"]) = (theta, scaling);
        });
    });
    let report = diff(&open(&home), &changed);
    assert_eq!((report.ok, counted(&report)), (true, vec![]));
    assert!(report.settings.iter().any(|one| one.key == "use_cache" && !one.counts));
}

#[test]
fn files_with_other_metadata_differ() {
    let (hf, gguf) = (folder("llama").join("hf"), folder("llama").join("model-bf16.gguf"));
    let cases = [
        ("llama.rope.freq_base", Value::F32(10000.0), "rope.freq_base"),
        (
            "llama.attention.layer_norm_rms_epsilon",
            Value::F32(1e-5),
            "attention.layer_norm_rms_epsilon",
        ),
        ("llama.attention.head_count", Value::Unsigned(32, 8), "attention.head_count"),
        ("tokenizer.ggml.eos_token_id", Value::Unsigned(32, 3), "tokenizer.ggml.eos_token_id"),
        ("tokenizer.chat_template", Value::text("{{ messages }}"), "tokenizer.chat_template"),
        (
            "tokenizer.ggml.tokens",
            Value::List(vec![Value::text("t"); 294]),
            "tokenizer.ggml.tokens",
        ),
    ];
    for (key, value, setting) in cases {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("changed.gguf");
        let options = ConvertOptions::new(&out).names(Names::Keep).metadata(key, value);
        ops::convert(&open(&gguf), &options).unwrap();
        let changed = open(&out);
        let report = diff(&open(&gguf), &changed);
        assert_eq!((report.ok, counted(&report)), (false, vec![setting]));
        // Other heads are other rows, too.
        let report = diff(&open(&hf), &changed);
        assert_eq!((report.ok, counted(&report)), (false, vec![setting]));
        let report = diff(&changed, &open(&hf));
        assert_eq!(counted(&report), [setting]);
    }
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("named.gguf");
    let named = ConvertOptions::new(&out).names(Names::Keep);
    ops::convert(&open(&gguf), &named.metadata("general.name", Value::text("other"))).unwrap();
    assert!(diff(&open(&gguf), &open(&out)).ok && diff(&open(&hf), &open(&out)).ok);
}

#[test]
fn what_was_not_compared_is_said() {
    let (hf, gguf) = (folder("llama").join("hf"), folder("llama").join("model-bf16.gguf"));
    let says = |change: fn(&mut Json), words: &str| {
        let (_place, changed) = copy(&hf, |home| config(home, change));
        let report = diff(&changed, &open(&gguf));
        assert!(report.notes.iter().any(|note| note.contains(words)), "{:?}", report.notes);
    };
    says(|it| it["architectures"] = json!(["OtherModel"]), "settings were not compared");
    says(|it| *it = json!({}), "settings were not compared: A has no config");
    let (_place, without) = copy(&hf, |home| {
        fs::remove_file(home.join("tokenizer.json")).unwrap();
    });
    let report = diff(&open(&hf), &without);
    let words = "tokenizers were not compared: only A has one";
    assert!(report.ok && report.notes.contains(&words.to_owned()), "{:?}", report.notes);
}
