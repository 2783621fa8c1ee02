//! The name of a pre-tokenizer that a file does not state.
//!
//! Files without it exist: early converters did not write it. llama.cpp warns and splits texts in a way
//! of its own, which no tokenizer was trained with, so that is no guess. What decides is the vocabulary:
//! under its own pre-tokenizer it makes of one fixed text what llama.cpp's converter knows it by. A
//! vocabulary that is not known may still have a family's special tokens, and numbers as that family
//! splits them. Anything else is refused.

use serde_json::Value as Json;

use super::{Metadata, Tokens, byte_pairs};
use crate::error::{Error, Remedy, Result};
use crate::text::shortened;
use crate::tokenizer::files::{Files, TOKENIZER};
use crate::tokenizer::pre::{self, Way};
use crate::tokenizer::token_type::TokenType;
use crate::tokenizer::vocabulary::Vocabulary;
use crate::tokenizer::{Repository, encode};

/// More tokens than any vocabulary has that is known.
const MOST: usize = 1 << 19;

/// A name, and what speaks for it.
struct Guess {
    name: &'static str,
    reason: String,
}

/// Models of these architectures that have this token.
struct Kind {
    architectures: &'static [&'static str],
    token: &'static str,
    name: &'static str,
    /// A number has at most so many digits within one token.
    digits: usize,
}

const fn kind(
    architectures: &'static [&'static str],
    token: &'static str,
    name: &'static str,
    digits: usize,
) -> Kind {
    Kind { architectures, token, name, digits }
}

const QWEN: &[&str] = &["qwen2", "qwen2moe", "qwen3", "qwen3moe"];

const KINDS: &[Kind] = &[
    kind(&["llama"], "<|begin_of_text|>", "llama-bpe", 3),
    kind(&["smollm3"], "<|begin_of_text|>", "smaug-bpe", 3),
    kind(QWEN, "<｜begin▁of▁sentence｜>", "deepseek-r1-qwen", 1),
    kind(QWEN, "<|im_start|>", "qwen2", 1),
    kind(&["gpt-oss"], "<|start|>", "gpt-4o", 3),
    kind(&["glm4", "glm4moe"], "[gMASK]", "glm4", 3),
    kind(&["command-r", "cohere2"], "<|START_OF_TURN_TOKEN|>", "command-r", 1),
    kind(&["granite"], "<fim_prefix>", "refact", 1),
    kind(&["starcoder2"], "<fim_prefix>", "starcoder", 1),
    kind(&["gpt2"], "<|endoftext|>", "gpt-2", usize::MAX),
];

/// The name of a file's pre-tokenizer, and what is to be said of it. What somebody states counts,
/// whatever the file says.
pub(super) fn pre_tokenizer(
    metadata: &Metadata<'_>,
    stated: Option<&str>,
) -> Result<(String, Option<String>)> {
    const KEY: &str = "tokenizer.ggml.pre";
    let own = metadata.text(KEY)?;
    // By this name llama.cpp splits texts of which nobody said how.
    let is_open = own.as_deref().is_none_or(|own| own.is_empty() || own == "default");
    match (stated, own) {
        (Some(stated), Some(own)) if !is_open && !pre::alike(&own, stated) => {
            let shown = [&own, stated].map(|name| shortened(name, 40));
            let note = format!("`{KEY}` is `{}` in the file; `{}` is used", shown[0], shown[1]);
            Ok((stated.to_owned(), Some(note)))
        }
        (Some(stated), _) => Ok((stated.to_owned(), None)),
        (None, Some(own)) if !is_open => Ok((own, None)),
        (None, _) => {
            let Guess { name, reason } = guess(metadata)?;
            let note = format!("`{KEY}` is not stated; `{name}` is assumed: {reason}");
            Ok((name.to_owned(), Some(note)))
        }
    }
}

