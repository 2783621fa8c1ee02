//! Byte pairs with merges: those of bytes, and those of Gemma 4, whose letters are the text's own.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::{Assumed, Document, Made, Metadata, Special, Tokens, Vocabulary, around, document};
use crate::error::{Error, Result};
use crate::text::shortened;
use crate::tokenizer::pre;

/// Names of pre-tokenizers whose readers put a token before a text, where the file does not say.
const BEGINS: [&str; 6] = ["llama-bpe", "llama3", "llama-v3", "lfm2", "falcon-h1", "tekken"];

/// The class for which every version of transformers takes `tokenizer.json` as it is.
pub(super) const AS_IT_IS: &str = "PreTrainedTokenizerFast";

/// A byte-level tokenizer behind a pre-tokenizer of a name.
pub(super) fn make(metadata: &Metadata<'_>, name: &str) -> Result<Made> {
    let mut made = of(metadata, name)?;
    let architecture = metadata.text("general.architecture")?;
    // Who converts this family looks for the class, to tell it from one with SentencePiece.
    if architecture.as_deref() == Some("phi3") {
        made.class = "GPT2Tokenizer";
    }
    Ok(made)
}

/// The byte pairs behind a pre-tokenizer of a name.
pub(super) fn of(metadata: &Metadata<'_>, name: &str) -> Result<Made> {
    let known = pre::known(name)?;
    let mut not_carried = Vec::new();
    let mut tokens = Tokens::read(metadata)?;
    tokens.leave_out_twins(&mut not_carried)?;
    let adds: &[&str] = if BEGINS.contains(&name) { &["bos"] } else { &[] };
    let assumed = Assumed { adds, ids: &[] };
    let special = Special::read(metadata, &mut tokens, assumed, &mut not_carried)?;
    let merges = merges(metadata, &tokens)?;
    if known.composes {
        let what = "NFC normalization before everything else";
        not_carried.push(format!("{what}: implied by pre-tokenizer `{name}`"));
    }
    let post_processor = match (special.id("bos"), special.id("sep").or(special.id("eos"))) {
        (Some(cls), Some(sep)) if known.is_roberta => around::roberta(cls, sep, &tokens),
        _ => around::template(&special, &tokens, known.is_byte_level),
    };
    let falls_back = !known.is_byte_level;
    let unknown = special.id("unk").filter(|_| falls_back);
    let model = document::pairs(&tokens, unknown, falls_back, known.ignores_merges);
    let decoder = if known.is_byte_level {
        json!({ "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true })
    } else {
        falling_back(false)
    };
    let document = Document {
        normalizer: normalizer(metadata, known.normalizer)?,
        pre_tokenizer: known.pre_tokenizer,
        post_processor,
        decoder,
        model,
        vocabulary: Vocabulary::Ids,
        merges: Some(merges),
    };
    Ok(Made { tokens, special, document, class: AS_IT_IS, files: Vec::new(), not_carried })
}

/// What the file says about normalizing comes before what the pre-tokenizer is known with.
fn normalizer(metadata: &Metadata<'_>, known: Json) -> Result<Json> {
    let mut steps = Vec::new();
    for (key, step) in [("lowercase", "Lowercase"), ("strip_accents", "StripAccents")] {
        if metadata.flag(&format!("tokenizer.ggml.normalizer.{key}"))? == Some(true) {
            steps.push(json!({ "type": step }));
        }
    }
    if steps.is_empty() {
        return Ok(known);
    }
    steps.extend(Some(known).filter(|known| !known.is_null()));
    Ok(json!({ "type": "Sequence", "normalizers": steps }))
}

/// The decoder of vocabularies in which a mark stands for a space, and some tokens for bytes.
pub(super) fn falling_back(begins_with_a_space: bool) -> Json {
    let mut steps = vec![
        json!({ "type": "Replace", "pattern": { "String": "▁" }, "content": " " }),
        json!({ "type": "ByteFallback" }),
        json!({ "type": "Fuse" }),
    ];
    if begins_with_a_space {
        steps.push(json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 }));
    }
    json!({ "type": "Sequence", "decoders": steps })
}

/// Merges of two parts. Both, and what they make, have to be tokens of the model.
fn merges(metadata: &Metadata<'_>, tokens: &Tokens) -> Result<Vec<(usize, usize)>> {
    let texts = metadata.texts("tokenizer.ggml.merges")?.unwrap_or_default();
    let mut ids: HashMap<&str, usize, foldhash::fast::RandomState> = HashMap::default();
    ids.extend(tokens.inside().map(|(id, token)| (&*token.text, id)));
    let parts = |text: &str| {
        let (a, b) = split(text)?;
        ids.get(&*format!("{a}{b}"))?;
        Some((*ids.get(a)?, *ids.get(b)?))
    };
    let merge = |(rank, text): (usize, &String)| {
        parts(text).ok_or_else(|| {
            let text = shortened(text, 40);
            let what = "does not join two tokens into a third";
            Error::malformed(format!("merge {rank}, `{text}`, {what}"))
        })
    };
    texts.iter().enumerate().map(merge).collect()
}

/// The two parts of a merge: the first is not empty.
fn split(text: &str) -> Option<(&str, &str)> {
    let first = text.chars().next()?.len_utf8();
    let space = first + text.get(first..)?.find(' ')?;
    Some((text.get(..space)?, text.get(space + 1..)?))
}
