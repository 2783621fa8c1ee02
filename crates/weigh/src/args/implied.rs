//! Expands `weigh MODEL` to `weigh inspect MODEL`.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use weighbridge::internals::near::closest;
use weighbridge::internals::text::{escaped, listed};
use weighbridge::{Error, OpenOptions};

/// The default command.
const IMPLIED: &str = "inspect";

/// Verbs of other programs, and the verbs of this one that do the same or come nearest.
const SYNONYMS: &[(&str, &[&str])] = &[
    ("cat", &["show"]),
    ("check", &["verify", "inspect"]),
    ("checksum", &["hash"]),
    ("compare", &["diff"]),
    ("compress", &["quantize"]),
    ("copy", &["convert"]),
    ("decode", &["dequantize"]),
    ("dump", &["inspect", "show"]),
    ("edit", &["convert"]),
    ("explain", &["errors"]),
    ("export", &["convert"]),
    ("info", &["inspect"]),
    ("list", &["inspect"]),
    ("ls", &["inspect"]),
    ("merge", &["convert", "diff"]),
    ("metadata", &["inspect"]),
    ("print", &["show", "inspect"]),
    ("read", &["show", "inspect"]),
    ("rename", &["convert"]),
    ("sha", &["hash"]),
    ("split", &["convert"]),
    ("summary", &["inspect", "stats"]),
    ("test", &["verify"]),
    ("validate", &["verify", "inspect"]),
    ("view", &["inspect", "show"]),
    ("write", &["convert"]),
];

/// The arguments with the verb that they imply.
///
/// A verb is a verb even if a file has its name: `./diff` is the file. A word that is neither a verb
/// nor a model is an error.
pub(crate) fn with_verb(
    mut args: Vec<OsString>,
    command: &clap::Command,
) -> Result<Vec<OsString>, Error> {
    let words = words(&args, command);
    let Some(word) = words.first() else { return Ok(args) };
    let is_verb = |text: &str| text == "help" || command.find_subcommand(text).is_some();
    if word.to_str().is_some_and(is_verb) {
        return Ok(args);
    }
    if let Some(text) = word.to_str().filter(|text| may_be_verb(text, command))
        && let Some(error) = not_a_model(word)
    {
        return Err(unknown(text, words.len() == 1, &error, command));
    }
    args.insert(1, IMPLIED.into());
    Ok(args)
}

/// The first argument that is no flag, where the verb or a model should be.
pub(crate) fn first_word<'a>(args: &'a [OsString], command: &clap::Command) -> Option<&'a OsStr> {
    words(args, command).first().copied()
}

/// The arguments that are neither flags nor their values.
fn words<'a>(args: &'a [OsString], command: &clap::Command) -> Vec<&'a OsStr> {
    let (mut words, mut rest) = (Vec::new(), args.iter().skip(1));
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy();
        match text.strip_prefix("--") {
            Some("") => words.extend(rest.by_ref().map(OsString::as_os_str)),
            Some(flag) if takes_value(flag, command) => drop(rest.next()),
            Some(_) => {}
            None if text.len() > 1 && text.starts_with('-') => {}
            None => words.push(arg.as_os_str()),
        }
    }
    words
}

/// Whether the next argument is the value of this flag, of those that may come before a verb or,
/// where none is given, before a model.
fn takes_value(flag: &str, command: &clap::Command) -> bool {
    let implied =
        command.find_subcommand(IMPLIED).into_iter().flat_map(clap::Command::get_arguments);
    let is_it = |arg: &&clap::Arg| arg.get_long() == Some(flag);
    let found = command.get_arguments().chain(implied).find(is_it);
    found.is_some_and(|arg| arg.get_action().takes_values())
}

/// Whether a word reads as a verb: letters alone, or close to a verb. Names of models have digits,
/// capitals, dots or slashes more often than not.
fn may_be_verb(word: &str, command: &clap::Command) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_letter = |c: char| c.is_ascii_lowercase() || "-_".contains(c);
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(is_plain)
        && (word.chars().all(is_letter) || !near_verbs(word, command).is_empty())
}

/// Why nothing of that name is a model; `None` if something is, even if it cannot be read.
fn not_a_model(word: &OsStr) -> Option<Error> {
    if Path::new(word).exists() {
        return None;
    }
    let error = OpenOptions::new().open_all(word).err()?;
    let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
    let is_missing = source.is_some_and(|source| source.kind() == io::ErrorKind::NotFound);
    is_missing.then_some(error)
}

