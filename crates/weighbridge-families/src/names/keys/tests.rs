//! Whole lists of entries against those of llama.cpp's converter.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::title::{parts, title};
use super::*;
use weighbridge_core::source::Source;

use weighbridge_containers::safetensors::Safetensors;

use crate::config::Config;
use crate::families::of_config;
use crate::names::{Named, Side};
use crate::testing::{metadata, numbers as stored_numbers, open, open_as};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/to-gguf")
}

fn json(path: impl AsRef<Path>) -> Option<Json> {
    let bytes = std::fs::read(path).ok()?;
    Some(serde_json::from_slice(&bytes).unwrap())
}

/// The metadata of a file in its order, without the tokenizer's, arrays read.
fn written(source: &Source) -> Vec<(String, Value)> {
    let mut all = metadata(source);
    all.retain(|(key, _)| !key.starts_with("tokenizer."));
    all
}

fn parameters(source: &Source) -> Parameters {
    let tensors = source.catalog().tensors.iter();
    let tensors: Vec<_> = tensors.map(|tensor| (&*tensor.name, tensor.shape.to_vec())).collect();
    Parameters::of(tensors.iter().map(|(name, shape)| (*name, &shape[..])))
}

/// The files of each family that the converter made, with the repository they were made of.
fn converted() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for family in std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
        for file in std::fs::read_dir(&family).into_iter().flatten() {
            let file = file.unwrap().path();
            let name = file.file_name().unwrap().to_str().unwrap();
            if name.starts_with("model-") && name.ends_with(".gguf") {
                found.push((family.file_name().unwrap().to_str().unwrap().to_owned(), file));
            }
        }
    }
    found.sort();
    assert!(found.len() >= 25, "{found:?}");
    found
}

/// Settings that the weights of a repository have.
fn measured(config: &Json, hf: &Path) -> Vec<(&'static str, Json)> {
    let known = of_config(config).filter(|family| !family.measured.is_empty());
    if known.is_none() {
        return Vec::new();
    }
    with_weights(config, hf, |side, model| {
        let tensors = &model.catalog().tensors;
        let read = |index: usize| Ok(stored_numbers(model, &tensors[index].name).unwrap());
        crate::names::measured(side, &read).unwrap()
    })
}

/// The layers that predict further tokens, as the weights of a repository have them.
fn counted(config: &Json, hf: &Path) -> NextCount {
    let known = of_config(config).filter(|family| family.counts_next.is_some());
    known.map_or(NextCount::Stated, |_| {
        let count = with_weights(config, hf, |side, _| crate::names::next_layers(side));
        count.map_or(NextCount::Stated, NextCount::Counted)
    })
}

fn with_weights<T>(config: &Json, hf: &Path, look: impl Fn(&Side<'_>, &Source) -> T) -> T {
    let model = open_as(&Safetensors, &hf.join("model.safetensors"));
    let tensors = &model.catalog().tensors;
    let configs = [Config { name: "config.json".into(), json: config.clone() }];
    let named = tensors.iter().map(|tensor| Named { name: &tensor.name, shape: &tensor.shape });
    let side = Side { weights: named.collect(), configs: &configs, metadata: Vec::new() };
    look(&side, &model)
}

#[test]
fn entries_are_those_of_the_converter() {
    for (family, file) in converted() {
        let model = open(&file);
        let expected = written(&model);
        // Files of one family do not state it.
        let file_type = expected.iter().find(|(key, _)| key == "general.file_type");
        let file_type = file_type.and_then(|(_, number)| number.as_u64()).unwrap_or(0);
        let hf = file.parent().unwrap().join("hf");
        let card = std::fs::read_to_string(hf.join("README.md")).ok();
        let config = json(hf.join("config.json")).unwrap();
        let generation = json(hf.join("generation_config.json"));
        let pooling = json(hf.join("1_Pooling/config.json"));
        let about = About {
            config: &config,
            generation: generation.as_ref(),
            card: card.as_deref(),
            pooling: pooling.as_ref(),
            next_layers: counted(&config, &hf),
            measured: &measured(&config, &hf),
            folder: "hf",
            parameters: parameters(&model),
            file_type: u32::try_from(file_type).unwrap(),
        };
        let mut found = entries(&about).unwrap_or_else(|error| panic!("{family}: {error}"));
        found.retain(|(key, _)| !key.starts_with("tokenizer."));
        assert_eq!(found, expected, "{family}: {}", file.display());
    }
}

const FACTORS: [&str; 3] =
    ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"];

fn computed(config: &Json, name: &str) -> Option<Vec<f32>> {
    let mut tensors = computed_tensors(config).into_iter();
    tensors.find(|(known, _)| *known == name).map(|(_, numbers)| numbers)
}

#[test]
fn rotary_factors_are_those_of_the_converter() {
    for (family, file) in converted() {
        let model = open(&file);
        let config = json(file.parent().unwrap().join("hf/config.json")).unwrap();
        let stored = |name: &str| stored_numbers(&model, name);
        for name in FACTORS {
            assert_eq!(computed(&config, name), stored(name), "{family}");
        }
    }
}

/// The entries of a row of the goldens.
fn expected(row: &Json) -> Vec<(String, Value)> {
    let entry = |entry: &Json| (entry[0].as_str().unwrap().to_owned(), value(&entry[1], &entry[2]));
    row["entries"].as_array().unwrap().iter().map(entry).collect()
}

#[allow(clippy::cast_possible_truncation)]
fn value(kind: &Json, value: &Json) -> Value {
    match kind.as_str().unwrap() {
        "STRING" => Value::text(value.as_str().unwrap()),
        "UINT32" => Value::Unsigned(32, value.as_u64().unwrap()),
        "INT32" => Value::Signed(32, value.as_i64().unwrap()),
        "FLOAT32" => Value::F32(value.as_f64().unwrap() as f32),
        "BOOL" => Value::Bool(value.as_bool().unwrap()),
        "ARRAY" => {
            let one = |one: &Json| match one {
                Json::Bool(flag) => Value::Bool(*flag),
                Json::Number(number) if number.is_f64() => Value::F32(one.as_f64().unwrap() as f32),
                Json::Number(number) => Value::Signed(32, number.as_i64().unwrap()),
                text => Value::text(text.as_str().unwrap()),
            };
            Value::List(value.as_array().unwrap().iter().map(one).collect())
        }
        other => panic!("{other}"),
    }
}

fn rows(name: &str) -> Vec<Json> {
    let rows = json(folder().join(name)).unwrap();
    rows.as_array().unwrap().clone()
}

/// A config of the list, as it lies in a repository.
fn published(row: &Json) -> About<'_> {
    About {
        config: &row["config"],
        generation: row.get("generation"),
        card: None,
        pooling: None,
        next_layers: NextCount::Stated,
        measured: &[],
        folder: "hf",
        parameters: Parameters::default(),
        file_type: 32,
    }
}

