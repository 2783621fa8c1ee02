//! How long files and functions are, and that every test file is compiled.

use std::collections::BTreeMap;
use std::path::Path;

use super::check;
use super::sources::{rust_files, shown};
use super::tokens::{Token, closing, tokens};
use crate::common::root;

const MOST_LINES_OF_A_FILE: usize = 500;
const MOST_LINES_OF_A_FUNCTION: usize = 80;

/// Everything that is ours.
const ALL: [&str; 4] = ["crates", "bench", "fuzz", "tests"];

#[test]
fn no_file_is_too_long() {
    let mut found = BTreeMap::new();
    for path in rust_files(&ALL) {
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        if lines > MOST_LINES_OF_A_FILE {
            found.insert(shown(&path), format!("{lines} lines"));
        }
    }
    check("file-lines", &found);
}

#[test]
fn no_function_is_too_long() {
    let mut found = BTreeMap::new();
    for path in rust_files(&ALL) {
        let tokens = tokens(&std::fs::read_to_string(&path).unwrap());
        for (name, lines) in functions(&tokens) {
            if lines > MOST_LINES_OF_A_FUNCTION {
                found.insert(format!("{} {name}", shown(&path)), format!("{lines} lines"));
            }
        }
    }
    check("function-lines", &found);
}

/// The functions with a body, and how many lines each has, signature and body.
fn functions(tokens: &[Token]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        let Some(name) = pair[1].word().filter(|_| pair[0].is_word("fn")) else {
            continue;
        };
        let Some(body) = body(tokens, at) else { continue };
        let lines = tokens[closing(tokens, body)].line - tokens[at].line + 1;
        found.push((name.to_owned(), lines));
    }
    found
}

/// The brace that opens the body of the function at `at`, where it has one.
fn body(tokens: &[Token], mut at: usize) -> Option<usize> {
    loop {
        let token = tokens.get(at)?;
        if token.is_sign('{') {
            return Some(at);
        } else if token.is_sign(';') {
            return None;
        } else if token.is_sign('(') || token.is_sign('[') {
            at = closing(tokens, at);
        }
        at += 1;
    }
}

/// A test file that no `mod` line names would never run.
#[test]
fn every_test_file_is_compiled() {
    let mut found = BTreeMap::new();
    for path in rust_files(&["tests"]) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let folder = path.parent().unwrap();
        let named = match stem {
            "mod" => {
                let name = folder.file_name().unwrap().to_str().unwrap();
                name == "common" || declares(folder.parent().unwrap(), name)
            }
            _ if stem == "main" || folder == root().join("tests") => is_a_target(&path),
            _ => declares(folder, stem),
        };
        if !named {
            found.insert(shown(&path), "no `mod` line and no `[[test]]` names it".to_owned());
        }
    }
    check("orphan", &found);
}

fn declares(folder: &Path, module: &str) -> bool {
    ["main.rs", "mod.rs"].iter().any(|file| {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        text.lines().any(|line| line.trim_start_matches("pub ") == format!("mod {module};"))
    })
}

fn is_a_target(path: &Path) -> bool {
    let manifest = std::fs::read_to_string(root().join("tests/Cargo.toml")).unwrap();
    let name = shown(path);
    manifest.contains(&format!("path = \"{}\"", name.strip_prefix("tests/").unwrap_or(&name)))
}
