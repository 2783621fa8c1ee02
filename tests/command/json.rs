//! The JSON that `weigh inspect --json --tensors` promises: every field, with its type.
//!
//! All samples are taken as they are found, so a new one is checked without new code here.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

use libtest_mimic::Trial;

use weighbridge::internals::containers::CONTAINERS;

use crate::{program, root, schema, trials};

pub fn trials() -> Vec<Trial> {
    let mut all = trials![
        "json":
        several_models_are_an_array,
        one_model_is_an_object_and_an_error_too,
        errors_have_a_place_of_their_own,
        lines_hold_one_object_each,
        rules_that_match_nothing_are_said,
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
    let mut command = Command::new(program());
    command.args(["inspect", "--json"]).args(flags).args(models);
    described("inspect", command.output().unwrap())
}

/// What a command printed, after a check that the published schemas describe all of it.
fn described(verb: &str, output: Output) -> Output {
    let checked = schema::check(verb, &output.stdout);
    assert!(checked.is_ok(), "{checked:?}");
    output
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
        Ok(report) if report.get("error").is_none() => check_report(&report),
        Ok(failure) => {
            let is_own = sample.extension().is_some_and(|extension| extension == "safetensors");
            assert!(!is_own, "{}", sample.display());
            check_failure(&failure, sample);
            assert_eq!(output.status.code(), Some(2));
            assert!(output.stderr.is_empty());
        }
        Err(error) => panic!("{}: {error}", sample.display()),
    }
}

fn several_models_are_an_array() {
    let samples = &samples()[..12];
    let output = inspect(samples, &["--tensors"]);
    let all: Json = serde_json::from_slice(&output.stdout).unwrap();
    let all = all.as_array().expect("several models give an array");
    assert!(all.len() >= 6, "{}", String::from_utf8_lossy(&output.stderr));
    all.iter().filter(|one| one.get("error").is_none()).for_each(check_report);
}

/// An error in the place of a report about `path`.
fn check_failure(failure: &Json, path: &Path) {
    assert_eq!(failure.as_object().unwrap().keys().next().unwrap(), "schema");
    assert_eq!(number(failure, "schema"), 1);
    assert_eq!(text(failure, "path"), path.to_str().unwrap());
    let error = &failure["error"];
    let kinds = ["io", "malformed", "unsupported", "limit", "usage", "cancelled"];
    assert!(kinds.contains(&text(error, "kind")), "{error}");
    assert!(!text(error, "message").is_empty());
    for name in ["file", "tensor", "hint"] {
        assert!(error[name].is_string() || error.get(name) == Some(&Json::Null), "{name}: {error}");
    }
    assert!(error["offset"].is_u64() || error.get("offset") == Some(&Json::Null), "{error}");
}

fn one_model_is_an_object_and_an_error_too() {
    let model = root().join("samples/tiny-llama-gptq");
    let output = inspect(std::slice::from_ref(&model), &[]);
    assert_eq!(output.status.code(), Some(0));
    let report: Json = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report.is_object() && report.get("tensors").is_none());
    let nowhere = root().join("nowhere");
    let output = inspect(std::slice::from_ref(&nowhere), &[]);
    assert_eq!(output.status.code(), Some(2));
    check_failure(&serde_json::from_slice(&output.stdout).unwrap(), &nowhere);
    // The shape depends on what was asked for, not on what went wrong; an error is in its place.
    let output = inspect(&[nowhere.clone(), model.clone(), nowhere.clone()], &[]);
    let reports: Json = serde_json::from_slice(&output.stdout).unwrap();
    let reports = reports.as_array().unwrap();
    assert_eq!((output.status.code(), reports.len()), (Some(2), 3));
    check_failure(&reports[0], &nowhere);
    assert_eq!(text(&reports[1], "path"), model.to_str().unwrap());
    check_failure(&reports[2], &nowhere);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.is_empty(), "an error is said once: {said}");
}

/// What a command prints on standard output, as JSON, and its exit code.
fn answer(arguments: &[&str]) -> (Option<i32>, Json) {
    let output = weigh(arguments);
    let output = described(arguments[0], output);
    (output.status.code(), serde_json::from_slice(&output.stdout).unwrap())
}

fn weigh(arguments: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).current_dir(root()).output().unwrap()
}

