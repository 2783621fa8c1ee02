//! The modules of a crate, and which module a path leads to, through the names that others export.

use std::collections::BTreeMap;

use super::paths::{Path, paths};
use super::sources::SourceFile;

/// A module: the names of its ancestors and its own, from the crate's root.
pub type Module = Vec<String>;

/// The modules of one crate.
pub struct Tree {
    /// What each module writes: its file, and its paths.
    pub modules: BTreeMap<Module, (String, Vec<Path>)>,
}

impl Tree {
    /// The modules of the files of a crate.
    pub fn of(files: &[SourceFile], folder: &str) -> Self {
        let own = files.iter().filter_map(|file| Some((file, file.below(folder)?)));
        let module = |(file, inside): (&SourceFile, &str)| {
            (module_of(inside), (file.path.clone(), paths(&file.tokens)))
        };
        Self { modules: own.map(module).collect() }
    }

    /// Every use of a module by another: from, to, and the line.
    pub fn uses(&self) -> Vec<(Module, Module, usize)> {
        let mut found = Vec::new();
        for (from, (_, paths)) in &self.modules {
            for path in paths {
                if let Some(to) = self.target(from, &path.segments) {
                    found.push((from.clone(), to, path.line));
                }
            }
        }
        found
    }

    /// The module that holds what a path names, as far as that is one of this crate.
    fn target(&self, from: &Module, segments: &[String]) -> Option<Module> {
        let mut base = from.clone();
        let mut rest = segments;
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (Module::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|word| word == "super") {
                    base.pop()?;
                    rest = &rest[1..];
                }
            }
            // A path from here is that of a child, or leads out of the crate.
            word => _ = self.modules.get(&child(from, word))?,
        }
        self.follow(base, rest, 0)
    }

    /// Walks down a path; a name that a module only exports leads to where it comes from.
    fn follow(&self, mut base: Module, mut rest: &[String], depth: usize) -> Option<Module> {
        while let Some(name) = rest.first() {
            let below = child(&base, name);
            if self.modules.contains_key(&below) {
                (base, rest) = (below, &rest[1..]);
                continue;
            }
            return match self.exported(&base, name).filter(|_| depth < 8) {
                Some((Some(from), path)) => {
                    let path: Vec<String> = path.iter().chain(&rest[1..]).cloned().collect();
                    self.follow(from, &path, depth + 1)
                }
                // It comes from another crate.
                Some((None, _)) => None,
                None => Some(base),
            };
        }
        Some(base)
    }

    /// Where a name comes from that a module imports or exports: the module that the path starts from
    /// (none in another crate), and the path.
    fn exported(&self, module: &Module, name: &str) -> Option<(Option<Module>, Vec<String>)> {
        let (_, paths) = self.modules.get(module)?;
        let path = paths.iter().find(|path| path.is_import && path.name == name)?;
        let first = path.segments.first()?.as_str();
        let (start, skip) = match first {
            "crate" => (Module::new(), 1),
            "self" => (module.clone(), 1),
            "super" => {
                let supers = path.segments.iter().take_while(|word| *word == "super").count();
                (module[..module.len().checked_sub(supers)?].to_vec(), supers)
            }
            _ if self.modules.contains_key(&child(module, first)) => (module.clone(), 0),
            _ => return Some((None, Vec::new())),
        };
        Some((Some(start), path.segments[skip..].to_vec()))
    }

    /// The file of a module.
    pub fn file(&self, module: &Module) -> &str {
        self.modules.get(module).map_or("", |(file, _)| file)
    }
}

fn child(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

/// The module of a file below `src`.
fn module_of(inside: &str) -> Module {
    let stem = inside.trim_end_matches(".rs");
    let mut parts: Module = stem.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

#[test]
fn paths_lead_through_exports() {
    let source = |path: &str, text: &str| SourceFile {
        path: format!("a/src/{path}"),
        tokens: super::tokens::tokens(text),
    };
    let files = [
        source("lib.rs", "mod x; mod y; pub use x::{Thing, deep::Deep}; use other::Far;"),
        source("x/mod.rs", "pub mod deep; pub struct Thing;"),
        source("x/deep.rs", "pub struct Deep;"),
        source("y.rs", "use crate::Deep; use super::Thing; fn f(_: crate::Far) {}"),
    ];
    let tree = Tree::of(&files, "a/src");
    let of_y: Vec<String> = tree
        .uses()
        .into_iter()
        .filter(|(from, ..)| from == &["y"])
        .map(|(_, to, _)| to.join("::"))
        .collect();
    assert_eq!(of_y, ["x::deep", "x"]);
}
