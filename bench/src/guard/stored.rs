//! Stored counts, and the comparison with them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The percentage by which counts may differ; anything more is a change in the code.
const TOLERANCE: u64 = 3;

/// The instructions of each job, and what they were counted with.
#[derive(Clone, Debug)]
pub struct Counts {
    /// The compiler that built the program.
    pub rustc: String,
    /// The valgrind that counted.
    pub valgrind: String,
    /// The level of the kernels, where a job does not choose one.
    pub level: String,
    /// The instructions of each job.
    pub counts: Vec<(String, u64)>,
}

#[derive(Serialize, Deserialize)]
struct File {
    rustc: String,
    valgrind: String,
    level: String,
    instructions: BTreeMap<String, u64>,
}

impl Counts {
    /// What is stored in a file; `None` where there is none.
    pub fn read(path: &Path) -> Result<Option<Self>, String> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        let file: File =
            serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
        let File { rustc, valgrind, level, instructions } = file;
        Ok(Some(Self { rustc, valgrind, level, counts: instructions.into_iter().collect() }))
    }

    /// Stores the counts.
    pub fn write(self, path: &Path) -> Result<(), String> {
        let Self { rustc, valgrind, level, counts } = self;
        let file = File { rustc, valgrind, level, instructions: counts.into_iter().collect() };
        let text = serde_json::to_string_pretty(&file).expect("it is plain data") + "\n";
        std::fs::create_dir_all(path.parent().unwrap_or(path))
            .and_then(|()| std::fs::write(path, text))
            .map_err(|error| format!("{}: {error}", path.display()))
    }

    /// These counts merged over older ones: a job that was not counted now keeps its old count.
    pub fn over(mut self, older: Option<Self>) -> Self {
        let mut counts: BTreeMap<_, _> =
            older.map_or_else(Vec::new, |o| o.counts).into_iter().collect();
        counts.extend(self.counts);
        self.counts = counts.into_iter().collect();
        self
    }

    fn of(&self, name: &str) -> Option<u64> {
        self.counts.iter().find(|(known, _)| known == name).map(|(_, count)| *count)
    }
}

/// How the counts have changed.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Other circumstances that may explain a difference.
    remarks: Vec<String>,
    /// Name, count before and now.
    slower: Vec<(String, u64, u64)>,
    faster: Vec<(String, u64, u64)>,
    /// Counted now and never before.
    unknown: Vec<String>,
    /// Stored, but there is no such job.
    gone: Vec<String>,
    same: usize,
}

impl Verdict {
    /// Compares the counts; `whole` says that every job was counted.
    pub fn new(before: &Counts, now: &Counts, whole: bool) -> Self {
        let mut verdict = Self::default();
        for (what, before, now) in
            [("rustc", &before.rustc, &now.rustc), ("valgrind", &before.valgrind, &now.valgrind)]
        {
            if before != now {
                verdict.remarks.push(format!(
                    "counts were stored with {what} {before}, this is {now}: that alone may change them"
                ));
            }
        }
        for (name, count) in &now.counts {
            let Some(stored) = before.of(name) else {
                verdict.unknown.push(name.clone());
                continue;
            };
            let (scaled, allowed) = (count * 100, stored * TOLERANCE);
            match stored * 100 {
                before if scaled > before + allowed => {
                    verdict.slower.push((name.clone(), stored, *count));
                }
                before if scaled + allowed < before => {
                    verdict.faster.push((name.clone(), stored, *count));
                }
                _ => verdict.same += 1,
            }
        }
        if whole {
            let gone = before.counts.iter().filter(|(name, _)| now.of(name).is_none());
            verdict.gone = gone.map(|(name, _)| name.clone()).collect();
        }
        verdict
    }

    /// Whether something got slower, or is not guarded as it should be.
    pub fn failed(&self) -> bool {
        !(self.slower.is_empty() && self.unknown.is_empty() && self.gone.is_empty())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for remark in &self.remarks {
            writeln!(f, "note: {remark}")?;
        }
        for (what, list) in [("SLOWER", &self.slower), ("faster", &self.faster)] {
            for (name, before, now) in list {
                let percent = (*now as f64 / (*before).max(1) as f64 - 1.0) * 100.0;
                writeln!(f, "{what} {name}: {before} -> {now} instructions ({percent:+.1} %)")?;
            }
        }
        for name in &self.unknown {
            writeln!(f, "NOT STORED {name}: run with --bless")?;
        }
        for name in &self.gone {
            writeln!(f, "GONE {name}: it is stored, but there is no such job; run with --bless")?;
        }
        writeln!(
            f,
            "{} within {TOLERANCE} %, {} slower, {} faster",
            self.same,
            self.slower.len(),
            self.faster.len()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(list: &[(&str, u64)]) -> Counts {
        Counts {
            rustc: "rustc 1".into(),
            valgrind: "valgrind-3".into(),
            level: "avx2".into(),
            counts: list.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect(),
        }
    }

    #[test]
    fn only_what_is_beyond_the_tolerance_fails() {
        let before = counts(&[("a", 1000), ("b", 1000)]);
        let verdict = Verdict::new(&before, &counts(&[("a", 1030), ("b", 970)]), true);
        assert!(!verdict.failed() && verdict.same == 2, "{verdict}");
        let verdict = Verdict::new(&before, &counts(&[("a", 1031), ("b", 1000)]), true);
        assert!(verdict.failed());
        assert!(verdict.to_string().contains("SLOWER a: 1000 -> 1031 instructions (+3.1 %)"));
    }

    #[test]
    fn an_improvement_is_told_and_is_no_failure() {
        let verdict = Verdict::new(&counts(&[("a", 1000)]), &counts(&[("a", 500)]), true);
        assert!(!verdict.failed());
        assert!(verdict.to_string().contains("faster a: 1000 -> 500 instructions (-50.0 %)"));
    }

    #[test]
    fn every_job_must_be_stored_and_every_stored_one_counted() {
        let before = counts(&[("a", 1000), ("b", 1000)]);
        assert!(
            Verdict::new(&before, &counts(&[("a", 1000), ("b", 1000), ("c", 1)]), true).failed()
        );
        assert!(Verdict::new(&before, &counts(&[("a", 1000)]), true).failed());
        assert!(!Verdict::new(&before, &counts(&[("a", 1000)]), false).failed());
    }

    #[test]
    fn another_compiler_is_told() {
        let now = Counts { rustc: "rustc 2".into(), ..counts(&[("a", 1)]) };
        let verdict = Verdict::new(&counts(&[("a", 1)]), &now, true).to_string();
        assert!(verdict.contains("stored with rustc rustc 1, this is rustc 2"), "{verdict}");
    }

    #[test]
    fn blessing_a_part_keeps_the_rest() {
        let both = counts(&[("b", 2)]).over(Some(counts(&[("a", 1), ("b", 1)])));
        assert_eq!((both.of("a"), both.of("b")), (Some(1), Some(2)));
    }
}
