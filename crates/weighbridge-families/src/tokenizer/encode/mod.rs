//! What a tokenizer makes of one fixed text, by which llama.cpp's converter knows vocabularies.
//!
//! This is no tokenizer for other texts: what the text has no use for is left out, and a step that is
//! not known gives nothing at all. A wrong id would do no harm, since no known vocabulary has it.

mod added;
mod around;
mod bytes;
mod pairs;
mod pattern;
mod steps;
mod words;

use super::vocabulary::Vocabulary;
pub(super) use bytes::{from_bytes, of_bytes};

/// The text, with something for every pre-tokenizer to stumble over.
const TEXT: [&str; 5] = [
    "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n🚀 (normal) 😶\u{200d}🌫\u{fe0f} ",
    "(multiple emojis concatenated) ✅ 🦙🦙 3 33 333 3333 33333 333333 3333333 33333333 ",
    "3.3 3..3 3...3 កាន់តែពិសេសអាច😁 ?我想在apple工作1314151天～ ------======= нещо на ",
    "Български ''''''```````\"\"\"\"......!!!!!!?????? I've been 'told he's there, ",
    "'RE you sure? 'M not sure I'll make it, 'D you like some tea? We'Ve a'lL",
];

/// A part of the text on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TextPart {
    Text(String),
    /// An added token, which nothing cuts.
    Token(u64),
}

impl TextPart {
    fn changed(self, change: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Text(text) => Self::Text(change(&text)),
            Self::Token(_) => self,
        }
    }
}

/// What is done to the text.
type Normalize = Box<dyn Fn(&str) -> String>;

/// The ids of the text, with those that are put around it; none where some step is not known.
pub(super) fn ids(vocabulary: &Vocabulary<'_>) -> Option<Vec<u64>> {
    let tokenizer = vocabulary.tokenizer;
    let raw = vec![TextPart::Text(TEXT.concat())];
    let parts = added::split(raw, vocabulary, false, str::to_owned)?;
    let normalize = steps::normalizer(&tokenizer["normalizer"])?;
    let texts = parts.into_iter().map(|part| part.changed(&normalize)).collect();
    let parts = added::split(texts, vocabulary, true, &normalize)?;
    let parts = steps::pre_tokenize(parts, &tokenizer["pre_tokenizer"])?;
    let ids = match tokenizer["model"]["type"].as_str() {
        Some("WordPiece") => words::ids(&parts, vocabulary)?,
        // Older files do not state the type of byte pairs.
        Some("BPE") | None => pairs::ids(&parts, vocabulary)?,
        Some(_) => return None,
    };
    around::put(ids, vocabulary)
}