fn errors_have_a_place_of_their_own() {
    const MODEL: &str = "samples/tiny-llama-gptq";
    const BAD: &str = "tests/files/gguf/flattened.gguf.expect.json";
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.safetensors");
    let bytes = std::fs::read(root().join("tests/files/safetensors/shapes.safetensors")).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let cut = cut.to_str().unwrap();
    let out = folder.path().join("out.safetensors");
    let out = out.to_str().unwrap();
    for verb in ["convert", "dequantize"] {
        let (code, failure) = answer(&[verb, "--json", cut, "-o", out]);
        assert_eq!(code, Some(2));
        check_failure(&failure, Path::new(cut));
        assert!(text(&failure["error"], "hint").contains("--exclude"), "{failure}");
    }
    let (code, failure) = answer(&["verify", "--json", "nowhere", "--against", MODEL]);
    assert_eq!(code, Some(2));
    check_failure(&failure, Path::new("nowhere"));
    for pair in [[MODEL, "nowhere"], ["nowhere", MODEL]] {
        let (code, failure) = answer(&["diff", "--json", pair[0], pair[1]]);
        assert_eq!(code, Some(2));
        check_failure(&failure, Path::new("nowhere"));
    }
    let (code, failure) = answer(&["inspect", "--json", BAD]);
    assert_eq!((code, text(&failure["error"], "file")), (Some(2), BAD));
    // Arguments that are not understood.
    let (code, failure) = answer(&["inspect", "--json", "--include", "(", MODEL]);
    assert_eq!((code, &failure["path"]), (Some(2), &Json::Null));
    assert_eq!(text(&failure["error"], "kind"), "usage");
    assert!(text(&failure["error"], "message").contains("unclosed group"), "{failure}");
    // Standard output is the model's.
    let output = weigh(&["convert", "--json", "--to", "safetensors", cut, "-o", "-"]);
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("\"schema\": 1"));
}

fn lines_hold_one_object_each() {
    const MODEL: &str = "samples/tiny-llama-gptq";
    let output = described("inspect", weigh(&["inspect", "--json-lines", MODEL, "nowhere", MODEL]));
    let lines: Vec<Json> = std::str::from_utf8(&output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((output.status.code(), lines.len()), (Some(2), 3));
    check_failure(&lines[1], Path::new("nowhere"));
    let (_, whole) = answer(&["inspect", "--json", MODEL]);
    assert_eq!((&lines[0], &lines[2]), (&whole, &whole));
    for arguments in [
        &["diff", "--json-lines", MODEL, MODEL][..],
        &["convert", "--json-lines", "--dry-run", MODEL, "-o", "x.safetensors"],
        &["verify", "--json-lines", "nowhere", "--against", MODEL],
    ] {
        let output = described(arguments[0], weigh(arguments));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(text.starts_with("{\"schema\":1,"), "{text}");
    }
}

fn rules_that_match_nothing_are_said() {
    const MODEL: &str = "samples/tiny-llama-gptq";
    const NONE: &str = "matches none of 21 names";
    let check = |arguments: &[&str], wanted: &[&str]| {
        let output = weigh(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let notes: Vec<String> =
            said.lines().filter_map(|l| Some(l.strip_prefix("note: ")?.to_owned())).collect();
        assert_eq!(notes, wanted, "{arguments:?}: {said}");
        let with_json = [arguments, &["--json"]].concat();
        let (_, report) = answer(&with_json);
        let listed = list(&report, "notes");
        assert!(wanted.iter().all(|note| listed.iter().any(|l| l == note)), "{listed:?}");
        let quiet = weigh(&[arguments, &["--quiet"]].concat());
        assert!(quiet.stderr.is_empty(), "{}", String::from_utf8_lossy(&quiet.stderr));
    };
    let note = |flag: &str, rule: &str| format!("{flag} '{rule}' {NONE}");
    check(
        &["inspect", MODEL, "--include", "norm", "--include", "nrom", "--exclude", "x$"],
        &[&note("--include", "nrom"), &note("--exclude", "x$")],
    );
    let out = ["--dry-run", MODEL, "-o", "x.safetensors"];
    let rules = ["--cast", "nrom=f32", "--rename", "^model=m", "--rename", "^model=n"];
    check(
        &[&["convert"], &out[..], &rules[..]].concat(),
        &[&note("--cast", "nrom"), &note("--rename", "^model")],
    );
    let root = "--root 'model' has no effect: a safetensors file has no branches";
    check(&["inspect", MODEL, "--root", "model"], &[root]);
    check(
        &["diff", MODEL, MODEL, "--rename", "zz=y", "--include", "norm"],
        &[&note("--rename", "zz")],
    );
    check(&["inspect", MODEL, "--include", "norm"], &[]);
    // Nothing at all to convert stays an error.
    let output = weigh(&[&["convert"], &out[..], &["--include", "zz"]].concat());
    assert_eq!(output.status.code(), Some(2));
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
    let mut command = Command::new(program());
    let output = command.args(["diff", "--json"]).args(flags).args([a, b]).output().unwrap();
    let output = described("diff", output);
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
        let mut command = Command::new(program());
        command.args(["convert", "--json"]).args(flags).arg("-o").arg(&target);
        let output = command.arg(root().join("samples/tiny-llama-gptq")).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        serde_json::from_slice(&described("convert", output).stdout).unwrap()
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
    // Apart from the plan in full, and from what only the work itself can tell, both say the same.
    let in_full = plan.as_object_mut().unwrap().remove("plan").unwrap();
    assert_eq!(list(&in_full, "tensors").len(), 21);
    for report in [&mut plan, &mut done] {
        for name in ["seconds", "peak_memory", "overflowed"] {
            report[name] = Json::Null;
        }
    }
    assert_eq!(plan, done);
}

fn check_report(report: &Json) {
    assert_eq!(number(report, "schema"), 1);
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
