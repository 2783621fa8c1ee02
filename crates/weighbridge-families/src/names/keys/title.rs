//! What the name of a repository says: `Mistral-7B-Instruct-v0.3` is Mistral of seven billion
//! parameters, made for instructions, in version 0.3.
//!
//! This is guessing, and the converter's: its rules are followed, not improved.

use std::sync::LazyLock;

use regex::Regex;

/// What a name is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parts {
    /// All of it, without the organization.
    pub full: String,
    /// Whose it is.
    pub organization: Option<String>,
    /// The model's own name.
    pub basename: Option<String>,
    /// What it was made for.
    pub finetune: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// How large it is.
    pub size_label: Option<String>,
}

/// What a word of a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Unknown,
    Version,
    Type,
    Size,
    Finetune,
}

fn pattern(whole: &str) -> Regex {
    Regex::new(&format!("(?i)^(?:{whole})$")).expect("a pattern of ours")
}

static VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"(v|iter)?\d+([.]\d+)*"));
static TYPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"i?q\d(_\w)*|b?fp?(16|32)"));
static SIZE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(A|\d+x)?\d+([._]\d+)?[KMBT]\d?|small|mini|medium|large|x?xl"));
static PURPOSE: LazyLock<Regex> = LazyLock::new(|| pattern("chat|instruct|vision|lora"));

/// Takes a name apart. A size that is far from the number of parameters is none.
pub(super) fn parts(id: &str, parameters: u64) -> Parts {
    if id.contains(' ') {
        return Parts { full: id.to_owned(), ..Parts::default() };
    }
    let (organization, full) = match id.split_once('/') {
        Some((organization, full)) => (Some(organization), full),
        None => (None, id),
    };
    let organization = organization.filter(|name| !name.starts_with('.')).map(str::to_owned);
    let words = full.split('-').filter(|word| !word.is_empty()).enumerate();
    let mut words: Vec<(String, Word)> =
        words.map(|(at, word)| classify(word, at > 0, parameters)).collect();
    prefer_numbers(&mut words);
    let named = name_words(&mut words);
    let joined = |wanted: Word, from: usize| {
        let mut found: Vec<&str> = Vec::new();
        for (word, _) in words.iter().skip(from).filter(|word| word.1 == wanted) {
            // `13B-13B` is one size, but `v1-v1` two versions.
            if wanted != Word::Size || !found.contains(&word.as_str()) {
                found.push(word);
            }
        }
        (!found.is_empty()).then(|| found.join("-"))
    };
    let basename: Vec<&str> = words.iter().take(named).map(|word| &*word.0).collect();
    let (size_label, finetune) = (joined(Word::Size, 0), joined(Word::Finetune, 0));
    let version = joined(Word::Version, named);
    // With nothing else in the name, what stands there may be anything.
    let clear = size_label.is_some() || finetune.is_some() || version.is_some();
    let basename = (clear && !basename.is_empty()).then(|| basename.join("-"));
    Parts { full: full.to_owned(), organization, basename, finetune, version, size_label }
}

fn classify(word: &str, may_be_size: bool, parameters: u64) -> (String, Word) {
    if VERSION.is_match(word) {
        (word.to_owned(), Word::Version)
    } else if TYPE.is_match(word) {
        (word.to_uppercase(), Word::Type)
    } else if may_be_size && SIZE.is_match(word) {
        size(word, parameters)
    } else if may_be_size && PURPOSE.is_match(word) {
        (word.to_owned(), Word::Finetune)
    } else {
        (word.to_owned(), Word::Unknown)
    }
}

