//! The tokenizer of a Hugging Face repository as the metadata that a GGUF file has of it.
//!
//! Keys, types, values and their order are those of llama.cpp's converter, with one difference: the
//! name of a pre-tokenizer is found by what `tokenizer.json` says about it, so that a vocabulary which
//! was extended keeps the name of its pre-tokenizer. A hash of what it makes of a text, by which the
//! converter finds the name, only has to agree.
//!
//! Files are not trusted: an id past the end of the vocabulary, two tokens with one id, and whatever
//! else has no meaning are refused by name.

mod around;
pub mod back;
mod base64;
mod byte_pairs;
mod decode;
mod document;
mod encode;
mod encoders;
mod ends;
mod entries;
mod files;
mod in_parts;
mod kind;
mod llama;
mod merges;
mod plamo;
mod pre;
mod protobuf;
mod ranks;
mod sentencepiece;
mod sound;
mod special;
mod tekken;
mod templates;
mod tiktoken;
mod token_type;
mod turns;
mod unigram;
mod unigram_pieces;
mod vocabulary;
mod word_piece;
mod words;
mod world;

use serde_json::{Value as Json, json};

use crate::catalog::Value;
use crate::error::Result;
pub use encoders::EncoderTokens;
pub use ends::Ends;
pub(crate) use entries::Entries;
use files::{CONFIG, Files, TOKENIZER, wrong};
pub use kind::TokenizerKind;
use special::{Beyond, KINDS, Special};
use token_type::TokenType;
use vocabulary::Vocabulary;

/// The key of the list of tokens.
pub const TOKENS: &str = "tokenizer.ggml.tokens";

/// The keys of tokens that end something: a text, a turn, a message.
pub const ENDS: [&str; 3] =
    ["tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"];

/// The inputs for reading a repository's tokenizer.
pub struct Repository<'a> {
    /// Reads a file of the repository, if it exists: `tokenizer.json`, `tokenizer.model`, ..
    pub files: &'a dyn Fn(&str) -> Result<Option<Vec<u8>>>,
    /// Names of the files in a folder of the repository; none if it is not there.
    pub names: &'a dyn Fn(&str) -> Vec<String>,
    /// The model's config (`config.json`), as it is.
    pub config: &'a Json,
    /// Rows of the embedding's vocabulary: `vocab_size` of the (text) config.
    pub vocabulary: u64,
}

/// Returns the tokenizer metadata, in the converter's order. `pre` overrides the pre-tokenizer's
/// name.
pub fn entries(
    repository: &Repository<'_>,
    kind: TokenizerKind,
    pre: Option<&str>,
) -> Result<Vec<(String, Value)>> {
    let (files, mut all) = (Files::open(repository)?, Entries::default());
    let (files, entries) = (&files, &mut all);
    match kind {
        TokenizerKind::LlamaLike => llama_like(files, entries, pre)?,
        TokenizerKind::PiecesOrPairs => piece_or_pairs(files, entries, pre)?,
        TokenizerKind::Plamo { templates } => plamo::write(files, entries, templates)?,
        TokenizerKind::PiecesOrBareLlama => bare_llama(files, entries)?,
        TokenizerKind::PairsOrPieces if files.tokenizer.is_some() => pairs(files, entries, pre)?,
        TokenizerKind::PairsOrPieces => piece_or_pairs(files, entries, pre)?,
        TokenizerKind::BytePairs(tokens) => pairs_with(files, entries, pre, tokens)?,
        TokenizerKind::PiecesWith(tokens) => pieces_with(files, entries, tokens)?,
        TokenizerKind::Pieces(ends_turn) => pieces(files, entries, ends_turn)?,
        TokenizerKind::BarePiecesOrPairs => bare_pieces_or_pairs(files, entries, pre)?,
        TokenizerKind::Phi3 => phi3(files, entries, pre)?,
        TokenizerKind::World => world::write(files, entries)?,
        TokenizerKind::None => entries.text("tokenizer.ggml.model", "none"),
        TokenizerKind::Encoder(encoder) => encoders::write(files, entries, encoder, pre)?,
        TokenizerKind::PiecesAsStated => {
            sentencepiece::write(files, entries)?;
            stated_prefix(files, entries);
        }
        TokenizerKind::PiecesOrMarked if sentencepiece::is_there(files)? => {
            sentencepiece::write(files, entries)?;
        }
        TokenizerKind::PiecesOrMarked => {
            byte_pairs::write_marked(files, entries, pre)?.write(entries)?;
        }
        TokenizerKind::PiecesAndTurns => turns::write(files, entries)?,
        TokenizerKind::PiecesUntilTurn => turns::write_stated(files, entries)?,
        TokenizerKind::BarePieces => llama::write_bare(files, entries)?,
        TokenizerKind::Tiktoken => tiktoken::write(files, entries, pre)?,
        TokenizerKind::PairsEnding(ends) => ends::write(files, entries, pre, ends)?,
        TokenizerKind::Ranks => ranks::write(files, entries, pre)?,
        TokenizerKind::PiecesRedefined => sentencepiece::write_redefined(files, entries)?,
        TokenizerKind::MarkedAndBegun => {
            byte_pairs::write_marked(files, entries, pre)?.write(entries)?;
            entries.flag("tokenizer.ggml.add_bos_token", true);
        }
        TokenizerKind::EndedBy(token, template) => {
            piece_or_pairs(files, entries, pre)?;
            if let Some(template) = template {
                entries.text("tokenizer.chat_template", template);
            }
            let listed = files.tokens_by_id()?;
            if let Some((id, _)) = listed.into_iter().find(|(_, one)| one["content"] == *token) {
                entries.id("tokenizer.ggml.bos_token_id", id);
                entries.id("tokenizer.ggml.eos_token_id", id);
            }
        }
        TokenizerKind::Gemma4 => {
            llama::write_gemma4(files, entries)?;
            entries.flag(SPACE_PREFIX, false);
            entries.flag("tokenizer.ggml.add_bos_token", true);
        }
    }
    Ok(all.finished())
}

