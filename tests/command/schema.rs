//! The published schemas (`docs/schema/*.json`), and the check that reports are what they say.
//!
//! [`check`] takes what a command prints with `--json`. It is strict where the schemas are not: they
//! allow fields to be added later, but what is printed today must be described. The keywords that the
//! schemas use are understood here, and any other is an error, so that nothing is promised unchecked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use libtest_mimic::Trial;
use regex::Regex;
use serde_json::Value as Json;

use crate::{program, root, trials};

pub fn trials() -> Vec<Trial> {
    trials![
        "schema":
        every_keyword_is_known_and_every_field_described,
        every_report_has_a_schema,
        reports_of_every_kind_are_described,
        a_report_that_is_not_what_its_schema_says_is_noticed,
    ]
}

/// What says nothing about values.
const ANNOTATIONS: [&str; 5] = ["$schema", "$defs", "title", "description", "additionalProperties"];

/// All schemas by their file names.
fn schemas() -> &'static BTreeMap<String, Json> {
    static ALL: OnceLock<BTreeMap<String, Json>> = OnceLock::new();
    ALL.get_or_init(|| {
        let files = std::fs::read_dir(root().join("docs/schema")).unwrap();
        let read = |path: std::path::PathBuf| {
            let schema = serde_json::from_slice(&std::fs::read(&path).unwrap());
            let schema = schema.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            (path.file_name().unwrap().to_string_lossy().into_owned(), schema)
        };
        files.map(|file| read(file.unwrap().path())).collect()
    })
}

/// What is wrong with the JSON that a command printed: one report, several in an array, or one a line;
/// each may be an error.
pub fn check(verb: &str, printed: &[u8]) -> Result<usize, String> {
    let mut count = 0;
    for value in serde_json::Deserializer::from_slice(printed).into_iter::<Json>() {
        let value = value.map_err(|error| format!("no JSON: {error}"))?;
        let reports = value.as_array().map_or(std::slice::from_ref(&value), |all| all);
        count += reports.len();
        reports.iter().try_for_each(|report| check_one(verb, report))?;
    }
    Ok(count)
}

/// The name of the file that describes the reports of a verb.
fn file_of(verb: &str) -> String {
    let writes = ["dequantize", "quantize"].contains(&verb);
    format!("{}.json", if writes { "convert" } else { verb })
}

fn check_one(verb: &str, report: &Json) -> Result<(), String> {
    let is_scan = verb == "inspect" && report.get("summary").is_some();
    let file = match report.get("error") {
        Some(_) => "error.json",
        None if is_scan => "scan.json",
        None => &file_of(verb),
    };
    let Some(schema) = schemas().get(file) else {
        return Err(format!("there is no docs/schema/{file}"));
    };
    let mut wrong = Vec::new();
    Place { file, schema }.check(report, "", true, &mut wrong);
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(format!("{file}: {first} ({} in all)", wrong.len())),
    }
}

/// A schema, and the file whose definitions it may refer to.
#[derive(Clone, Copy)]
struct Place<'s> {
    file: &'s str,
    schema: &'s Json,
}

impl<'s> Place<'s> {
    fn at(self, schema: &'s Json) -> Self {
        Self { schema, ..self }
    }

    /// What a `$ref` leads to: `#/$defs/x`, here or in another file.
    fn referred(self, reference: &'s str) -> Self {
        let (file, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        let file = if file.is_empty() { self.file } else { file };
        let schema = schemas().get(file).and_then(|schema| schema.pointer(pointer));
        Self { file, schema: schema.unwrap_or_else(|| panic!("{reference} leads nowhere")) }
    }

    /// The schemas of which any may hold, and the one referred to.
    fn others(self) -> Vec<Self> {
        let any = ["anyOf"].iter().filter_map(|key| self.schema[key].as_array()).flatten();
        let referred = self.schema["$ref"].as_str().map(|reference| self.referred(reference));
        any.map(|schema| self.at(schema)).chain(referred).collect()
    }

    /// The fields that are described; `None` if any may be.
    fn fields(self) -> Option<BTreeSet<&'s str>> {
        if self.schema["additionalProperties"].is_object() {
            return None;
        }
        let own = self.schema["properties"].as_object();
        let mut all: BTreeSet<_> =
            own.into_iter().flat_map(|p| p.keys().map(String::as_str)).collect();
        for other in self.others() {
            all.extend(other.fields()?);
        }
        Some(all)
    }

