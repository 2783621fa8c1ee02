//! The index of several files, as the transformers library writes it.

use serde_json::{Map, Value, json};

/// Which file holds which tensor, and how much there is in all.
pub(super) fn index(mut map: Vec<(&str, &str)>, bytes: u64, parameters: u64) -> String {
    map.sort_unstable();
    let map: Map<String, Value> =
        map.into_iter().map(|(name, file)| (name.to_owned(), file.into())).collect();
    let index = json!({
        "metadata": { "total_parameters": parameters, "total_size": bytes },
        "weight_map": map,
    });
    format!("{index:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_as_transformers_writes_it() {
        let text = index(vec![("b", "2"), ("a", "1")], 10, 5);
        let expected = "{\n  \"metadata\": {\n    \"total_parameters\": 5,\n    \"total_size\": 10\n  },\n  \"weight_map\": {\n    \"a\": \"1\",\n    \"b\": \"2\"\n  }\n}\n";
        assert_eq!(text, expected);
    }
}
