//! The source files of the repository, and what of them is not test code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::crates::library;
use super::tokens::{Token, closing, tokens};
use crate::common::root;

/// A source file.
pub struct SourceFile {
    /// Its path in the repository, with slashes.
    pub path: String,
    /// Its tokens, without those of test code.
    pub tokens: Vec<Token>,
}

impl SourceFile {
    /// Its room in the library and its path in it, as if the crates were folders of one: what a crate
    /// is called after `weighbridge-` is a room, and core and the facade are none.
    pub fn room(&self) -> Option<String> {
        let (name, inside) = self.path.strip_prefix("crates/")?.split_once("/src/")?;
        library().find(|own| *own == name)?;
        Some(match name.strip_prefix("weighbridge-") {
            None | Some("core") => inside.to_owned(),
            Some(room) => format!("{room}/{inside}"),
        })
    }

    /// Its path below a folder, where it lies there.
    pub fn below(&self, folder: &str) -> Option<&str> {
        self.path.strip_prefix(folder)?.strip_prefix('/')
    }
}

/// The folder of the command's source.
pub const COMMAND: &str = "crates/weigh/src";

/// Every file of Rust below some folders of the repository.
pub fn rust_files(folders: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders {
        collect(&root().join(folder), &mut found);
    }
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A path in the repository, with slashes.
pub fn shown(path: &Path) -> String {
    let parts = path.strip_prefix(root()).unwrap().components();
    parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// The folders of the library and of the command.
fn program_folders() -> Vec<String> {
    library().map(|name| format!("crates/{name}/src")).chain([COMMAND.to_owned()]).collect()
}

/// The files of the library and the command, with their test code.
pub fn all_files() -> Vec<SourceFile> {
    let folders = program_folders();
    let folders: Vec<&str> = folders.iter().map(String::as_str).collect();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        SourceFile { path: shown(&path), tokens: tokens(&text) }
    };
    rust_files(&folders).into_iter().map(read).collect()
}

/// The files of the library and the command that are not there for tests alone.
pub fn program_files() -> Vec<SourceFile> {
    let mut only_tests = BTreeSet::new();
    let mut files = Vec::new();
    let folders = program_folders();
    for path in rust_files(&folders.iter().map(String::as_str).collect::<Vec<_>>()) {
        let text = std::fs::read_to_string(&path).unwrap();
        let (tokens, modules) = without_tests(&tokens(&text));
        let home = home_of_modules(&path);
        only_tests.extend(modules.iter().map(|module| shown(&home.join(module))));
        files.push(SourceFile { path: shown(&path), tokens });
    }
    let is_test = |file: &SourceFile| {
        let stem = file.path.strip_suffix(".rs").unwrap();
        only_tests.iter().any(|test| stem == test || stem.starts_with(&format!("{test}/")))
    };
    files.retain(|file| !is_test(file));
    files
}

/// The folder in which the modules that a file declares lie.
fn home_of_modules(path: &Path) -> PathBuf {
    match path.file_stem().and_then(|stem| stem.to_str()) {
        Some("mod" | "lib" | "main") => path.parent().unwrap().to_owned(),
        _ => path.with_extension(""),
    }
}

/// The tokens without items under `#[cfg(test)]`, and the names of the modules among these that
/// are files.
fn without_tests(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let (mut kept, mut modules) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if !is_test_attribute(&tokens[at..]) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        let end = end_of_item(tokens, at);
        let item = &tokens[at..=end];
        if let [.., keyword, name, semicolon] = item
            && keyword.is_word("mod")
            && semicolon.is_sign(';')
        {
            modules.push(name.word().unwrap().to_owned());
        }
        at = end + 1;
    }
    (kept, modules)
}

/// `#[cfg(test)]`, `#[cfg(all(test, ..))]` or `#[test]`.
fn is_test_attribute(tokens: &[Token]) -> bool {
    let words: Vec<&str> = tokens.iter().take(6).filter_map(Token::word).collect();
    let opens = tokens[0].is_sign('#') && tokens.get(1).is_some_and(|token| token.is_sign('['));
    let one = tokens.get(3).is_some_and(|token| token.is_sign(']'));
    opens
        && match words[..] {
            ["test", ..] => one,
            ["cfg", "test", ..] => true,
            ["cfg", "all", ..] => tokens.get(6).is_some_and(|token| token.is_word("test")),
            _ => false,
        }
}

/// Where the item ends whose attributes begin at `at`.
fn end_of_item(tokens: &[Token], mut at: usize) -> usize {
    while tokens[at].is_sign('#') {
        at = closing(tokens, at + 1) + 1;
    }
    while !tokens[at].is_sign(';') && !tokens[at].is_sign('{') {
        at = if tokens[at].is_sign('(') || tokens[at].is_sign('[') {
            closing(tokens, at) + 1
        } else {
            at + 1
        };
    }
    if tokens[at].is_sign('{') { closing(tokens, at) } else { at }
}

#[test]
fn test_code_is_left_out() {
    let source = r#"
        #[cfg(test)] mod tests;
        #[cfg(test)] use crate::a::{b, c};
        #[cfg(all(test, unix))] #[allow(dead_code)] mod inline { fn f() { "x"; } }
        #[cfg(test)] fn in_test(x: [u8; 4]) -> u8 { x[0] }
        #[cfg(unix)] fn kept() {}
    "#;
    let (kept, modules) = without_tests(&tokens(source));
    let words: Vec<&str> = kept.iter().filter_map(Token::word).collect();
    assert_eq!(words, ["cfg", "unix", "fn", "kept"]);
    assert_eq!(modules, ["tests"]);
}