/// Configs as they are published, of all families.
fn configs() -> Vec<Json> {
    let folder = folder().join("../configs");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().flat_map(|file| json(file).unwrap().as_array().unwrap().clone()).collect()
}

/// The texts of a list, which a row may lack.
fn texts(row: &Json, key: &str) -> Vec<String> {
    let list = row[key].as_array().into_iter().flatten();
    list.map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// `beyond` lists entries with which the converter's file does not run as the model does, or not at
/// all. Ours follow what `oracles/check_settings.py` has run.
#[test]
fn what_configs_leave_out_is_filled_in() {
    let rows = configs();
    assert!(rows.len() > 40);
    let mut wrong = Vec::new();
    for row in rows {
        let about = published(&row);
        let mut found = entries(&about).unwrap_or_else(|error| panic!("{}: {error}", row["name"]));
        // It follows from the folder, which was another one.
        found.retain(|(key, _)| key != "general.name");
        let mut expected = expected(&row);
        let beyond = texts(&row, "beyond");
        if !beyond.is_empty() {
            assert_ne!(found, expected, "{}", row["name"]);
            for all in [&mut found, &mut expected] {
                all.retain(|(key, _)| !beyond.contains(key));
            }
        }
        if found != expected {
            wrong.push(format!("{}:\n{found:?}\n{expected:?}", row["name"]));
        }
        let numbers = |name: &str| row["tensors"].get(name).map(numbers);
        for name in FACTORS {
            assert_eq!(computed(&row["config"], name), numbers(name), "{}", row["name"]);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[allow(clippy::cast_possible_truncation)]
fn numbers(values: &Json) -> Vec<f32> {
    values.as_array().unwrap().iter().map(|value| value.as_f64().unwrap() as f32).collect()
}

#[test]
fn names_are_taken_apart_as_the_converter_does() {
    let mut wrong = Vec::new();
    for row in rows("names.json") {
        let text = |key: &str| row[key].as_str().map(str::to_owned);
        let found = parts(&text("name").unwrap(), row["parameters"].as_u64().unwrap());
        let expected = title::Parts {
            full: text("full").unwrap(),
            organization: text("organization"),
            basename: text("basename"),
            finetune: text("finetune"),
            version: text("version"),
            size_label: text("size_label"),
        };
        if found != expected || title(&found.full) != text("title").unwrap() {
            wrong.push(format!("{row}\n{found:?} {:?}", title(&found.full)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cards_are_read_as_the_converter_does() {
    let rows_of_configs = configs();
    let base = rows_of_configs.iter().find(|row| row["name"] == "qwen2.5").unwrap();
    for row in rows("cards.json") {
        let about = About {
            config: &base["config"],
            generation: None,
            card: row["card"].as_str(),
            pooling: None,
            next_layers: NextCount::Stated,
            measured: &[],
            folder: "Folder-7B-Instruct-v1",
            parameters: Parameters::default(),
            file_type: 32,
        };
        let mut found = entries(&about).unwrap();
        found.retain(|(key, _)| key.starts_with("general."));
        assert_eq!(found, expected(&row), "{}", row["name"]);
    }
}

#[test]
fn what_is_not_known_is_refused_by_name() {
    let about = |config: &Json| {
        let parameters = Parameters::default();
        let about = About {
            config,
            generation: None,
            card: None,
            pooling: None,
            next_layers: NextCount::Stated,
            measured: &[],
            folder: "hf",
            parameters,
            file_type: 0,
        };
        entries(&about).unwrap_err().to_string()
    };
    let unknown = serde_json::json!({"architectures": ["NoSuchForCausalLM"]});
    assert!(about(&unknown).contains("NoSuchForCausalLM"));
    assert_eq!(architecture(&unknown), None);
    let wrong = serde_json::json!({
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": "two"
    });
    assert!(about(&wrong).contains("block_count"));
}

/// `warned` lists settings that llama.cpp does not follow. Every other key is accounted for.
#[test]
fn published_settings_are_accounted_for() {
    for row in configs() {
        let about = published(&row);
        let keys: Vec<String> = warnings(&about, &[]).into_iter().map(|found| found.key).collect();
        assert_eq!(keys, texts(&row, "warned"), "{}", row["name"]);
    }
}
