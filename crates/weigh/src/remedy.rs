//! Remedies as flags of this command.
//!
//! The library says what would help; only this file knows which flag or command that is.

use weighbridge::{Error, Remedy};

/// The text after `hint:`; `None` if there is no remedy.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let advice = error.hint_text().map(str::to_owned);
    let words: Vec<String> =
        advice.into_iter().chain(error.remedies().iter().filter_map(|&one| words(one))).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The text of a remedy; `None` for one that this command does not offer.
pub(crate) fn words(remedy: Remedy) -> Option<String> {
    let words = match remedy {
        Remedy::Overwrite => "--force replaces it, once the new output is complete",
        Remedy::Resume => "--resume continues it",
        Remedy::DiscardUnfinished => "--force deletes it at once and starts over",
        Remedy::AnotherTarget => "choose another name for the output",
        Remedy::WaitForOther => "wait until it has ended",
        Remedy::RaiseLimit("max_memory") => "raise --max-memory",
        Remedy::RaiseLimit(limit) => {
            return Some(format!("raise --{} if this file is trusted", limit.replace('_', "-")));
        }
        Remedy::FollowLinks => "--follow-links copies the files that links lead to",
        Remedy::Exclude => "--exclude RE leaves out the weights whose names match",
        Remedy::SelectOne => "--include '^NAME$' selects one",
        Remedy::ListNames => "`weigh inspect --tensors` lists the names",
        Remedy::ListProblems => "`weigh inspect` lists all problems of the model",
        Remedy::StateScheme => "--scheme 'RE=SCHEME/VARIANT' decides which it is",
        Remedy::KeepOrCast => "use either --dtype keep or --cast",
        Remedy::AllowUnknownClasses => "without --strict-pickle it is reported and not called",
        Remedy::OpenAsStream => "a pipe can be given as `-`, standard input",
        _ => return None,
    };
    Some(words.to_owned())
}
