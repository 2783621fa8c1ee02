//! Which of our crates may depend on which: the manifests say no more than this table.

use std::collections::BTreeSet;
use std::fs;

use crate::common::root;

/// Every crate, with those of ours that it depends on. The compiler checks the rest.
pub const CRATES: &[(&str, &[&str])] = &[
    ("weighbridge-core", &[]),
    ("weighbridge-containers", &["weighbridge-core"]),
    ("weighbridge-schemes", &["weighbridge-core"]),
    ("weighbridge-families", &["weighbridge-core"]),
    ("weighbridge-remote", &["weighbridge-containers", "weighbridge-core"]),
    (
        "weighbridge",
        &[
            "weighbridge-containers",
            "weighbridge-core",
            "weighbridge-families",
            "weighbridge-remote",
            "weighbridge-schemes",
        ],
    ),
    ("weigh", &["weighbridge"]),
    ("weighbridge-python", &["weigh", "weighbridge"]),
];

/// The crates that make up the library.
pub fn library() -> impl Iterator<Item = &'static str> {
    CRATES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !["weigh", "weighbridge-python"].contains(name))
}

#[test]
fn every_crate_is_listed() {
    let found: BTreeSet<String> = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let listed: BTreeSet<String> = CRATES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(found, listed);
}

#[test]
fn crates_depend_on_what_the_table_says() {
    for (name, expected) in CRATES {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let manifest = fs::read_to_string(manifest).unwrap();
        let found = dependencies(&manifest);
        assert_eq!(found, expected.iter().copied().collect::<BTreeSet<_>>(), "{name}");
    }
}

/// Those of our crates that a manifest names as dependencies, tests aside.
fn dependencies(manifest: &str) -> BTreeSet<&str> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split(['.', ' ', '=']).next().unwrap_or_default();
        let is_ours = CRATES.iter().any(|(own, _)| *own == name);
        if is_ours && section.ends_with("dependencies]") && !section.contains("dev-") {
            found.insert(name);
        }
    }
    found
}
