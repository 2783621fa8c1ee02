//! Special tokens by the names that a repository has for them, and what is added around a text.

use super::{Metadata, Token, Tokens};
use crate::error::Result;
use crate::text::shortened;
use crate::tokenizer::special::{ADDED, IDS, KINDS, key_of};

/// Other tokens with an id of their own, which the files of a tokenizer have no place for.
const ELSEWHERE: [&str; 11] = [
    "eot", "eom", "prefix", "suffix", "middle", "fim_pre", "fim_suf", "fim_mid", "fim_pad",
    "fim_rep", "fim_sep",
];

/// What readers assume of a tokenizer that says nothing.
#[derive(Clone, Copy, Default)]
pub(super) struct Assumed {
    /// Which tokens are added to a text.
    pub adds: &'static [&'static str],
    /// Ids of kinds.
    pub ids: &'static [(&'static str, usize)],
}

pub(super) struct Special {
    ids: Vec<(&'static str, usize)>,
    /// Whether tokens are added around a text, where that is stated, or assumed and not false.
    adds: Vec<(&'static str, bool)>,
    /// Ids that no token has, and what else is to be said.
    pub notes: Vec<String>,
}

impl Special {
    /// Makes tokens special that have a name as such, except for ordinary words: a text with them would
    /// be cut elsewhere. Only the config of a model can have named these.
    pub fn read(
        metadata: &Metadata<'_>,
        tokens: &mut Tokens,
        assumed: Assumed,
        not_carried: &mut Vec<String>,
    ) -> Result<Self> {
        let mut special = Self { ids: Vec::new(), adds: Vec::new(), notes: Vec::new() };
        for kind in KINDS {
            if let Some(id) = id(metadata, tokens, kind, &mut special.notes)? {
                special.ids.push((kind, id));
            }
        }
        for (kind, id) in assumed.ids {
            let is_special = tokens.0.get(*id).is_some_and(Token::is_special);
            if is_special && special.id(kind).is_none() {
                special.ids.push((kind, *id));
            }
        }
        for (kind, id) in &special.ids {
            let Some(token) = tokens.0.get_mut(*id) else { continue };
            if token.is_added || is_framed(&token.text) {
                (token.is_named, token.is_added) = (true, true);
            } else {
                let text = shortened(&token.text, 40);
                not_carried.push(format!("the {kind} token: `{text}`, ID {id}, a normal token"));
            }
        }
        for kind in ELSEWHERE {
            if let Some(id) = id(metadata, tokens, kind, &mut special.notes)? {
                let text = shortened(tokens.text(id), 40);
                not_carried.push(format!("the {kind} token: `{text}`, ID {id}"));
            }
        }
        special.read_adds(metadata, assumed, not_carried)?;
        Ok(special)
    }

    fn read_adds(
        &mut self,
        metadata: &Metadata<'_>,
        assumed: Assumed,
        not_carried: &mut Vec<String>,
    ) -> Result<()> {
        for (kind, key) in ADDED {
            let flag = metadata.flag(key)?.or(assumed.adds.contains(&kind).then_some(true));
            // Two texts are separated by what ends them, if nothing else does that.
            let has_token = self.id(kind).is_some() || kind == "sep" && self.id("eos").is_some();
            if flag == Some(true) && !has_token {
                not_carried.push(format!(
                    "adding the {kind} token to a text: the file names no such token"
                ));
                continue;
            }
            self.adds.extend(flag.map(|add| (kind, add)));
        }
        Ok(())
    }

    pub fn adds(&self, kind: &str) -> Option<bool> {
        self.adds.iter().find(|(known, _)| *known == kind).map(|(_, add)| *add)
    }

    pub fn id(&self, kind: &str) -> Option<usize> {
        self.ids.iter().find(|(known, _)| *known == kind).map(|(_, id)| *id)
    }

    /// All kinds that have a token which is special.
    pub fn all<'a>(&'a self, tokens: &'a Tokens) -> impl Iterator<Item = (&'static str, &'a str)> {
        let named = |id: usize| tokens.0.get(id).filter(|token| token.is_named);
        let text = move |id: usize| named(id).map(|token| &*token.text);
        self.ids.iter().filter_map(move |(kind, id)| Some((*kind, text(*id)?)))
    }
}

/// Whether a text has the form that special tokens have.
fn is_framed(text: &str) -> bool {
    [('<', '>'), ('[', ']')]
        .iter()
        .any(|(start, end)| text.len() > 2 && text.starts_with(*start) && text.ends_with(*end))
}

/// The id of a kind of tokens. One that no token has is as good as none, which is noted: models have
/// more rows than tokens, and converters give ids by what they believe a family to have.
fn id(
    metadata: &Metadata<'_>,
    tokens: &Tokens,
    kind: &str,
    notes: &mut Vec<String>,
) -> Result<Option<usize>> {
    let unlisted = || format!("tokenizer.ggml.{kind}_token_id");
    let key = key_of(&IDS, kind).map_or_else(unlisted, str::to_owned);
    let Some(id) = metadata.number(&key)? else { return Ok(None) };
    let index = usize::try_from(id).ok();
    let index = index.filter(|id| tokens.0.get(*id).is_some_and(|token| !token.is_nobody));
    if index.is_none() {
        let all = tokens.end();
        notes.push(format!(
            "the {kind} token has ID {id}, which none of the {all} tokens has; the tokenizer has \
             no {kind} token"
        ));
    }
    Ok(index)
}
