//! The JSON that `weigh inspect --json --tensors` promises: every field, with its type.
//!
//! All samples are taken as they are found, so a new one is checked without new code here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

use libtest_mimic::Trial;

use weighbridge::internals::containers::CONTAINERS;

use crate::{root, trials};

pub fn trials() -> Vec<Trial> {
    let mut all = trials![
        "json":
        several_models_are_an_array,
        one_model_is_an_object_and_an_error_is_nothing,
        a_tensor_nobody_can_read_is_a_problem_and_has_a_place,
        short_arrays_are_shown_and_long_ones_summed_up,
        convert_reports_what_it_did_and_a_dry_run_what_it_would_do,
        diff_says_what_changed_and_where,
        diff_says_what_storage_explains,
    ];
    all.extend(samples().into_iter().map(|sample| {
        let short = sample.strip_prefix(root()).unwrap().display().to_string();
        let name = format!("{}::json", short.trim_start_matches("tests/files/"));
        Trial::test(name, move || {
            check_sample(&sample);
            Ok(())
        })
    }));
    all
}

fn inspect(models: &[PathBuf], flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weigh"));
    command.args(["inspect", "--json"]).args(flags).args(models);
    command.output().unwrap()
}

/// Everything in the folders of `tests/files` that an expectation lies beside.
fn samples() -> Vec<PathBuf> {
    let mut found = vec![root().join("samples/tiny-llama-gptq")];
    for folder in std::fs::read_dir(root().join("tests/files")).unwrap() {
        let Ok(entries) = std::fs::read_dir(folder.unwrap().path()) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let text = path.to_string_lossy();
            let model = text.strip_suffix(".expect.json").map(PathBuf::from);
            found.extend(model.filter(|model| model.exists()));
        }
    }
    found.sort();
    found
}

/// A sample is shown with every field, or refused in words.
fn check_sample(sample: &PathBuf) {
    let output = inspect(std::slice::from_ref(sample), &["--tensors"]);
    match serde_json::from_slice::<Json>(&output.stdout) {
        Ok(Json::Array(several)) => several.iter().for_each(check_report),
        Ok(report) => check_report(&report),
        Err(_) => {
            let is_own = sample.extension().is_some_and(|extension| extension == "safetensors");
            assert!(!is_own && output.stdout.is_empty(), "{}", sample.display());
            assert_eq!(output.status.code(), Some(2));
            assert!(!output.stderr.is_empty());
        }
    }
}

fn several_models_are_an_array() {
    let samples = &samples()[..12];
    let output = inspect(samples, &["--tensors"]);
    let all: Json = serde_json::from_slice(&output.stdout).unwrap();
    let all = all.as_array().expect("several models give an array");
    assert!(all.len() >= 6, "{}", String::from_utf8_lossy(&output.stderr));
    all.iter().for_each(check_report);
}

fn one_model_is_an_object_and_an_error_is_nothing() {
    let model = root().join("samples/tiny-llama-gptq");
    let output = inspect(std::slice::from_ref(&model), &[]);
    assert_eq!(output.status.code(), Some(0));
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.is_object() && report.get("tensors").is_none());
    let nowhere = root().join("nowhere");
    let output = inspect(std::slice::from_ref(&nowhere), &[]);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    // The shape depends on what was asked for, not on what went wrong.
    let output = inspect(&[model, nowhere], &[]);
    let reports: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), reports.as_array().map(Vec::len)), (Some(2), Some(1)));
}

fn a_tensor_nobody_can_read_is_a_problem_and_has_a_place() {
    let header = br#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"ODD","shape":[2],"data_offsets":[4,7]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    let data = file.len();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.safetensors");
    let look = |bytes: &[u8]| -> Json {
        std::fs::write(&path, bytes).unwrap();
        let output = inspect(std::slice::from_ref(&path), &["--tensors"]);
        assert_eq!(output.status.code(), Some(1));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let kinds = |report: &Json| -> Vec<(String, String)> {
        let pair = |p: &Json| (text(p, "tensor").to_owned(), text(p, "kind").to_owned());
        list(report, "problems").iter().map(pair).collect()
    };
    file.extend_from_slice(&[0; 7]);
    let whole = look(&file);
    assert_eq!(kinds(&whole), [("b".to_owned(), "unreadable".to_owned())]);
    assert_eq!(whole["tensors"][1]["parts"][0]["offset"], data as u64 + 4);
    // Cut short, it lacks bytes as any other would.
    let cut = look(&file[..data + 5]);
    let want = ["truncated", "unreadable"].map(|kind| ("b".to_owned(), kind.to_owned()));
    assert_eq!(kinds(&cut), want);
}

fn short_arrays_are_shown_and_long_ones_summed_up() {
    let path = root().join("tests/files/gguf/vocabulary.gguf");
    let output = inspect(std::slice::from_ref(&path), &[]);
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    let metadata = &report["metadata"];
    let tokens = &metadata["tokenizer.ggml.tokens"];
    assert_eq!(*tokens, serde_json::json!({ "array": "string", "length": 200 }));
    assert_eq!(metadata["tokenizer.ggml.merges"][0], "e e");
    let output = inspect(std::slice::from_ref(&path), &["--full-metadata"]);
    let full: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list(&full["metadata"], "tokenizer.ggml.tokens").len(), 200);
}

