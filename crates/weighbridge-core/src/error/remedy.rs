//! Machine-readable advice on how to resolve an error.

/// A way for the caller to resolve a problem: an option to set, or something to inspect.
///
/// Messages of this library never name the options of a program. A program that shows a message
/// adds its own name for the remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Allow overwriting the existing output.
    Overwrite,
    /// Allow overwriting the existing output file by file, since object stores cannot rename.
    OverwriteInPlace,
    /// Continue the output that an earlier run left unfinished.
    Resume,
    /// Delete the unfinished output of an earlier run and start over. It is deleted immediately,
    /// before the new output is complete.
    DiscardUnfinished,
    /// Choose another output name.
    AnotherTarget,
    /// Wait until another run has finished writing this output.
    WaitForOther,
    /// Raise this limit. The name is a method of [`Limits`](crate::limits::Limits) or of the
    /// operation's options.
    RaiseLimit(&'static str),
    /// Follow links and copy their targets, even outside the model.
    FollowLinks,
    /// Exclude the weights named in the message.
    Exclude,
    /// Skip all unreadable weights and list them.
    SkipUnreadable,
    /// Rename the weights named in the message.
    Rename,
    /// Select a single weight.
    SelectOne,
    /// List the names of the weights.
    ListNames,
    /// List all problems of the model.
    ListProblems,
    /// State the scheme and variant of the weight with `OpenOptions::scheme`.
    StateScheme,
    /// Keep names, values and metadata unchanged.
    KeepNames,
    /// List the model families whose names are translated.
    ListFamilies,
    /// Use an operation that needs no model family: decode, encode without a change of format, compare.
    AnyFamily,
    /// Name a base repository that supplies the missing facts, with `ConvertOptions::base`.
    StateBase,
    /// Choose whether to keep the stored types or to cast them.
    KeepOrCast,
    /// Allow pickles that name unknown classes, with `OpenOptions::strict_pickle`.
    AllowUnknownClasses,
    /// Convert or copy the model instead: it is not quantized.
    ConvertOrCopy,
    /// Read the input sequentially, with `OpenOptions::open_stream`.
    OpenAsStream,
    /// Allow NaN and infinite values, encoded as the reference does.
    AllowNonFinite,
    /// Do not quantize the weight.
    KeepWeight,
    /// Allow requantizing weights that are already quantized, at a loss of quality.
    AllowRequantize,
    /// Provide an importance matrix.
    StateImportance,
    /// Write the output although a setting keeps its loader from reading it.
    AllowLossyConfig,
    /// State the pre-tokenizer, which the repository's files leave ambiguous.
    StatePreTokenizer,
    /// Convert the language model only, with the encoders of images and sound left out.
    TextOnly,
    /// Write the projector with a run of its own, with `ConvertOptions::mmproj`.
    ProjectorAlone,
    /// Allow plain http, with `Remote::allow_http`.
    AllowHttp,
    /// Add trusted certificates from a file, with `Remote::ca_file`.
    StateCertificates,
    /// Raise the read timeout, with `Remote::timeout`.
    AllowSilence,
    /// Allow a slower server, with `Remote::min_speed`.
    AllowSlowness,
    /// Raise the longest wait that a server may ask for, with `Remote::max_wait`.
    AllowWait,
}
