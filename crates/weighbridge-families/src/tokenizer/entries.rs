//! Entries in the order in which they are written.

use std::sync::Arc;

use crate::catalog::{Packed, Texts, Value};

/// Metadata being put together. A key that is set again keeps its place and takes the new value.
#[derive(Default)]
pub(crate) struct Entries(Vec<(String, Value)>);

impl Entries {
    pub fn set(&mut self, key: impl Into<String>, value: Value) {
        let key = key.into();
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key, value)),
        }
    }

    pub fn find(&mut self, key: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    pub fn text(&mut self, key: &str, text: &str) {
        self.set(key, Value::text(text));
    }

    pub fn flag(&mut self, key: &str, value: bool) {
        self.set(key, Value::Bool(value));
    }

    /// A number of 32 bits.
    pub fn id(&mut self, key: &str, id: u64) {
        self.set(key, Value::Unsigned(32, id));
    }

    /// An array; one without elements is not written at all.
    pub fn list(&mut self, key: &str, values: impl IntoIterator<Item = Value>) {
        let list = Value::list(values);
        if list.list_len() != Some(0) {
            self.set(key, list);
        }
    }

    /// An array of texts; one without elements is not written at all.
    pub fn texts(&mut self, key: &str, texts: Texts) {
        if !texts.is_empty() {
            self.set(key, Value::Packed(Arc::new(Packed::Texts(texts))));
        }
    }

    pub fn finished(self) -> Vec<(String, Value)> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_set_again_keeps_its_place() {
        let mut entries = Entries::default();
        entries.flag("a", true);
        entries.texts("none", Texts::default());
        entries.id("b", 1);
        entries.flag("a", false);
        let expected =
            [("a".to_owned(), Value::Bool(false)), ("b".to_owned(), Value::Unsigned(32, 1))];
        assert_eq!(entries.finished(), expected);
    }
}
