//! Merges out of scores: a piece is made of any two others that give its text, and the one with the
//! highest score is made first.

use std::cmp::Reverse;
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

/// Two parts of every merge, in the order in which merges are tried.
pub(super) fn of(tokens: &Tokens) -> Vec<(&str, &str)> {
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
    let text = |id: usize| tokens.get(id).map_or("", |token| &*token.text);
    merges.iter().map(|merge| (text(merge.parts.0), text(merge.parts.1))).collect()
}

/// The highest score comes first; of equal ones, that with the longer parts, as transformers has it.
/// Scores that are all the same say nothing: then pieces are made in the order of their ids.
fn sort(merges: &mut [Merge], tokens: &Tokens) {
    if !are_ordered(tokens) {
        return;
    }
    let score = |merge: &Merge| tokens.get(merge.made).map_or(0.0, |token| token.score);
    merges.sort_by(|a, b| {
        let by_score = score(b).total_cmp(&score(a));
        by_score.then_with(|| Reverse(a.letters).cmp(&Reverse(b.letters)))
    });
}

/// Whether scores say anything: not if all pieces have the same.
pub(super) fn are_ordered(tokens: &Tokens) -> bool {
    let pieces = tokens.0.iter().filter(|token| token.kind == TokenType::Normal);
    let mut scores = pieces.map(|token| token.score);
    let first = scores.next();
    scores.any(|score| Some(score) != first)
}
