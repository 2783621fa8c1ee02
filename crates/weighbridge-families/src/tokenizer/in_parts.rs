//! Tokenizers without `tokenizer.json`: a list of tokens, merges for some, and a class that says the rest.
//!
//! transformers builds from these what it saves as `tokenizer.json`, and so does this. Classes that are not
//! in the table are left alone.

use serde_json::{Map, Value as Json, json};

use super::document::Document;
use super::files::{content_of, wrong};
use super::merges::Merges;
use super::words::Words;
use super::{KINDS, Repository};
use crate::error::Result;
use crate::text::shortened;

/// Tokens, and the merges of byte pairs.
type Parts = Result<Option<(Words, Option<Merges>)>>;

/// What `tokenizer_config.json` says.
type Config = Map<String, Json>;

/// The ID of an added token.
type IdOf<'a> = &'a dyn Fn(&str) -> Json;

/// A class of tokenizers.
struct Class {
    /// What `tokenizer_config.json` calls it, without `Fast`.
    names: &'static [&'static str],
    /// Values of `model_type` whose models have it, where no file names a class.
    models: &'static [&'static str],
    /// Texts of special tokens where no file says otherwise.
    special: &'static [(&'static str, &'static str)],
    /// Reads the tokens and merges.
    parts: fn(&Repository<'_>) -> Parts,
    /// How texts are cut, and the rest of the document.
    rest: fn(&Config, IdOf<'_>) -> Json,
}

const CLASSES: &[Class] = &[
    Class {
        names: &["BertTokenizer", "DistilBertTokenizer"],
        models: &["bert", "distilbert"],
        special: &[
            ("unk", "[UNK]"),
            ("sep", "[SEP]"),
            ("pad", "[PAD]"),
            ("cls", "[CLS]"),
            ("mask", "[MASK]"),
        ],
        parts: lines,
        rest: bert,
    },
    Class {
        names: &["GPT2Tokenizer"],
        models: &["gpt2"],
        special: &[("bos", END), ("eos", END), ("unk", END)],
        parts: pairs,
        rest: |_, _| byte_level(&Json::Null, &bytes(true), &nothing_around()),
    },
    Class {
        names: &["Qwen2Tokenizer"],
        models: &["qwen2", "qwen2_moe", "qwen3", "qwen3_moe"],
        special: &[("eos", END), ("unk", END), ("pad", END)],
        parts: pairs,
        rest: |_, _| {
            let cut = json!({ "type": "Split", "pattern": { "Regex": QWEN2 }, "behavior": "Isolated", "invert": false });
            let steps = json!({ "type": "Sequence", "pretokenizers": [cut, bytes(false)] });
            byte_level(&json!({ "type": "NFC" }), &steps, &nothing_around())
        },
    },
    Class {
        names: &["RobertaTokenizer"],
        models: &["roberta"],
        special: &[
            ("bos", "<s>"),
            ("eos", "</s>"),
            ("unk", "<unk>"),
            ("sep", "</s>"),
            ("pad", "<pad>"),
            ("cls", "<s>"),
            ("mask", "<mask>"),
        ],
        parts: pairs,
        rest: |config, id| {
            let pair = |kind: &str| json!([text_of(config, kind), id(&text_of(config, kind))]);
            let around = json!({ "type": "RobertaProcessing", "sep": pair("sep"), "cls": pair("cls"),
                "trim_offsets": true, "add_prefix_space": false });
            byte_level(&Json::Null, &bytes(true), &around)
        },
    },
];

const END: &str = "<|endoftext|>";
const QWEN2: &str = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| \
    ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const LINES: &str = "vocab.txt";
const WORDS: &str = "vocab.json";
const MERGES: &str = "merges.txt";

/// The document that such files amount to. `config` gets the special tokens that only the class names.
pub(super) fn document(
    repository: &Repository<'_>,
    config: &mut Config,
) -> Result<Option<Document>> {
    let Some(class) = class_of(repository, config) else { return Ok(None) };
    let Some((words, merges)) = (class.parts)(repository)? else { return Ok(None) };
    name_special(repository, config, class)?;
    let added = added(repository, config, &words)?;
    let id = |text: &str| {
        let of_text = |token: &&Json| token["content"] == text;
        added.iter().find(of_text).map_or(Json::Null, |token| token["id"].clone())
    };
    let mut json = (class.rest)(config, &id);
    json["added_tokens"] = added.into();
    Ok(Some(Document::of(json, words, merges)))
}

fn class_of(repository: &Repository<'_>, config: &Config) -> Option<&'static Class> {
    match config.get("tokenizer_class").and_then(Json::as_str) {
        Some(name) => {
            let name = name.strip_suffix("Fast").unwrap_or(name);
            CLASSES.iter().find(|class| class.names.contains(&name))
        }
        None => {
            let model = repository.config["model_type"].as_str()?;
            CLASSES.iter().find(|class| class.models.contains(&model))
        }
    }
}

/// Says the special tokens of `special_tokens_map.json`, and those of the class, that nobody named.
fn name_special(repository: &Repository<'_>, config: &mut Config, class: &Class) -> Result<()> {
    let named = super::files::parsed::<Json>(repository, "special_tokens_map.json")?;
    let named = named.unwrap_or_default();
    for kind in KINDS {
        let key = format!("{kind}_token");
        let own = class.special.iter().find(|(known, _)| *known == kind);
        let text = content_of(&named[&key]).or(own.map(|(_, text)| *text));
        if let Some(text) = text.filter(|_| !config.contains_key(&key)) {
            config.insert(key, text.into());
        }
    }
    Ok(())
}

/// Added tokens with their IDs: those of the config, those of `added_tokens.json`, and special ones. One that
/// no vocabulary has comes behind all others.
fn added(repository: &Repository<'_>, config: &Config, words: &Words) -> Result<Vec<Json>> {
    let mut all: Vec<Json> = Vec::new();
    let listed = config.get("added_tokens_decoder").and_then(Json::as_object);
    for (id, token) in listed.into_iter().flatten() {
        let Ok(id) = id.parse::<u64>() else { continue };
        let mut token = token.clone();
        token["id"] = id.into();
        all.push(token);
    }
    const FILE: &str = "added_tokens.json";
    let by_text: Json = super::files::parsed(repository, FILE)?.unwrap_or_default();
    for (text, id) in by_text.as_object().into_iter().flatten() {
        let no_id = || wrong(FILE, format!("token `{}` has no ID", shortened(text, 40)));
        let id = id.as_u64().ok_or_else(no_id)?;
        if !all.iter().any(|token| token["content"] == **text) {
            all.push(one(id, text, is_named(config, text)));
        }
    }
    let known = words.iter().filter_map(|(_, id)| id);
    let ids = all.iter().filter_map(|token| token["id"].as_u64());
    let mut next = known.chain(ids).max().map_or(0, |last| last.saturating_add(1));
    for kind in KINDS {
        let text = text_of(config, kind);
        if text.is_empty() || all.iter().any(|token| token["content"] == text) {
            continue;
        }
        let of_word = words.iter().find(|(word, _)| *word == text).and_then(|(_, id)| id);
        all.push(one(of_word.unwrap_or(next), &text, true));
        next = next.saturating_add(u64::from(of_word.is_none()));
    }
    all.sort_by_key(|token| token["id"].as_u64());
    Ok(all)
}

fn one(id: u64, text: &str, special: bool) -> Json {
    json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": !special, "special": special })
}

fn is_named(config: &Config, text: &str) -> bool {
    KINDS.iter().any(|kind| text_of(config, kind) == text)
}

/// The text of a special token; empty if there is none.
fn text_of(config: &Config, kind: &str) -> String {
    let token = config.get(&format!("{kind}_token"));
    token.and_then(content_of).unwrap_or_default().to_owned()
}

/// A token a line.
fn lines(repository: &Repository<'_>) -> Parts {
    let Some(text) = super::files::text(repository, LINES)? else { return Ok(None) };
    let mut words = Words::default();
    for (line, id) in text.split_terminator('\n').zip(0..) {
        words.push(line, Some(id))?;
    }
    Ok(Some((words, None)))
}

/// Tokens with their IDs, and a file of merges.
fn pairs(repository: &Repository<'_>) -> Parts {
    let Some(merged) = super::files::text(repository, MERGES)? else { return Ok(None) };
    let Some(words) = super::files::parsed(repository, WORDS)? else { return Ok(None) };
    let mut merges = Merges::default();
    // The first line may state a version.
    let lines = match merged.split_once('\n') {
        Some((first, rest)) if first.starts_with("#version") => rest,
        _ => &merged,
    };
    for line in lines.split('\n').filter(|line| !line.is_empty()) {
        let is_pair = line.split(' ').count() == 2;
        let odd = || wrong(MERGES, format!("`{}` is not two parts", shortened(line, 40)));
        is_pair.then_some(()).ok_or_else(odd)?;
        merges.push(line)?;
    }
    Ok(Some((words, Some(merges))))
}

fn bytes(cuts: bool) -> Json {
    json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": cuts })
}

/// Nothing is put around a text.
fn nothing_around() -> Json {
    let text = |name: &str, kind: u64| json!({ "Sequence": { "id": name, "type_id": kind } });
    json!({ "type": "TemplateProcessing", "single": [text("A", 0)], "pair": [text("A", 0), text("B", 1)],
        "special_tokens": {} })
}

fn byte_level(normalizer: &Json, steps: &Json, around: &Json) -> Json {
    json!({
        "normalizer": normalizer, "pre_tokenizer": steps, "post_processor": around,
        "decoder": { "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true },
        "model": { "type": "BPE", "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false },
    })
}

fn bert(config: &Config, id: IdOf<'_>) -> Json {
    let (cls, sep) = (text_of(config, "cls"), text_of(config, "sep"));
    let token = |text: &str, kind: u64| json!({ "SpecialToken": { "id": text, "type_id": kind } });
    let text = |name: &str, kind: u64| json!({ "Sequence": { "id": name, "type_id": kind } });
    let single = [token(&cls, 0), text("A", 0), token(&sep, 0)];
    let pair = [&single[..], &[text("B", 1), token(&sep, 1)]].concat();
    let known = |text: &str| json!({ "id": text, "ids": [id(text)], "tokens": [text] });
    let mut special = Map::new();
    special.insert(cls.clone(), known(&cls));
    special.insert(sep.clone(), known(&sep));
    let says = |key: &str, unsaid: Json| config.get(key).cloned().unwrap_or(unsaid);
    json!({
        "normalizer": { "type": "BertNormalizer", "clean_text": true,
            "handle_chinese_chars": says("tokenize_chinese_chars", true.into()),
            "strip_accents": says("strip_accents", Json::Null),
            "lowercase": says("do_lower_case", true.into()) },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": { "type": "WordPiece", "unk_token": text_of(config, "unk"), "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100 },
    })
}