/// The name that the file leaves open.
fn guess(metadata: &Metadata<'_>) -> Result<Guess> {
    let tokens = Tokens::read(metadata)?;
    if let Some(name) = by_vocabulary(metadata, &tokens)? {
        let reason = format!("the vocabulary is one that llama.cpp's converter calls `{name}`");
        return Ok(Guess { name, reason });
    }
    let architecture = metadata.text("general.architecture")?.unwrap_or_default();
    by_tokens(&architecture, &tokens).ok_or_else(|| {
        let message = "the file does not name its pre-tokenizer (`tokenizer.ggml.pre`), and its \
                       vocabulary is not a known one";
        Error::unsupported(message).remedy(Remedy::StatePreTokenizer)
    })
}

/// The name of a vocabulary that is known, under the pre-tokenizer that it is known with.
fn by_vocabulary(metadata: &Metadata<'_>, tokens: &Tokens) -> Result<Option<&'static str>> {
    if tokens.0.len() > MOST {
        return Ok(None);
    }
    let made = byte_pairs::of(metadata, "gpt-2")?;
    let text = made.document.written(&made.tokens)?;
    let repository = Repository {
        files: &|name| Ok((name == TOKENIZER).then(|| text.clone())),
        names: &|_| Vec::new(),
        config: &Json::Null,
        vocabulary: 0,
    };
    let mut files = Files::open(&repository)?;
    let around = around(metadata, tokens)?;
    Ok(pre::ways().into_iter().find_map(|way| known(&mut files, &way, &around)))
}

/// What a converter may have put before and behind a text. Files may not say: what has more before it
/// comes first, since the same vocabulary without that has another name.
fn around(metadata: &Metadata<'_>, tokens: &Tokens) -> Result<Vec<[Vec<u64>; 2]>> {
    let adds = |kind: &str| metadata.flag(&format!("tokenizer.ggml.add_{kind}_token"));
    let id = |kind: &str| metadata.number(&format!("tokenizer.ggml.{kind}_token_id"));
    let of = |text: &str| tokens.0.iter().position(|token| token.text == text);
    let prompt = of("[gMASK]").zip(of("<sop>")).map(|(a, b)| vec![a as u64, b as u64]);
    let bos = if adds("bos")? == Some(false) { None } else { id("bos")? };
    let eos = if adds("eos")? == Some(true) { id("eos")? } else { None };
    let before = [prompt, bos.map(|id| vec![id]), Some(Vec::new())];
    let behind: Vec<u64> = eos.into_iter().collect();
    Ok(before.into_iter().flatten().map(|before| [before, behind.clone()]).collect())
}

fn known(files: &mut Files<'_>, way: &Way, around: &[[Vec<u64>; 2]]) -> Option<&'static str> {
    let tokenizer = files.tokenizer.as_mut()?;
    tokenizer["normalizer"] = way.normalizer.clone();
    tokenizer["pre_tokenizer"] = way.pre_tokenizer.clone();
    tokenizer["post_processor"] = Json::Null;
    tokenizer["model"]["ignore_merges"] = way.ignores_merges.into();
    let ids = encode::ids(&Vocabulary::read(files).ok()?)?;
    let mut all = around.iter().map(|[a, b]| [&a[..], &ids[..], &b[..]].concat());
    let name = all.find_map(|ids| pre::name_of(&ids))?;
    // Of names for one way to cut texts, some are no rows of the table.
    let own = if pre::known(name).is_ok() { name } else { way.name };
    pre::alike(name, way.name).then_some(own)
}

/// The name that an architecture has with a token, unless numbers are joined that it splits.
fn by_tokens(architecture: &str, tokens: &Tokens) -> Option<Guess> {
    let has = |text: &str| tokens.0.iter().any(|token| token.text == text);
    let kind = KINDS.iter().find(|kind| {
        kind.architectures.contains(&architecture) && has(kind.token) && {
            longest_number(tokens) <= kind.digits
        }
    })?;
    let token = kind.token;
    let reason = format!("the architecture is `{architecture}`, and `{token}` is a token");
    Some(Guess { name: kind.name, reason })
}

fn longest_number(tokens: &Tokens) -> usize {
    let numbers = tokens.0.iter().filter(|token| {
        token.kind == TokenType::Normal && token.text.bytes().all(|byte| byte.is_ascii_digit())
    });
    numbers.map(|token| token.text.len()).max().unwrap_or(0)
}
