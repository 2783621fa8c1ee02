//! Remedies as arguments of Python's functions.
//!
//! The library says what would help; only this file knows which argument that is.

use weighbridge::{Error, Remedy};

/// What can be done about an error; `None` if nothing is known.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let advice = error.hint_text().map(str::to_owned);
    let words: Vec<String> =
        advice.into_iter().chain(error.remedies().iter().filter_map(|&one| words(one))).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn words(remedy: Remedy) -> Option<String> {
    let words = match remedy {
        Remedy::Overwrite => "force=True replaces it, once the new output is complete",
        Remedy::OverwriteInPlace => {
            "force=True replaces it; there is no model until the new one is complete"
        }
        Remedy::AllowHttp => "open it with allow_http=True to read it all the same",
        Remedy::StateCertificates => "open it with ca_file=FILE to trust more certificates",
        Remedy::AllowSilence => {
            "open it with timeout=SECONDS to let the server be silent for longer"
        }
        Remedy::AllowWait => "open it with max_wait=SECONDS to wait for longer",
        Remedy::Resume => "the same call with resume=True continues it",
        Remedy::DiscardUnfinished => "force=True alone deletes it at once and starts over",
        Remedy::AnotherTarget => "choose another name for the output",
        Remedy::WaitForOther => "wait until it has ended",
        Remedy::RaiseLimit("max_memory") => "raise max_memory",
        Remedy::RaiseLimit("max_output") => "max_output allows more",
        Remedy::RaiseLimit(limit) => {
            return Some(format!(
                "open(.., limits={{'{limit}': N}}) allows more, if the file is trusted"
            ));
        }
        Remedy::FollowLinks => "follow_links=True copies the files that links lead to",
        Remedy::Exclude => "leave them out: by exclude, or by naming the others",
        Remedy::SkipUnreadable => "skip_unreadable=True leaves out all that cannot be read",
        Remedy::Rename => "rename gives them other names",
        Remedy::SelectOne => "include=['^NAME$'] selects one",
        Remedy::ListNames => "list(model) has the names",
        Remedy::ListProblems => "model.problems has all problems of the model",
        Remedy::StateScheme => "open(.., scheme={'RE': 'scheme/variant'}) decides which it is",
        Remedy::KeepNames => "names='keep' copies names, values and metadata as they are",
        Remedy::StateBase => {
            "config names the repository it was made from, with a config.json that tells the rest"
        }
        Remedy::AllowNonFinite => "allow_nonfinite=True stores what the reference would",
        Remedy::AllowRequantize => {
            "start from the original model, or accept the loss with allow_requantize=True"
        }
        Remedy::StateImportance => "imatrix names an importance matrix",
        Remedy::KeepOrCast => "use either dtype='keep' or cast",
        Remedy::AllowUnknownClasses => "without strict_pickle=True it is reported and not called",
        Remedy::ConvertOrCopy => "convert() changes its format or its types; copy it to keep it",
        Remedy::StatePreTokenizer => "pre_tokenizer says which one it is",
        Remedy::OpenAsStream => "read the pipe into memory, and open the bytes",
        _ => return None,
    };
    Some(words.to_owned())
}