    /// Adds what is wrong with a value; only the outermost of several schemas for it looks for fields
    /// that are not described.
    fn check(self, value: &Json, path: &str, outermost: bool, wrong: &mut Vec<String>) {
        let Some(keywords) = self.schema.as_object() else {
            return wrong.push(format!("{path}: its schema is no object"));
        };
        for (keyword, wanted) in keywords {
            if !self.holds(keyword, wanted, value, path, wrong) {
                wrong.push(format!("{path}: {} is not {keyword} {wanted}", shortened(value)));
            }
        }
        let (Some(object), true) = (value.as_object(), outermost) else { return };
        if let Some(described) = self.fields() {
            let unknown = object.keys().filter(|key| !described.contains(key.as_str()));
            wrong.extend(unknown.map(|key| format!("{path}.{key} is not described")));
        }
    }

    /// Whether a keyword holds of a value; what is wrong inside the value is added.
    fn holds(
        self,
        keyword: &str,
        wanted: &'s Json,
        value: &Json,
        path: &str,
        wrong: &mut Vec<String>,
    ) -> bool {
        match keyword {
            "type" => types(wanted).any(|name| is_of(name, value)),
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "pattern" => {
                let pattern = Regex::new(wanted.as_str().unwrap()).unwrap();
                value.as_str().is_none_or(|text| pattern.is_match(text))
            }
            "required" => {
                let has = |name: &Json| value.get(name.as_str().unwrap()).is_some();
                !value.is_object() || wanted.as_array().unwrap().iter().all(has)
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        self.at(schema).check(field, &format!("{path}.{name}"), true, wrong);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = self.schema["properties"].as_object();
                let fields = value.as_object().into_iter().flatten();
                let others =
                    fields.filter(|(name, _)| known.is_none_or(|p| !p.contains_key(*name)));
                for (name, field) in others.filter(|_| wanted.is_object()) {
                    // Whatever an empty schema describes may hold whatever it likes.
                    let is_open = wanted.as_object().is_some_and(serde_json::Map::is_empty);
                    self.at(wanted).check(field, &format!("{path}.{name}"), !is_open, wrong);
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    self.at(wanted).check(item, &format!("{path}[{index}]"), true, wrong);
                }
                true
            }
            "$ref" => {
                self.referred(wanted.as_str().unwrap()).check(value, path, false, wrong);
                true
            }
            "anyOf" => wanted.as_array().unwrap().iter().any(|schema| {
                let mut inner = Vec::new();
                self.at(schema).check(value, path, false, &mut inner);
                inner.is_empty()
            }),
            other => ANNOTATIONS.contains(&other),
        }
    }
}

fn types(wanted: &Json) -> impl Iterator<Item = &str> {
    wanted
        .as_array()
        .map_or(std::slice::from_ref(wanted), |all| all)
        .iter()
        .map(|t| t.as_str().unwrap())
}

fn is_of(name: &str, value: &Json) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("there is no type {other}"),
    }
}

fn shortened(value: &Json) -> String {
    value.to_string().chars().take(80).collect()
}

fn every_keyword_is_known_and_every_field_described() {
    assert!(schemas().len() >= 7);
    for (file, schema) in schemas() {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        assert!(schema["title"].is_string() && schema["description"].is_string(), "{file}");
        check_schema(Place { file, schema }, file);
    }
}

/// Keywords that are checked, references that lead somewhere, fields with a description.
fn check_schema(place: Place<'_>, path: &str) {
    const CHECKED: [&str; 10] = [
        "type",
        "const",
        "enum",
        "minimum",
        "pattern",
        "required",
        "properties",
        "items",
        "$ref",
        "anyOf",
    ];
    let keywords = place.schema.as_object().unwrap_or_else(|| panic!("{path} is no object"));
    for (keyword, value) in keywords {
        let keyword = keyword.as_str();
        assert!(CHECKED.contains(&keyword) || ANNOTATIONS.contains(&keyword), "{path}: {keyword}");
        match keyword {
            "type" => types(value).for_each(|name| {
                let _ = is_of(name, &Json::Null);
            }),
            "$ref" => {
                let _ = place.referred(value.as_str().unwrap());
            }
            "items" => check_schema(place.at(value), &format!("{path}[]")),
            "anyOf" => {
                value.as_array().unwrap().iter().for_each(|one| check_schema(place.at(one), path));
            }
            "properties" | "$defs" => {
                for (name, schema) in value.as_object().unwrap() {
                    let path = format!("{path}.{name}");
                    let is_described = keyword == "$defs" || schema["description"].is_string();
                    // The object `error` is described by its fields.
                    assert!(is_described || schema["properties"].is_object(), "{path}");
                    check_schema(place.at(schema), &path);
                }
            }
            "required" => {
                let known = place.fields().unwrap();
                for name in value.as_array().unwrap() {
                    assert!(known.contains(name.as_str().unwrap()), "{path}: {name}");
                }
            }
            _ => {}
        }
    }
}

