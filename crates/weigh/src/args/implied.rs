//! Expands `weigh MODEL` to `weigh inspect MODEL`.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::error::{ContextKind, ErrorKind};
use weighbridge::OpenOptions;

/// The default command.
const IMPLIED: &str = "inspect";

/// The arguments with the verb that they imply.
///
/// A verb is a verb even if a file has its name: `./diff` is the file. A word that looks like a
/// mistyped verb is left for clap to say so, unless there is a model of that name.
pub(crate) fn with_verb(mut args: Vec<OsString>, command: &clap::Command) -> Vec<OsString> {
    if first_word(&args, command).is_some_and(|word| is_model(word, command)) {
        args.insert(1, IMPLIED.into());
    }
    args
}

/// The first argument that is no flag, where the verb or a model should be.
pub(crate) fn first_word<'a>(args: &'a [OsString], command: &clap::Command) -> Option<&'a OsStr> {
    let mut rest = args.iter().skip(1);
    while let Some(arg) = rest.next() {
        let text = arg.to_string_lossy();
        match text.strip_prefix("--") {
            Some("") => return rest.next().map(OsString::as_os_str),
            Some(flag) if takes_value(flag, command) => drop(rest.next()),
            Some(_) => {}
            None if text.len() > 1 && text.starts_with('-') => {}
            None => return Some(arg),
        }
    }
    None
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

fn is_model(word: &OsStr, command: &clap::Command) -> bool {
    let is_verb = |text: &str| text == "help" || command.find_subcommand(text).is_some();
    if word.to_str().is_some_and(is_verb) {
        return false;
    }
    Path::new(word).exists() || !is_like_a_verb(word, command) || is_in_a_store(word)
}

/// Whether clap would suggest a verb.
fn is_like_a_verb(word: &OsStr, command: &clap::Command) -> bool {
    match command.clone().try_get_matches_from([OsStr::new("weigh"), word]) {
        Err(error) => {
            error.kind() == ErrorKind::InvalidSubcommand
                && error.get(ContextKind::SuggestedSubcommand).is_some()
        }
        Ok(_) => false,
    }
}

fn is_in_a_store(word: &OsStr) -> bool {
    OpenOptions::new().open_all(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::command;

    fn parsed(args: &[&str]) -> String {
        let args = args.iter().map(OsString::from).collect();
        let args = with_verb(args, &command());
        args.iter().map(|arg| arg.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_model_stands_for_its_inspection() {
        assert_eq!(parsed(&["weigh", "a.gguf"]), "weigh inspect a.gguf");
        assert_eq!(parsed(&["weigh", "a.gguf", "--tensors"]), "weigh inspect a.gguf --tensors");
        assert_eq!(parsed(&["weigh", "--json", "a/b"]), "weigh inspect --json a/b");
        assert_eq!(parsed(&["weigh", "-"]), "weigh inspect -");
        assert_eq!(parsed(&["weigh", "--", "-a"]), "weigh inspect -- -a");
        let value = ["weigh", "--include", "diff", "a.gguf"];
        assert_eq!(parsed(&value), "weigh inspect --include diff a.gguf");
        let color = ["weigh", "--color", "never", "a.gguf"];
        assert_eq!(parsed(&color), "weigh inspect --color never a.gguf");
    }

    #[test]
    fn verbs_and_what_looks_like_one_are_left_alone() {
        for line in [
            &["weigh"][..],
            &["weigh", "-h"],
            &["weigh", "--version"],
            &["weigh", "diff", "a", "b"],
            &["weigh", "--color", "never", "diff", "a", "b"],
            &["weigh", "help", "diff"],
            &["weigh", "inspct", "a.gguf"],
        ] {
            assert_eq!(parsed(line), line.join(" "));
        }
    }
}
