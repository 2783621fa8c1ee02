//! SentencePiece's unigrams, as T5 and XLM-R have them: pieces with scores, of which those are taken
//! that make a text likeliest.

use serde_json::{Map, Value as Json, json};

use super::tokens::SCORES;
use super::{
    Assumed, Document, Made, Metadata, Special, Token, Tokens, Vocabulary, around, byte_pairs,
    needed, piece_file,
};
use crate::error::{Error, Result};
use crate::tokenizer::base64::encoded;
use crate::tokenizer::sentencepiece::{self, ADDED};
use crate::tokenizer::token_type::TokenType;
use crate::tokenizer::unigram_pieces;

const ASSUMED: Assumed = Assumed { adds: &["eos"], ids: &[("eos", 1), ("unk", 2), ("pad", 0)] };

const MASK: &str = "<mask>";

pub(super) fn make(metadata: &Metadata<'_>) -> Result<Made> {
    let mut not_carried = Vec::new();
    let mut tokens = Tokens::read(metadata)?;
    tokens.leave_out_twins(&mut not_carried)?;
    needed(SCORES, metadata.scores(SCORES)?)?;
    name_mask(metadata, &mut tokens, &mut not_carried)?;
    let special = Special::read(metadata, &mut tokens, ASSUMED, &mut not_carried)?;
    let Some(unknown) = special.id("unk") else {
        return Err(Error::unsupported("the file names no unk token"));
    };
    let flag = |key: &str| metadata.flag(&format!("tokenizer.ggml.{key}"));
    let prefix = flag("add_space_prefix")?.unwrap_or(false);
    let fewer_spaces = flag("remove_extra_whitespaces")?.unwrap_or(false);
    let document = Document {
        normalizer: normalizer(metadata, prefix, fewer_spaces)?,
        pre_tokenizer: pre_tokenizer(prefix, fewer_spaces),
        post_processor: around::template(&special, &tokens, false),
        decoder: marks(prefix),
        model: json!({ "type": "Unigram", "unk_id": unknown, "byte_fallback": false }),
        vocabulary: Vocabulary::Scores,
        merges: None,
    };
    let letters = metadata.bytes("tokenizer.ggml.precompiled_charsmap")?;
    let kind = piece_file::Around::UNIGRAM;
    let around = piece_file::Around { kind, begins_with_a_space: prefix, fewer_spaces, letters };
    let is_encoder = metadata.number("tokenizer.ggml.token_type_count")?.is_some();
    let files =
        if is_encoder { Vec::new() } else { own_files(&tokens, &special, unknown, &around)? };
    let class = byte_pairs::AS_IT_IS;
    Ok(Made { tokens, special, document, class, files, not_carried })
}

/// The files that T5's own tokenizer is read from: the pieces, and the tokens that were added to them.
fn own_files(
    tokens: &Tokens,
    special: &Special,
    unknown: usize,
    around: &piece_file::Around,
) -> Result<Vec<(String, Vec<u8>)>> {
    let has_score = |one: &Token| one.score.to_bits() == ADDED.to_bits();
    let is_added = |one: &Token| one.kind == TokenType::UserDefined && has_score(one);
    let added = tokens.present().filter(|(_, token)| is_added(token));
    let added: Map<String, Json> =
        added.map(|(id, token)| (token.text.clone(), id.into())).collect();
    let model = piece_file::of(tokens, special, unknown, around)?;
    let mut files = vec![(unigram_pieces::OLDER.to_owned(), model)];
    if !added.is_empty() {
        let text = format!("{:#}\n", Json::Object(added));
        files.push((sentencepiece::ADDED_TOKENS.to_owned(), text.into_bytes()));
    }
    Ok(files)
}

/// Fillers, which count from one less behind the tokens that XLM-R has first, are nobody's, except for
/// the mask: SentencePiece's file does not know it, so that its text is lost.
fn name_mask(
    metadata: &Metadata<'_>,
    tokens: &mut Tokens,
    not_carried: &mut Vec<String>,
) -> Result<()> {
    let mask = metadata.number("tokenizer.ggml.mask_token_id")?;
    let is_known = tokens.0.iter().any(|token| token.text == MASK);
    for (id, token) in tokens.0.iter_mut().enumerate() {
        let is_filler = token.text == format!("[PAD{}]", id.saturating_sub(1));
        if token.kind != TokenType::Unused || !(token.is_nobody || is_filler) {
            continue;
        }
        let (mut text, mut kind) = (format!("[PAD{id}]"), TokenType::Unused);
        if mask == Some(id as u64) && !is_known {
            (text, kind) = (MASK.to_owned(), TokenType::Control);
            not_carried.push(format!("the text of the mask token: `{MASK}` is assumed"));
        }
        *token = Token::new(id, text, kind, token.score);
    }
    Ok(())
}

/// A table of letters is all, where words are cut at spaces anyway.
fn normalizer(metadata: &Metadata<'_>, prefix: bool, fewer_spaces: bool) -> Result<Json> {
    let map = metadata.bytes("tokenizer.ggml.precompiled_charsmap")?;
    let letters =
        map.map(|map| json!({ "type": "Precompiled", "precompiled_charsmap": encoded(&map) }));
    let spaces = (fewer_spaces && !prefix)
        .then(|| json!({ "type": "Replace", "pattern": { "Regex": " {2,}" }, "content": " " }));
    Ok(match (letters, spaces) {
        (Some(letters), Some(spaces)) => {
            json!({ "type": "Sequence", "normalizers": [letters, spaces] })
        }
        (letters, spaces) => letters.or(spaces).unwrap_or_default(),
    })
}

/// Words, each with a mark before it. Where spaces are made fewer, those at the ends are none.
fn pre_tokenizer(prefix: bool, fewer_spaces: bool) -> Json {
    if prefix && fewer_spaces {
        json!({
            "type": "Sequence",
            "pretokenizers": [{ "type": "WhitespaceSplit" }, marks(prefix)],
        })
    } else {
        marks(prefix)
    }
}

fn marks(prefix: bool) -> Json {
    let scheme = if prefix { "always" } else { "never" };
    json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true })
}
