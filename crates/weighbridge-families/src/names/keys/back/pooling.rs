//! How the vectors of a text become one, as sentence-transformers' files say it.

use serde_json::{Value as Json, json};

use crate::error::{Error, Remedy, Result};
use crate::families::Told;

/// The step that pools, if the file names a way.
pub fn pooling(told: &Told<'_>) -> Result<Option<Json>> {
    let flag = match told.own("pooling_type").map(|value| value.as_u64()) {
        None | Some(Some(0)) => return Ok(None),
        Some(Some(1)) => "pooling_mode_mean_tokens",
        Some(Some(2)) => "pooling_mode_cls_token",
        Some(Some(3)) => "pooling_mode_lasttoken",
        Some(_) => {
            let message = "how its vectors are pooled (pooling_type) is not known";
            return Err(Error::unsupported(message).remedy(Remedy::KeepNames));
        }
    };
    let width = told.shape_of("token_embd.weight").and_then(|shape| shape.last().copied());
    Ok(Some(json!({ "word_embedding_dimension": width, flag: true })))
}

/// The steps of such a model. Whether its vectors are made to have length one, no file says.
pub fn steps() -> Json {
    let step = |index: u64, path: &str, kind: &str| {
        let kind = format!("sentence_transformers.models.{kind}");
        json!({ "idx": index, "name": index.to_string(), "path": path, "type": kind })
    };
    json!([step(0, "", "Transformer"), step(1, "1_Pooling", "Pooling")])
}
