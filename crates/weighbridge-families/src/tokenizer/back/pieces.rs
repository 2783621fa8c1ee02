//! SentencePiece's byte pairs, as Llama's first tokenizers and Gemma's have them: pieces with scores.
//!
//! A text gets a mark at its start, unless the file says otherwise, and spaces become marks. What is no
//! piece becomes bytes.

use serde_json::{Value as Json, json};

use super::tokens::SCORES;
use super::{
    Assumed, Document, Made, Metadata, Special, Token, Tokens, Vocabulary, around, byte_pairs,
    document, merges, needed, piece_file,
};
use crate::error::{Error, Result};
use crate::tokenizer::files::MODEL;
use crate::tokenizer::token_type::TokenType;

const ASSUMED: Assumed = Assumed { adds: &["bos"], ids: &[("bos", 1), ("eos", 2)] };

/// More bytes than any piece has.
const LONGEST: usize = 1024;

pub(super) fn make(metadata: &Metadata<'_>) -> Result<Made> {
    let mut not_carried = Vec::new();
    let mut tokens = Tokens::read(metadata)?;
    tokens.leave_out_twins(&mut not_carried)?;
    needed(SCORES, metadata.scores(SCORES)?)?;
    refuse_long(&tokens)?;
    let special = Special::read(metadata, &mut tokens, ASSUMED, &mut not_carried)?;
    take_spaces(metadata, &mut tokens, &mut not_carried)?;
    let begins = metadata.flag("tokenizer.ggml.add_space_prefix")?.unwrap_or(true);
    let document = parts(&tokens, &special, begins);
    let mut files = Vec::new();
    if !merges::are_ordered(&tokens) {
        not_carried.push(
            "the merge order: the scores do not give one, so token ID order is used, as in \
                 Llama"
                .to_owned(),
        );
    } else if let Some(unknown) = unknown(&tokens, &special) {
        let kind = piece_file::Around::BYTE_PAIRS;
        let around = piece_file::Around {
            kind,
            begins_with_a_space: begins,
            fewer_spaces: false,
            letters: None,
        };
        files.push((MODEL.to_owned(), piece_file::of(&tokens, &special, unknown, &around)?));
    } else {
        not_carried.push(format!("{MODEL}: there is no unknown piece"));
    }
    Ok(Made { tokens, special, document, class: byte_pairs::AS_IT_IS, files, not_carried })
}

fn parts(tokens: &Tokens, special: &Special, begins: bool) -> Document {
    let spaces = json!({ "type": "Replace", "pattern": { "String": " " }, "content": "▁" });
    let normalizer = if begins {
        let first = json!({ "type": "Prepend", "prepend": "▁" });
        json!({ "type": "Sequence", "normalizers": [first, spaces] })
    } else {
        spaces
    };
    // What is no piece becomes bytes, if there are tokens for them.
    let falls_back = tokens.0.iter().any(|token| token.kind == TokenType::Byte);
    Document {
        normalizer,
        pre_tokenizer: Json::Null,
        post_processor: around::template(special, tokens, false),
        decoder: byte_pairs::falling_back(begins),
        model: document::pairs(tokens, unknown(tokens, special), falls_back, false),
        vocabulary: Vocabulary::Ids,
        merges: Some(merges::of(tokens)),
    }
}

/// A piece is cut at every letter to find its parts, which nobody could wait for if it were long.
fn refuse_long(tokens: &Tokens) -> Result<()> {
    let mut lengths = tokens.present().map(|(id, token)| (id, token.text.len()));
    lengths.find(|(_, length)| *length > LONGEST).map_or(Ok(()), |(id, length)| {
        Err(Error::limit(format!("token {id} is implausibly long: {length} bytes")))
    })
}

/// Special tokens of Phi-3 own the spaces after them, except for these. No file says so: readers know
/// the family.
fn take_spaces(
    metadata: &Metadata<'_>,
    tokens: &mut Tokens,
    not_carried: &mut Vec<String>,
) -> Result<()> {
    if metadata.text("general.architecture")?.as_deref() != Some("phi3") {
        return Ok(());
    }
    for token in tokens.0.iter_mut().filter(|token| token.is_special()) {
        token.takes_spaces = !["<unk>", "<s>", "<|endoftext|>"].contains(&&*token.text);
    }
    let what = "special tokens absorb the spaces after them";
    not_carried.push(format!("{what}: assumed, as in Phi-3"));
    Ok(())
}

/// The token that stands for what is no piece: one that is said to, is of that type, or has its text.
/// A file that other files add tokens to may say neither.
fn unknown(tokens: &Tokens, special: &Special) -> Option<usize> {
    let find = |is: &dyn Fn(&Token) -> bool| Some(tokens.present().find(|(_, one)| is(one))?.0);
    let by_kind = || find(&|token| token.kind == TokenType::Unknown);
    let by_text = || find(&|token| token.text == "<unk>" && token.is_special());
    special.id("unk").or_else(by_kind).or_else(by_text)
}
