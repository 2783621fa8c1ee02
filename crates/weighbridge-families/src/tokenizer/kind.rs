//! How a family's tokenizer is read.

use super::{EncoderTokens, Ends};

/// How to read a family's tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenizerKind {
    /// SentencePiece; without its file, byte pairs with or without a fallback to bytes.
    LlamaLike,
    /// SentencePiece if its file exists, else byte pairs.
    PiecesOrPairs,
    /// PLaMo's own file of pieces.
    Plamo {
        /// Whether chat templates are read.
        templates: bool,
    },
    /// SentencePiece if its file exists, else byte pairs with a fallback to bytes and no space before a text.
    PiecesOrBareLlama,
    /// Byte pairs if their file exists, else SentencePiece.
    PairsOrPieces,
    /// SentencePiece without a space before a text if its file exists, else byte pairs.
    BarePiecesOrPairs,
    /// SentencePiece without a space before a text, with the id of the token that ends a turn, if no
    /// file says that.
    Pieces(Option<u64>),
    /// SentencePiece, with ids of special tokens whatever files say of them.
    PiecesWith(&'static [(&'static str, u64)]),
    /// Byte pairs, with special tokens beside those that files name: what they are for, and their texts.
    BytePairs(&'static [(&'static str, &'static str)]),
    /// SentencePiece, with the added tokens of all files; Phi-4 has byte pairs.
    Phi3,
    /// RWKV's list of tokens, which is a file of its own.
    World,
    /// There are no tokens.
    None,
    /// An encoder's.
    Encoder(EncoderTokens),
    /// SentencePiece; whether a space stands before a text is what files say.
    PiecesAsStated,
    /// SentencePiece if its file exists, else byte pairs whose added tokens are special if files say so.
    PiecesOrMarked,
    /// Such byte pairs, with a token before every text.
    MarkedAndBegun,
    /// SentencePiece with the added tokens of all files, where a text ends as a turn does.
    PiecesAndTurns,
    /// SentencePiece where a text ends as a turn does.
    PiecesUntilTurn,
    /// Pieces of `tokenizer.json`, without scores.
    BarePieces,
    /// Byte pairs of Qwen's own file.
    Tiktoken,
    /// Byte pairs, in repositories that tell elsewhere what ends texts or turns.
    PairsEnding(Ends),
    /// Byte pairs, in a file of ranks.
    Ranks,
    /// SentencePiece, some of whose pieces other files redefine.
    PiecesRedefined,
    /// Byte pairs with a fallback to bytes and their merges, as Gemma 4 has them.
    Gemma4,
    /// SentencePiece if its file exists, else byte pairs; a token that both begins and ends a text,
    /// if tokenizer_config.json lists it, and a template in place of that of the files.
    EndedBy(&'static str, Option<&'static str>),
}

impl TokenizerKind {
    /// What it is read from, in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plamo { .. } => "PLaMo's pieces",
            Self::LlamaLike
            | Self::PiecesOrPairs
            | Self::PairsOrPieces
            | Self::PiecesOrBareLlama
            | Self::BarePiecesOrPairs
            | Self::PiecesOrMarked
            | Self::EndedBy(..)
            | Self::Phi3 => "SentencePiece or byte pairs",
            Self::Pieces(_)
            | Self::PiecesWith(_)
            | Self::PiecesAsStated
            | Self::PiecesAndTurns
            | Self::PiecesUntilTurn
            | Self::PiecesRedefined => "SentencePiece",
            Self::BarePieces => "pieces without scores",
            Self::BytePairs(_)
            | Self::Tiktoken
            | Self::Ranks
            | Self::PairsEnding(_)
            | Self::MarkedAndBegun
            | Self::Gemma4 => "byte pairs",
            Self::World => "RWKV's vocabulary",
            Self::None => "none",
            Self::Encoder(encoder) => encoder.name(),
        }
    }
}
