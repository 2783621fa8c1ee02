//! The step that knows families: it translates names, and splits weights that one model stores as
//! one and the other as several.

use std::collections::{BTreeMap, HashMap};

use super::piece::Key;
use super::pieces::Translator;
use super::search::Search;
use super::view::{Rows, View};
use super::{Cut, Dialect, Facts, Pair, Piece};
use crate::families::Family;

impl Search<'_> {
    /// Pairs weights that have the same common name.
    pub fn translate(&mut self) {
        let facts = self.facts.clone();
        let [a, b] = &facts;
        if self.is_all_done() || [a, b].iter().any(|side| side.dialect == Dialect::Other) {
            return;
        }
        let Some(family) = self.family() else {
            self.note_unknown(a, b);
            return;
        };
        if a.dialect != b.dialect {
            let (name, ours, theirs) = (family.shown(), a.dialect.name(), b.dialect.name());
            self.note(format!("A has {ours} names, B has {theirs} names (family {name})"));
        }
        let translators = [Translator::new(a, b, family), Translator::new(b, a, family)];
        if translators.iter().any(Translator::lacks_heads) {
            let words = "neither model states its number of attention heads, so query and key rows";
            self.note(format!("{words} are compared in stored order"));
        }
        for in_parts in [false, true] {
            let pieces = [0, 1].map(|side| self.pieces(&translators[side], side, in_parts));
            self.match_pieces(&pieces, family);
        }
    }

    /// The family. A GGUF file's own statement comes first: it tells what its converter did.
    pub fn family(&self) -> Option<&'static Family> {
        let [a, b] = &self.facts;
        let (first, second) = if b.dialect == Dialect::Gguf { (b, a) } else { (a, b) };
        let family = first.family.or(second.family)?;
        // Of those with one architecture a config tells which one it is.
        let told = second.family.filter(|told| told.architecture == family.architecture);
        let family = told.unwrap_or(family);
        let is_unlike = |side: &Facts| {
            side.family_name.as_deref().is_some_and(|name| family.unlike.contains(&name))
        };
        (!is_unlike(a) && !is_unlike(b)).then_some(family)
    }

    fn is_all_done(&self) -> bool {
        self.done.iter().any(|side| side.iter().all(|done| *done))
    }

    fn note_unknown(&mut self, a: &Facts, b: &Facts) {
        if a.dialect != b.dialect {
            let unknown = |side: &&Facts| side.family.is_none() && side.family_name.is_some();
            let told = [a, b].into_iter().find(unknown).unwrap_or(a);
            let name = told.family_name.clone();
            let name = name.map_or("the family".to_owned(), |name| format!("family `{name}`"));
            let (ours, theirs) = (a.dialect.name(), b.dialect.name());
            self.note(format!(
                "A has {ours} names, B has {theirs} names; {name} is unknown, so names are \
                     not translated"
            ));
        }
    }

    /// The remaining weights of a model, under their common names.
    fn pieces(&self, translator: &Translator<'_>, side: usize, in_parts: bool) -> Vec<Piece> {
        let weights = &self.sides[side].weights;
        let open = self.open(&self.names, side).into_iter();
        open.flat_map(|(index, name)| {
            let shape = weights[index].shape;
            let parts = if in_parts { translator.parts(index, name, shape) } else { Vec::new() };
            let whole = if parts.is_empty() { translator.whole(index, name, shape) } else { None };
            parts.into_iter().chain(whole)
        })
        .collect()
    }

    fn match_pieces(&mut self, [ours, theirs]: &[Vec<Piece>; 2], family: &Family) {
        let mut index: HashMap<&Key, &Piece> = HashMap::new();
        for piece in theirs {
            index.entry(&piece.key).or_insert(piece);
        }
        let mut matched = [BTreeMap::new(), BTreeMap::new()];
        for a in ours {
            if let Some(b) = index.remove(&a.key) {
                self.found.pairs.push(joined(a, b, family, &self.facts));
                *matched[0].entry(a.weight).or_insert(0) += 1;
                *matched[1].entry(b.weight).or_insert(0) += 1;
            }
        }
        for (side, pieces) in [ours, theirs].into_iter().enumerate() {
            self.settle(side, pieces, &matched[side]);
        }
    }

    /// Marks weights as done if all of their pieces are paired.
    fn settle(&mut self, side: usize, pieces: &[Piece], matched: &BTreeMap<usize, usize>) {
        let mut all: HashMap<usize, usize> = HashMap::new();
        for piece in pieces {
            *all.entry(piece.weight).or_insert(0) += 1;
        }
        for (&weight, &count) in matched {
            if count == all[&weight] {
                self.done[side][weight] = true;
            } else {
                self.partly[side][weight] = true;
                let (name, which) = (self.sides[side].weights[weight].name, ["A", "B"][side]);
                let all = all[&weight];
                self.note(format!(
                    "only {count} of {all} parts of `{name}` in {which} have a counterpart"
                ));
            }
        }
    }
}

