//! Remedies as options of `weigh`.
//!
//! The library names a remedy; this file maps it to an option or a command.

use weighbridge::{Error, Remedy};

use crate::commands::quoted;

/// The text after `hint:`; `None` if there is no remedy.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let advice = error.hint_text().map(str::to_owned);
    let words: Vec<String> = advice
        .into_iter()
        .chain(error.remedies().iter().filter_map(|&one| about(one, error)))
        .collect();
    (!words.is_empty()).then(|| words.join("; ").replace("?; ", "? "))
}

/// The text of a remedy, with the path of the model filled in.
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

/// The text of a remedy; `None` if `weigh` does not offer it.
pub(crate) fn words(remedy: Remedy) -> Option<String> {
    let words = match remedy {
        Remedy::Overwrite => "`--force` overwrites it when the new output is complete",
        Remedy::OverwriteInPlace => {
            "`--force` overwrites it in place; the old model is gone before the new one is complete"
        }
        Remedy::Resume => "repeat the command with `--resume` to continue it",
        Remedy::DiscardUnfinished => "`--force` alone deletes it immediately and starts over",
        Remedy::AnotherTarget => "choose another output name",
        Remedy::WaitForOther => "wait until it finishes",
        Remedy::RaiseLimit("max_memory") => "raise `--max-memory`",
        Remedy::RaiseLimit("max_output") => "raise `--max-output`",
        Remedy::RaiseLimit(limit) => {
            return Some(format!("if you trust this file, raise `--{}`", limit.replace('_', "-")));
        }
        Remedy::FollowLinks => "`--follow-links` copies linked files",
        Remedy::Exclude => "`--exclude RE` skips weights by name",
        Remedy::SkipUnreadable => "`--skip-unreadable` skips all unreadable weights",
        Remedy::Rename => "`--rename RE=TO` renames them",
        Remedy::SelectOne => "`--include '^NAME$'` selects one weight",
        Remedy::ListNames => "`weigh inspect --tensors` lists the names",
        Remedy::ListProblems => "`weigh inspect` lists all problems of the model",
        Remedy::StateScheme => "`--scheme 'RE=SCHEME/VARIANT'` sets the scheme",
        Remedy::KeepNames => "`--names keep` copies names, values and metadata unchanged",
        Remedy::ListFamilies => "`weigh families` lists the supported ones",
        Remedy::AnyFamily => {
            "`weigh stats`, `diff`, `dequantize` and other types of `quantize` work with any family"
        }
        Remedy::StateBase => {
            "`--config DIR` names the base repository, whose config.json supplies the rest"
        }
        Remedy::AllowNonFinite => "`--allow-nonfinite` stores them as the reference does",
        Remedy::KeepWeight => "`--keep RE` stores such a weight unquantized",
        Remedy::AllowRequantize => {
            "quantize the original model, or accept the loss with `--allow-requantize`"
        }
        Remedy::StateImportance => "give an importance matrix with `--imatrix FILE`",
        Remedy::KeepOrCast => "use either `--dtype keep` or `--cast`",
        Remedy::AllowUnknownClasses => "without `--strict-pickle`, it is reported and not called",
        Remedy::ConvertOrCopy => {
            "`weigh convert` changes the format or the dtype; to keep both, copy the files"
        }
        Remedy::AllowLossyConfig => "`--allow-lossy-config` writes the file nevertheless",
        Remedy::StatePreTokenizer => "name the pre-tokenizer with `--pre NAME`",
        Remedy::TextOnly => "without `--mmproj`, only the language model is converted",
        Remedy::ProjectorAlone => "`--mmproj=only` names the projector alone",
        Remedy::AllowHttp => "`--allow-http` allows it",
        Remedy::StateCertificates => "`--ca-file FILE` trusts more certificates for one run",
        Remedy::AllowSilence => "raise the read timeout with `--timeout SECONDS`",
        Remedy::AllowSlowness => "allow a slower server with `--min-speed SIZE`; 0 allows any",
        Remedy::AllowWait => "allow a longer wait with `--max-wait SECONDS`",
        Remedy::OpenAsStream => "to read a pipe, use `-` (standard input)",
        _ => return None,
    };
    Some(words.to_owned())
}
