//! BERT's word pieces. The file has a mark before what begins a word; `vocab.txt` has one before what
//! does not.

use serde_json::json;

use super::{
    Assumed, Document, Made, Metadata, Special, Token, Tokens, Vocabulary, around, byte_pairs,
};
use crate::error::{Error, Result};
use crate::tokenizer::token_type::TokenType;

pub(super) fn make(metadata: &Metadata<'_>) -> Result<Made> {
    let mut not_carried = Vec::new();
    let mut tokens = Tokens::read(metadata)?;
    tokens.0.iter_mut().enumerate().for_each(respell);
    tokens.leave_out_twins(&mut not_carried)?;
    let special = Special::read(metadata, &mut tokens, Assumed::default(), &mut not_carried)?;
    let need = |kind: &str, other: &str| {
        let missing = || Error::unsupported(format!("the file names no {kind} token"));
        special.id(kind).or(special.id(other)).ok_or_else(missing)
    };
    let (cls, sep, unknown) = (need("cls", "bos")?, need("sep", "eos")?, need("unk", "unk")?);
    let normalizer = json!({
        "type": "BertNormalizer",
        "clean_text": true,
        "handle_chinese_chars": true,
        "strip_accents": metadata.flag("tokenizer.ggml.normalizer.strip_accents")?,
        "lowercase": lowercase(metadata, &tokens, &mut not_carried)?,
    });
    let model = json!({
        "type": "WordPiece",
        "unk_token": tokens.text(unknown),
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
    });
    let document = Document {
        normalizer,
        pre_tokenizer: json!({ "type": "BertPreTokenizer" }),
        post_processor: around::bert(cls, sep, &tokens),
        decoder: json!({ "type": "WordPiece", "prefix": "##", "cleanup": true }),
        model,
        vocabulary: Vocabulary::Ids,
        merges: None,
    };
    let files = lines(&tokens, &mut not_carried);
    Ok(Made { tokens, special, document, class: byte_pairs::AS_IT_IS, files, not_carried })
}

/// As `vocab.txt` spells it. Special tokens are the same in both.
fn respell((id, token): (usize, &mut Token)) {
    if token.kind == TokenType::Control || token.is_nobody {
        return;
    }
    let text = match token.text.strip_prefix('▁') {
        Some(begins) => begins.to_owned(),
        None => format!("##{}", token.text),
    };
    *token = Token::new(id, text, token.kind, token.score);
}

/// Whether a text loses its capitals. A file that does not say so may have none in its tokens.
fn lowercase(
    metadata: &Metadata<'_>,
    tokens: &Tokens,
    not_carried: &mut Vec<String>,
) -> Result<bool> {
    if let Some(stated) = metadata.flag("tokenizer.ggml.normalizer.lowercase")? {
        return Ok(stated);
    }
    let is_plain = |token: &&Token| token.kind == TokenType::Normal;
    // Placeholders like `[CLS]` may be ordinary tokens, and some capitals have no small letter.
    let is_capital = |letter: char| !letter.to_lowercase().eq([letter]);
    let has_capitals =
        |token: &Token| !token.text.starts_with('[') && token.text.chars().any(is_capital);
    let lowercase = !tokens.0.iter().filter(is_plain).any(has_capitals);
    let taken = if lowercase {
        "lowercased, since no token has capitals"
    } else {
        "kept, since some tokens have capitals"
    };
    not_carried.push(format!("whether capitals are kept: they are {taken}"));
    Ok(lowercase)
}

/// One token a line, if that can be done.
fn lines(tokens: &Tokens, not_carried: &mut Vec<String>) -> Vec<(String, Vec<u8>)> {
    const FILE: &str = "vocab.txt";
    let all = tokens.0.get(..tokens.end()).unwrap_or_default();
    if all.iter().any(|token| token.text.is_empty() || token.text.contains(['\n', '\r'])) {
        not_carried
            .push(format!("{FILE}: not written, since a token is empty or has a line break"));
        return Vec::new();
    }
    let text: String = all.iter().map(|token| format!("{}\n", token.text)).collect();
    vec![(FILE.to_owned(), text.into_bytes())]
}
