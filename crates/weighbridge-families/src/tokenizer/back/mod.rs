//! The tokenizer files of a Hugging Face repository, out of the metadata of a GGUF file.
//!
//! `tokenizer.json` says everything that a program needs, whatever else is installed, and
//! `tokenizer_config.json` asks for it to be taken as it is: a class of a family's own would put
//! together what it believes the family to have. SentencePiece's own file and `vocab.txt` are written
//! beside it, for programs that know nothing else.
//!
//! What the file leaves open is what its readers assume. What has no place in these files is listed.

mod added;
mod around;
mod byte_pairs;
mod config;
mod document;
mod guess;
mod merges;
mod metadata;
mod piece_file;
mod pieces;
mod special;
mod tokens;
mod unigram;
mod word_pieces;

use crate::catalog::Value;
use crate::error::{Error, Result};
use crate::text::shortened;
use document::{Document, Vocabulary};
use metadata::{Metadata, needed};
use special::{Assumed, Special};
use tokens::{Token, Tokens};

/// The tokenizer files of a repository.
pub struct Written {
    /// Their names and contents.
    pub files: Vec<(String, Vec<u8>)>,
    /// Metadata that these files cannot express, and assumptions made.
    pub not_carried: Vec<String>,
    /// What was guessed or overruled, and what the file says in vain.
    pub notes: Vec<String>,
}

/// What one kind of tokenizers gives: the parts of `tokenizer.json`, and other files.
struct Made {
    tokens: Tokens,
    special: Special,
    document: Document,
    /// The class that `tokenizer_config.json` asks for.
    class: &'static str,
    files: Vec<(String, Vec<u8>)>,
    not_carried: Vec<String>,
}

/// Derives the tokenizer files from metadata. `pre` names the pre-tokenizer, whatever the file says.
pub fn files(metadata: &dyn Fn(&str) -> Option<Value>, pre: Option<&str>) -> Result<Written> {
    let metadata = Metadata(metadata);
    const KEY: &str = "tokenizer.ggml.model";
    let model = needed(KEY, metadata.text(KEY)?)?;
    if pre.is_some() && model != "gpt2" {
        let model = shortened(&model, 40);
        let message = format!("tokenizers of kind `{model}` have no pre-tokenizer to name");
        return Err(Error::usage(message));
    }
    let made = match &*model {
        "gpt2" => {
            let (name, note) = guess::pre_tokenizer(&metadata, pre)?;
            let mut made = byte_pairs::make(&metadata, &name)?;
            made.special.notes.extend(note);
            made
        }
        // Gemma 4's tokenizer has a model of its own and no name of a pre-tokenizer.
        "gemma4" => byte_pairs::of(&metadata, "gemma4")?,
        "llama" => pieces::make(&metadata)?,
        "bert" => word_pieces::make(&metadata)?,
        "t5" => unigram::make(&metadata)?,
        other => {
            let other = shortened(other, 40);
            return Err(Error::unsupported(format!(
                "`{KEY}` is `{other}`, which is not supported"
            )));
        }
    };
    written(&metadata, made)
}

fn written(metadata: &Metadata<'_>, made: Made) -> Result<Written> {
    let config = config::of(metadata, &made)?;
    let Made { tokens, document, special, mut files, mut not_carried, .. } = made;
    not_carried.push("padding_side: right".to_owned());
    not_carried.push("spaces around added tokens: left in the text".to_owned());
    files.insert(0, (super::files::TOKENIZER.to_owned(), document.written(&tokens)?));
    files.insert(1, (super::files::CONFIG.to_owned(), format!("{config:#}\n").into_bytes()));
    Ok(Written { files, not_carried, notes: special.notes })
}
