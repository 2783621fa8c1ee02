//! Configs that say more than the tensors, for every scheme: what is plain passes with a note, what
//! may be packed and is not whole does not.

use std::fs;
use std::path::Path;

use weighbridge::ops::{self, ConvertOptions, OutputType};
use weighbridge::{Model, Select};

use crate::common::fixtures::fixtures;
use crate::common::root;

/// What holds settings of quantization.
const WORDS: [&str; 3] = ["\"quantization_config\"", "\"quantization\"", "\"compression_config\""];

/// Parts of names of what codes need.
const SCALES: [&str; 8] =
    ["scale", "zeros", "zero_point", "absmax", "quant_state", "SCB", "biases", "quant_map"];

/// Documents of a model, but for the index of its files.
fn documents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let documents = names.filter(|name| name.ends_with(".json") && !name.ends_with(".index.json"));
    documents.map(|name| (name.clone(), fs::read(folder.join(name)).unwrap())).collect()
}

fn put(documents: &[(String, Vec<u8>)], folder: &Path) {
    for (name, bytes) in documents {
        fs::write(folder.join(name), bytes).unwrap();
    }
}

#[test]
fn a_config_beside_weights_that_are_plain_or_not_whole() {
    let mut checked = 0;
    for fixture in fixtures() {
        let (model_folder, place) = (fixture.model(), tempfile::tempdir().unwrap());
        let documents = documents(model_folder.path());
        if !documents.iter().any(|(name, _)| name == "config.json") {
            continue;
        }
        let [out, part, file] =
            ["out", "part", "a.safetensors"].map(|name| place.path().join(name));
        let model = Model::open(&model_folder).unwrap();
        let options = ConvertOptions::new(&out).verify(true);
        let Ok(report) = ops::dequantize(&model, &options) else { continue };
        assert!(report.verified.unwrap().ok, "{}", fixture.name);
        // Nothing about quantization is left, of whatever scheme.
        let config = fs::read_to_string(out.join("config.json")).unwrap();
        assert!(!WORDS.iter().any(|word| config.contains(word)), "{}: {config}", fixture.name);
        // The old configs beside plain weights are a note.
        put(&documents, &out);
        let plain = Model::open(&out).unwrap();
        assert!(plain.findings().is_empty(), "{}: {:?}", fixture.name, plain.findings());
        ops::convert(&plain, &ConvertOptions::new(&file)).unwrap();
        // Codes that have lost their scales stay refused.
        let select = Select::new().exclude(|name| SCALES.iter().any(|word| name.contains(word)));
        let keep = ConvertOptions::new(&part).dtype(OutputType::Keep).select(select);
        ops::convert(&model, &keep).unwrap();
        put(&documents, &part);
        let codes = Model::open(&part).unwrap();
        assert!(!codes.findings().is_empty(), "{}", fixture.name);
        ops::convert(&codes, &ConvertOptions::new(&file).force(true)).unwrap_err();
        checked += 1;
    }
    assert!(checked > 70, "{checked} models");
}

/// Models inside the model with settings of their own: whose are whose is not known.
#[test]
fn settings_that_differ_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let sample = root().join("samples/tiny-llama-gptq");
    for entry in fs::read_dir(&sample).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), place.path().join(entry.file_name())).unwrap();
    }
    let text = fs::read_to_string(sample.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    let section = config.as_object_mut().unwrap().remove("quantization_config").unwrap();
    let mut other = section.clone();
    other["bits"] = 8.into();
    for (second, is_fine) in [(section.clone(), true), (other, false)] {
        config["text_config"] = serde_json::json!({ "quantization_config": section });
        config["talker_config"] = serde_json::json!({ "quantization_config": second });
        fs::write(place.path().join("config.json"), config.to_string()).unwrap();
        let model = Model::open(place.path()).unwrap();
        let kinds: Vec<_> = model.findings().iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, if is_fine { vec![] } else { vec!["bad-config"] });
    }
}