/// What `weigh diff --json` prints, and its exit code.
fn diff(a: &Path, b: &Path, flags: &[&str]) -> (Option<i32>, Json) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weigh"));
    let output = command.args(["diff", "--json"]).args(flags).args([a, b]).output().unwrap();
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

fn diff_says_what_changed_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, norm: f32, sign: f32| {
        let header = br#"{"norm":{"dtype":"F32","shape":[8],"data_offsets":[0,32]},"w":{"dtype":"F32","shape":[16,16],"data_offsets":[32,1056]}}"#;
        let mut values: Vec<f32> = (0..264u16).map(|at| f32::from(at) + 1.0).collect();
        values[..8].fill(1.0);
        values[5] = norm;
        values[8 + 3 * 16..8 + 4 * 16].iter_mut().for_each(|x| *x *= sign);
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(header);
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let path = folder.path().join(name);
        std::fs::write(&path, file).unwrap();
        path
    };
    let a = written("a.safetensors", 1.0, 1.0);
    let b = written("b.safetensors", 1.5, -1.0);
    let (code, report) = diff(&a, &b, &[]);
    assert_eq!((code, &report["ok"]), (Some(1), &Json::from(false)));
    let summary = &report["summary"];
    assert_eq!(number(summary, "changed"), 2);
    assert_eq!(number(summary, "failed"), 2);
    for name in ["identical", "equal_after_rounding", "within_precision", "unjudged"] {
        assert_eq!(number(summary, name), 0, "{name}");
    }
    let tensors = list(&report, "tensors");
    let norm = tensors.iter().find(|tensor| tensor["name_a"] == "norm").unwrap();
    assert_eq!((text(norm, "status"), text(norm, "bound")), ("changed", "equal"));
    assert_eq!((number(norm, "outside"), number(norm, "outside_rows")), (1, 1));
    let place = serde_json::json!([{"index": [5], "a": 1.0, "b": 1.5, "half_gaps": null}]);
    assert_eq!(norm["places"], place);
    let matrix = tensors.iter().find(|tensor| tensor["name_a"] == "w").unwrap();
    assert_eq!((number(matrix, "outside"), number(matrix, "outside_rows")), (16, 1));
    assert_eq!(matrix["places"][0]["index"], serde_json::json!([3, 0]));
    assert_eq!(text(matrix, "change"), "row 3 is negated");
    // A rule of one's own replaces the verdict, and changes no status.
    let (code, report) = diff(&a, &b, &["--fail-over", "max_abs>1000"]);
    assert_eq!((code, number(&report["summary"], "changed")), (Some(0), 2));
    let (code, report) = diff(&a, &a, &["--exact"]);
    assert_eq!((code, number(&report["summary"], "identical")), (Some(0), 2));
}

fn diff_says_what_storage_explains() {
    let folder = root().join("tests/files/names/qwen3-q8");
    let (a, b) = (folder.join("hf"), folder.join("model.gguf"));
    let (code, report) = diff(&a, &b, &[]);
    let summary = &report["summary"];
    assert_eq!((code, number(summary, "within_precision")), (Some(0), 7));
    assert_eq!((number(summary, "changed"), number(summary, "unjudged")), (0, 0));
    let is_within = |tensor: &&Json| tensor["status"] == "within-precision";
    for tensor in list(&report, "tensors").iter().filter(is_within) {
        assert_eq!((text(tensor, "bound"), number(tensor, "outside")), ("nearest-level", 0));
        assert!(list(tensor, "places").is_empty() && tensor["change"].is_null());
    }
    let (code, report) = diff(&a, &b, &["--exact"]);
    assert_eq!((code, number(&report["summary"], "failed")), (Some(1), 8));
}

