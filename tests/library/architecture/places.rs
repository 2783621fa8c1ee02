//! Where instruction sets and operating systems may be named.

use std::collections::BTreeMap;

use super::check;
use super::sources::{SourceFile, program_files};
use super::tokens::{Token, closing};

/// `core::arch` and its vector types stay in `simd/`.
#[test]
fn instruction_sets_stay_in_their_folder() {
    let mut found = BTreeMap::new();
    for file in program_files() {
        let at_home = file.room().is_some_and(|path| path.starts_with("simd/"));
        if let Some(line) = first_intrinsic(&file.tokens).filter(|_| !at_home) {
            found.insert(file.path.clone(), format!("line {line}"));
        }
    }
    check("intrinsics", &found);
}

fn first_intrinsic(tokens: &[Token]) -> Option<usize> {
    let is_vector =
        |word: &str| ["__m128", "__m256", "__m512", "_mm"].iter().any(|v| word.starts_with(v));
    for (at, token) in tokens.iter().enumerate() {
        let Some(word) = token.word() else { continue };
        let from = at.checked_sub(3).and_then(|before| tokens[before].word());
        if is_vector(word) || word == "arch" && matches!(from, Some("core" | "std")) {
            return Some(token.line);
        }
    }
    None
}

/// `cfg` of an operating system stays in `sys/`.
#[test]
fn operating_systems_stay_in_their_folder() {
    let mut found = BTreeMap::new();
    for file in program_files() {
        let at_home = file.path.contains("/src/sys/") || file.path.ends_with("/src/sys.rs");
        if let Some(line) = first_system(&file).filter(|_| !at_home) {
            found.insert(file.path.clone(), format!("line {line}"));
        }
    }
    check("system", &found);
}

fn first_system(file: &SourceFile) -> Option<usize> {
    let tokens = &file.tokens;
    for (at, token) in tokens.iter().enumerate() {
        if !token.is_word("cfg") && !token.is_word("cfg_attr") {
            continue;
        }
        let open = at + 1 + usize::from(tokens.get(at + 1)?.is_sign('!'));
        if !tokens.get(open)?.is_sign('(') {
            continue;
        }
        let names_a_system = |token: &Token| {
            matches!(token.word(), Some("unix" | "windows" | "target_os" | "target_family"))
        };
        if tokens[open..closing(tokens, open)].iter().any(names_a_system) {
            return Some(token.line);
        }
    }
    None
}
