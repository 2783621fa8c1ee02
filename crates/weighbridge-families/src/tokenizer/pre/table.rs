//! Which pre-tokenizers there are, and what each is called.

/// One pre-tokenizer.
pub(super) struct Row {
    /// What normalizers it is known with.
    pub normalizers: &'static [&'static [&'static str]],
    pub steps: &'static [&'static str],
    /// Names; the first whose conditions are all met is taken.
    pub names: &'static [(&'static [If], &'static str)],
}

/// What a name depends on.
pub(super) enum If {
    /// A text gets a token at its beginning.
    Begins,
    /// The model takes a word that is a token without merging.
    IgnoresMerges,
    /// The config's `model_type` is one of these.
    Family(&'static [&'static str]),
    /// The vocabulary has this token.
    Has(&'static str),
    /// The post-processor is RoBERTa's.
    Roberta,
}

use If::{Begins, Family, Has, IgnoresMerges, Roberta};

/// Composed letters are left to the text: readers normalize nothing.
const COMPOSED: &[&[&str]] = &[&[], &["NFC"]];

/// A pre-tokenizer whose texts may be composed: its steps, and its names.
const fn row(
    steps: &'static [&'static str],
    names: &'static [(&'static [If], &'static str)],
) -> Row {
    Row { normalizers: COMPOSED, steps, names }
}

