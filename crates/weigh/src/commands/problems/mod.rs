//! `weigh errors`: every kind of problem, warning and error, with an example and a fix.
//!
//! `docs/problems.md` is a copy of the text, and a test compares them.

use std::fmt::Write as _;
use std::io::Write as _;

use clap::Args as ClapArgs;
use weighbridge::Error;
use weighbridge::internals::text::escaped;

use super::{Outcome, after_write, near};
use crate::render::TITLE;
use crate::render::wrap::wrapped;
use crate::terminal;

/// The page. Each second-level section is a kind.
const PAGE: &str = include_str!("problems.md");

#[derive(ClapArgs)]
#[command(
    about = "Explain problems, warnings and errors, with examples and fixes",
    long_about = topic(),
    after_help = "Example: weigh errors truncated orphan"
)]
pub(crate) struct Errors {
    /// Kinds of problems, warnings or errors [default: all]
    kinds: Vec<String>,
}

/// A kind and its text.
struct Section {
    kind: &'static str,
    text: &'static str,
}

fn sections() -> impl Iterator<Item = Section> {
    PAGE.split("\n## ").skip(1).filter_map(|section| {
        let (kind, text) = section.split_once('\n')?;
        // The last section of a part is followed by the heading of the next part.
        let text = text.split("\n# ").next().unwrap_or(text);
        Some(Section { kind, text: text.trim() })
    })
}

/// The text about a kind.
pub(super) fn section(kind: &str) -> Option<&'static str> {
    sections().find(|section| section.kind == kind).map(|section| section.text)
}

/// The whole page for a terminal, with styled headings.
fn topic() -> String {
    PAGE.lines().fold(String::new(), |mut out, line| {
        let title = line.trim_start_matches('#').trim_start();
        let _ = if line.starts_with('#') {
            writeln!(out, "{TITLE}{title}{TITLE:#}")
        } else {
            writeln!(out, "{line}")
        };
        out
    })
}

pub(super) fn run(args: &Errors) -> Outcome {
    let all: Vec<Section> = sections().collect();
    for kind in &args.kinds {
        if all.iter().all(|section| section.kind != kind) {
            return unknown(kind, &all);
        }
    }
    let is_asked = |section: &&Section| {
        args.kinds.is_empty() || args.kinds.iter().any(|kind| kind == section.kind)
    };
    let width = terminal::width();
    let written = terminal::print(|out| {
        for (index, Section { kind, text }) in all.iter().filter(is_asked).enumerate() {
            let gap = if index > 0 { "\n" } else { "" };
            writeln!(out, "{gap}{TITLE}{kind}{TITLE:#}")?;
            for line in text.lines().filter(|line| !line.is_empty()) {
                let indent = 2 + line.len() - line.trim_start().len();
                write!(out, "{:indent$}", "")?;
                wrapped(out, width, indent, indent, line.trim_start())?;
            }
        }
        Ok(())
    });
    after_write(written, Outcome::Done)
}

fn unknown(kind: &str, all: &[Section]) -> Outcome {
    let close = near::names(kind, all.iter().map(|section| section.kind));
    let hint = match close.first() {
        Some(close) => format!("did you mean {close}?"),
        None => "`weigh help errors` lists all kinds".to_owned(),
    };
    let error = Error::usage(format!("unknown kind of problem '{}'", escaped(kind))).hint(&hint);
    terminal::report(&error);
    Outcome::Failed
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use weighbridge::ErrorKind;
    use weighbridge::catalog::KINDS;
    use weighbridge::ops::ODDITY_KINDS;

    use super::*;

    #[test]
    fn every_kind_has_its_section_with_an_example_and_what_to_do() {
        let kinds: Vec<&str> = sections().map(|section| section.kind).collect();
        let errors = [
            ErrorKind::Io,
            ErrorKind::Malformed,
            ErrorKind::Unsupported,
            ErrorKind::Limit,
            ErrorKind::Usage,
            ErrorKind::Cancelled,
        ];
        let errors = errors.map(ErrorKind::name);
        assert_eq!(kinds, [KINDS, &ODDITY_KINDS, &errors].concat());
        for Section { kind, text } in sections() {
            assert!(text.contains("\n\n    "), "{kind} has no example");
            assert!(text.contains("\n\nWhat to do: "), "{kind} does not say what to do");
        }
    }

    #[test]
    fn the_documentation_has_the_same_page() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/problems.md");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, PAGE).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), PAGE, "BLESS=1 writes it");
    }
}
