//! How the vectors of a text become one, as sentence-transformers' files say it.

use serde_json::{Value as Json, json};

use crate::error::{Error, Remedy, Result};
use crate::families::{POOLINGS, Told};

/// The step that pools, if the file names a way.
pub fn pooling(told: &Told<'_>) -> Result<Option<Json>> {
    let stated = told.own("pooling_type").map(|value| value.as_u64());
    let Some(number) = stated.filter(|number| *number != Some(0)) else { return Ok(None) };
    let Some((_, flag, _)) = POOLINGS.iter().find(|(known, ..)| number == Some(*known)) else {
        let message = "unknown pooling method (pooling_type)";
        return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
    };
    let width = told.shape_of("token_embd.weight").and_then(|shape| shape.last().copied());
    Ok(Some(json!({ "word_embedding_dimension": width, *flag: true })))
}

/// The steps of such a model. Whether its vectors are made to have length one, no file says.
pub fn steps() -> Json {
    let step = |index: u64, path: &str, kind: &str| {
        let kind = format!("sentence_transformers.models.{kind}");
        json!({ "idx": index, "name": index.to_string(), "path": path, "type": kind })
    };
    json!([step(0, "", "Transformer"), step(1, "1_Pooling", "Pooling")])
}