/// The verbs that a word may stand for, the nearest first.
fn near_verbs(word: &str, command: &clap::Command) -> Vec<String> {
    let lower = word.to_lowercase();
    let same = SYNONYMS.iter().find(|(other, _)| *other == lower);
    let same = same.into_iter().flat_map(|(_, verbs)| *verbs).map(|verb| (*verb).to_owned());
    let known = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let mut verbs: Vec<String> = same.collect();
    verbs.extend(closest(word, known.map(clap::Command::get_name)));
    verbs
}

/// The error for a word that is neither a verb nor a model. Where nothing follows it, a model may
/// have been meant: `missing` says what was looked for.
fn unknown(word: &str, is_alone: bool, missing: &Error, command: &clap::Command) -> Error {
    let verbs: Vec<String> =
        near_verbs(word, command).iter().map(|verb| format!("`weigh {verb}`")).collect();
    let model =
        if is_alone { ", and no file, directory or cached model has that name" } else { "" };
    let hint = match missing.hint_text().filter(|_| is_alone) {
        _ if !verbs.is_empty() => format!("did you mean {}? ", listed(&verbs, "or")),
        Some(hint) => format!("{hint}; "),
        None => String::new(),
    };
    Error::usage(format!("unknown command \"{}\"{model}", escaped(word)))
        .hint(format!("{hint}`weigh --help` lists the commands"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    fn parsed(args: &[&str]) -> String {
        let args = args.iter().map(OsString::from).collect();
        let args = with_verb(args, &command()).unwrap();
        args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_model_stands_for_its_inspection() {
        assert_eq!(parsed(&["weigh", "a.gguf"]), "weigh inspect a.gguf");
        assert_eq!(parsed(&["weigh", "a.gguf", "--tensors"]), "weigh inspect a.gguf --tensors");
        assert_eq!(parsed(&["weigh", "--json", "a/b"]), "weigh inspect --json a/b");
        assert_eq!(parsed(&["weigh", "Qwen3-8B", "b"]), "weigh inspect Qwen3-8B b");
        assert_eq!(parsed(&["weigh", "src"]), "weigh inspect src", "a directory");
        assert_eq!(parsed(&["weigh", "-"]), "weigh inspect -");
        assert_eq!(parsed(&["weigh", "--", "-a"]), "weigh inspect -- -a");
        let value = ["weigh", "--include", "diff", "a.gguf"];
        assert_eq!(parsed(&value), "weigh inspect --include diff a.gguf");
        let color = ["weigh", "--color", "never", "a.gguf"];
        assert_eq!(parsed(&color), "weigh inspect --color never a.gguf");
    }

    fn refused(args: &[&str]) -> (String, String) {
        let args = args.iter().map(OsString::from).collect();
        let error = with_verb(args, &command()).unwrap_err();
        (error.to_string(), error.hint_text().unwrap_or_default().to_owned())
    }

    #[test]
    fn a_word_that_is_neither_verb_nor_model_is_an_unknown_command() {
        const LIST: &str = "`weigh --help` lists the commands";
        for (word, verbs) in [
            ("inspct", "`weigh inspect`"),
            ("Inspect", "`weigh inspect`"),
            ("quant", "`weigh quantize`"),
            ("merge", "`weigh convert` or `weigh diff`"),
        ] {
            let (message, hint) = refused(&["weigh", word, "a", "b"]);
            assert_eq!(message, format!("unknown command \"{word}\""));
            assert_eq!(hint, format!("did you mean {verbs}? {LIST}"));
        }
        assert_eq!(refused(&["weigh", "zzz", "a"]).1, LIST);
        let (message, hint) = refused(&["weigh", "--json", "zzz"]);
        assert!(message.ends_with("no file, directory or cached model has that name"), "{message}");
        assert!(hint.ends_with(LIST), "{hint}");
    }

    #[test]
    fn verbs_are_left_alone() {
        for line in [
            &["weigh"][..],
            &["weigh", "-h"],
            &["weigh", "--version"],
            &["weigh", "diff", "a", "b"],
            &["weigh", "--color", "never", "diff", "a", "b"],
            &["weigh", "help", "diff"],
        ] {
            assert_eq!(parsed(line), line.join(" "));
        }
    }
}
