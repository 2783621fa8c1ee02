//! What kind of token one is.

use super::entries::Entries;
use crate::catalog::{Texts, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenType {
    Normal = 1,
    Unknown = 2,
    Control = 3,
    UserDefined = 4,
    Unused = 5,
    Byte = 6,
}

impl TokenType {
    pub fn of_number(number: u64) -> Option<Self> {
        use TokenType::{Byte, Control, Normal, Unknown, Unused, UserDefined};
        let all = [Normal, Unknown, Control, UserDefined, Unused, Byte];
        all.into_iter().find(|one| *one as u64 == number)
    }

    /// The text and type of an added token. The text of one that is not special has spaces where
    /// SentencePiece writes its mark.
    pub fn of_added(text: String, special: bool) -> (String, Self) {
        if special || looks_special(&text) {
            return (text, Self::Control);
        }
        (text.replace('▁', " "), Self::UserDefined)
    }

    /// Writes tokens, scores where there are some, and types.
    pub fn write(
        entries: &mut Entries,
        tokens: impl IntoIterator<Item = (String, Self)>,
        scores: Option<Vec<Value>>,
    ) {
        let (mut texts, mut types) = (Texts::default(), Vec::new());
        for (text, kind) in tokens {
            texts.push(&text);
            types.push(kind);
        }
        texts.shrink();
        entries.texts(super::TOKENS, texts);
        if let Some(scores) = scores {
            entries.list("tokenizer.ggml.scores", scores);
        }
        let numbers = types.into_iter().map(|one| Value::Signed(32, one as i64));
        entries.list("tokenizer.ggml.token_type", numbers);
    }
}

/// Whether a text has the form of a control token. Some repositories do not mark theirs as special.
fn looks_special(text: &str) -> bool {
    let framed = |start: &str, end: &str| text.starts_with(start) && text.ends_with(end);
    ["<pad>", "<mask>", "<2mass>", "[@BOS@]"].contains(&text)
        || framed("<|", "|>")
        || framed("<｜", "｜>")
        || framed("<unused", ">")
}