fn convert_reports_what_it_did_and_a_dry_run_what_it_would_do() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.safetensors");
    let convert = |flags: &[&str]| -> Json {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weigh"));
        command.args(["convert", "--json"]).args(flags).arg("-o").arg(&target);
        let output = command.arg(root().join("samples/tiny-llama-gptq")).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mut plan = convert(&["--dry-run"]);
    assert!(!target.exists());
    let mut done = convert(&[]);
    let length = std::fs::metadata(&target).unwrap().len();
    assert_eq!(number(&done, "write_bytes"), length);
    assert_eq!(number(&list(&done, "files")[0], "bytes"), length);
    assert_eq!(number(&list(&done, "files")[0], "tensors"), 21);
    assert_eq!(text(&list(&done, "files")[0], "path"), target.to_str().unwrap());
    for name in ["dropped", "tied", "metadata_left_out", "notes", "conversions"] {
        list(&done, name);
    }
    assert!(number(&done, "read_bytes") > 0);
    assert!(done["seconds"].is_f64());
    assert!(done["peak_memory"].is_u64() || !cfg!(target_os = "linux"));
    assert_eq!(number(&done, "overflowed"), 0);
    // Apart from what only the work itself can tell, both say the same.
    for report in [&mut plan, &mut done] {
        for name in ["seconds", "peak_memory", "overflowed"] {
            report[name] = Json::Null;
        }
    }
    assert_eq!(plan, done);
}

fn check_report(report: &Json) {
    let path = text(report, "path");
    let format = text(report, "format");
    assert!(CONTAINERS.iter().any(|container| container.name() == format), "{path}: {format}");
    for name in ["file_bytes", "stored_tensors", "weights", "parameters"] {
        number(report, name);
    }
    let bits = &report["bits_per_weight"];
    assert!(bits.is_f64() || (bits.is_null() && report["parameters"] == 0), "{path}: {bits}");
    for name in ["auto", "bf16", "f16", "f32"] {
        number(&report["decoded_bytes"], name);
    }
    let mut bytes = 0;
    for file in list(report, "files") {
        text(file, "path");
        bytes += number(file, "bytes");
    }
    assert_eq!(bytes, number(report, "file_bytes"), "{path}");
    check_schemes(report);
    for dropped in list(report, "dropped") {
        text(dropped, "name");
        text(dropped, "reason");
    }
    for problem in list(report, "problems") {
        assert!(problem["tensor"].is_string() || problem["tensor"].is_null(), "{problem}");
        let kind = text(problem, "kind");
        assert!(kind.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        assert!(!text(problem, "message").is_empty());
    }
    assert!(report["metadata"].is_object(), "{path}");
    check_tensors(report);
}

fn check_schemes(report: &Json) {
    let (mut weights, mut parameters) = (0, 0);
    for scheme in list(report, "schemes") {
        text(scheme, "scheme");
        text(scheme, "variant");
        weights += number(scheme, "weights");
        parameters += number(scheme, "parameters");
        number(scheme, "bytes");
    }
    assert_eq!(weights, number(report, "weights"));
    assert_eq!(parameters, number(report, "parameters"));
    let dtypes = report["dtypes"].as_object().expect("dtypes");
    let stored: u64 = dtypes.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(stored, number(report, "stored_tensors"));
}

fn check_tensors(report: &Json) {
    let tensors = list(report, "tensors");
    assert_eq!(tensors.len() as u64, number(report, "weights"));
    let mut parts = list(report, "dropped").len() as u64;
    for tensor in tensors {
        for name in ["name", "scheme", "variant"] {
            text(tensor, name);
        }
        assert!(tensor["native"].is_string() || tensor["native"].is_null(), "{tensor}");
        number(tensor, "parameters");
        check_shape(tensor);
        let mut bytes = 0;
        for part in list(tensor, "parts") {
            for name in ["name", "role", "dtype", "file"] {
                text(part, name);
            }
            assert!(part["offset"].is_u64() || part["offset"].is_null(), "{part}");
            check_shape(part);
            bytes += number(part, "bytes");
            parts += 1;
        }
        assert_eq!(bytes, number(tensor, "bytes"), "{tensor}");
    }
    // The ledger: every stored tensor is part of one weight, or dropped.
    assert_eq!(parts, number(report, "stored_tensors"), "{}", report["path"]);
}

fn check_shape(owner: &Json) {
    assert!(list(owner, "shape").iter().all(Json::is_u64), "{owner}");
}

fn text<'a>(owner: &'a Json, name: &str) -> &'a str {
    owner[name].as_str().unwrap_or_else(|| panic!("{name} is no text in {owner}"))
}

fn number(owner: &Json, name: &str) -> u64 {
    owner[name].as_u64().unwrap_or_else(|| panic!("{name} is no whole number in {owner}"))
}

fn list<'a>(owner: &'a Json, name: &str) -> &'a [Json] {
    owner[name].as_array().unwrap_or_else(|| panic!("{name} is no list in {owner}"))
}