/// Every verb that has `--json` has a file, and every file a verb.
fn every_report_has_a_schema() {
    let weigh = |arguments: &[&str]| {
        let output = std::process::Command::new(program()).args(arguments).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let help = weigh(&["help"]);
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let verbs = commands.lines().filter_map(|line| line.split_whitespace().next());
    let reporting = verbs.filter(|verb| weigh(&[verb, "--help"]).contains("--json-lines"));
    let wanted: BTreeSet<String> =
        reporting.map(file_of).chain(["error.json".to_owned()]).collect();
    assert!(wanted.len() >= 6, "{wanted:?}");
    for file in &wanted {
        assert!(schemas().contains_key(file), "there is no docs/schema/{file}");
    }
}

/// Reports that transcripts show only in part, and some that they do not show.
fn reports_of_every_kind_are_described() {
    let folder = tempfile::tempdir().unwrap();
    #[cfg(unix)]
    for (link, target) in [("samples", "samples"), ("files", "tests/files")] {
        std::os::unix::fs::symlink(root().join(target), folder.path().join(link)).unwrap();
    }
    for line in [
        "convert --json --verify samples/tiny-llama-gptq -o all.safetensors",
        "convert --json --dtype keep files/pth/views.pth -o views.safetensors",
        "convert --json --skip-unreadable --dtype f16 files/npz/refused.npz -o some.npz",
        "dequantize --json samples/tiny-llama-gptq -o plain",
        "dequantize --json --dry-run --dtype f32 samples/tiny-llama-gptq -o other",
        "verify --json all.safetensors --against samples/tiny-llama-gptq",
        "verify --json all.safetensors --against samples/tiny-llama-gptq --dtype f32",
        "verify --json all.safetensors --against files/names/llama/hf",
        "verify --json plain --against samples/tiny-llama-gptq",
        "diff --json samples/tiny-llama-gptq all.safetensors --values all",
        "diff --json samples/tiny-llama-gptq files/names/llama/hf --values none",
        "diff --json files/diff/a.safetensors files/diff/b.safetensors",
        "diff --json files/names/qwen3-q8/hf files/names/qwen3-q8/model.gguf",
        "diff --json files/npz/refused.npz some.npz --skip-unreadable",
        "inspect --json --full-metadata --tensors files/gguf/vocabulary.gguf files/pth/evil_two.pth",
        "inspect --json-lines --tensors plain nowhere",
        "hash --json --tensors plain all.safetensors files/gguf/split",
        "hash --json-lines --values --skip-unreadable files/npz/refused.npz nowhere",
    ] {
        if cfg!(not(unix)) {
            return; // There are no links.
        }
        let mut command = std::process::Command::new(program());
        let output = command.args(line.split(' ')).current_dir(folder.path()).output().unwrap();
        let verb = line.split(' ').next().unwrap();
        let wanted = line.split(' ').filter(|word| *word == "nowhere").count() + 1;
        let found = check(verb, &output.stdout);
        assert!(found.as_ref().is_ok_and(|count| *count >= wanted), "{line}: {found:?}");
    }
}

fn a_report_that_is_not_what_its_schema_says_is_noticed() {
    let hash = "0".repeat(64);
    let good = serde_json::json!({
        "schema": 1, "path": "p", "hash": hash, "of": "stored", "encoding": 1, "weights": 1,
        "bytes": 4, "skipped": [], "notes": ["n"],
        "tensors": [{ "name": "t", "hash": hash, "shape": [1] }],
    });
    let said = |report: &Json| check("hash", report.to_string().as_bytes());
    assert_eq!(said(&good), Ok(1));
    assert_eq!(said(&serde_json::json!([good, good])), Ok(2));
    for (place, value, wanted) in [
        ("/schema", serde_json::json!(2), "const"),
        ("/of", serde_json::json!("bytes"), "enum"),
        ("/weights", serde_json::json!(-1), "minimum"),
        ("/weights", serde_json::json!(1.5), "type"),
        ("/notes", serde_json::json!([null]), "type"),
        ("/tensors/0/hash", serde_json::json!("xyz"), "pattern"),
        ("/tensors/0", serde_json::json!({ "name": "t", "hash": hash }), "required"),
        ("/tensors/0/shape", serde_json::json!({}), "type"),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(place).unwrap() = value;
        let found = said(&bad).unwrap_err();
        assert!(found.contains(wanted), "{place}: {found}");
    }
    let mut more = good.clone();
    more["tensors"][0]["colour"] = serde_json::json!("red");
    assert_eq!(
        said(&more),
        Err("hash.json: .tensors[0].colour is not described (1 in all)".to_owned())
    );
    // An error in the place of a report, and a field of a definition in another file.
    assert!(said(&serde_json::json!({ "schema": 1, "path": null, "error": {} })).is_err());
    let convert = serde_json::json!({ "schema": 1, "verified": { "ok": "yes" } });
    let found = check("dequantize", convert.to_string().as_bytes()).unwrap_err();
    assert!(found.starts_with("convert.json: "), "{found}");
}
