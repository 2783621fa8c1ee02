//! The last steps: weights that one model leaves out because another weight has the same numbers,
//! or because they can be computed.

use super::facts::is_head;
use super::pieces::beside;
use super::search::Search;
use super::translate::joined;
use super::view::View;
use super::{Cut, Dialect, Piece, Which};
use crate::families::{ENCODERS, FAMILIES, How, computed, is_factors};

impl Search<'_> {
    /// Pairs a weight that one model leaves out with the weight that has its numbers there.
    pub fn ties(&mut self) {
        for side in [0, 1] {
            let names = self.names.clone();
            for (index, name) in self.open(&names, side) {
                if self.partly[side][index] {
                    continue;
                }
                let kept = self.recorded(1 - side, name, self.sides[side].weights[index].name);
                if let Some(other) = kept.or_else(|| self.embedding_for(side, name)) {
                    self.pair_tied(side, index, other);
                }
            }
        }
    }

    /// The weight that a model's metadata gives for a name it leaves out. torch and this library
    /// record tied tensors this way when they write them once.
    fn recorded(&self, side: usize, name: &str, own_name: &str) -> Option<usize> {
        let names = [name, own_name];
        let metadata = &self.sides[side].metadata;
        let (_, kept) = metadata.iter().find(|(dropped, _)| names.contains(dropped))?;
        let kept = kept.as_str()?;
        self.sides[side].weights.iter().position(|weight| weight.name == kept)
    }

    /// The other side's embedding, if `name` is a head and the other side has none of its own.
    fn embedding_for(&self, side: usize, name: &str) -> Option<usize> {
        let other = 1 - side;
        if self.is_copy(side, name) {
            return self.embedding(other);
        }
        if !self.is_head(side, name) || !self.is_tied(side) {
            return None;
        }
        let has_head = self.names[other].iter().any(|name| self.is_head(other, name));
        (!has_head).then(|| self.embedding(other)).flatten()
    }

    /// Whether a weight is the embedding under another name.
    fn is_copy(&self, side: usize, name: &str) -> bool {
        let rows = self.family().map_or(&[][..], |family| family.rows).iter().copied().flatten();
        let mut copies = rows.filter(|row| row.2 == How::EmbeddingCopy);
        let module = name.strip_suffix(".weight").unwrap_or(name);
        let is_named = self.facts[side].dialect == Dialect::HuggingFace;
        is_named && copies.any(|row| row.0.trim_start_matches('/') == module)
    }

    fn is_head(&self, side: usize, name: &str) -> bool {
        match self.facts[side].dialect {
            Dialect::Gguf | Dialect::Consolidated => name == "output.weight",
            _ => is_head(name),
        }
    }

    fn embedding(&self, side: usize) -> Option<usize> {
        let facts = &self.facts[side];
        let name = match facts.dialect {
            Dialect::Gguf => "token_embd.weight".to_owned(),
            Dialect::Consolidated => format!("{}tok_embeddings.weight", facts.prefix),
            _ => {
                let module = self.family().unwrap_or(&FAMILIES[0]).embedding();
                format!("{}{module}.weight", facts.prefix)
            }
        };
        self.names[side].iter().position(|own| *own == name)
    }

    /// Whether the head that this side has is, on the other side, the embedding. A GGUF without a
    /// head is run with its embedding.
    fn is_tied(&self, side: usize) -> bool {
        let (own, other) = (&self.facts[side], &self.facts[1 - side]);
        let by_family = || self.family().is_some_and(|family| family.tied);
        match (other.tied, own.tied) {
            (Some(tied), _) | (None, Some(tied)) => tied,
            (None, None) => other.dialect == Dialect::Gguf || by_family(),
        }
    }

    fn pair_tied(&mut self, side: usize, index: usize, kept: usize) {
        let piece = |side: usize, weight: usize| {
            let view = View::whole(self.sides[side].weights[weight].shape);
            Piece { cut: Cut::ByToken, ..Piece::part(weight, (String::new(), None), view, vec![]) }
        };
        let (mut own, other) = (piece(side, index), piece(1 - side, kept));
        let name = self.sides[1 - side].weights[kept].name;
        own.words.push(format!("tied to `{name}` in {}", ["A", "B"][1 - side]));
        let (a, b) = if side == 0 { (&own, &other) } else { (&other, &own) };
        let family = self.family().unwrap_or(&FAMILIES[0]);
        self.found.pairs.push(joined(a, b, family, &self.facts));
        self.done[side][index] = true;
    }

    /// Explains which of the remaining weights need no counterpart.
    pub fn explain(&mut self) {
        for (side, which) in [(0, Which::A), (1, Which::B)] {
            let other_is_gguf = self.facts[1 - side].dialect == Dialect::Gguf;
            let are_gguf = other_is_gguf && self.facts[side].dialect == Dialect::Gguf;
            for index in 0..self.names[side].len() {
                let name = self.names[side][index].as_str();
                if self.done[side][index] || self.partly[side][index] {
                    continue;
                }
                let left_out = || self.left_out(side, name).filter(|_| other_is_gguf);
                // A GGUF file has no config that another's factors could follow from.
                let computed = computed(name).filter(|_| !(are_gguf && is_factors(name)));
                if let Some(reason) = computed.or_else(left_out) {
                    self.done[side][index] = true;
                    self.found.explained.push((which, index, reason.to_owned()));
                }
            }
        }
    }

    /// Why GGUF has no such weight, if converters leave it out.
    fn left_out(&self, side: usize, name: &str) -> Option<&'static str> {
        let prefix = &self.facts[side].prefix;
        match self.family().and_then(|family| family.leaves_out(name, prefix)) {
            None if self.is_beyond_the_last_layer(side, name) => {
                Some("multi-token prediction layer, not converted")
            }
            None => encoder_of(name),
            known => known,
        }
    }

    /// Whether a weight belongs to a layer behind those that the model's own config counts.
    fn is_beyond_the_last_layer(&self, side: usize, name: &str) -> bool {
        let is_beyond = self.facts[side].is_beyond_the_last_layer(name) || beside(name).is_some();
        is_beyond && self.family().is_some_and(|family| family.predicts)
    }
}

/// Which encoder a weight belongs to, by its name, in words.
pub(crate) fn encoder_of(name: &str) -> Option<&'static str> {
    let at_a_dot = |start: &&'static str| {
        name.match_indices(*start).any(|(at, _)| at == 0 || name.as_bytes()[at - 1] == b'.')
    };
    ENCODERS.iter().find(|(starts, _)| starts.iter().any(at_a_dot)).map(|(_, what)| *what)
}
