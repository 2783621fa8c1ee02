//! The projector classes as a list for people: names, what they encode, and what was checked.

use super::{PROJECTORS, Projector};

/// A line a class: its name and how many repositories are compared with the converter's files.
const EVIDENCE: &str = include_str!("evidence.tsv");

/// A projector class in the list.
pub struct ListedProjector {
    /// Its name.
    pub name: &'static str,
    /// Class names in configs.
    pub classes: &'static [&'static str],
    /// What it encodes: `images`, `audio`, or both.
    pub encodes: Vec<&'static str>,
    /// Repositories whose projector files are compared with the converter's, byte for byte.
    pub compared: u64,
}

/// All projector classes, by name.
#[must_use]
pub fn listed() -> Vec<ListedProjector> {
    let mut all: Vec<ListedProjector> = PROJECTORS.iter().map(of).collect();
    all.sort_by_key(|projector| projector.name);
    all
}

fn of(projector: &Projector) -> ListedProjector {
    const ENCODERS: [(&str, &str); 2] =
        [("has_vision_encoder", "images"), ("has_audio_encoder", "audio")];
    let has = |key: &str| projector.keys.iter().copied().flatten().any(|row| row.0 == key);
    ListedProjector {
        name: projector.shown,
        classes: projector.classes,
        encodes: ENCODERS.iter().filter(|(key, _)| has(key)).map(|(_, what)| *what).collect(),
        compared: compared(projector.shown),
    }
}

fn compared(name: &str) -> u64 {
    let rows = EVIDENCE.lines().filter_map(|line| line.split_once('\t'));
    let mut own = rows.filter(|(class, _)| *class == name);
    own.next().and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::super::of_config;
    use super::*;

    /// With `BLESS` set, the table is written instead.
    #[test]
    fn evidence_is_that_of_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut found: BTreeMap<&str, u64> = PROJECTORS.iter().map(|one| (one.shown, 0)).collect();
        for entry in std::fs::read_dir(root.join("../../tests/files/to-mmproj")).unwrap() {
            let Ok(config) = std::fs::read(entry.unwrap().path().join("hf/config.json")) else {
                continue;
            };
            let config = serde_json::from_slice(&config).unwrap();
            *found.entry(of_config(&config).unwrap().shown).or_default() += 1;
        }
        let line = |(name, count): (&&str, &u64)| format!("{name}\t{count}\n");
        let table: String = found.iter().map(line).collect();
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(root.join("src/projectors/evidence.tsv"), &table).unwrap();
        } else {
            assert_eq!(EVIDENCE, table, "BLESS=1 writes it");
        }
    }

    #[test]
    fn every_class_encodes_something() {
        for projector in listed() {
            assert!(!projector.encodes.is_empty(), "{}", projector.name);
            assert!(!projector.classes.is_empty(), "{}", projector.name);
        }
    }
}
