//! The paths that a source file writes: in `use` lines, and wherever else `crate`, `super` or `self`
//! begins one.

use super::tokens::{Token, closing};

/// A path, with the name it gets where it is imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    pub segments: Vec<String>,
    /// What an import makes it known as; `*` for everything in it.
    pub name: String,
    pub is_import: bool,
    pub line: usize,
}

/// Every path of a file.
pub fn paths(tokens: &[Token]) -> Vec<Path> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if tokens[at].is_word("use") && starts_item(tokens, at) {
            let end = (at..tokens.len()).find(|&end| tokens[end].is_sign(';')).unwrap_or(at);
            tree(&tokens[at + 1..end], &mut Vec::new(), &mut found);
            at = end.max(at + 1);
        } else if is_root(&tokens[at]) && !follows_colons(tokens, at) {
            let (segments, next) = inline(tokens, at);
            if segments.len() > 1 {
                let name = segments.last().cloned().unwrap_or_default();
                found.push(Path { segments, name, is_import: false, line: tokens[at].line });
            }
            at = next;
        } else {
            at += 1;
        }
    }
    found
}

/// Whether `use` stands where an item begins (and is no word of a macro or of a `where` clause).
fn starts_item(tokens: &[Token], at: usize) -> bool {
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    before.is_none_or(|token| {
        [';', '}', '{', ']', ')'].iter().any(|&sign| token.is_sign(sign)) || token.is_word("pub")
    })
}

fn is_root(token: &Token) -> bool {
    token.is_word("crate") || token.is_word("super") || token.is_word("self")
}

fn follows_colons(tokens: &[Token], at: usize) -> bool {
    at > 0 && tokens[at - 1].is_sign(':')
}

/// The segments of a path in an expression or a type, and where it ends.
fn inline(tokens: &[Token], mut at: usize) -> (Vec<String>, usize) {
    let mut segments = Vec::new();
    while let Some(word) = tokens.get(at).and_then(Token::word) {
        segments.push(word.to_owned());
        let colons =
            [at + 1, at + 2].iter().all(|&i| tokens.get(i).is_some_and(|t| t.is_sign(':')));
        if !colons {
            return (segments, at + 1);
        }
        at += 3;
    }
    (segments, at)
}

/// The paths of a `use` tree, below what stands before it.
fn tree(tokens: &[Token], before: &mut Vec<String>, found: &mut Vec<Path>) {
    let depth = before.len();
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        if token.is_sign(':') {
            at += 1;
        } else if token.is_sign('{') {
            let end = closing(tokens, at);
            for part in parts(&tokens[at + 1..end]) {
                tree(part, before, found);
            }
            break;
        } else if token.is_sign('*') {
            push(before, "*", token.line, found);
            break;
        } else if token.is_word("as") {
            break;
        } else {
            before.extend(token.word().map(str::to_owned));
            if !tokens.get(at + 1).is_some_and(|next| next.is_sign(':')) {
                let name = match tokens.get(at + 1).filter(|next| next.is_word("as")) {
                    Some(_) => tokens.get(at + 2).and_then(Token::word).unwrap_or("_").to_owned(),
                    None => before.last().cloned().unwrap_or_default(),
                };
                if before.len() > 1 && before.last().is_some_and(|last| last == "self") {
                    before.pop();
                }
                push(before, &name, token.line, found);
            }
            at += 1;
        }
    }
    before.truncate(depth);
}

fn push(segments: &[String], name: &str, line: usize, found: &mut Vec<Path>) {
    let name = if name == "self" { segments.last().map_or("self", String::as_str) } else { name };
    let name = name.to_owned();
    found.push(Path { segments: segments.to_vec(), name, is_import: true, line });
}

/// The parts of a list in braces.
fn parts(tokens: &[Token]) -> Vec<&[Token]> {
    let (mut found, mut start, mut at) = (Vec::new(), 0, 0);
    while at < tokens.len() {
        if tokens[at].is_sign('{') {
            at = closing(tokens, at);
        } else if tokens[at].is_sign(',') {
            found.push(&tokens[start..at]);
            start = at + 1;
        }
        at += 1;
    }
    found.push(&tokens[start..]);
    found.retain(|part| !part.is_empty());
    found
}

#[test]
fn paths_are_found() {
    let text = "use crate::{Error, source::{self, b as c}}; pub use super::super::names::*; \
        fn f() -> crate::dtype::DType { $crate::ops::go(); let x = self.y; super::near::f(1) }";
    let found: Vec<(String, String)> = paths(&super::tokens::tokens(text))
        .into_iter()
        .map(|path| (path.segments.join("::"), path.name))
        .collect();
    let expected = [
        ("crate::Error", "Error"),
        ("crate::source", "source"),
        ("crate::source::b", "c"),
        ("super::super::names", "*"),
        ("crate::dtype::DType", "DType"),
        ("crate::ops::go", "go"),
        ("super::near::f", "f"),
    ];
    assert_eq!(found, expected.map(|(path, name)| (path.to_owned(), name.to_owned())));
}
