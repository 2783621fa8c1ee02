//! Byte pairs: letters of a part are merged, the pair that was learned first before all others.

use std::collections::{HashMap, HashSet};

use super::TextPart;
use crate::tokenizer::merges::Merges;
use crate::tokenizer::vocabulary::Vocabulary;

/// Merges make no longer texts than this from parts of the text.
const LONGEST: usize = 48;

struct Pairs<'a> {
    /// The rank of each merge that the text may need.
    ranks: HashMap<(&'a str, &'a str), usize>,
    vocabulary: &'a Vocabulary<'a>,
    ignores_merges: bool,
    falls_back: bool,
}

pub(super) fn ids(parts: &[TextPart], vocabulary: &Vocabulary<'_>) -> Option<Vec<u64>> {
    let model = &vocabulary.tokenizer["model"];
    let is_plain = |key: &str| model[key].as_str().is_none_or(str::is_empty);
    if !is_plain("continuing_subword_prefix") || !is_plain("end_of_word_suffix") {
        return None;
    }
    let merges = vocabulary.tokenizer.merges.as_ref()?;
    let (ignores_merges, falls_back) =
        (model["ignore_merges"] == true, model["byte_fallback"] == true);
    let pairs = Pairs { ranks: ranks(parts, merges)?, vocabulary, ignores_merges, falls_back };
    let mut ids = Vec::new();
    for part in parts {
        match part {
            TextPart::Token(id) => ids.push(*id),
            TextPart::Text(text) => pairs.merge(text, &mut ids)?,
        }
    }
    Some(ids)
}

/// Only merges are kept whose result is in the text: a vocabulary has hundreds of thousands.
fn ranks<'a>(parts: &[TextPart], merges: &'a Merges) -> Option<HashMap<(&'a str, &'a str), usize>> {
    let needed = inside(parts);
    let (mut ranks, mut joined) = (HashMap::new(), String::new());
    for (rank, merge) in merges.iter().enumerate() {
        let (a, b) = merge.parts()?;
        joined.clear();
        joined.extend([a, b]);
        if needed.contains(joined.as_str()) {
            ranks.entry((a, b)).or_insert(rank);
        }
    }
    Some(ranks)
}

/// All texts inside of the parts.
fn inside(parts: &[TextPart]) -> HashSet<&str> {
    let mut found = HashSet::new();
    for part in parts {
        let TextPart::Text(text) = part else { continue };
        let borders: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        for (start, &from) in borders.iter().enumerate() {
            found.extend(borders[start..].iter().skip(1).take(LONGEST).map(|&to| &text[from..to]));
        }
    }
    found
}

impl Pairs<'_> {
    fn merge(&self, text: &str, ids: &mut Vec<u64>) -> Option<()> {
        if let Some(id) = self.vocabulary.base.get(text).filter(|_| self.ignores_merges) {
            ids.push(*id);
            return Some(());
        }
        let mut symbols: Vec<&str> = text.split("").filter(|letter| !letter.is_empty()).collect();
        // A symbol is a stretch of the text, so two neighbours are one.
        let mut starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        while let Some(at) = self.first_merge(&symbols) {
            let end = starts[at] + symbols[at].len() + symbols[at + 1].len();
            symbols[at] = &text[starts[at]..end];
            symbols.remove(at + 1);
            starts.remove(at + 1);
        }
        symbols.into_iter().try_for_each(|symbol| self.id(symbol, ids))
    }

    /// The pair with the lowest rank; of several, the first.
    fn first_merge(&self, symbols: &[&str]) -> Option<usize> {
        let ranked = symbols.windows(2).enumerate();
        let ranked =
            ranked.filter_map(|(at, pair)| Some((self.ranks.get(&(pair[0], pair[1]))?, at)));
        ranked.min().map(|(_, at)| at)
    }

    fn id(&self, symbol: &str, ids: &mut Vec<u64>) -> Option<()> {
        if let Some(id) = self.vocabulary.base.get(symbol) {
            ids.push(*id);
            return Some(());
        }
        for byte in symbol.bytes().filter(|_| self.falls_back) {
            ids.push(*self.vocabulary.base.get(&*format!("<0x{byte:02X}>"))?);
        }
        self.falls_back.then_some(())
    }
}