/// The name by which llama.cpp's converter knows the vocabulary of a repository.
#[cfg(test)]
pub(crate) fn known_vocabulary(repository: &Repository<'_>) -> Option<&'static str> {
    let files = Files::open(repository).unwrap();
    pre::known_vocabulary(&vocabulary::Vocabulary::read(&files).unwrap())
}

/// Adds filler tokens until every embedding row has one, because llama.cpp rejects models with
/// fewer tokens than rows. The converter does this only for most kinds of tokenizers; its output
/// for the others does not load.
pub fn fill_up(entries: &mut [(String, Value)], rows: u64) {
    // A list that is read from a file is not longer than the embedding, and nobody has more rows.
    let rows = usize::try_from(rows.min(files::MOST_TOKENS)).unwrap_or(0);
    for (key, value) in entries {
        let Some(first) = value.list_len().filter(|first| *first < rows) else { continue };
        let filler = |id: usize| match key.as_str() {
            TOKENS => Some(Value::text(format!("[PAD{id}]"))),
            "tokenizer.ggml.token_type" => Some(Value::Signed(32, TokenType::Unused as i64)),
            // Of byte pairs they are zeros without a point, if there are any.
            "tokenizer.ggml.scores" if value.element_type() == "i32" => Some(Value::Signed(32, 0)),
            "tokenizer.ggml.scores" => Some(Value::F32(sentencepiece::NOBODY)),
            _ => None,
        };
        let missing: Vec<Value> = (first..rows).map_while(filler).collect();
        value.extend(missing);
    }
}

const SPACE_PREFIX: &str = "tokenizer.ggml.add_space_prefix";

fn bare_llama(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    if sentencepiece::is_there(files)? {
        return sentencepiece::write(files, entries);
    }
    if !llama::is_for(files.need_tokenizer()?) {
        return Err(wrong(TOKENIZER, "its byte pairs have no fallback to bytes".to_owned()));
    }
    llama::write(files, entries)?;
    entries.flag(SPACE_PREFIX, false);
    Ok(())
}

/// Whether a space stands before a text, if a file says so.
fn stated_prefix(files: &Files<'_>, entries: &mut Entries) {
    if let Some(Json::Bool(prefix)) = files.config.get("add_prefix_space") {
        entries.flag(SPACE_PREFIX, *prefix);
    }
}

fn pieces_with(files: &Files<'_>, entries: &mut Entries, tokens: &[(&str, u64)]) -> Result<()> {
    sentencepiece::write(files, entries)?;
    for (kind, id) in tokens {
        entries.id(&format!("tokenizer.ggml.{kind}_token_id"), *id);
    }
    Ok(())
}

fn bare_pieces_or_pairs(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    piece_or_pairs(files, entries, pre)?;
    if sentencepiece::is_there(files)? {
        entries.flag(SPACE_PREFIX, false);
    }
    Ok(())
}

fn phi3(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    match files.config.get("tokenizer_class").and_then(Json::as_str) {
        Some("GPT2Tokenizer") => pairs(files, entries, pre),
        _ => sentencepiece::write_phi3(files, entries),
    }
}

fn pairs(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    pairs_with(files, entries, pre, &[])
}

fn piece_or_pairs(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    if sentencepiece::is_there(files)? {
        sentencepiece::write(files, entries)
    } else {
        pairs(files, entries, pre)
    }
}

fn llama_like(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    if files.tokenizer.is_none() && (files.repository.files)(tekken::FILE)?.is_some() {
        return tekken::write(files, entries);
    }
    stated_prefix(files, entries);
    if sentencepiece::is_there(files)? {
        sentencepiece::write(files, entries)?;
    } else if llama::is_for(files.need_tokenizer()?) {
        llama::write(files, entries)?;
    } else {
        pairs(files, entries, pre)?;
    }
    // Code Llama's vocabulary, and that of the small Granite models, are known by their sizes.
    if files.repository.vocabulary == 32016 {
        let kinds = ["prefix", "suffix", "middle", "eot"];
        let mut special = Special::read(files, &kinds, Beyond::Refuse(32016))?;
        special.set("eot", &json!(32010))?;
        special.write(entries)?;
    }
    if files.repository.vocabulary == 49152 {
        entries.flag("tokenizer.ggml.add_bos_token", false);
    }
    Ok(())
}

fn pieces(files: &Files<'_>, entries: &mut Entries, ends_turn: Option<u64>) -> Result<()> {
    sentencepiece::write(files, entries)?;
    if let Some(id) = ends_turn {
        let kinds = ["prefix", "suffix", "middle", "fsep", "eot"];
        let mut special = Special::read(files, &kinds, Beyond::Refuse(files.vocabulary()))?;
        special.set("eot", &json!(id))?;
        special.templates = None;
        special.write(entries)?;
    }
    entries.flag(SPACE_PREFIX, false);
    Ok(())
}

fn pairs_with(
    files: &Files<'_>,
    entries: &mut Entries,
    pre: Option<&str>,
    tokens: &[(&'static str, &str)],
) -> Result<()> {
    let mut special = byte_pairs::write(files, entries, pre)?;
    for &(kind, content) in tokens {
        let found = files.added_tokens().find(|token| token["content"] == content);
        let missing = || files::wrong(files::TOKENIZER, format!("no added token is `{content}`"));
        special.set(kind, &found.ok_or_else(missing)?["id"])?;
    }
    special.write(entries)
}
