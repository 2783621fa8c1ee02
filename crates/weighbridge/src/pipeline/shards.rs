//! One file or several: which weight goes into which, under which names, and the index of them.

use std::ops::Range;

use serde_json::{Map, Value, json};

/// How the weights are spread over files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// Everything in one file.
    OneFile,
    /// A directory of files with at most so many bytes of data each; a larger weight has a file of
    /// its own.
    Shards(u64),
}

impl Spread {
    /// The weights of each file, given how many bytes each takes; at least one file.
    pub fn files(self, bytes: &[u64]) -> Vec<Range<usize>> {
        let most = match self {
            Self::OneFile => u64::MAX,
            Self::Shards(most) => most,
        };
        let (mut files, mut start, mut held) = (Vec::new(), 0, 0u64);
        for (index, &bytes) in bytes.iter().enumerate() {
            let next = held.saturating_add(bytes);
            if index > start && next > most && self != Self::OneFile {
                files.push(start..index);
                (start, held) = (index, bytes);
            } else {
                held = next;
            }
        }
        files.push(start..bytes.len());
        files
    }
}

/// The name of a shard, as loaders of the transformers library know them.
pub fn shard_name(index: usize, count: usize) -> String {
    match count {
        1 => "model.safetensors".to_owned(),
        _ => format!("model-{:05}-of-{count:05}.safetensors", index + 1),
    }
}

/// The name of the index of several shards.
pub const INDEX: &str = "model.safetensors.index.json";

/// The index: which file holds which weight, and how much there is in all.
pub fn index<'a>(
    weights: impl Iterator<Item = (&'a str, &'a str)>,
    bytes: u64,
    parameters: u64,
) -> String {
    let mut map: Vec<(&str, &str)> = weights.collect();
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
    fn shards_hold_as_much_as_they_may() {
        let files = |most, bytes: &[u64]| Spread::Shards(most).files(bytes);
        assert_eq!(files(10, &[4, 6, 1]), [0..2, 2..3]);
        assert_eq!(files(10, &[11, 1, 9, 1]), [0..1, 1..3, 3..4]);
        assert_eq!(files(10, &[]), vec![0..0; 1]);
        assert_eq!(files(0, &[0, 1, 1]), [0..1, 1..2, 2..3]);
        assert_eq!(Spread::OneFile.files(&[u64::MAX, u64::MAX]), vec![0..2; 1]);
    }

    #[test]
    fn the_index_is_as_transformers_writes_it() {
        let text = index([("b", "2"), ("a", "1")].into_iter(), 10, 5);
        let expected = "{\n  \"metadata\": {\n    \"total_parameters\": 5,\n    \"total_size\": 10\n  },\n  \"weight_map\": {\n    \"a\": \"1\",\n    \"b\": \"2\"\n  }\n}\n";
        assert_eq!(text, expected);
    }
}
