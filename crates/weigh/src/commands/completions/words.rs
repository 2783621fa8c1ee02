//! Completes the words of a command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::{Arg, ArgMatches, ValueHint};
use clap_complete::engine::ArgValueCompleter;

use super::names;
use crate::args::{command, first_word};

/// Arguments that take a model.
const MODELS: &[&str] = &["models", "model", "a", "b", "against"];

/// Arguments that take a weight name or an expression that matches one.
const NAMES: &[&str] = &["name", "names", "include", "exclude"];

/// The command that completes these words. The first word is `weigh`.
pub(super) fn command_for(words: &[OsString]) -> clap::Command {
    let whole = command();
    let models = models_in(words, &whole);
    match verb_in(words, &whole) {
        Some(_) => {
            let verbs: Vec<String> =
                whole.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
            let with_names = |whole: clap::Command, verb| {
                whole.mut_subcommand(verb, |verb| completing_names(verb, &models))
            };
            verbs.into_iter().fold(whole, with_names)
        }
        // `weigh MODEL`: files are candidates as well as commands.
        None => {
            let Some(inspect) = whole.find_subcommand("inspect").filter(|_| words.len() > 2) else {
                let model = Arg::new("models").value_hint(ValueHint::AnyPath);
                return whole.arg(model);
            };
            let everywhere = whole.get_arguments().filter(|arg| arg.is_global_set()).cloned();
            completing_names(inspect.clone().args(everywhere), &models)
        }
    }
}

fn verb_in<'c>(words: &[OsString], whole: &'c clap::Command) -> Option<&'c clap::Command> {
    whole.find_subcommand(first_word(words, whole)?)
}

/// The models named so far, parsed like a real command line.
fn models_in(words: &[OsString], whole: &clap::Command) -> Vec<PathBuf> {
    let mut words = words.to_vec();
    if verb_in(&words, whole).is_none() && words.len() > 1 {
        words.insert(1, "inspect".into());
    }
    // The last word is usually incomplete and names nothing yet.
    let all = whole.clone().ignore_errors(true).try_get_matches_from(&words);
    let Some((_, matches)) = all.ok().and_then(|mut all| all.remove_subcommand()) else {
        return Vec::new();
    };
    MODELS.iter().flat_map(|id| values(&matches, id)).map(PathBuf::from).collect()
}

fn values(matches: &ArgMatches, id: &str) -> Vec<OsString> {
    let raw = matches.try_get_raw(id).ok().flatten();
    raw.map_or(Vec::new(), |values| values.map(OsStr::to_owned).collect())
}

/// Adds completion of weight names to a command.
fn completing_names(verb: clap::Command, models: &[PathBuf]) -> clap::Command {
    verb.mut_args(|arg| {
        if !NAMES.contains(&arg.get_id().as_str()) {
            return arg;
        }
        let models = models.to_vec();
        arg.add(ArgValueCompleter::new(move |typed: &OsStr| names::starting_with(typed, &models)))
    })
}
