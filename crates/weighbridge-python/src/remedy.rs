//! Hints in terms of Python arguments.
//!
//! The library says what would help; only this file knows the name of the argument.

use weighbridge::{Error, Remedy};

/// The hint of an error, if there is one.
pub(crate) fn hint(error: &Error) -> Option<String> {
    let advice = error.hint_text().map(str::to_owned);
    let words: Vec<String> =
        advice.into_iter().chain(error.remedies().iter().filter_map(|&one| words(one))).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn words(remedy: Remedy) -> Option<String> {
    let words = match remedy {
        Remedy::Overwrite => "pass force=True to overwrite it once the new output is complete",
        Remedy::OverwriteInPlace => {
            "pass force=True to overwrite it; there is no model until the new one is complete"
        }
        Remedy::AllowHttp => "pass allow_http=True to open() to read it anyway",
        Remedy::StateCertificates => "pass ca_file=FILE to open() to trust more certificates",
        Remedy::AllowSilence => "pass timeout=SECONDS to open() for a longer read timeout",
        Remedy::AllowSlowness => {
            "pass min_speed=BYTES to open() to allow a slower server; 0 allows any"
        }
        Remedy::AllowWait => "pass max_wait=SECONDS to open() to wait longer",
        Remedy::Resume => "repeat the call with resume=True to continue",
        Remedy::DiscardUnfinished => "pass force=True without resume to delete it and start over",
        Remedy::AnotherTarget => "choose another output name",
        Remedy::WaitForOther => "wait until it has finished",
        Remedy::RaiseLimit("max_memory") => "raise max_memory",
        Remedy::RaiseLimit("max_output") => "raise max_output",
        Remedy::RaiseLimit(limit) => {
            return Some(format!("if you trust the file, pass limits={{'{limit}': N}} to open()"));
        }
        Remedy::FollowLinks => "pass follow_links=True to copy the files that links point to",
        Remedy::Exclude => "omit them with exclude, or name the others with include",
        Remedy::SkipUnreadable => {
            "pass skip_unreadable=True to omit everything that cannot be read"
        }
        Remedy::Rename => "use rename to change their names",
        Remedy::SelectOne => "pass include=['^NAME$'] to select one",
        Remedy::ListNames => "list(model) returns all names",
        Remedy::ListProblems => "model.problems lists all problems of the model",
        Remedy::StateScheme => "pass scheme={'RE': 'scheme/variant'} to open() to resolve it",
        Remedy::ListFamilies => "families() lists the supported ones",
        Remedy::AnyFamily => {
            "stats(), diff(), dequantize() and quantize() to safetensors types work with any family"
        }
        Remedy::KeepNames => "pass names='keep' to copy names, values and metadata unchanged",
        Remedy::StateBase => "pass config=DIR, the original repository with its config.json",
        Remedy::AllowNonFinite => "pass allow_nonfinite=True to store what the reference stores",
        Remedy::KeepWeight => "pass keep=[RE] to store such a weight unquantized",
        Remedy::AllowRequantize => {
            "start from the original model, or pass allow_requantize=True to accept the loss"
        }
        Remedy::StateImportance => "pass imatrix=FILE, an importance matrix",
        Remedy::KeepOrCast => "use either dtype='keep' or cast",
        Remedy::AllowUnknownClasses => {
            "omit strict_pickle=True to have it reported instead; it is never called"
        }
        Remedy::ConvertOrCopy => {
            "use convert() to change its format or types; to keep them, copy the files"
        }
        Remedy::AllowLossyConfig => "pass allow_lossy_config=True to write it nevertheless",
        Remedy::StatePreTokenizer => "pass pre_tokenizer=NAME to set it",
        Remedy::OpenAsStream => "read the pipe into memory and open the bytes",
        _ => return None,
    };
    Some(words.to_owned())
}
