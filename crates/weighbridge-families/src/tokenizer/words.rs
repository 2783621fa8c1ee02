//! The tokens of a model with their IDs, in one text.

use serde::de::MapAccess;
use serde_json::Value as Json;

use super::document::place;

/// Tokens in the order of the file.
#[derive(Default)]
pub(super) struct Words {
    text: String,
    /// Where each token ends, and its ID.
    ends: Vec<(u32, Option<u64>)>,
}

impl Words {
    pub fn read<'de, A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        let mut words = Self::default();
        while let Some((token, id)) = map.next_entry::<std::borrow::Cow<'de, str>, Json>()? {
            words.text.push_str(&token);
            words.ends.push((place(words.text.len())?, id.as_u64()));
        }
        words.text.shrink_to_fit();
        words.ends.shrink_to_fit();
        Ok(words)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Tokens with their IDs; none for what is no ID.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, id)| {
            let end = end as usize;
            let token = self.text.get(start..end).unwrap_or_default();
            start = end;
            (token, id)
        })
    }
}