/// Makes a pair of two pieces.
pub(super) fn joined(a: &Piece, b: &Piece, family: &Family, facts: &[Facts; 2]) -> Pair {
    let (mut view_a, mut view_b) = (a.view.clone(), b.view.clone());
    let mut words = a.words.clone();
    words.extend(b.words.iter().filter(|word| !a.words.contains(word)).cloned());
    as_matrix(&mut view_a, &view_b);
    as_matrix(&mut view_b, &view_a);
    let pads = !family.padded.is_empty();
    let is_cut = match a.cut {
        Cut::None => false,
        Cut::ByToken => family.cuts_embedding || pads,
        Cut::ByPosition => true,
    };
    if is_cut && a.cut == b.cut {
        words.extend(cut([&mut view_a, &mut view_b], a.cut, facts, pads));
    }
    let transform = (!words.is_empty()).then(|| words.join(", "));
    Pair { a: a.weight, b: b.weight, view_a, view_b, transform }
}

/// A vector beside a column is a column too, and beside a row a row: converters of early 2024
/// dropped dimensions of one.
fn as_matrix(view: &mut View, other: &View) {
    match (&view.shape[..], &other.shape[..]) {
        (&[length], &[_, 1]) => view.shape = [length, 1].as_slice().into(),
        // Rows of a stack of vectors, beside single numbers of them.
        (&[count, length], &[_, _, 1]) if view.rows == Rows::From(0) => {
            view.shape = [count, length, 1].as_slice().into();
        }
        (&[length], &[1, _]) => view.shape = [1, length].as_slice().into(),
        _ => {}
    }
}

/// Cuts the longer of two to the rows that both have: the first ones, or the last. Only a GGUF file
/// leaves out rows, and only those of no token, or those before the first position. Any other number
/// of rows stays a difference.
fn cut([a, b]: [&mut View; 2], which: Cut, facts: &[Facts; 2], pads: bool) -> Option<String> {
    let [longer, shorter] = if a.shape.first() > b.shape.first() { [0, 1] } else { [1, 0] };
    let (original, file) = (&facts[longer], &facts[shorter]);
    let (longer, shorter) = if longer == 0 { (a, &*b) } else { (b, &*a) };
    let plain = longer.rows == Rows::From(0) && longer.shape.len() == 2;
    if !plain || shorter.shape.len() != 2 || longer.shape == shorter.shape {
        return None;
    }
    let (all, kept) = (longer.shape[0], shorter.shape[0]);
    let (is_known, first) = match which {
        Cut::ByPosition => {
            let first = all - kept;
            (original.first_position.is_none_or(|known| known == first), first)
        }
        _ => (file.tokens == Some(kept), 0),
    };
    let is_cut = is_known && file.dialect == Dialect::Gguf && original.dialect != Dialect::Gguf;
    // Or it has rows of zeros for tokens without any.
    let is_padded = pads && which == Cut::ByToken && original.dialect == Dialect::Gguf;
    let is_cut = is_cut || is_padded && file.dialect != Dialect::Gguf;
    (is_cut && longer.shape[1] == shorter.shape[1]).then(|| {
        longer.shape[0] = kept;
        longer.rows = Rows::From(first);
        format!("rows {first}..{} of {all}", first + kept)
    })
}
