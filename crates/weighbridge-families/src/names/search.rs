//! Pairing step by step: each step looks at what the steps before it left.

use std::collections::HashMap;

use super::view::View;
use super::{Facts, Named, Pair, Pairing, Rules, Side, Which, prefix};

/// The state of the search.
pub(super) struct Search<'s> {
    pub sides: [&'s Side<'s>; 2],
    /// The names to pair: those of A after the user's renames.
    pub names: [Vec<String>; 2],
    pub facts: [Facts; 2],
    /// Weights that need no counterpart any more.
    pub done: [Vec<bool>; 2],
    /// Weights of which a part has a counterpart.
    pub partly: [Vec<bool>; 2],
    pub found: Pairing,
}

impl<'s> Search<'s> {
    /// A search in which nothing is paired yet.
    pub fn new(a: &'s Side<'s>, b: &'s Side<'s>, rules: &Rules) -> Self {
        let renamed = |weight: &Named<'_>| {
            rules.renames.iter().fold(weight.name.to_owned(), |name, rename| rename(&name))
        };
        let names_a: Vec<String> = a.weights.iter().map(renamed).collect();
        let names_b: Vec<String> = b.weights.iter().map(|weight| weight.name.to_owned()).collect();
        let open = || [vec![false; a.weights.len()], vec![false; b.weights.len()]];
        Self {
            facts: [Facts::of(a, &names_a), Facts::of(b, &names_b)],
            sides: [a, b],
            names: [names_a, names_b],
            done: open(),
            partly: open(),
            found: Pairing::default(),
        }
    }

    /// Pairs what the user's map names, then equal names.
    pub fn same_names(&mut self, rules: &Rules) {
        let theirs = index(self.sides[1].weights.iter().map(|weight| weight.name));
        let ours = index(self.sides[0].weights.iter().map(|weight| weight.name));
        for (from, to) in &rules.map {
            match (ours.get(from.as_str()), theirs.get(to.as_str())) {
                (Some(&a), Some(&b)) => self.pair_whole(a, b, None),
                (None, _) => self.note(format!("the map names `{from}`, which is not in A")),
                (_, None) => self.note(format!("the map names `{to}`, which is not in B")),
            }
        }
        for a in 0..self.names[0].len() {
            let b = theirs.get(self.names[0][a].as_str()).copied();
            if let Some(b) = b.filter(|&b| !self.done[0][a] && !self.done[1][b]) {
                self.pair_whole(a, b, None);
            }
        }
    }

    /// Pairs names that differ by a prefix.
    pub fn prefixes(&mut self) {
        loop {
            let names = self.names.clone();
            let (a, b) = (self.open(&names, 0), self.open(&names, 1));
            let on_a = prefix::longer(&a, &b).map(|(prefix, pairs)| (Which::A, prefix, pairs));
            let on_b = prefix::longer(&b, &a).map(|(prefix, pairs)| (Which::B, prefix, pairs));
            let found = [on_a, on_b].into_iter().flatten();
            let Some((which, prefix, mut pairs)) = found.max_by_key(|(_, _, pairs)| pairs.len())
            else {
                break;
            };
            if which == Which::B {
                pairs.iter_mut().for_each(|pair| *pair = (pair.1, pair.0));
            }
            self.note(format!("prefix `{prefix}` of {which:?}"));
            self.pair_all(pairs);
        }
        let names = self.names.clone();
        let pairs = prefix::unwrapped(&self.open(&names, 0), &self.open(&names, 1));
        if let Some(&(a, b)) = pairs.first() {
            let (a, b) = (&names[0][a], &names[1][b]);
            self.note(format!("names differ by prefix: `{a}` matches `{b}`"));
        }
        self.pair_all(pairs);
    }

    /// The weights of a model that still have no counterpart.
    pub fn open<'n>(&self, names: &'n [Vec<String>; 2], side: usize) -> Vec<(usize, &'n str)> {
        let open = |&(index, _): &(usize, &str)| !self.done[side][index];
        names[side].iter().map(String::as_str).enumerate().filter(open).collect()
    }

    fn pair_all(&mut self, pairs: Vec<(usize, usize)>) {
        for (a, b) in pairs {
            if !self.done[0][a] && !self.done[1][b] {
                self.pair_whole(a, b, None);
            }
        }
    }

    /// Pairs two weights as they are.
    pub fn pair_whole(&mut self, a: usize, b: usize, transform: Option<String>) {
        let view = |side: usize, index: usize| View::whole(self.sides[side].weights[index].shape);
        let (view_a, view_b) = (view(0, a), view(1, b));
        self.found.pairs.push(Pair { a, b, view_a, view_b, transform });
        self.done[0][a] = true;
        self.done[1][b] = true;
    }

    pub fn note(&mut self, note: String) {
        self.found.notes.push(note);
    }

    /// The pairs, and the weights that have none.
    pub fn finish(mut self, rules: &Rules) -> Pairing {
        if let Some(select) = &rules.transpose {
            for pair in &mut self.found.pairs {
                let [a, b] = self.sides;
                if select(a.weights[pair.a].name) || select(b.weights[pair.b].name) {
                    transpose(pair);
                }
            }
        }
        let open = |side: usize| {
            let done = &self.done[side];
            (0..done.len()).filter(|&index| !done[index]).collect()
        };
        (self.found.only_a, self.found.only_b) = (open(0), open(1));
        self.found.pairs.sort_by_key(|pair| pair.a);
        self.found
    }
}

/// The position of each name.
fn index<'n>(names: impl Iterator<Item = &'n str>) -> HashMap<&'n str, usize> {
    names.enumerate().map(|(index, name)| (name, index)).collect()
}

/// Transposes one of two matrices: one that is otherwise not changed.
fn transpose(pair: &mut Pair) {
    let mut views = [&mut pair.view_b, &mut pair.view_a].into_iter();
    let Some((transposed, view)) = views.find_map(|view| Some((view.transpose()?, view))) else {
        return;
    };
    *view = transposed;
    let words = pair.transform.take().map_or(String::new(), |words| words + ", ");
    pair.transform = Some(words + "transpose");
}
