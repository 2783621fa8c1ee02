//! `*.index.json`: which file holds which tensor.
//!
//! ```text
//! {"metadata": {"total_size": 944},
//!  "weight_map": {"model.norm.weight": "model-00003-of-00003.safetensors", ..}}
//! ```
//!
//! The file names are joined to the index's own folder, so one that would leave it is refused.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::de::{Deserializer, MapAccess, Visitor};

use super::search::Search;
use super::sets::{MOST_MISSING, Set, missing_shard, more_missing};
use super::shown_name;
use crate::error::{Error, Result};
use crate::text::shortened;

/// The largest indexes of today come to some ten megabytes.
const MAX_BYTES: u64 = 256 << 20;

/// An index, read.
#[derive(Debug)]
pub(crate) struct Index {
    /// Where it lies.
    pub(super) path: PathBuf,
    /// The files it names, sorted.
    pub(super) files: Vec<String>,
    /// Each tensor, and the position of its file in `files`.
    pub(super) entries: Vec<(Box<str>, u32)>,
}

impl Index {
    pub(super) fn read(path: &Path, search: &Search<'_>) -> Result<Self> {
        let text = search.read(path, MAX_BYTES)?;
        // A name and a number take at most four times the shortest entry's text.
        search.charge_parsed(path, &text, 4, "an index")?;
        let document: Document = serde_json::from_slice(&text).map_err(|error| {
            Error::malformed(format!("not a valid shard index ({error})"))
                .in_file(path)
                .hint("fetch the index again, or open the weight files by name")
        })?;
        let entries = document.weight_map.entries.len() as u64;
        search.budget.items(entries, "index entries").map_err(|e| e.in_file(path))?;
        Ok(document.weight_map.sorted(path.to_owned()))
    }

    /// The files as a set of weights; those that are missing become findings.
    pub(super) fn into_set(self, search: &Search<'_>) -> Result<Set> {
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let mut set = Set::new(shown_name(&self.path));
        let mut seen = HashSet::new();
        let inside = self.files.iter().filter(|name| stays_inside(name));
        search.ask_for(inside.map(|name| folder.join(name)).collect())?;
        for (name, tensors) in self.files.iter().zip(self.counts()) {
            if !stays_inside(name) {
                return Err(self.leads_out(name));
            }
            let file = folder.join(name);
            if !seen.insert(file.clone()) {
                continue;
            }
            if search.is_file(&file) {
                set.files.push(file);
                continue;
            }
            if set.missing.len() < MOST_MISSING {
                let all = self.entries.len();
                let holds = format!("it holds {tensors} of the {all} tensors in {}", set.label);
                set.findings.push(missing_shard(&file, &holds, search));
            }
            set.missing.push(name.clone());
        }
        set.findings.extend(more_missing(set.missing.len()));
        set.index = Some(self);
        Ok(set)
    }

    /// Every tensor, and the file it should be in.
    pub(crate) fn promises(&self) -> impl Iterator<Item = (&str, &str)> {
        let file = |at: u32| self.files.get(at as usize).map_or("", String::as_str);
        self.entries.iter().map(move |(name, at)| (&**name, file(*at)))
    }

    /// How many tensors each file holds.
    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.files.len()];
        for (_, file) in &self.entries {
            if let Some(count) = counts.get_mut(*file as usize) {
                *count += 1;
            }
        }
        counts
    }

    fn leads_out(&self, name: &str) -> Error {
        let name = shortened(name, 200);
        Error::malformed(format!("the index names `{name}`, which is outside its directory"))
            .in_file(&self.path)
            .hint("a valid index never does this; do not trust the download")
    }
}

fn stays_inside(name: &str) -> bool {
    let plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !name.is_empty() && !name.contains(['\\', '\0']) && Path::new(name).components().all(plain)
}

#[derive(serde::Deserialize)]
struct Document {
    weight_map: WeightMap,
}

#[derive(Default)]
struct WeightMap {
    files: HashMap<String, u32, foldhash::fast::RandomState>,
    entries: Vec<(Box<str>, u32)>,
}

impl WeightMap {
    /// Puts the files into the order of their names, which is the order of the shards.
    fn sorted(self, path: PathBuf) -> Index {
        let mut files: Vec<(String, u32)> = self.files.into_iter().collect();
        files.sort();
        let mut moved = vec![0; files.len()];
        for (new, (_, old)) in (0u32..).zip(&files) {
            moved[*old as usize] = new;
        }
        let place = |(name, old): (Box<str>, u32)| (name, moved[old as usize]);
        let entries = self.entries.into_iter().map(place).collect();
        Index { path, files: files.into_iter().map(|(name, _)| name).collect(), entries }
    }
}

impl<'de> serde::Deserialize<'de> for WeightMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = WeightMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from tensor names to file names under `weight_map`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WeightMap, A::Error> {
                let mut all = WeightMap::default();
                while let Some((tensor, file)) = map.next_entry::<Box<str>, String>()? {
                    let file = file.trim_start_matches("./").to_owned();
                    let next = u32::try_from(all.files.len()).unwrap_or(u32::MAX);
                    let at = *all.files.entry(file).or_insert(next);
                    all.entries.push((tensor, at));
                }
                Ok(all)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_leave_the_folder() {
        for name in ["../a", "/etc/passwd", "a/../../b", "", "..", "a\\b"] {
            assert!(!stays_inside(name), "{name}");
        }
        assert!(stays_inside("a/b.safetensors") && stays_inside("./a"));
    }

    #[test]
    fn files_come_in_the_order_of_their_names() {
        let text = r#"{"weight_map": {"x": "b", "y": "a", "z": "b"}}"#;
        let document: Document = serde_json::from_str(text).unwrap();
        let index = document.weight_map.sorted(PathBuf::new());
        assert_eq!(index.files, ["a", "b"]);
        assert_eq!(index.entries.iter().map(|e| e.1).collect::<Vec<_>>(), [1, 0, 1]);
    }
}
