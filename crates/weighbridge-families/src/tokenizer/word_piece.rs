//! BERT's words and parts of words. What continues a word is marked in `tokenizer.json`; in GGUF what
//! begins one is.

use super::{
    Beyond, Entries, Files, KINDS, Special, TOKENIZER, TokenType, Vocabulary, byte_pairs, pre,
};
use crate::error::{Error, Result};
use crate::text::shortened;

pub(super) fn write(files: &Files<'_>, entries: &mut Entries, stated: Option<&str>) -> Result<()> {
    let tokenizer = files.need_tokenizer()?;
    let kind = tokenizer["model"]["type"].as_str().unwrap_or("nothing");
    if kind != "WordPiece" {
        let kind = shortened(kind, 40);
        let message = format!("{TOKENIZER} has type `{kind}`, expected `WordPiece`");
        return Err(Error::unsupported(message));
    }
    let vocabulary = Vocabulary::read(files)?;
    let tokens = byte_pairs::tokens(&vocabulary, byte_pairs::written)?;
    let count = tokens.len();
    let tokens = tokens.map(|(text, kind)| (marked(text, kind), kind));
    entries.id("tokenizer.ggml.token_type_count", files.token_types());
    entries.text("tokenizer.ggml.model", "bert");
    // Readers split words of all such vocabularies in the same way.
    let known = || pre::known_vocabulary(&vocabulary);
    entries.text("tokenizer.ggml.pre", stated.or_else(known).unwrap_or("default"));
    TokenType::write(entries, tokens, None);
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)
}

fn marked(text: String, kind: TokenType) -> String {
    match text.strip_prefix("##") {
        _ if kind == TokenType::Control => text,
        Some(rest) => rest.to_owned(),
        None => format!("▁{text}"),
    }
}
