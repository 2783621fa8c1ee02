//! Rules of the source that no compiler checks: sizes, arrows between modules, where systems and
//! instruction sets may be named, and which words literals may not contain.
//!
//! `exceptions.txt` lists what may break a rule, each with its reason. Any other violation fails, and
//! so does a line of the list that no longer applies: `BLESS=1 cargo test --test
//! library architecture` deletes it.

mod arrows;
mod crates;
mod modules;
mod paths;
mod places;
mod problems;
mod sizes;
mod sources;
mod tokens;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use crate::common::root;

const LIST: &str = "tests/library/architecture/exceptions.txt";

/// Held while the list is written.
static WRITING: Mutex<()> = Mutex::new(());

fn read() -> String {
    std::fs::read_to_string(root().join(LIST)).unwrap()
}

/// Compares what a rule found with the list. A violation is one line: the rule's name, and what
/// breaks it, without line numbers.
fn check(rule: &str, found: &BTreeMap<String, String>) {
    let _alone = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    if std::env::var_os("BLESS").is_some() {
        forget(rule, found);
    }
    let listed = listed(rule);
    let new: Vec<String> = found
        .iter()
        .filter(|(line, _)| !listed.contains(*line))
        .map(|(line, place)| format!("{rule} {line}    ({place})"))
        .collect();
    let gone: Vec<String> = listed
        .iter()
        .filter(|line| !found.contains_key(*line))
        .map(|line| format!("{rule} {line}"))
        .collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "{} new violations:\n{}\n{} lines of the list no longer apply, delete them:\n{}",
        new.len(),
        new.join("\n"),
        gone.len(),
        gone.join("\n")
    );
}

/// Deletes from the list what a rule no longer finds.
fn forget(rule: &str, found: &BTreeMap<String, String>) {
    let text = read();
    let stays = |line: &&str| entry(rule, line).is_none_or(|entry| found.contains_key(entry));
    let kept: String = text.split_inclusive('\n').filter(stays).collect();
    if kept != text {
        std::fs::write(root().join(LIST), kept).unwrap();
    }
}

/// What a line of the list says about a rule, without the reason.
fn entry<'a>(rule: &str, line: &'a str) -> Option<&'a str> {
    let entry = line.split("  ").next()?;
    Some(entry.strip_prefix(rule)?.strip_prefix(' ')?.trim())
}

/// What the list holds for a rule. The reason follows after two blanks.
fn listed(rule: &str) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for line in read().lines() {
        let Some(entry) = entry(rule, line) else { continue };
        let reason = line.split_once("  ").map_or("", |(_, reason)| reason);
        assert!(!reason.trim().is_empty(), "no reason: {line}");
        assert!(lines.insert(entry.to_owned()), "{line} is listed twice");
    }
    lines
}

/// Every rule that a line of the list may name.
const RULES: [&str; 9] = [
    "file-lines",
    "function-lines",
    "arrow",
    "cycle",
    "intrinsics",
    "system",
    "name",
    "flag",
    "orphan",
];

#[test]
fn the_list_names_rules_that_exist() {
    for line in read().lines() {
        let rule = line.split(' ').next().unwrap();
        assert!(line.starts_with('#') || line.is_empty() || RULES.contains(&rule), "{line}");
    }
}
