//! Which module uses which: never upwards, and siblings never in a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::check;
use super::crates::library;
use super::modules::{Module, Tree};
use super::sources::{SourceFile, all_files, program_files};

/// The modules of each crate from above to below; each may use those further down and those beside
/// it, as long as they form no circle. A module that stands nowhere is an error.
const FLOORS: &[(&str, &[&[&str]])] = &[
    ("weighbridge", &[&["internals"], &["ops"], &["pipeline"], &["model"]]),
    (
        "weighbridge-remote",
        &[
            &["store", "web"],
            &[
                "ahead",
                "announced",
                "far",
                "guess",
                "kept",
                "pace",
                "process",
                "rooted",
                "runtime",
                "settings",
                "whole",
            ],
        ],
    ),
    (
        "weighbridge-families",
        &[&["projectors"], &["names"], &["families"], &["tokenizer"], &["testing"]],
    ),
    (
        "weighbridge-schemes",
        &[
            &[
                "apr",
                "awq",
                "bnb",
                "compressed",
                "fp8",
                "ggml",
                "gptq",
                "known",
                "mlx",
                "mx",
                "nvfp4",
            ],
            &["arithmetic"],
            &["framework"],
        ],
    ),
    (
        "weighbridge-containers",
        &[
            &["apr", "gguf", "npz", "pth", "safetensors"],
            &["table", "zip"],
            &["conventions", "strides", "writing"],
        ],
    ),
    (
        "weighbridge-core",
        &[
            &["compare", "source", "unpack_tests"],
            &["bounds", "inflate", "streams"],
            &["cursor", "simd", "unpack"],
            &["catalog", "config", "input", "number", "output"],
            &["dtype", "limits", "stop"],
            &["blocks", "error", "near", "view"],
            &["change", "crc", "noise", "shape", "sys", "text", "warning"],
        ],
    ),
];

fn trees() -> Vec<(&'static str, Tree)> {
    let files = all_files();
    library().map(|name| (name, tree(name, &files))).collect()
}

fn tree(name: &str, files: &[SourceFile]) -> Tree {
    Tree::of(files, &format!("crates/{name}/src"))
}

fn floor(name: &str, module: &str) -> Option<usize> {
    let (_, floors) = FLOORS.iter().find(|(own, _)| *own == name)?;
    floors.iter().position(|floor| floor.contains(&module))
}

#[test]
fn every_module_has_its_floor() {
    let mut found = BTreeSet::new();
    for (name, tree) in trees() {
        let tops = tree.modules.keys().filter_map(|module| module.first());
        found.extend(
            tops.filter(|top| floor(name, top).is_none()).map(|top| format!("{name} {top}")),
        );
    }
    assert_eq!(found, BTreeSet::new(), "modules that FLOORS does not have");
}

/// Arrows point downwards, those of test code too; nobody but the root itself uses what it defines.
#[test]
fn arrows_point_one_way() {
    let mut found = BTreeMap::new();
    for (name, tree) in trees() {
        for (from, to, line) in tree.uses() {
            let (Some(a), Some(b)) = (from.first(), to.first()) else { continue };
            if a != b && floor(name, b) < floor(name, a) {
                found.insert(format!("{a} -> {b} {}", tree.file(&from)), format!("line {line}"));
            }
        }
    }
    check("arrow", &found);
}

/// What shared code of the schemes may not know: the table of members, which stands at the root. Its
/// tests ask all members.
#[test]
fn the_framework_of_schemes_knows_no_member() {
    let name = "weighbridge-schemes";
    let tree = tree(name, &program_files());
    let is_shared =
        |module: &Module| module.first().is_some_and(|top| floor(name, top) > floor(name, "gptq"));
    let mut found = BTreeMap::new();
    for (from, to, line) in tree.uses() {
        if is_shared(&from) && to.is_empty() {
            found.insert(format!("root {}", tree.file(&from)), format!("line {line}"));
        }
    }
    check("arrow", &found);
}

/// The children of a folder form no circle, at no depth. What may is listed by folder.
#[test]
fn no_modules_form_a_circle() {
    let mut found = BTreeMap::new();
    for (name, tree) in trees() {
        for (folder, arrows) in siblings(&tree) {
            let circle: Vec<String> = arrows
                .iter()
                .filter(|((from, to), _)| reaches(to, from, &arrows))
                .map(|((from, to), (file, line))| format!("{from} -> {to} ({file}:{line})"))
                .collect();
            if !circle.is_empty() {
                let place = [&[name.to_owned()], &folder[..]].concat().join("/");
                found.insert(place, circle.join(", "));
            }
        }
    }
    check("cycle", &found);
}

/// Uses of one child of a folder by another, each with a file and a line.
type Arrows = BTreeMap<(String, String), (String, usize)>;

/// The arrows between the children of every folder.
fn siblings(tree: &Tree) -> BTreeMap<Module, Arrows> {
    let mut found: BTreeMap<Module, Arrows> = BTreeMap::new();
    for (from, to, line) in tree.uses() {
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(common), to.get(common)) {
            let arrows = found.entry(from[..common].to_vec()).or_default();
            let file = tree.file(&from).to_owned();
            arrows.entry((a.clone(), b.clone())).or_insert((file, line));
        }
    }
    found
}

fn reaches(from: &str, to: &str, arrows: &Arrows) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            let onward = arrows.keys().filter(|(start, _)| start == module);
            next.extend(onward.map(|(_, end)| &**end));
        }
    }
    seen.contains(to)
}
