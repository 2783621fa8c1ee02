//! What llama-quantize was asked for, as requests to our quantizers.

use std::sync::Arc;

use regex::Regex;
use serde_json::Value as Json;
use weighbridge::catalog::Value;
use weighbridge::internals::schemes::{
    Candidate, Configs, Largest, QuantizeWishes, Request, SCHEMES,
};
use weighbridge::{DType, ImportanceMatrix};

/// A model that nothing but its names, shapes and metadata are known of.
pub struct Described {
    pub entries: Vec<(String, Value)>,
    pub tensors: Vec<Tensor>,
}

/// One of its tensors.
pub struct Tensor {
    pub name: String,
    pub shape: Vec<u64>,
    pub dtype: DType,
}

impl Tensor {
    /// Name, shape and type.
    pub fn of(json: &Json) -> Self {
        let dtype = DType::from_name(text(&json[2])).unwrap();
        Self { name: text(&json[0]).to_owned(), shape: numbers(&json[1]), dtype }
    }
}

/// The options of one run.
#[derive(Default)]
pub struct Run {
    pub wishes: QuantizeWishes,
    pub keeps_output: bool,
    pub asked: Vec<(Regex, String)>,
    /// The file with the importance of columns.
    pub matrix: Option<String>,
    /// What it says.
    pub known: Option<ImportanceMatrix>,
}

impl Run {
    /// Options as they were given.
    pub fn of(options: &Json) -> Self {
        let mut run = Self::default();
        let mut options = list(options).iter().map(text);
        while let Some(option) = options.next() {
            let mut value = || options.next().unwrap().to_owned();
            match option {
                "--pure" => run.wishes.pure = true,
                "--leave-output-tensor" => run.keeps_output = true,
                "--output-tensor-type" => run.wishes.output_type = Some(value()),
                "--token-embedding-type" => run.wishes.embedding_type = Some(value()),
                "--imatrix" => {
                    run.matrix = Some(value());
                    run.wishes.has_importance = true;
                }
                "--tensor-type" => {
                    let value = value();
                    let (pattern, becomes) = value.split_once('=').unwrap();
                    let pattern = Regex::new(&pattern.to_lowercase()).unwrap();
                    run.asked.push((pattern, becomes.to_owned()));
                }
                _ => panic!("{option}"),
            }
        }
        run
    }

    /// Asks for the same of a model.
    pub fn request<T>(&self, model: &Described, then: impl FnOnce(&Request<'_>) -> T) -> T {
        let tensors = model.tensors.iter();
        let weights: Vec<Candidate<'_>> = tensors
            .map(|Tensor { name, shape, dtype }| Candidate {
                name,
                shape,
                dtype: *dtype,
                block: None,
            })
            .collect();
        let metadata = |wanted: &str| {
            model.entries.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone())
        };
        let asked = |name: &str| {
            let found = self.asked.iter().find(|(pattern, _)| pattern.is_match(name))?;
            Some(found.1.clone())
        };
        then(&Request {
            weights: &weights,
            metadata: &metadata,
            configs: Configs::new(&[], SCHEMES),
            takes_as_saved: &|_, _| false,
            wishes: &self.wishes,
            keeps: &|name| self.keeps_output && name == "output.weight",
            asked: &asked,
            importance: &|name| self.known.as_ref()?.of(name),
            largest: &|_| -> Largest { Arc::new(|| Ok(1.0)) },
        })
    }
}

pub fn text(json: &Json) -> &str {
    json.as_str().unwrap()
}

pub fn list(json: &Json) -> &[Json] {
    json.as_array().unwrap()
}

pub fn numbers(json: &Json) -> Vec<u64> {
    list(json).iter().map(|number| number.as_u64().unwrap()).collect()
}
