//! Which type each weight gets: what llama-quantize says it would do, over models made for its
//! rules (`oracles/quantize_choices.py`).

use serde_json::Value as Json;
use weighbridge::Result;
use weighbridge::catalog::Value;
use weighbridge::internals::schemes::SCHEMES;
use weighbridge::internals::schemes::ggml::types_of;

use super::asked::{Described, Run, Tensor, list, numbers, text};
use crate::common::root;

#[test]
fn every_weight_gets_the_type_that_llama_quantize_gives_it() {
    let path = root().join("tests/files/quantize/choices.json");
    let json: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut count = 0;
    for (name, model) in json["models"].as_object().unwrap() {
        let entries = model["entries"].as_object().unwrap().iter();
        let described = Described {
            entries: entries.map(|(key, of)| (key.clone(), Value::from_json(of))).collect(),
            tensors: list(&model["tensors"]).iter().map(Tensor::of).collect(),
        };
        let order = numbers(&model["order"]).into_iter();
        let order: Vec<usize> = order.map(|place| usize::try_from(place).unwrap()).collect();
        for said in list(&model["runs"]) {
            check(&described, &order, said, &json["letters"], &format!("{name} {said}"));
            count += 1;
        }
        let cast = SCHEMES.quantizer("F16").unwrap();
        let chosen = Run::default().request(&described, |request| cast.choose(request)).unwrap();
        assert_eq!(chosen.order, Some(order), "{name}");
    }
    assert!(count > 400, "{count} runs");
}

fn check(model: &Described, order: &[usize], said: &Json, letters: &Json, what: &str) {
    let (run, file) = (Run::of(&said["options"]), text(&said["type"]));
    let found = run.request(model, |request| types_of(file, request));
    let Some(types) = said["types"].as_str() else {
        assert!(found.is_err() && said["error"].is_string(), "{what}");
        return;
    };
    let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(types.len(), found.len(), "{what}");
    for (letter, &place) in types.chars().zip(order) {
        let tensor = &model.tensors[place];
        let becomes = found[place].filter(|becomes| *becomes != tensor.dtype.name());
        assert_eq!(becomes, letters[letter.to_string()].as_str(), "{} of {what}", tensor.name);
    }
    if run.matrix.is_none() {
        let chosen = run.request(model, |request| SCHEMES.quantizer(file).unwrap().choose(request));
        check_need(chosen.map(|_| ()), said["needs_importance"] == true, what);
    }
}

/// A file that llama-quantize would not make without importance is refused for that reason, and no
/// other is.
fn check_need(chosen: Result<()>, needs_importance: bool, what: &str) {
    let reason = chosen.err().map(|error| error.message().to_owned()).unwrap_or_default();
    assert_eq!(reason.contains("needs an importance matrix"), needs_importance, "{what}: {reason}");
}
