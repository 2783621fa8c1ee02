//! Merges out of scores: a piece is made of any two others that give its text, and the one with the
//! highest score is made first.

use std::collections::HashMap;

use super::tokens::{Token, Tokens};
use crate::tokenizer::token_type::TokenType;

/// One merge, by the ids of its parts.
struct Merge {
    made: usize,
    parts: (usize, usize),
    /// How many letters the parts have.
    letters: (usize, usize),
}

/// The ids of the two parts of every merge, in the order in which merges are tried.
pub(super) fn of(tokens: &Tokens) -> Vec<(usize, usize)> {
    let is_piece =
        |(_, token): &(usize, &Token)| token.kind == TokenType::Normal && !token.is_added;
    let mut ids: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
    ids.extend(tokens.present().filter(is_piece).map(|(id, token)| (&*token.text, id)));
    let mut merges = Vec::new();
    for (made, token) in tokens.present().filter(is_piece) {
        let start = merges.len();
        let letters = token.text.chars().count();
        for (before, (at, _)) in token.text.char_indices().enumerate().skip(1) {
            let (a, b) = token.text.split_at(at);
            if let (Some(a), Some(b)) = (ids.get(a), ids.get(b)) {
                merges.push(Merge { made, parts: (*a, *b), letters: (before, letters - before) });
            }
        }
        merges[start..].sort_by_key(|merge| merge.parts);
    }
    sort(&mut merges, tokens);
    merges.into_iter().map(|merge| merge.parts).collect()
}

/// The highest score comes first; of equal ones, that with the longer parts, as transformers has it.
/// Scores that are all the same say nothing. Then pieces are made in the order of their ids, and those
/// of marks alone after all others, which is the order of Llama's scores.
fn sort(merges: &mut [Merge], tokens: &Tokens) {
    let says_anything = are_ordered(tokens);
    let score = |merge: &Merge| tokens.0.get(merge.made).map_or(0.0, |token| token.score);
    let is_marks = |merge: &Merge| {
        tokens.0.get(merge.made).is_some_and(|token| token.text.chars().all(|letter| letter == '▁'))
    };
    let longer = |a: &Merge, b: &Merge| b.letters.cmp(&a.letters);
    merges.sort_by(|a, b| match (says_anything, is_marks(a), is_marks(b)) {
        (true, ..) => score(b).total_cmp(&score(a)).then_with(|| longer(a, b)),
        (false, true, true) => longer(a, b),
        (false, a_last, b_last) => a_last.cmp(&b_last).then(a.made.cmp(&b.made)),
    });
}

/// Whether scores say anything: not if all pieces have the same.
pub(super) fn are_ordered(tokens: &Tokens) -> bool {
    let pieces = tokens.0.iter().filter(|token| token.kind == TokenType::Normal);
    let mut scores = pieces.map(|token| token.score);
    let first = scores.next();
    scores.any(|score| Some(score) != first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pieces: &[(&str, f32)]) -> Vec<(String, String)> {
        let token = |(id, (text, score)): (usize, &(&str, f32))| {
            Token::new(id, (*text).to_owned(), TokenType::Normal, *score)
        };
        let tokens = Tokens(pieces.iter().enumerate().map(token).collect());
        let text = |id: usize| tokens.0.get(id).unwrap().text.clone();
        of(&tokens).into_iter().map(|(a, b)| (text(a), text(b))).collect()
    }

    fn pairs(texts: &[(&str, &str)]) -> Vec<(String, String)> {
        texts.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn the_highest_score_is_made_first() {
        let pieces = [("a", -9.0), ("b", -9.0), ("ab", -2.0), ("ba", -1.0), ("aba", -1.5)];
        let expected = [("b", "a"), ("ab", "a"), ("a", "ba"), ("a", "b")];
        assert_eq!(made(&pieces), pairs(&expected));
    }

    #[test]
    fn scores_that_are_all_the_same_leave_the_order_of_ids() {
        let pieces = [("▁", 0.0), ("▁▁", 0.0), ("a", 0.0), ("▁a", 0.0), ("▁▁▁", 0.0), ("aa", 0.0)];
        let expected = [("▁", "a"), ("a", "a"), ("▁▁", "▁"), ("▁", "▁▁"), ("▁", "▁")];
        assert_eq!(made(&pieces), pairs(&expected));
    }
}
