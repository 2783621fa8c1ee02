//! Tokenizers of encoders.

use std::path::Path;

use super::{Entries, Files, TOKENIZER, pairs_with, unigram, unigram_pieces, word_piece};
use crate::error::{Error, Result};

/// How to read an encoder's tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderTokens {
    /// Words and parts of words.
    WordPieces,
    /// Pieces with scores; the likeliest segmentation wins.
    Unigram,
    /// The same from SentencePiece's file, under either of its names.
    UnigramPieces,
    /// Word pieces or unigram, as `tokenizer.json` states.
    WordPiecesOrUnigram,
    /// The same, with a token for masks that SentencePiece's file lacks.
    WordPiecesOrMasked,
    /// Word pieces or byte pairs, as `tokenizer.json` states, with two kinds of tokens.
    WordPiecesOrPairs,
    /// Byte pairs.
    Pairs,
    /// Byte pairs, of which nothing is said but that no token stands before a text.
    BarePairs,
    /// Byte pairs with tokens around every text, unless files say otherwise.
    EndedPairs,
}

impl EncoderTokens {
    /// What it is read from, in words.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::WordPieces => "WordPiece",
            Self::Unigram | Self::UnigramPieces => "Unigram",
            Self::WordPiecesOrUnigram | Self::WordPiecesOrMasked => "WordPiece or Unigram",
            Self::WordPiecesOrPairs => "WordPiece or byte pairs",
            Self::Pairs | Self::BarePairs | Self::EndedPairs => "byte pairs",
        }
    }

    /// The kind that a repository has.
    fn in_files(self, files: &Files<'_>) -> Result<Self> {
        let has_words = || Ok(files.need_tokenizer()?["model"]["type"] == "WordPiece");
        Ok(match self {
            Self::WordPiecesOrUnigram | Self::WordPiecesOrMasked | Self::WordPiecesOrPairs
                if has_words()? =>
            {
                Self::WordPieces
            }
            Self::WordPiecesOrUnigram => Self::Unigram,
            other => other,
        })
    }
}

pub(super) fn write(
    files: &Files<'_>,
    entries: &mut Entries,
    kind: EncoderTokens,
    pre: Option<&str>,
) -> Result<()> {
    let adds = |kind: &str| format!("tokenizer.ggml.add_{kind}_token");
    match kind.in_files(files)? {
        EncoderTokens::WordPieces => word_piece::write(files, entries, pre),
        EncoderTokens::Unigram | EncoderTokens::WordPiecesOrUnigram => {
            unigram::write(files, entries)
        }
        EncoderTokens::UnigramPieces => unigram_pieces::write(files, entries),
        EncoderTokens::WordPiecesOrMasked => unigram::write_masked(files, entries),
        EncoderTokens::WordPiecesOrPairs => {
            refuse_words(files)?;
            with_types(files, entries, pre, 2)
        }
        EncoderTokens::Pairs => with_types(files, entries, pre, files.token_types()),
        EncoderTokens::BarePairs => {
            entries.flag(&adds("bos"), false);
            pairs_with(files, entries, pre, &[])
        }
        EncoderTokens::EndedPairs => {
            ["bos", "eos", "sep"].iter().for_each(|kind| entries.flag(&adds(kind), true));
            pairs_with(files, entries, pre, &[])
        }
    }
}

/// Byte pairs, and how many kinds of tokens there are.
fn with_types(
    files: &Files<'_>,
    entries: &mut Entries,
    pre: Option<&str>,
    types: u64,
) -> Result<()> {
    pairs_with(files, entries, pre, &[])?;
    entries.id("tokenizer.ggml.token_type_count", types);
    Ok(())
}

/// Whole words, which GGUF has another model for.
fn refuse_words(files: &Files<'_>) -> Result<()> {
    if files.need_tokenizer()?["pre_tokenizer"]["type"] == "Whitespace" {
        let message = "vocabularies that are cut at spaces alone are not supported yet";
        return Err(Error::unsupported(message).in_file(Path::new(TOKENIZER)));
    }
    Ok(())
}
