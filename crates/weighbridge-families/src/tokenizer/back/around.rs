//! The post-processor, which puts special tokens around a text.

use serde_json::{Map, Value as Json, json};

use super::{Special, Tokens};

/// One part of a template.
#[derive(Clone, Copy)]
enum TemplatePart {
    A,
    B,
    /// A token, with the number of the text it belongs to.
    Token(usize, u8),
}

/// A template of what the file says is added. Pairs of texts are joined as the file's flag for them
/// was found in the first place.
pub(super) fn template(special: &Special, tokens: &Tokens, is_byte_level: bool) -> Json {
    let trimmed = json!({
        "type": "ByteLevel",
        "add_prefix_space": true,
        "trim_offsets": false,
        "use_regex": true,
    });
    // This kind says that nothing is added, for what does not say otherwise.
    let says_nothing_is_added =
        is_byte_level && special.adds("bos").is_some() && special.adds("eos").is_some();
    match (says_nothing_is_added, around(special, tokens)) {
        (true, Some(around)) => json!({ "type": "Sequence", "processors": [trimmed, around] }),
        (true, None) => trimmed,
        (false, around) => around.unwrap_or_default(),
    }
}

fn around(special: &Special, tokens: &Tokens) -> Option<Json> {
    let token = |kind: &str| special.id(kind).filter(|_| special.adds(kind) == Some(true));
    let (bos, eos) = (token("bos"), token("eos"));
    if bos.or(eos).is_none() && special.adds("sep") != Some(true) {
        return None;
    }
    let part = |id: Option<usize>, text: u8| id.map(|id| TemplatePart::Token(id, text));
    let single = [part(bos, 0), Some(TemplatePart::A), part(eos, 0)];
    let sep = special.id("sep").or(special.id("eos"));
    let [after, before] = match special.adds("sep") {
        None => [None, None],
        Some(false) => [part(eos, 0), part(bos, 1)],
        Some(true) => [part(eos, 0), part(sep, 0)],
    };
    let pair =
        [part(bos, 0), Some(TemplatePart::A), after, before, Some(TemplatePart::B), part(eos, 1)];
    let flat = |parts: &[Option<TemplatePart>]| parts.iter().flatten().copied().collect::<Vec<_>>();
    Some(template_of(&flat(&single), &flat(&pair), tokens))
}

/// BERT's: what classifies, the text, what separates; and the second text with another.
pub(super) fn bert(cls: usize, sep: usize, tokens: &Tokens) -> Json {
    let single = [TemplatePart::Token(cls, 0), TemplatePart::A, TemplatePart::Token(sep, 0)];
    let pair = [
        TemplatePart::Token(cls, 0),
        TemplatePart::A,
        TemplatePart::Token(sep, 0),
        TemplatePart::B,
        TemplatePart::Token(sep, 1),
    ];
    template_of(&single, &pair, tokens)
}

/// RoBERTa's.
pub(super) fn roberta(cls: usize, sep: usize, tokens: &Tokens) -> Json {
    json!({
        "type": "RobertaProcessing",
        "sep": [tokens.text(sep), sep],
        "cls": [tokens.text(cls), cls],
        "trim_offsets": true,
        "add_prefix_space": false,
    })
}

fn template_of(single: &[TemplatePart], pair: &[TemplatePart], tokens: &Tokens) -> Json {
    let mut known = Map::new();
    let mut shown = |part: &TemplatePart| match *part {
        TemplatePart::A => json!({ "Sequence": { "id": "A", "type_id": 0 } }),
        TemplatePart::B => json!({ "Sequence": { "id": "B", "type_id": 1 } }),
        TemplatePart::Token(id, kind) => {
            let text = tokens.text(id);
            let entry = json!({ "id": text, "ids": [id], "tokens": [text] });
            known.insert(text.to_owned(), entry);
            json!({ "SpecialToken": { "id": text, "type_id": kind } })
        }
    };
    let single: Vec<Json> = single.iter().map(&mut shown).collect();
    let pair: Vec<Json> = pair.iter().map(&mut shown).collect();
    json!({ "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": known })
}
