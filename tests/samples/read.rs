//! Every sample against what its canonical library reads: names, shapes, types, metadata, bytes.

use crate::common::{Sample, sha256, stored, tensor_bytes};
use crate::{SAMPLES, every_sample, trial};
use libtest_mimic::Trial;
use serde_json::Value as Json;
use weighbridge::catalog::Value;
use weighbridge::internals::containers::CONTAINERS;
use weighbridge::ops::{InspectOptions, inspect};
use weighbridge::{Model, OpenOptions};

pub fn trials() -> Vec<Trial> {
    let mut trials = every_sample("read", check);
    trials.push(trial("every container has samples".into(), every_container_has_samples));
    trials
}

/// A format without a sample would pass every test here.
fn every_container_has_samples() -> Result<(), String> {
    let has_sample =
        |name: &str| SAMPLES.iter().any(|sample| sample.expect["format"].as_str() == Some(name));
    match CONTAINERS.iter().find(|container| !has_sample(container.name())) {
        Some(container) => Err(format!("{} has none", container.name())),
        None => Ok(()),
    }
}

fn check(sample: &Sample) -> Result<(), String> {
    if let Some(reason) = sample.expect["refused_file"].as_str() {
        return match Model::open(&sample.path) {
            Ok(_) => Err(format!("opened, but should be refused: {reason}")),
            Err(error) if error.to_string().contains(reason) => Ok(()),
            Err(error) => Err(format!("refused for another reason: {error}")),
        };
    }
    let model = OpenOptions::new().open(&sample.path).map_err(|e| e.to_string())?;
    if model.format() != sample.expect["format"] {
        return Err(format!("format {} instead of {}", model.format(), sample.expect["format"]));
    }
    check_tensors(sample, &model)?;
    check_findings(sample, &model)?;
    check_metadata(sample, &model)
}

fn check_tensors(sample: &Sample, model: &Model) -> Result<(), String> {
    let list = |key: &str| sample.expect[key].as_array().cloned().unwrap_or_default();
    // What a checkpoint holds beside its own tensors may be listed too.
    let beside: Vec<Json> =
        ["arrays", "constants", "attributes"].iter().flat_map(|key| list(key)).collect();
    let is_beside = |name: &str| beside.iter().any(|t| t["name"] == name);
    let found: Vec<_> = stored(model).filter(|(_, t)| !is_beside(&t.name)).collect();
    let expected: Vec<Json> =
        list("tensors").into_iter().filter(|t| !is_beside(t["name"].as_str().unwrap())).collect();
    let names: Vec<&str> = found.iter().map(|(_, t)| &*t.name).collect();
    let wanted: Vec<&str> = expected.iter().map(|t| t["name"].as_str().unwrap()).collect();
    if names != wanted {
        return Err(format!("tensors {names:?} instead of {wanted:?}"));
    }
    for (expected, (source, tensor)) in expected.iter().zip(found) {
        check_tensor(sample, expected, source, tensor)
            .map_err(|failure| format!("{}: {failure}", tensor.name))?;
    }
    for expected in &beside {
        let name = expected["name"].as_str().unwrap();
        if let Some((source, tensor)) = stored(model).find(|(_, t)| &*t.name == name) {
            check_tensor(sample, expected, source, tensor)
                .map_err(|failure| format!("{name}: {failure}"))?;
        }
    }
    Ok(())
}

fn check_tensor(
    sample: &Sample,
    expected: &Json,
    source: &weighbridge::Source,
    tensor: &weighbridge::catalog::TensorInfo,
) -> Result<(), String> {
    let shape: Json = tensor.shape.iter().copied().collect::<Vec<u64>>().into();
    if !expected["shape"].is_null() && expected["shape"] != shape {
        return Err(format!("shape {shape} instead of {}", expected["shape"]));
    }
    if !expected["dtype"].is_null() && expected["dtype"] != tensor.stored.name() {
        return Err(format!("type {} instead of {}", tensor.stored.name(), expected["dtype"]));
    }
    let values = tensor_bytes(source, tensor);
    let damaged = sample.expect["damaged"].as_array().into_iter().flatten();
    let is_damaged = damaged.into_iter().any(|name| name == &*tensor.name);
    let dangerous = sample.expect["dangerous"].as_array().is_some_and(|d| !d.is_empty());
    match (expected["sha256"].as_str(), values) {
        (_, Ok(_)) if dangerous => Err("its values were read from a dangerous file".into()),
        (_, Err(error)) if dangerous => {
            let named = sample.expect["dangerous"].as_array().unwrap().iter();
            let aliases = sample.expect["dangerous_as_written"].as_array().into_iter().flatten();
            let mut names = named.chain(aliases).filter_map(Json::as_str);
            match names.any(|name| error.to_string().contains(name)) {
                true => Ok(()),
                false => Err(format!("refused without naming the global: {error}")),
            }
        }
        (Some(_), Ok(_)) if is_damaged => Err("its values were read from a damaged member".into()),
        (None, Err(_)) => Ok(()),
        (None, Ok(_)) => Err("its values were read, but they have no plain reading".into()),
        (Some(sum), Ok(bytes)) if sha256(&bytes) == sum => Ok(()),
        (Some(_), Ok(_)) => Err("its bytes differ".into()),
        // Types without a name of ours may be listed and refused, never misread.
        (Some(_), Err(_)) if tensor.refused.is_some() && tensor.stored.element().is_none() => {
            Ok(())
        }
        // torch does not look at checksums; Python's zipfile refuses these members.
        (Some(_), Err(error)) if is_damaged => match error.to_string().contains("CRC-32") {
            true => Ok(()),
            false => Err(error.to_string()),
        },
        (Some(_), Err(error)) => Err(error.to_string()),
    }
}