pub(super) const TABLE: &[Row] = &[
    // Words with a letter of any kind in front, up to three digits, the rest by kind.
    row(
        &[
            r"split (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[
            (&[Has("[gMASK]"), Family(&["chatglm"])], "chatglm-bpe"),
            (&[Has("[gMASK]")], "glm4"),
            (&[Family(&["lfm2", "lfm2_moe", "lfm2-vl"])], "lfm2"),
            (&[Family(&["falcon_h1"])], "falcon-h1"),
            (&[IgnoresMerges, Begins], "llama-bpe"),
            (&[Family(&["smollm3"])], "smaug-bpe"),
            (&[IgnoresMerges], "smaug-bpe"),
            (&[], "dbrx"),
        ],
    ),
    // The same with spaces cut into powers of two.
    row(
        &[
            r"split (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1}",
            "bytes",
        ],
        &[(&[], "jais-2")],
    ),
    // The same with single digits.
    row(
        &[
            r"split (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[
            (&[Has("<｜begin▁of▁sentence｜>"), Begins], "deepseek-r1-qwen"),
            (&[Family(&["stablelm"])], "stablelm2"),
            (&[Family(&["hunyuan", "hunyuan_v1_moe"])], "hunyuan"),
            (&[Family(&["solar_open"])], "solar-open"),
            (&[Family(&["git"])], "grok-2"),
            (&[], "qwen2"),
        ],
    ),
    // The same with marks among the letters.
    row(
        &[
            r"split (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[(&[], "qwen35")],
    ),
    // Words by their case, with contractions.
    row(
        &[
            r"split [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[
            (&[Family(&["minimax_m2", "minimax_m3", "minimax_m3_vl"])], "minimax-m2"),
            (&[Begins], "llama4"),
            (&[], "gpt-4o"),
        ],
    ),
    // Words by their case, without contractions.
    row(
        &[
            r"split [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[(&[], "tekken")],
    ),
    row(
        &[
            r"split \p{N}{1,3}",
            "split [一-龥\u{3040}-ゟ゠-ヿ]+",
            r##"split [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##,
            "bytes",
        ],
        &[(&[Family(&["hunyuan_v1_dense", "hunyuan_vl"])], "hunyuan-dense"), (&[], "deepseek-v3")],
    ),
    row(
        &[
            r"split [\r\n]",
            DEEPSEEK_LETTERS,
            "split \\s?[!-/:-~！-／：-～‘-‟\u{3000}-。]+",
            r"split \s+$",
            "split [一-龥ࠀ-一가-\u{d7ff}]+",
            "digits one by one",
            "bytes",
        ],
        &[(&[], "deepseek-llm")],
    ),
    row(
        &[
            r"split [\r\n]",
            r"split \s?\p{L}+",
            r"split \s?\p{P}+",
            "split [一-龥ࠀ-一가-\u{d7ff}]+",
            "digits one by one",
            "bytes",
        ],
        &[(&[], "deepseek-coder")],
    ),
    row(
        &["punctuation Contiguous", "bytes in words", "digits", "split [0-9][0-9][0-9]"],
        &[(&[], "falcon")],
    ),
    // Digits one by one, then words as GPT-2 has them. Names differ in nothing but the vocabulary.
    row(
        &["digits one by one", "bytes in words"],
        &[
            (&[Family(&["cohere", "cohere2", "cohere2_moe"])], "command-r"),
            (
                &[Family(&[
                    "gpt_refact",
                    "granite",
                    "granitemoe",
                    "granitemoeshared",
                    "gpt_bigcode",
                ])],
                "refact",
            ),
            (&[Family(&["llama"])], "smollm"),
            (&[Family(&["codeshell", "kclgpt"])], "codeshell"),
            (&[Family(&["exaone"])], "exaone"),
            (&[Family(&["mistral"])], "minerva-7b"),
            (&[], "starcoder"),
        ],
    ),
    // GPT-2's words.
    row(
        &["bytes in words"],
        &[
            // Jina's model for code says that it is BERT.
            (&[Roberta, Family(&["bert"])], "jina-v2-code"),
            (&[Roberta], "roberta-bpe"),
            (&[Family(&["phi"])], "phi-2"),
            // Three vocabularies that cannot be told apart by what they make of a text.
            (&[Family(&["olmo", "olmoe", "mpt", "gpt_neox"])], "olmo"),
            // GPT-NeoX's vocabulary, which Mamba has too.
            (&[Has("<|padding|>")], "olmo"),
            (&[Family(&["modernbert"])], "modern-bert"),
            (&[Family(&["exaone4"])], "exaone4"),
            (&[], "gpt-2"),
        ],
    ),
    row(&[r"split  ?[^(\s|[.,!?…。，、।۔،])]+", "bytes"], &[(&[], "bloom")]),
    row(
        &[
            r"split '(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[
            (&[Family(&["bailing_moe_v2"])], "bailingmoe2"),
            (&[Family(&["llada"])], "llada-moe"),
            (&[], "bailingmoe"),
        ],
    ),
    row(
        &[
            r"split (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+",
            "bytes",
        ],
        &[(&[], "seed-coder")],
    ),
    // Byte pairs of SentencePiece: spaces become marks, and a word ends with its space.
    Row {
        normalizers: &[&[r#"replace " " "▁""#]],
        steps: &[r#"split " " MergedWithPrevious"#],
        names: &[(&[], "gemma4")],
    },
];

/// Names in whose repositories letters are composed first. A file of weights does not say that.
#[rustfmt::skip]
pub(super) const COMPOSING: &[&str] = &[
    "qwen2", "deepseek-r1-qwen", "stablelm2", "qwen35", "command-r", "olmo", "modern-bert",
    "bailingmoe", "bailingmoe2",
];

/// Names in whose repositories a word that is a token is taken without merging.
pub(super) const IGNORING: &[&str] =
    &["llama-bpe", "smaug-bpe", "lfm2", "falcon-h1", "glm4", "tekken"];

/// Other names of the same.
pub(super) const ALIASES: &[(&str, &str)] =
    &[("llama3", "llama-bpe"), ("llama-v3", "llama-bpe"), ("mpt", "olmo")];

/// Letters that have a case. Some are spelled by number: editors replace them by others that look the
/// same.
#[rustfmt::skip]
const DEEPSEEK_LETTERS: &str = "split \\s?[A-Za-z\u{b5}À-ÖØ-öø-ƺƼ-ƿ\u{1c4}-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-\u{3f5}Ϸ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\u{1f7d}ᾀ-ᾴᾶ-ᾼ\u{1fbe}ῂ-ῄῆ-ῌῐ-\u{1fd3}ῖ-\u{1fdb}ῠ-Ῥῲ-ῴῶ-ῼ\u{2102}\u{2107}\u{210a}-\u{2113}\u{2115}\u{2119}-\u{211d}\u{2124}\u{2126}\u{2128}\u{212a}-\u{212d}\u{212f}-\u{2134}\u{2139}\u{213c}-\u{213f}\u{2145}-\u{2149}ⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿ\u{fb00}-\u{fb06}\u{fb13}-\u{fb17}\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
