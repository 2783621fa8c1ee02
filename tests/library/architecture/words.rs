//! Which words the string literals of the program may not contain.

use std::collections::BTreeMap;

use weighbridge::internals::containers::CONTAINERS;
use weighbridge::internals::schemes::SCHEMES;

use super::check;
use super::sources::{COMMAND, program_files};
use super::tokens::text_of;

/// Other spellings of formats and schemes, with the folders that may use them.
const SPELLINGS: &[(&str, &[&str])] = &[
    ("npy", &["containers/npz"]),
    ("pytorch", &["containers/pth"]),
    ("bitsandbytes", &["schemes/bnb"]),
    ("compressed-tensors", &["schemes/compressed"]),
    // Formats of numbers, which several schemes and block types have.
    ("mxfp4", &["schemes", "blocks.rs", "containers/gguf"]),
    ("mxfp8", &["schemes"]),
    // GGUF is ggml's own format, and what it says of tokenizers has keys of that name.
    ("ggml", &["schemes/ggml", "containers/gguf"]),
    ("modelopt", &["schemes/framework/conventions/modelopt.rs", "schemes/nvfp4"]),
    // Models are translated into this format, and out of it.
    ("gguf", &["ops/conversion/translate"]),
];

/// Names that are English words as well: only a literal that is nothing else names the scheme.
const ENGLISH: [&str; 3] = ["plain", "known", "compressed"];

/// The members' names, each with the folders that may use it.
fn members() -> Vec<(String, Vec<String>)> {
    let spelled = SPELLINGS.iter().map(|(name, homes)| {
        ((*name).to_owned(), homes.iter().map(|home| (*home).to_owned()).collect())
    });
    let container = |name: &str| (name.to_owned(), vec![format!("containers/{name}")]);
    let scheme = |name: &str| (name.to_owned(), vec![format!("schemes/{name}")]);
    let plain = ("plain".to_owned(), vec!["schemes/framework/registry.rs".to_owned()]);
    let mut all: Vec<(String, Vec<String>)> = spelled.collect();
    let named = CONTAINERS.iter().map(|member| container(member.name()));
    let named = named.chain(SCHEMES.iter().map(|member| scheme(member.name())));
    for (name, homes) in named.chain([plain]) {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, more)) => more.extend(homes),
            None => all.push((name, homes)),
        }
    }
    all
}

/// Only a format's or scheme's own code names it.
#[test]
fn formats_and_schemes_are_named_at_home_only() {
    let members = members();
    let mut found = BTreeMap::new();
    for file in program_files() {
        let inside = &*file.room().unwrap_or_default();
        if inside.starts_with("families/") {
            continue;
        }
        for token in &file.tokens {
            let Some(text) = text_of(token) else { continue };
            for (name, homes) in &members {
                let at_home = homes.iter().any(|home| inside == home || is_below(inside, home));
                if !at_home && names(text, name) {
                    let place = format!("line {}: {text:?}", token.line);
                    found.entry(format!("{} {name}", file.path)).or_insert(place);
                }
            }
        }
    }
    check("name", &found);
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

fn names(text: &str, name: &str) -> bool {
    match ENGLISH.contains(&name) {
        true => text == name,
        false => is_word_in(&text.to_ascii_lowercase(), name),
    }
}

/// Whether a word occurs with neither a letter nor a digit beside it.
fn is_word_in(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// The library does not know who calls it: no flag and no name of the command in its messages.
#[test]
fn the_library_does_not_speak_of_the_command() {
    let mut found = BTreeMap::new();
    for file in program_files().iter().filter(|file| file.below(COMMAND).is_none()) {
        for token in &file.tokens {
            for word in text_of(token).into_iter().flat_map(command_words) {
                let place = format!("line {}", token.line);
                found.entry(format!("{} {word}", file.path)).or_insert(place);
            }
        }
    }
    check("flag", &found);
}

/// The flags in a text, and the command's name.
fn command_words(text: &str) -> Vec<&str> {
    let is_inner = |character: char| character.is_alphanumeric() || "-_.{}".contains(character);
    let words = text.split(|character| !is_inner(character));
    let is_flag = |word: &str| {
        let name = word.strip_prefix("--").unwrap_or_default();
        name.starts_with(|first: char| first.is_ascii_lowercase())
    };
    words.filter(|word| is_flag(word) || *word == "weigh").collect()
}

#[test]
fn words_are_found() {
    assert!(names("not a GGUF file", "gguf") && names("x.gguf", "gguf"));
    assert!(!names("ggufs", "gguf") && !names("complex", "mx"));
    assert!(names("plain", "plain") && !names("a plain tensor", "plain"));
    assert_eq!(command_words("run `weigh inspect` with `--force`"), ["weigh", "--force"]);
    assert!(command_words("models--{}--x .weigh-partial a -- b weighs").is_empty());
}
