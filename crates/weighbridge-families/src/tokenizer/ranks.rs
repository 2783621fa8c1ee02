//! Hunyuan's file of byte pairs, `hy.tiktoken`: tokens as bytes, one a line, in the order in which they
//! were learned. The special tokens behind them are those of the program that comes with the file.

use std::collections::HashMap;

use super::base64::decoded;
use super::{Beyond, Entries, Files, KINDS, Special, TokenType, encode, wrong};
use crate::error::Result;

const FILE: &str = "hy.tiktoken";

/// The special tokens. As many further ones follow as the model has rows for.
const SPECIAL: [&str; 5] = ["<|endoftext|>", "<|startoftext|>", "<|bos|>", "<|eos|>", "<|pad|>"];

/// The token before every text, whatever files say of it.
const BEGINS: u64 = 127959;

/// No token has more bytes: finding what a token is made of takes the square of their number.
const LONGEST: usize = 1 << 10;

/// Writes the vocabulary. The converter knows no other name of it.
pub(super) fn write(files: &Files<'_>, entries: &mut Entries, pre: Option<&str>) -> Result<()> {
    let missing =
        || wrong(FILE, "the vocabulary of this family is read from it, and it is missing");
    let text = files.text(FILE)?.ok_or_else(missing)?;
    let tokens: Vec<Vec<u8>> = text.lines().enumerate().map(token).collect::<Result<_>>()?;
    let ranks = ranks(&tokens)?;
    let merges = tokens.iter().enumerate().filter_map(|one| merge(one, &ranks)).collect();
    let all = all(&tokens, files.vocabulary())?;
    let count = all.len();
    entries.text("tokenizer.ggml.model", "gpt2");
    entries.text("tokenizer.ggml.pre", pre.unwrap_or("hunyuan"));
    TokenType::write(entries, all, None);
    entries.texts("tokenizer.ggml.merges", merges);
    Special::read(files, &KINDS, Beyond::LeaveOut(count))?.write(entries)?;
    entries.id("tokenizer.ggml.bos_token_id", BEGINS);
    Ok(())
}

/// The bytes of a line, whose number is its rank.
fn token((rank, line): (usize, &str)) -> Result<Vec<u8>> {
    let parts = line.split_once(' ').filter(|(_, number)| number.parse() == Ok(rank));
    let bytes = parts.and_then(|(letters, _)| decoded(letters));
    let bytes = bytes.filter(|bytes| !bytes.is_empty() && bytes.len() <= LONGEST);
    bytes.ok_or_else(|| wrong(FILE, format!("line {} is not the token of rank {rank}", rank + 1)))
}

fn ranks(tokens: &[Vec<u8>]) -> Result<HashMap<&[u8], usize>> {
    let mut ranks = HashMap::with_capacity(tokens.len());
    for (rank, token) in tokens.iter().enumerate() {
        if ranks.insert(&token[..], rank).is_some() {
            return Err(wrong(FILE, format!("the token of rank {rank} occurs twice")));
        }
    }
    Ok(ranks)
}

/// The two tokens that a token is made of, if it is: those that are left before the last merge, where
/// what was learned first is merged first.
fn merge((rank, token): (usize, &Vec<u8>), ranks: &HashMap<&[u8], usize>) -> Option<String> {
    let mut ends: Vec<usize> = (0..=token.len()).collect();
    while ends.len() > 3 {
        let pair = |at: usize| Some((*ranks.get(&token[ends[at]..ends[at + 2]])?, at + 1));
        let best = (0..ends.len() - 2).filter_map(pair).min().filter(|(found, _)| *found < rank);
        let (_, between) = best?;
        ends.remove(between);
    }
    let &[start, between, end] = &ends[..] else { return None };
    let spelled = |part: &[u8]| encode::of_bytes(part);
    Some(format!("{} {}", spelled(&token[start..between]), spelled(&token[between..end])))
}

/// What stands for every row of the embedding.
fn all(tokens: &[Vec<u8>], rows: usize) -> Result<Vec<(String, TokenType)>> {
    let further = rows.checked_sub(tokens.len() + SPECIAL.len());
    let few = || wrong(FILE, format!("{} tokens are too many for {rows} rows", tokens.len()));
    let further = (0..further.ok_or_else(few)?).map(|number| format!("<|extra_{number}|>"));
    let special = SPECIAL.iter().map(|&text| text.to_owned()).chain(further);
    let normal = tokens.iter().map(|token| (encode::of_bytes(token), TokenType::Normal));
    Ok(normal.chain(special.map(|text| (text, TokenType::Control))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_made_of_two() {
        let tokens: Vec<Vec<u8>> =
            ["a", "b", "c", "ab", "abc", "cc", "cab"].map(|token| token.as_bytes().to_vec()).into();
        let ranks = ranks(&tokens).unwrap();
        let of = |rank: usize| merge((rank, &tokens[rank]), &ranks);
        assert_eq!(of(0), None);
        assert_eq!(of(3).as_deref(), Some("a b"));
        assert_eq!(of(4).as_deref(), Some("ab c"));
        assert_eq!(of(6).as_deref(), Some("c ab"));
    }
}
