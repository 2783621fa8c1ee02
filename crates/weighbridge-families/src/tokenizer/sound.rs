//! What the `tokenizers` library refuses about `tokenizer.json` is refused here too, by name: IDs that
//! are none, a model of another type than it says, merges of parts that are no tokens.

use serde_json::Value as Json;

use super::document::Document;
use super::files::{TOKENIZER, content_of, wrong};
use super::merges::Merges;
use super::vocabulary::Base;
use crate::error::{Error, Result};
use crate::text::shortened;

/// An error unless every added token has an ID of 32 bits.
pub(super) fn check_added(tokenizer: &Json) -> Result<()> {
    let added = tokenizer["added_tokens"].as_array().into_iter().flatten();
    for token in added {
        let is_id = token["id"].as_u64().is_some_and(|id| u32::try_from(id).is_ok());
        if !is_id {
            let content = shortened(content_of(token).unwrap_or_default(), 40);
            let found = match &token["id"] {
                Json::Null => "no ID".to_owned(),
                id => format!("the invalid ID {}", shortened(&id.to_string(), 40)),
            };
            return Err(wrong(TOKENIZER, format!("added token `{content}` has {found}")));
        }
    }
    Ok(())
}

/// An error unless the model is one of byte pairs. Without a type its content tells.
pub(super) fn check_byte_pairs(tokenizer: &Document) -> Result<()> {
    let model = &tokenizer["model"];
    let has_merges = tokenizer.merges.is_some();
    match model["type"].as_str() {
        Some("BPE") if has_merges => Ok(()),
        Some("BPE") => Err(wrong(TOKENIZER, "its model has type `BPE`, but no list of merges")),
        None if model["type"].is_null() && has_merges => Ok(()),
        kind => {
            let kind = shortened(kind.unwrap_or("nothing"), 40);
            let message = format!("{TOKENIZER} has type `{kind}`, expected `BPE`");
            Err(Error::unsupported(message))
        }
    }
}

/// An error unless both parts of every merge, and what they make, are tokens of the model.
pub(super) fn check_merges(tokenizer: &Document, base: &Base<'_>) -> Result<()> {
    let model = &tokenizer["model"];
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    let mut whole = String::new();
    for merge in tokenizer.merges.iter().flat_map(Merges::iter) {
        let Some((first, second)) = merge.parts() else { continue };
        whole.clear();
        whole.extend([first, second.get(prefix.len()..).unwrap_or_default()]);
        let missing = [first, second, &whole].into_iter().find(|part| !base.contains_key(part));
        if let Some(missing) = missing {
            let (first, second) = (shortened(first, 40), shortened(second, 40));
            let missing = shortened(missing, 40);
            let message = format!("merge `{first} {second}`: `{missing}` is not in the vocabulary");
            return Err(wrong(TOKENIZER, message));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_merges(merges: &Json, prefix: &str) -> Result<()> {
        let tokenizer =
            json!({ "model": { "merges": merges, "continuing_subword_prefix": prefix } });
        let words = ["a", "b", "ab", "##b"].map(|word| (word, 0));
        check_merges(&tokenizer.into(), &words.into_iter().collect())
    }

    #[test]
    fn parts_and_wholes_of_merges_are_tokens() {
        assert!(of_merges(&json!([["a", "b"], "a b"]), "").is_ok());
        assert!(of_merges(&json!(["a ##b"]), "##").is_ok());
        let refused =
            |merge: Json| of_merges(&json!([merge]), "").unwrap_err().message().to_owned();
        assert_eq!(refused(json!(["a", "c"])), "merge `a c`: `c` is not in the vocabulary");
        assert_eq!(refused(json!("c a")), "merge `c a`: `c` is not in the vocabulary");
        assert_eq!(refused(json!(["b", "a"])), "merge `b a`: `ba` is not in the vocabulary");
    }

    #[test]
    fn ids_are_whole_numbers_of_32_bits() {
        let check =
            |id: Json| check_added(&json!({ "added_tokens": [{ "id": id, "content": "<x>" }] }));
        assert!(check(json!(7)).is_ok());
        for odd in [json!(-1), json!(1.0), json!("5"), json!(1_u64 << 32)] {
            let message = check(odd.clone()).unwrap_err().message().to_owned();
            assert_eq!(message, format!("added token `<x>` has the invalid ID {odd}"));
        }
        let message = check(json!(null)).unwrap_err().message().to_owned();
        assert_eq!(message, "added token `<x>` has no ID");
    }
}
