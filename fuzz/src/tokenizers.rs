//! The tokenizer files of a repository, one of which is the input.
//!
//! ```text
//! 1 byte   how the family reads its tokenizer, and whether a pre-tokenizer is stated
//! 1 byte   how many tokens the config counts
//! 1 byte   which file the rest is
//! rest     that file
//! ```

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use weighbridge::catalog::Value;
use weighbridge::internals::tokenizer::{EncoderTokens, Repository, TokenizerKind, back, entries};

const KINDS: &[TokenizerKind] = &[
    TokenizerKind::LlamaLike,
    TokenizerKind::PiecesOrPairs,
    TokenizerKind::BarePiecesOrPairs,
    TokenizerKind::Pieces(Some(107)),
    TokenizerKind::PiecesWith(&[("padding", 0), ("unknown", 1)]),
    TokenizerKind::BytePairs(&[("bos", "<|a|>"), ("eot", "<|b|>")]),
    TokenizerKind::Phi3,
    TokenizerKind::Encoder(EncoderTokens::WordPieces),
    TokenizerKind::Encoder(EncoderTokens::Unigram),
    TokenizerKind::Encoder(EncoderTokens::WordPiecesOrUnigram),
    TokenizerKind::Encoder(EncoderTokens::Pairs),
    TokenizerKind::BytePairs(&[]),
];

const FILES: &[&str] = &[
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.txt",
    "tekken.json",
    "added_tokens.json",
    "special_tokens_map.json",
    "chat_template.json",
    "chat_template.jinja",
    "sentencepiece.bpe.model",
    "generation_config.json",
    "config.json",
    "vocab.json",
    "merges.txt",
    "spiece.model",
];

const COUNTS: &[u64] = &[0, 1, 4, 8, 300, 512, 1000, 4096, 1 << 16, 1 << 40, u64::MAX];

/// Reads a tokenizer, and writes one from what was read.
pub fn read_tokenizer(bytes: &[u8]) {
    let [kind, count, file, ref contents @ ..] = *bytes else { return };
    let (kind, stated) =
        (usize::from(kind) % KINDS.len(), usize::from(kind) / KINDS.len() % 2 == 1);
    let name = FILES[usize::from(file) % FILES.len()];
    let others = usual(usize::from(file) / FILES.len());
    let config = match name {
        "config.json" => serde_json::from_slice(contents).unwrap_or_default(),
        _ => json!({ "model_type": "llama", "bos_token_id": 1, "eos_token_id": [2, 3] }),
    };
    let files = |asked: &str| {
        let own = (asked == name).then(|| contents.to_vec());
        Ok(own.or_else(|| others.get(asked).map(|text| text.to_string().into_bytes())))
    };
    let vocabulary = COUNTS[usize::from(count) % COUNTS.len()];
    let repository =
        Repository { files: &files, names: &|_| Vec::new(), config: &config, vocabulary };
    let pre = stated.then_some("qwen2");
    let made = entries(&repository, KINDS[kind], pre).map_err(|error| error.to_string());
    assert_eq!(made, entries(&repository, KINDS[kind], pre).map_err(|error| error.to_string()));
    if let Ok(made) = made {
        check(&made);
        write_back(made);
    }
}

/// Lists of a tokenizer have one element a token, and ids name one of them.
fn check(made: &[(String, Value)]) {
    let list = |key: &str| {
        let entry = made.iter().find(|(known, _)| known == key);
        entry.and_then(|(_, value)| value.list_len())
    };
    let Some(tokens) = list("tokenizer.ggml.tokens") else { return };
    for key in ["tokenizer.ggml.token_type", "tokenizer.ggml.scores"] {
        assert!(list(key).is_none_or(|len| len == tokens), "{key} of {tokens} tokens");
    }
}

/// The files that these entries become, which are read once more.
fn write_back(made: Vec<(String, Value)>) {
    let made: HashMap<String, Value> = made.into_iter().collect();
    let ask = |key: &str| made.get(key).cloned();
    let Ok(written) = back::files(&ask, None) else { return };
    let by_name: HashMap<String, Vec<u8>> = written.files.into_iter().collect();
    let files = |asked: &str| Ok(by_name.get(asked).cloned());
    let config = Json::Object(Default::default());
    let repository =
        Repository { files: &files, names: &|_| Vec::new(), config: &config, vocabulary: 0 };
    for kind in KINDS {
        let _ = entries(&repository, *kind, None);
    }
}

/// The files beside the one that is the input.
fn usual(which: usize) -> HashMap<&'static str, Json> {
    let token = |id: u64, text: &str| json!({ "id": id, "content": text, "special": true });
    let pairs = json!({
        "added_tokens": [token(3, "<s>"), token(4, "</s>")],
        "pre_tokenizer": { "type": "ByteLevel", "add_prefix_space": false },
        "decoder": { "type": "ByteLevel" },
        "model": { "type": "BPE", "vocab": { "a": 0, "b": 1, "ab": 2 }, "merges": ["a b"] },
    });
    let words = json!({
        "normalizer": { "type": "BertNormalizer", "lowercase": true },
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "vocab": { "[UNK]": 0, "a": 1, "##b": 2 } },
    });
    let likely = json!({
        "model": { "type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁a", -1.0], ["b", -2.0]] },
    });
    let config =
        json!({ "bos_token": "<s>", "eos_token": { "content": "</s>" }, "add_bos_token": true });
    let tokenizer = [Json::Null, pairs, words, likely][which % 4].clone();
    let all = [("tokenizer.json", tokenizer), ("tokenizer_config.json", config)];
    all.into_iter().filter(|(_, json)| !json.is_null()).collect()
}
