//! What a caller can do about a problem, for programs to read.

/// What a caller can do about a problem: an option to set, or something to look at.
///
/// Messages of this library name no option of any program. A program that shows them adds what the
/// remedy is called there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Allow the output to replace what is there.
    Overwrite,
    /// Allow the output to replace what is there, bit by bit: stores cannot rename.
    OverwriteInPlace,
    /// Continue the output that an earlier run left unfinished.
    Resume,
    /// Delete what an earlier run left unfinished, and start over. It is gone at once, before the
    /// new output is complete.
    DiscardUnfinished,
    /// Choose another name for the output.
    AnotherTarget,
    /// Wait until another run has written this output.
    WaitForOther,
    /// Raise this limit; its name is that of the method of [`Limits`](crate::limits::Limits), or of the
    /// options of the operation.
    RaiseLimit(&'static str),
    /// Copy files that links lead to, wherever these are.
    FollowLinks,
    /// Leave out the weights that the message names.
    Exclude,
    /// Leave out all weights that cannot be read, and list them.
    SkipUnreadable,
    /// Give the weights that the message names other names.
    Rename,
    /// Select a single weight.
    SelectOne,
    /// List the names of the weights.
    ListNames,
    /// List all problems of the model.
    ListProblems,
    /// State the scheme and variant of the weight, with
    /// `OpenOptions::scheme`.
    StateScheme,
    /// Keep names, values and metadata as they are.
    KeepNames,
    /// Name a repository that says what the model does not say about itself, with
    /// `ConvertOptions::base`.
    StateBase,
    /// Choose between keeping weights as they are stored and casting them.
    KeepOrCast,
    /// Allow pickles that name unknown classes, with
    /// `OpenOptions::strict_pickle`.
    AllowUnknownClasses,
    /// Convert it, or copy it: it is not quantized.
    ConvertOrCopy,
    /// Read it front to back, with `OpenOptions::open_stream`.
    OpenAsStream,
    /// Encode numbers that are NaN or infinite as the reference would.
    AllowNonFinite,
    /// Encode weights again that are stored in few bits already, which costs quality.
    AllowRequantize,
    /// Name an importance matrix.
    StateImportance,
    /// State the name of the pre-tokenizer, which the files of the repository leave open.
    StatePreTokenizer,
    /// Allow plain http, with `Remote::allow_http`.
    AllowHttp,
    /// Name a file of certificates that are trusted too, with `Remote::ca_file`.
    StateCertificates,
    /// Let servers say nothing for longer, with `Remote::timeout`.
    AllowSilence,
    /// Wait for longer when a server asks for it, with `Remote::max_wait`.
    AllowWait,
}
