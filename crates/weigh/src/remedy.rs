//! Remedies as flags of this command.
//!
//! The library says what would help; only this file knows which flag or command that is.

use weighbridge::{Error, Remedy};

use crate::commands::quoted;

/// The text after `hint:`; `None` if there is no remedy.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let advice = error.hint_text().map(str::to_owned);
    let words: Vec<String> = advice
        .into_iter()
        .chain(error.remedies().iter().filter_map(|&one| about(one, error)))
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The text of a remedy, in which the model that is meant has its name.
fn about(remedy: Remedy, error: &Error) -> Option<String> {
    let Some(model) = error.path().and_then(|path| quoted(path.as_os_str())) else {
        return words(remedy);
    };
    match remedy {
        Remedy::ListNames => Some(format!("`weigh inspect --tensors {model}` lists the names")),
        Remedy::ListProblems => Some(format!("`weigh inspect {model}` lists all problems")),
        remedy => words(remedy),
    }
}

/// The text of a remedy; `None` for one that this command does not offer.
pub(crate) fn words(remedy: Remedy) -> Option<String> {
    let words = match remedy {
        Remedy::Overwrite => "--force replaces it, once the new output is complete",
        Remedy::OverwriteInPlace => {
            "--force replaces it; there is no model until the new one is complete"
        }
        Remedy::Resume => "the same command with --resume continues it",
        Remedy::DiscardUnfinished => "--force alone deletes it at once and starts over",
        Remedy::AnotherTarget => "choose another name for the output",
        Remedy::WaitForOther => "wait until it has ended",
        Remedy::RaiseLimit("max_memory") => "raise --max-memory",
        Remedy::RaiseLimit("max_output") => "--max-output SIZE allows more",
        Remedy::RaiseLimit(limit) => {
            return Some(format!("raise --{} if this file is trusted", limit.replace('_', "-")));
        }
        Remedy::FollowLinks => "--follow-links copies the files that links lead to",
        Remedy::Exclude => "--exclude RE leaves out the weights whose names match",
        Remedy::SkipUnreadable => "--skip-unreadable leaves out all that cannot be read",
        Remedy::Rename => "--rename RE=TO gives them other names",
        Remedy::SelectOne => "--include '^NAME$' selects one",
        Remedy::ListNames => "`weigh inspect --tensors` lists the names",
        Remedy::ListProblems => "`weigh inspect` lists all problems of the model",
        Remedy::StateScheme => "--scheme 'RE=SCHEME/VARIANT' decides which it is",
        Remedy::KeepNames => "--names keep copies names, values and metadata as they are",
        Remedy::StateBase => {
            "--config DIR names the repository it was made from, with a config.json that tells the rest"
        }
        Remedy::AllowNonFinite => "--allow-nonfinite stores what the reference would",
        Remedy::AllowRequantize => {
            "start from the original model, or accept the loss with --allow-requantize"
        }
        Remedy::StateImportance => "--imatrix FILE names an importance matrix",
        Remedy::KeepOrCast => "use either --dtype keep or --cast",
        Remedy::AllowUnknownClasses => "without --strict-pickle it is reported and not called",
        Remedy::ConvertOrCopy => {
            "`weigh convert` changes its format or its types; copy it to keep it"
        }
        Remedy::StatePreTokenizer => "--pre NAME says which pre-tokenizer it is",
        Remedy::AllowHttp => "--allow-http reads it all the same",
        Remedy::StateCertificates => "--ca-file FILE adds some for one run",
        Remedy::AllowSilence => "--timeout SECONDS lets it be silent for longer",
        Remedy::AllowWait => "--max-wait SECONDS waits for longer",
        Remedy::OpenAsStream => "a pipe can be given as `-`, standard input",
        _ => return None,
    };
    Some(words.to_owned())
}
