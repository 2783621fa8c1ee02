//! Which type each weight gets: what llama-quantize says it would do, over models made for its
//! rules (`oracles/quantize_choices.py`).

use std::sync::Arc;

use regex::Regex;
use serde_json::Value as Json;
use weighbridge::catalog::Value;
use weighbridge::internals::schemes::ggml::types_of;
use weighbridge::internals::schemes::{
    Candidate, Configs, Largest, QuantizeWishes, Request, quantizer,
};
use weighbridge::{DType, Result};

use crate::common::root;

/// A model of the file.
struct Made {
    entries: Vec<(String, Value)>,
    tensors: Vec<(String, Vec<u64>, DType)>,
    order: Vec<usize>,
}

/// One run of llama-quantize.
#[derive(Default)]
struct Run {
    wishes: QuantizeWishes,
    keeps_output: bool,
    asked: Vec<(Regex, String)>,
}

fn numbers(json: &Json) -> Vec<u64> {
    json.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

impl Made {
    fn of(json: &Json) -> Self {
        let entries = json["entries"].as_object().unwrap();
        let tensors = json["tensors"].as_array().unwrap();
        let tensor = |tensor: &Json| {
            let dtype = DType::from_name(tensor[2].as_str().unwrap()).unwrap();
            (tensor[0].as_str().unwrap().to_owned(), numbers(&tensor[1]), dtype)
        };
        Self {
            entries: entries.iter().map(|(key, of)| (key.clone(), Value::from_json(of))).collect(),
            tensors: tensors.iter().map(tensor).collect(),
            order: numbers(&json["order"]).iter().map(|&place| place as usize).collect(),
        }
    }

    fn asked_as<T>(&self, run: &Run, then: impl FnOnce(&Request<'_>) -> T) -> T {
        let candidate = |(name, shape, dtype): &(String, Vec<u64>, DType)| -> Candidate<'static> {
            // They live as long as the test.
            let (name, shape) = (name.clone().leak(), shape.clone().leak());
            Candidate { name, shape, dtype: *dtype, block: None }
        };
        let weights: Vec<Candidate<'_>> = self.tensors.iter().map(candidate).collect();
        let asked = |name: &str| {
            let found = run.asked.iter().find(|(pattern, _)| pattern.is_match(name))?;
            Some(found.1.clone())
        };
        let metadata = |wanted: &str| {
            self.entries.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone())
        };
        then(&Request {
            weights: &weights,
            metadata: &metadata,
            configs: Configs::new(&[]),
            wishes: &run.wishes,
            keeps: &|name| run.keeps_output && name == "output.weight",
            asked: &asked,
            importance: &|_| None,
            largest: &|_| -> Largest { Arc::new(|| Ok(1.0)) },
        })
    }
}

impl Run {
    fn of(options: &Json) -> Self {
        let mut run = Self::default();
        let mut options = options.as_array().unwrap().iter().map(|option| option.as_str().unwrap());
        while let Some(option) = options.next() {
            match option {
                "--pure" => run.wishes.pure = true,
                "imatrix" => run.wishes.has_importance = true,
                "--leave-output-tensor" => run.keeps_output = true,
                "--output-tensor-type" => run.wishes.output_type = options.next().map(Into::into),
                "--token-embedding-type" => {
                    run.wishes.embedding_type = options.next().map(Into::into);
                }
                "--tensor-type" => {
                    let (pattern, becomes) = options.next().unwrap().split_once('=').unwrap();
                    let pattern = Regex::new(&pattern.to_lowercase()).unwrap();
                    run.asked.push((pattern, becomes.to_owned()));
                }
                _ => panic!("{option}"),
            }
        }
        run
    }
}

#[test]
fn every_weight_gets_the_type_that_llama_quantize_gives_it() {
    let path = root().join("tests/files/quantize/choices.json");
    let json: Json = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut count = 0;
    for (name, model) in json["models"].as_object().unwrap() {
        let made = Made::of(model);
        for said in model["runs"].as_array().unwrap() {
            check(&made, said, &json["letters"], &format!("{name} {said}"));
            count += 1;
        }
        let cast = quantizer("F16").unwrap();
        let chosen = made.asked_as(&Run::default(), |request| cast.choose(request)).unwrap();
        assert_eq!(chosen.order.as_deref(), Some(&*made.order), "{name}");
    }
    assert!(count > 400, "{count} runs");
}

fn check(made: &Made, said: &Json, letters: &Json, what: &str) {
    let (run, file) = (Run::of(&said["options"]), said["type"].as_str().unwrap());
    let found = made.asked_as(&run, |request| types_of(file, request));
    let Some(types) = said["types"].as_str() else {
        assert!(found.is_err() && said["error"].is_string(), "{what}");
        return;
    };
    let found = found.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(types.len(), found.len(), "{what}");
    for (letter, &place) in types.chars().zip(&made.order) {
        let (name, _, stored) = &made.tensors[place];
        let becomes = found[place].filter(|becomes| *becomes != stored.name());
        assert_eq!(becomes, letters[letter.to_string()].as_str(), "{name} of {what}");
    }
    if !run.wishes.has_importance {
        let chosen = made.asked_as(&run, |request| quantizer(file).unwrap().choose(request));
        check_need(chosen.map(|_| ()), said["needs_importance"] == true, what);
    }
}

/// A file that llama-quantize would not make without importance is refused for that reason, and no
/// other is.
fn check_need(chosen: Result<()>, needs_importance: bool, what: &str) {
    let reason = chosen.err().map(|error| error.message().to_owned()).unwrap_or_default();
    assert_eq!(reason.contains("without importance"), needs_importance, "{what}: {reason}");
}
