//! The words for problems: the table has those that the library uses, and the page about them shows what
//! the library says.

use std::collections::BTreeSet;

use regex::Regex;
use weighbridge::catalog::KINDS;

use super::sources::program_files;
use super::tokens::text_of;
use crate::common::root;

const TABLE: &str = "catalog/kinds.rs";
const PAGE: &str = "docs/problems.md";

/// All texts in the program of the library, the table aside.
fn literals() -> BTreeSet<String> {
    let files = program_files();
    let library = files.iter().filter(|file| file.room().is_some_and(|path| path != TABLE));
    let tokens = library.flat_map(|file| &file.tokens);
    tokens.filter_map(text_of).map(str::to_owned).collect()
}

#[test]
fn every_word_of_the_table_is_used() {
    let literals = literals();
    let unused: Vec<_> = KINDS.iter().filter(|kind| !literals.contains(**kind)).collect();
    assert_eq!(unused, [&""; 0]);
    assert!(KINDS.is_sorted(), "they are in order");
}

/// What is given to a finding as its kind, wherever it can be seen that it is one. (The rest is
/// seen when a finding is made: debug builds look it up in the table.)
#[test]
fn every_word_that_is_used_is_in_the_table() {
    let given = [
        r#"Finding::of\(\s*[^",;]*,\s*"([a-z-]+)""#,
        r#"Finding::general\(\s*"([a-z-]+)""#,
        r#"\bkind: "([a-z-]+)""#,
        r#"\.refuse\((?:[^",;()]*,)?\s*"([a-z-]+)""#,
        r#"Draft::faulty\([^";]*, "([a-z-]+)""#,
        r#"\.problem\([^",;]*, "([a-z-]+)""#,
        r#"Capped::new\("([a-z-]+)""#,
        r#"note_state\([^";]*, "([a-z-]+)""#,
        r#"(?:Err|Some)\(\("([a-z-]+)", (?:message|reason|format)"#,
        r#"\|reason(?:: String)?\| \("([a-z-]+)", reason\)"#,
    ];
    let mut used = BTreeSet::new();
    for file in program_files().iter().filter(|file| file.room().is_some()) {
        let source = std::fs::read_to_string(root().join(&file.path)).unwrap();
        for pattern in given {
            let found = Regex::new(pattern).unwrap();
            used.extend(found.captures_iter(&source).map(|found| found[1].to_owned()));
        }
    }
    let unknown: Vec<_> = used.iter().filter(|kind| !KINDS.contains(&kind.as_str())).collect();
    assert_eq!(unknown, [""; 0]);
    assert!(used.len() * 10 > KINDS.len() * 9, "{} of {} were seen", used.len(), KINDS.len());
}

/// The example of each kind is a message of the library, with something in its gaps.
#[test]
fn examples_are_what_the_library_says() {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let gap = Regex::new(r"\{[^}]*\}").unwrap();
    let literals = literals();
    let messages: Vec<Vec<&str>> = literals
        .iter()
        .map(|text| gap.split(text).collect::<Vec<_>>())
        .filter(|pieces| pieces.iter().map(|piece| piece.len()).sum::<usize>() >= 12)
        .collect();
    for kind in KINDS {
        let section =
            page.split(&format!("\n## {kind}\n")).nth(1).unwrap_or_else(|| panic!("{kind}"));
        let example = section.lines().find(|line| line.starts_with("    ")).unwrap();
        assert!(messages.iter().any(|pieces| fits(pieces, example)), "{kind}: {example}");
    }
}

/// Whether the pieces between the gaps of a message follow each other in a text.
fn fits(pieces: &[&str], mut text: &str) -> bool {
    pieces.iter().all(|piece| match text.split_once(piece) {
        Some((_, rest)) => {
            text = rest;
            true
        }
        None => false,
    })
}
