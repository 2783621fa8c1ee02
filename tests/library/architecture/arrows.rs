//! Which module of the library uses which: never upwards, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::check;
use super::sources::{LIBRARY, SourceFile, program_files};
use super::tokens::{Token, closing, tokens};
use crate::common::root;

/// Modules from above to below; each may use those further down. Modules that are not listed are
/// the ground that all stand on.
const FLOORS: [&[&str]; 7] = [
    &["internals"],
    &["ops"],
    &["pipeline"],
    &["model"],
    &["remote"],
    &["containers", "schemes", "names"],
    &["source"],
];

fn height(module: &str) -> usize {
    let floor = FLOORS.iter().position(|floor| floor.contains(&module));
    floor.map_or(0, |floor| FLOORS.len() - floor)
}

/// A use of one top-level module by another, with the file it stands in.
type Uses = BTreeMap<(String, String), BTreeMap<String, usize>>;

/// Arrows point downwards, and containers and schemes do not know each other.
#[test]
fn arrows_point_one_way() {
    let mut found = BTreeMap::new();
    for ((from, to), files) in uses() {
        let siblings = ["containers", "schemes"];
        let apart = siblings.contains(&&*from) && siblings.contains(&&*to);
        if height(&from) < height(&to) || apart {
            for (file, line) in files {
                found.insert(format!("{from} -> {to} {file}"), format!("line {line}"));
            }
        }
    }
    check("arrow", &found);
}

/// Modules of one height form no circle. (Circles through several heights have an arrow upwards.)
#[test]
fn no_modules_form_a_circle() {
    let uses = uses();
    let level: Vec<&(String, String)> =
        uses.keys().filter(|(from, to)| height(from) == height(to)).collect();
    let mut found = BTreeMap::new();
    for (from, to) in &level {
        if reaches(to, from, &level) {
            let files = &uses[&(from.clone(), to.clone())];
            for (file, line) in files {
                found.insert(format!("{from} -> {to} {file}"), format!("line {line}"));
            }
        }
    }
    check("cycle", &found);
}

fn reaches(from: &str, to: &str, arrows: &[&(String, String)]) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            next.extend(arrows.iter().filter(|(from, _)| from == module).map(|(_, to)| &**to));
        }
    }
    seen.contains(to)
}

fn uses() -> Uses {
    let lib = tokens(&std::fs::read_to_string(root().join(LIBRARY).join("lib.rs")).unwrap());
    let exported = exported(&lib);
    let mut found = Uses::new();
    for file in program_files() {
        let Some(inside) = file.below(LIBRARY).filter(|path| *path != "lib.rs") else { continue };
        let module = inside.split('/').next().unwrap().trim_end_matches(".rs").to_owned();
        for (name, line) in names_of_the_crate(&file, inside) {
            let to = exported.get(&name).cloned().unwrap_or(name);
            if to != module {
                let files = found.entry((module.clone(), to)).or_default();
                files.entry(file.path.clone()).or_insert(line);
            }
        }
    }
    found
}

/// What `lib.rs` exports under the crate's own name, with the module it comes from.
fn exported(lib: &[Token]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (at, token) in lib.iter().enumerate() {
        let Some(module) = lib.get(at + 1).and_then(Token::word) else { continue };
        if !token.is_word("use") {
            continue;
        }
        let end = (at..lib.len()).find(|&end| lib[end].is_sign(';')).unwrap_or(lib.len());
        for name in lib[at + 2..end].iter().filter_map(Token::word) {
            found.insert(name.to_owned(), module.to_owned());
        }
    }
    found
}

/// The first name of every path in a file that starts at the root of the crate.
fn names_of_the_crate(file: &SourceFile, inside: &str) -> Vec<(String, usize)> {
    let tokens = &file.tokens;
    let depth = depth(inside);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let start = match () {
            () if tokens[at].is_word("crate") => Some(at + 1),
            () if tokens[at].is_word("super") => after_supers(tokens, at, depth),
            () => None,
        };
        match start.filter(|&colons| is_path(tokens, colons)) {
            Some(colons) => {
                found.extend(first_names(tokens, colons + 2));
                at = colons + 2;
            }
            None => at += 1,
        }
    }
    found
}

/// How many modules deep a file is: 1 for a top-level module.
fn depth(inside: &str) -> usize {
    let parts = inside.split('/').count();
    if inside.ends_with("/mod.rs") { parts - 1 } else { parts }
}

/// Where the path at `at` goes on, if its `super`s lead to the root of the crate.
fn after_supers(tokens: &[Token], at: usize, depth: usize) -> Option<usize> {
    let is_first = at < 2 || !tokens[at - 1].is_sign(':');
    let count =
        (0..).take_while(|i| tokens.get(at + 3 * i).is_some_and(|t| t.is_word("super"))).count();
    (is_first && count == depth).then_some(at + 3 * count - 2)
}

fn is_path(tokens: &[Token], colons: usize) -> bool {
    [colons, colons + 1].iter().all(|&at| tokens.get(at).is_some_and(|token| token.is_sign(':')))
}

/// The word at `at`, or the first word of each part of the list in braces there.
fn first_names(tokens: &[Token], at: usize) -> Vec<(String, usize)> {
    let named = |at: usize| {
        let token = tokens.get(at)?;
        token.word().map(|word| (word.to_owned(), token.line))
    };
    if !tokens[at].is_sign('{') {
        return named(at).into_iter().collect();
    }
    let end = closing(tokens, at);
    let mut found = Vec::from_iter(named(at + 1));
    let mut inner = at + 1;
    while inner < end {
        if tokens[inner].is_sign('{') {
            inner = closing(tokens, inner);
        } else if tokens[inner].is_sign(',') {
            found.extend(named(inner + 1));
        }
        inner += 1;
    }
    found
}

#[test]
fn paths_of_the_crate_are_found() {
    let text = "use crate::{Error, source::{a, b}, simd::c}; use super::super::names::x; \
        use super::near; fn f() -> crate::dtype::DType { $crate::ops::go() }";
    let file = SourceFile { path: String::new(), tokens: tokens(text) };
    let found: Vec<String> =
        names_of_the_crate(&file, "model/locate.rs").into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, ["Error", "source", "simd", "names", "dtype", "ops"]);
}
