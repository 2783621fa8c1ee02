//! What `--sarif` promises to code hosts: results whose rules are there, and whose files are.

use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::Trial;
use serde_json::Value as Json;

use crate::{program, root, trials};

pub fn trials() -> Vec<Trial> {
    trials![
        "sarif":
        results_name_rules_and_files_that_are_there,
        equal_scans_give_equal_bytes,
        exit_codes_are_those_of_the_text,
    ]
}

/// A folder with models, attacks beside them, and files that cannot be read.
fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("files/safetensors/shapes.safetensors", "model.safetensors"),
        ("files/pth/evil_os_system.pth", "pytorch_model.bin"),
        ("files/pth/evil_eval.pth", "vae/ä b#?%.bin"),
        ("carried/evil.pkl.gz", "deep/er/notes.json"),
        ("files/gguf/vocabulary.gguf", "gguf/model.gguf"),
    ] {
        let to = folder.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(root().join("tests").join(from), to).unwrap();
    }
    std::fs::write(folder.path().join("gguf/short.gguf"), "GGUF").unwrap();
    folder
}

fn inspect(place: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(program());
    command.arg("inspect").args(flags).arg(".").current_dir(place).output().unwrap()
}

fn scanned(place: &Path) -> Json {
    let output = inspect(place, &["-r", "--sarif"]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Takes percent-encoding back.
fn decoded(uri: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = uri.bytes();
    while let Some(byte) = rest.next() {
        assert!(byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte), "{uri}");
        bytes.push(if byte == b'%' {
            let digits: Vec<u8> = rest.by_ref().take(2).collect();
            u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
        } else {
            byte
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// The files of some results or notifications.
fn files(of: &Json) -> Vec<String> {
    let location = |one: &Json| {
        let place = &one["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uriBaseId"], "%SRCROOT%");
        assert_eq!(place["region"]["startLine"], 1);
        decoded(place["artifactLocation"]["uri"].as_str().unwrap())
    };
    of.as_array().unwrap().iter().map(location).collect()
}

fn results_name_rules_and_files_that_are_there() {
    let folder = tree();
    let log = scanned(folder.path());
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    let results = run["results"].as_array().unwrap();
    for result in results {
        let rule = &driver["rules"][index(&result["ruleIndex"])];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(rule["defaultConfiguration"]["level"], result["level"]);
        assert!(!rule["help"]["text"].as_str().unwrap().is_empty());
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
    }
    let mut found = files(&run["results"]);
    assert!(found.iter().all(|file| folder.path().join(file).is_file()), "{found:?}");
    found.sort();
    let attacks = ["deep/er/notes.json", "pytorch_model.bin", "vae/ä b#?%.bin"];
    assert_eq!(found, attacks, "each attack once");
    assert!(results.iter().all(|result| result["level"] == "error"));
    let mut marks: Vec<_> = results.iter().map(|r| r["partialFingerprints"].to_string()).collect();
    marks.sort();
    marks.dedup();
    assert_eq!(marks.len(), results.len());
    let invocation = &run["invocations"][0];
    let unread = &invocation["toolExecutionNotifications"];
    assert_eq!(files(unread), ["gguf/short.gguf"]);
    let descriptor = &unread[0]["descriptor"];
    let named = &driver["notifications"][index(&descriptor["index"])];
    assert_eq!(named["id"], descriptor["id"]);
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["exitCode"], 1);
}

fn equal_scans_give_equal_bytes() {
    let (one, other) = (tree(), tree());
    let flags = ["-r", "--sarif"];
    assert_eq!(inspect(one.path(), &flags).stdout, inspect(other.path(), &flags).stdout);
}

fn exit_codes_are_those_of_the_text() {
    let folder = tree();
    for flags in [&["-r"][..], &[]] {
        let text = inspect(folder.path(), flags).status.code();
        let sarif = inspect(folder.path(), &[flags, &["--sarif"]].concat());
        let log: Json = serde_json::from_slice(&sarif.stdout).unwrap();
        assert_eq!(sarif.status.code(), text);
        assert_eq!(log["runs"][0]["invocations"][0]["exitCode"].as_i64(), text.map(i64::from));
    }
}
fn index(value: &Json) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}
