//! What to do about a problem, in the words of this command.
//!
//! The library says what would help; which flag or verb that is, is said here and nowhere else.

use weighbridge::{Error, Remedy};

/// The words after `hint:`; `None` where nobody knows a way out.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let advice = error.hint_text().map(str::to_owned);
    let words: Vec<String> =
        advice.into_iter().chain(error.remedies().iter().filter_map(|&one| words(one))).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// One remedy; `None` for what this command does not offer.
pub(crate) fn words(remedy: Remedy) -> Option<String> {
    let words = match remedy {
        Remedy::Overwrite => "--force replaces it, once the new output is complete",
        Remedy::Resume => "--resume continues it",
        Remedy::DiscardUnfinished => "--force deletes it at once and starts over",
        Remedy::RaiseLimit("max_memory") => "raise --max-memory",
        Remedy::RaiseLimit(limit) => {
            return Some(format!("raise --{} if this file is trusted", limit.replace('_', "-")));
        }
        Remedy::Exclude => "--exclude RE leaves out the weights whose names match",
        Remedy::SelectOne => "--include '^NAME$' selects one",
        Remedy::ListNames => "`weigh inspect --tensors` lists the names",
        Remedy::ListProblems => "`weigh inspect` lists all problems of the model",
        Remedy::StateScheme => "--scheme 'RE=SCHEME/VARIANT' says which it is",
        Remedy::KeepOrCast => "leave out --dtype keep, or --cast",
        Remedy::AllowUnknownClasses => "without --strict-pickle it is listed and otherwise ignored",
        Remedy::OpenAsStream => "a pipe can be given as `-`, standard input",
        _ => return None,
    };
    Some(words.to_owned())
}
