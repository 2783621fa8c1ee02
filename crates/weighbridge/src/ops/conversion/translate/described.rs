//! The metadata that the GGUF file of a repository would have, for comparisons with another file.

use serde_json::Value as Json;

use super::to_gguf::{json_file, pooling, tokenizer_entries};
use crate::catalog::Value;
use crate::config;
use crate::error::Result;
use crate::model::{Model, Weight};
use crate::names::{self, Named, Side, keys};
use crate::tokenizer;

/// Metadata, as llama.cpp's converter writes it.
pub(in crate::ops) struct Described {
    /// The entries that describe the model.
    pub(in crate::ops) model: Vec<(String, Value)>,
    /// The entries of its tokenizer; none if the repository has no tokenizer that can be read.
    pub(in crate::ops) tokenizer: Result<Vec<(String, Value)>>,
}

/// Describes a repository; `None` if its family is not known. An embedding of `rows` rows has as many
/// tokens.
pub(in crate::ops) fn described(model: &Model, rows: u64) -> Option<Result<Described>> {
    let config = config::find(model.configs(), config::HUGGING_FACE)?;
    keys::architecture(config)?;
    Some(entries(model, config, rows))
}

fn entries(model: &Model, config: &Json, rows: u64) -> Result<Described> {
    let generation = json_file(model, "generation_config.json")?;
    let pooling = pooling(model)?;
    let weights: Vec<Weight> = model.weights().collect();
    let side = Side {
        weights: weights.iter().map(|w| Named { name: w.name(), shape: w.shape() }).collect(),
        configs: model.configs(),
        metadata: Vec::new(),
    };
    let measured = names::measured(&side, &|index| weights[index].decode_to_vec())?;
    let about = keys::About {
        config,
        generation: generation.as_ref(),
        card: None,
        pooling: pooling.as_ref(),
        next_layers: names::next_layers(&side)
            .map_or(keys::NextCount::Stated, keys::NextCount::Counted),
        measured: &measured,
        folder: "",
        parameters: keys::Parameters::default(),
        file_type: 0,
    };
    let tokenizer = tokenizer_entries(model, config, None).map(|mut entries| {
        tokenizer::fill_up(&mut entries, rows);
        entries
    });
    Ok(Described { model: keys::entries(&about)?, tokenizer })
}