fn check_findings(sample: &Sample, model: &Model) -> Result<(), String> {
    let kinds: Vec<&str> = model.findings().iter().map(|f| f.kind).collect();
    let strings = |key: &str| -> Vec<String> {
        let list = sample.expect[key].as_array().into_iter().flatten();
        list.filter_map(|v| v.as_str().map(str::to_owned)).collect()
    };
    // Checksums are not part of opening.
    for kind in strings("problems").iter().filter(|kind| *kind != "checksum") {
        if !kinds.contains(&kind.as_str()) {
            return Err(format!("finding `{kind}` is missing, there are {kinds:?}"));
        }
    }
    if !strings("dangerous").is_empty() && !kinds.contains(&"dangerous-global") {
        return Err(format!("not found to be dangerous: {kinds:?}"));
    }
    if strings("dangerous").is_empty() && kinds.contains(&"dangerous-global") {
        return Err(format!("held to be dangerous: {:?}", model.findings()));
    }
    match sample.expect["wrapper"].as_str() {
        Some(key) if !model.notes().iter().any(|note| note.contains(&format!("`{key}`"))) => {
            Err(format!("no note about the wrapper `{key}`: {:?}", model.notes()))
        }
        _ => Ok(()),
    }
}

fn check_metadata(sample: &Sample, model: &Model) -> Result<(), String> {
    let Some(expected) = sample.expect["metadata"].as_object() else {
        return Ok(());
    };
    let options = InspectOptions { full_metadata: true, ..InspectOptions::default() };
    let found = inspect(model, &options).map_err(|e| e.to_string())?.metadata;
    for (key, value) in expected {
        let other = found.get(key).ok_or_else(|| format!("metadata `{key}` is missing"))?;
        if !same(value, other) {
            return Err(format!("metadata `{key}` is {other} instead of {value}"));
        }
    }
    if found.len() != expected.len() {
        let names: Vec<_> = found.keys().filter(|key| !expected.contains_key(*key)).collect();
        return Err(format!("metadata has more than expected: {names:?}"));
    }
    let first = &model.sources()[0].catalog().metadata;
    for (key, name) in sample.expect["metadata_types"].as_object().into_iter().flatten() {
        let found = first.get(key).map(type_name).unwrap_or_default();
        if name != &*found {
            return Err(format!("metadata `{key}` has type {found} instead of {name}"));
        }
    }
    Ok(())
}

/// JSON equality, where the expectation spells what JSON cannot hold: numbers that are not finite
/// (null in our reports) and text that is not UTF-8.
fn same(expected: &Json, found: &Json) -> bool {
    match (expected, found) {
        (Json::String(text), Json::Null) => {
            ["NaN", "Infinity", "-Infinity"].contains(&text.as_str())
        }
        (Json::Object(object), Json::String(text)) if object.contains_key("bytes") => {
            let hex = object["bytes"].as_str().unwrap();
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap())
                .collect();
            let spelled = bytes.utf8_chunks().map(|chunk| {
                let invalid: String =
                    chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")).collect();
                chunk.valid().to_owned() + &invalid
            });
            spelled.collect::<String>() == *text
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        (Json::Number(a), Json::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (a, b) => a == b,
    }
}

fn type_name(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::Unsigned(bits, _) => format!("u{bits}"),
        Value::Signed(bits, _) => format!("i{bits}"),
        Value::F32(_) => "f32".into(),
        Value::F64(_) => "f64".into(),
        Value::Text(_) | Value::RawText(_) => "string".into(),
        Value::Array(array) => format!("array[{}]", array.element),
        Value::List(_) | Value::Packed(_) | Value::Map(_) => "nested".into(),
    }
}
