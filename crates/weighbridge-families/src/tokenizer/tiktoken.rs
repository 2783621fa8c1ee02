//! Qwen's first file of byte pairs: tokens as bytes, in the order in which they were learned. Special
//! tokens stand behind them; no file lists these.

use std::collections::HashMap;

use super::base64::decoded;
use super::files::MOST_TOKENS;
use super::special::KINDS;
use super::{Beyond, Entries, Files, Special, TokenType, encode, wrong};
use crate::catalog::Texts;
use crate::error::{Error, Result};
use crate::text::shortened;

const FILE: &str = "qwen.tiktoken";

const END: &str = "<|endoftext|>";

/// How many more tokens there are behind the first three special ones.
const EXTRAS: usize = 205;

/// Ranks by the bytes of tokens.
type Ranks<'a> = HashMap<&'a [u8], usize>;

pub(super) fn write(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    let Some(text) = files.text(FILE)? else {
        return Err(Error::unsupported(format!("the repository has no {FILE}")));
    };
    let bytes = tokens(&text)?;
    let mut ranks = Ranks::with_capacity(bytes.len());
    for (rank, token) in bytes.iter().enumerate() {
        if ranks.insert(token, rank).is_some() {
            return Err(wrong(FILE, format!("the token of rank {rank} occurs twice")));
        }
    }
    let written = all(&bytes, files.vocabulary())?;
    let count = written.len();
    entries.text("tokenizer.ggml.model", "gpt2");
    entries.text("tokenizer.ggml.pre", pre.unwrap_or("qwen2"));
    TokenType::write(entries, written, None);
    let merges = (0..).zip(&bytes).filter(|(_, token)| token.len() > 1);
    let merges = merges.map(|(rank, token)| merge(token, rank, &ranks));
    entries.texts("tokenizer.ggml.merges", merges.collect::<Result<Texts>>()?);
    let mut special = Special::read(files, &KINDS, Beyond::Refuse(count))?;
    let end = bytes.len().into();
    if special.is_empty() {
        special.set("bos", &end)?;
        special.set("eos", &end)?;
    }
    special.set("unk", &end)?;
    special.write(entries)
}

/// The bytes of each token, by its rank.
fn tokens(text: &str) -> Result<Vec<Vec<u8>>> {
    let token = |(rank, line): (usize, &str)| {
        let parts = line.split_once(' ').filter(|(_, stated)| stated.parse() == Ok(rank));
        let bytes = parts.and_then(|(token, _)| decoded(token)).filter(|bytes| !bytes.is_empty());
        bytes.ok_or_else(|| {
            let shown = shortened(line, 80);
            wrong(FILE, format!("`{shown}` is not the token of rank {rank}"))
        })
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    if lines.len() as u64 > MOST_TOKENS {
        return Err(wrong(FILE, format!("implausible vocabulary size: {} tokens", lines.len())));
    }
    lines.into_iter().enumerate().map(token).collect()
}

/// The special tokens, in their order.
fn special_tokens() -> impl Iterator<Item = String> {
    let first = [END, "<|im_start|>", "<|im_end|>"].map(str::to_owned);
    first.into_iter().chain((0..EXTRAS).map(|number| format!("<|extra_{number}|>")))
}

/// A token for each row of the embedding.
fn all(bytes: &[Vec<u8>], rows: usize) -> Result<Vec<(String, TokenType)>> {
    let normal = bytes.iter().map(|one| (encode::of_bytes(one), TokenType::Normal));
    let special = special_tokens().map(|text| (text, TokenType::Control));
    let mut found: Vec<_> = normal.chain(special).collect();
    if rows > 0 && found.len() > rows {
        let message = format!("it has {} tokens, but the model has {rows}", found.len());
        return Err(wrong(FILE, message));
    }
    let missing = found.len()..rows.max(found.len());
    found.extend(missing.map(|id| (format!("[PAD{id}]"), TokenType::Unused)));
    Ok(found)
}

/// The two tokens that a token was made of, when it was learned.
fn merge(token: &[u8], rank: usize, ranks: &Ranks<'_>) -> Result<String> {
    let mut ends: Vec<usize> = (1..=token.len()).collect();
    loop {
        let of = |at: usize| {
            let start = if at == 0 { 0 } else { ends[at - 1] };
            ranks.get(&token[start..ends[at + 1]]).copied().filter(|made| *made < rank)
        };
        let pairs = (0..ends.len().saturating_sub(1)).filter_map(|at| Some((of(at)?, at)));
        let Some((_, at)) = pairs.min() else { break };
        ends.remove(at);
    }
    let [middle, _] = ends[..] else {
        return Err(wrong(FILE, format!("the token of rank {rank} is not a merge of two others")));
    };
    let (first, second) = token.split_at(middle);
    Ok(format!("{} {}", encode::of_bytes(first), encode::of_bytes(second)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merges_follow_from_the_order() {
        let bytes: Vec<Vec<u8>> = ["a", "b", "c", "bc", "abc"].map(Into::into).into();
        let ranks: Ranks<'_> = bytes.iter().enumerate().map(|(at, one)| (&one[..], at)).collect();
        assert_eq!(merge(b"bc", 3, &ranks).unwrap(), "b c");
        assert_eq!(merge(b"abc", 4, &ranks).unwrap(), "a bc");
        assert!(merge(b"aaa", 5, &ranks).is_err());
    }

    #[test]
    fn lines_out_of_order_are_refused() {
        assert_eq!(tokens("YQ== 0\nYg== 1\n").unwrap(), [b"a", b"b"]);
        for text in ["YQ== 1", "YQ==", "= 0", "YQ== 0\nYg== 0"] {
            assert!(tokens(text).is_err(), "{text}");
        }
    }
}