/// A size as it is spelled everywhere else, or the length of a context that looks like one.
fn size(word: &str, parameters: u64) -> (String, Word) {
    let mut letters: Vec<char> = word.replace('_', ".").chars().collect();
    if letters.last().is_some_and(char::is_ascii_digit) {
        // `7b1` is 7.1B.
        let (Some(digit), Some(unit)) = (letters.pop(), letters.pop()) else {
            return (word.to_owned(), Word::Size);
        };
        letters.extend(['.', digit, unit]);
    }
    let Some((unit, number)) = letters.split_last_mut() else {
        return (word.to_owned(), Word::Size);
    };
    if number.last().is_some_and(|c| c.is_numeric()) && "kmbt".contains(*unit) {
        *unit = unit.to_ascii_uppercase();
    }
    let thousands = " KMBT".find(*unit).and_then(|power| i32::try_from(power).ok());
    let number = number.iter().collect::<String>().parse::<f64>().ok();
    let stated = number.zip(thousands).map(|(number, power)| number * 1000_f64.powi(power));
    let most = u128::from(parameters) * 7 / 8;
    let is_far = |stated: f64| (stated - parameters as f64).abs() > most as f64;
    if parameters > 0 && stated.is_some_and(is_far) {
        *unit = unit.to_ascii_lowercase();
        return (letters.into_iter().collect(), Word::Finetune);
    }
    (letters.into_iter().collect(), Word::Size)
}

/// `mini` and the like are no sizes where a number states one.
fn prefer_numbers(words: &mut [(String, Word)]) {
    let is_size = |word: &(String, Word)| word.1 == Word::Size;
    if words.iter().any(|word| is_size(word) && word.0.contains(char::is_numeric)) {
        for word in words.iter_mut() {
            if is_size(word) && word.0.chars().all(char::is_alphabetic) {
                word.1 = Word::Unknown;
            }
        }
    }
}

/// How many words from the start are the model's own name; unknown ones after it say what it was
/// made for.
fn name_words(words: &mut [(String, Word)]) -> usize {
    let is_name = |word: &(String, Word)| match word.1 {
        Word::Unknown => word.0.starts_with(char::is_alphabetic),
        kind => kind == Word::Version,
    };
    let mut named = words.iter().take_while(|word| is_name(word)).count();
    for word in words.iter_mut().skip(named) {
        if word.1 == Word::Unknown {
            word.1 = Word::Finetune;
        }
    }
    // A version at the very end of the whole name belongs to no name.
    if named == words.len() {
        let versions = words.iter().rev().take_while(|word| word.1 == Word::Version);
        named -= versions.count();
    }
    named
}

/// A name for people: words instead of dashes, with capitals where it has none.
pub(super) fn title(name: &str) -> String {
    let words = name.trim().replace('-', " ");
    let words: Vec<String> = words.split_whitespace().map(capitalized).collect();
    words.join(" ")
}

fn capitalized(word: &str) -> String {
    let rest = word.strip_prefix('v').unwrap_or(word);
    let is_number = |part: &str| !part.is_empty() && part.chars().all(char::is_numeric);
    let is_version = rest != word && rest.split('.').all(is_number);
    let lower = word.chars().any(char::is_lowercase) && !word.chars().any(char::is_uppercase);
    if !lower || is_version || word.starts_with(char::is_numeric) {
        return word.to_owned();
    }
    let mut titled = String::new();
    let mut inside = false;
    for letter in word.chars() {
        if inside {
            titled.extend(letter.to_lowercase());
        } else {
            titled.extend(letter.to_uppercase());
        }
        inside = letter.is_alphabetic();
    }
    titled
}

/// How large a model is, in a word: `8.0B`, `8x7B`.
pub(super) fn size_label(parameters: &super::Parameters) -> String {
    match parameters.experts {
        0 => rounded(parameters.total),
        experts => {
            let one = parameters.shared.saturating_add(parameters.expert);
            format!("{experts}x{}", rounded(one))
        }
    }
}

fn rounded(count: u64) -> String {
    let count = count as f64;
    let (scaled, unit) = match count {
        _ if count > 1e12 => (count * 1e-12, 'T'),
        _ if count > 1e9 => (count * 1e-9, 'B'),
        _ if count > 1e6 => (count * 1e-6, 'M'),
        _ => (count * 1e-3, 'K'),
    };
    let whole = scaled.round_ties_even();
    let digits = if whole == 0.0 { 0 } else { format!("{whole}").len() };
    let decimals = 2_usize.saturating_sub(digits);
    format!("{scaled:.decimals$}{unit}")
}
