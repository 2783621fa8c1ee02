//! Suggests the next command, quoted for a shell.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{ArgMatches, CommandFactory as _, parser::ValueSource};

use crate::args::Args;

/// Options that do not affect the result.
const OF_A_RUN: [&str; 7] =
    ["color", "threads", "max_memory", "json", "json_lines", "quiet", "verbose"];

/// The command that verifies an output, with the options that produced it; `None` if it cannot be
/// shown on one line.
pub(super) fn verify(output: &Path, model: &Path, dequantized: bool) -> Option<String> {
    verify_of(std::env::args_os(), output, model, dequantized)
}

/// The command that verifies an output of the command line `typed`.
fn verify_of(
    typed: impl IntoIterator<Item = OsString>,
    output: &Path,
    model: &Path,
    dequantized: bool,
) -> Option<String> {
    let typed = Args::command().try_get_matches_from(typed).ok()?;
    let (_, made) = typed.subcommand()?;
    let mut words = vec![OsString::from("weigh"), "verify".into(), output.into()];
    words.extend(["--against".into(), OsString::from(model)]);
    // A directory says so itself.
    if dequantized && output.is_file() {
        words.push("--dequantized".into());
    }
    words.extend(shared_flags(made)?);
    let words: Option<Vec<String>> = words.iter().map(|word| quoted(word)).collect();
    words.map(|words| words.join(" "))
}

/// The given options that `verify` also takes.
fn shared_flags(made: &ArgMatches) -> Option<Vec<OsString>> {
    let command = Args::command();
    let verify = command.find_subcommand("verify")?;
    let mut flags = Vec::new();
    for flag in verify.get_arguments().filter(|flag| !flag.is_positional()) {
        let id = flag.get_id().as_str();
        let (true, Some(long)) = (!OF_A_RUN.contains(&id), flag.get_long()) else { continue };
        let is_given = made.ids().any(|known| known.as_str() == id)
            && made.value_source(id) == Some(ValueSource::CommandLine);
        if !is_given {
            continue;
        }
        let long = OsString::from(format!("--{long}"));
        if flag.get_action().takes_values() {
            made.get_raw(id)?.for_each(|value| flags.extend([long.clone(), value.into()]));
        } else {
            flags.push(long);
        }
    }
    Some(flags)
}

/// Quotes a word for a shell; `None` if it has control characters or is not UTF-8.
pub(crate) fn quoted(word: &OsStr) -> Option<String> {
    let word = word.to_str().filter(|word| !word.chars().any(char::is_control))?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    Some(if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(typed: &str) -> Option<String> {
        let typed = typed.split_whitespace().map(OsString::from);
        verify_of(typed, Path::new("out dir"), Path::new("m"), false)
    }

    #[test]
    fn the_flags_of_the_output_are_repeated() {
        assert_eq!(after("weigh convert m -o x").unwrap(), "weigh verify 'out dir' --against m");
        assert_eq!(
            after("weigh convert -q m -o x -j 4 --force --dtype bf16 --cast a(b)=f32 --cast c=f16")
                .unwrap(),
            "weigh verify 'out dir' --against m --dtype bf16 --cast 'a(b)=f32' --cast c=f16"
        );
        assert_eq!(
            after("weigh dequantize m -o x --follow-links --include re --max-total 1GiB --skip-unreadable")
                .unwrap(),
            "weigh verify 'out dir' --against m --skip-unreadable --include re --max-total 1GiB"
        );
        assert_eq!(after("something else entirely"), None);
    }

    #[test]
    fn words_are_quoted() {
        let quoted = |word: &str| quoted(OsStr::new(word));
        assert_eq!(quoted("a-b/c.gguf").unwrap(), "a-b/c.gguf");
        assert_eq!(quoted("").unwrap(), "''");
        assert_eq!(quoted("it's $HOME").unwrap(), r"'it'\''s $HOME'");
        assert_eq!(quoted("a\x1b[2J"), None);
    }
}
