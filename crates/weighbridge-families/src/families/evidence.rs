//! What is known of each family from tests and runs, as a table that a test makes.

/// A line a family: its name, how many repositories are compared with the converter's files, the result of
/// the run of an unchanged model, the difference.
pub(super) const EVIDENCE: &str = include_str!("evidence.tsv");

/// A line a class name that llama.cpp's converter knows and no family has: the class, its GGUF architecture,
/// the reason.
pub(super) const MISSING: &str = include_str!("missing.tsv");

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    use serde_json::Value as Json;

    use super::super::{FAMILIES, Family, NAMES, missing_classes, of_config};
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn files(folder: &str) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Repositories with a file of the converter's, by the place of their family in the table.
    fn compared() -> BTreeMap<usize, u64> {
        let mut found = BTreeMap::new();
        for folder in files("tests/files/to-gguf").into_iter().filter(|path| path.is_dir()) {
            let is_golden = |entry: std::io::Result<std::fs::DirEntry>| {
                let name = entry.unwrap().file_name().into_string().unwrap();
                name.starts_with("model-") && name.ends_with(".gguf")
            };
            let config = std::fs::read(folder.join("hf/config.json")).unwrap();
            let config: Json = crate::config::parse(&config).unwrap();
            if std::fs::read_dir(&folder).unwrap().any(is_golden) {
                let family: &Family = of_config(&config).unwrap();
                let at = FAMILIES.iter().position(|known| std::ptr::eq(known, family)).unwrap();
                *found.entry(at).or_default() += 1;
            }
        }
        found
    }

    /// Results and differences of unchanged models, by the name of their file.
    fn runs() -> BTreeMap<String, (String, String)> {
        let mut found = BTreeMap::new();
        for path in files("oracles/settings") {
            let text = std::fs::read_to_string(&path).unwrap();
            let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
            let head = lines.next().unwrap();
            let at = |name: &str| head.iter().position(|field| *field == name).unwrap();
            let base = lines.find(|fields| fields[at("key")] == "baseline");
            let base = base.unwrap_or_else(|| panic!("{} has no baseline", path.display()));
            let result = base[at("result")].to_owned();
            let stem = path.file_stem().unwrap().to_str().unwrap().replace('-', "_");
            found.insert(stem, (result, base[at("difference")].to_owned()));
        }
        found
    }

    /// With `BLESS` set, the table is written instead.
    #[test]
    fn evidence_is_that_of_tests_and_runs() {
        let (compared, runs) = (compared(), runs());
        let line = |(at, (file, name)): (usize, &(&str, &str))| {
            let name = name.to_lowercase();
            let run = runs.get(&name).or_else(|| runs.get(*file));
            let none = ("none".to_owned(), String::new());
            let (result, difference) = run.unwrap_or(&none);
            format!("{name}\t{}\t{result}\t{difference}\n", compared.get(&at).unwrap_or(&0))
        };
        let table: String = NAMES.iter().enumerate().map(line).collect();
        if std::env::var_os("BLESS").is_some() {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/families/evidence.tsv");
            std::fs::write(path, &table).unwrap();
        } else {
            assert_eq!(EVIDENCE, table, "BLESS=1 writes it");
        }
    }

    #[test]
    fn classes_that_are_missing_are_missing() {
        for [class, _, reason] in missing_classes() {
            let known = FAMILIES.iter().find(|family| family.classes.contains(&class));
            assert!(known.is_none(), "{class} is known now");
            assert!(!reason.is_empty(), "{class}");
        }
    }
}
