//! The options of a conversion.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Work;
use super::elsewhere::Network;
use super::quantize::QuantizeOptions;
use super::translate::Names;
use super::work::work_options;
use crate::catalog::Value;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::model::Select;
use crate::pipeline::{Cast, OutputType};

/// The default for the most bytes of data in one file of a directory.
const MAX_SHARD_SIZE: u64 = 5_000_000_000;

/// What a directory says that it was made by, if all weights were converted.
const CONVERT: &str = "convert";

/// The same, if a repository was dequantized.
pub(super) const DEQUANTIZE: &str = "dequantize";

/// The same, if a model was quantized.
pub(super) const QUANTIZE: &str = "quantize";

/// What a conversion writes, and where.
///
/// ```no_run
/// use weighbridge::{Model, ops};
/// use weighbridge::ops::{ConvertOptions, OutputType};
/// let model = Model::open("model.gguf")?;
/// let options = ConvertOptions::new("model.safetensors").dtype(OutputType::Bf16);
/// let report = ops::convert(&model, &options)?;
/// println!("{} bytes written", report.write_bytes);
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct ConvertOptions {
    pub(super) target: PathBuf,
    pub(super) to: Option<String>,
    pub(super) dtype: OutputType,
    pub(super) casts: Vec<Cast>,
    pub(super) renames: Vec<Rename>,
    pub(super) metadata: Vec<(String, Value)>,
    pub(super) names: Names,
    pub(super) modelfile: bool,
    pub(super) pre: Option<String>,
    pub(super) base: Option<PathBuf>,
    pub(super) layout: Option<String>,
    pub(super) select: Select,
    pub(super) skip_unreadable: bool,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) resume: bool,
    pub(super) follow_links: bool,
    pub(super) verify: bool,
    pub(super) only_decoded: bool,
    pub(super) same_format: bool,
    pub(super) quantize: Option<Arc<QuantizeOptions>>,
    pub(super) max_shard_size: u64,
    pub(super) max_output: Option<u64>,
    pub(super) work: Work,
    pub(super) network: Network,
}

/// Maps a name to a new one.
pub type Rename = Arc<dyn Fn(&str) -> String + Send + Sync>;

work_options!(ConvertOptions);

impl ConvertOptions {
    /// Writes everything to this file or directory, which must not exist yet, with the types of
    /// [`OutputType::Auto`]. A name without an extension is a directory, `-` is standard output; with
    /// the feature `remote`, `s3://bucket/prefix/` and its like are places in object stores.
    pub fn new(target: impl Into<PathBuf>) -> Self {
        Self {
            target: target.into(),
            to: None,
            dtype: OutputType::Auto,
            casts: Vec::new(),
            renames: Vec::new(),
            metadata: Vec::new(),
            names: Names::Auto,
            modelfile: false,
            pre: None,
            base: None,
            layout: None,
            select: Select::new(),
            skip_unreadable: false,
            force: false,
            dry_run: false,
            resume: false,
            follow_links: false,
            verify: false,
            only_decoded: false,
            same_format: false,
            quantize: None,
            max_shard_size: MAX_SHARD_SIZE,
            max_output: None,
            work: Work::new(),
            network: Network::default(),
        }
    }

    /// How an output in an object store is reached.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, remote: crate::remote::Remote) -> Self {
        self.network.settings = remote;
        self
    }

    /// The path of the output.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The format: `safetensors`, `gguf`, `npz` or `npy`. By default the extension of the output
    /// decides.
    #[must_use]
    pub fn to(mut self, format: impl Into<String>) -> Self {
        self.to = Some(format.into());
        self
    }

    /// The type of the numbers.
    #[must_use]
    pub fn dtype(mut self, dtype: OutputType) -> Self {
        self.dtype = dtype;
        self
    }

    /// A type for the floating-point weights whose names in the source match: F32, BF16 or F16.
    /// If several rules match a weight, the first one counts.
    #[must_use]
    pub fn cast(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        dtype: DType,
    ) -> Self {
        self.casts.push(Cast { matches: Arc::new(matches), dtype });
        self
    }

    /// Renames weights; several rules are applied one after the other.
    #[must_use]
    pub fn rename(mut self, rename: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.renames.push(Arc::new(rename));
        self
    }

    /// Sets a metadata entry of the output, replacing one of the same key. GGUF only.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: Value) -> Self {
        self.metadata.push((key.into(), value));
        self
    }

    /// Whether names, values and metadata are translated; by default as [`Names::Auto`] says.
    #[must_use]
    pub fn names(mut self, names: Names) -> Self {
        self.names = names;
        self
    }

    /// The name of the pre-tokenizer, where a tokenizer is translated: how it cuts text before it
    /// looks for tokens. By default it is found in the tokenizer itself.
    #[must_use]
    pub fn pre_tokenizer(mut self, name: impl Into<String>) -> Self {
        self.pre = Some(name.into());
        self
    }

    /// A repository that says what the model does not say about itself, where it is translated: the
    /// base model of an adapter, whose weights need not be there, or the repository that a GGUF model
    /// was made from, whose config and tokenizer are taken unless they contradict the model.
    #[must_use]
    pub fn base(mut self, folder: impl Into<PathBuf>) -> Self {
        self.base = Some(folder.into());
        self
    }

    /// Lays out quantized weights in another way, undecoded: the same codes and factors in the tensors
    /// that another library reads, with a config that says so. [`layouts`](super::layouts) are the
    /// names. What a layout cannot hold as it is is an error. The output is a directory, and the model
    /// must have been one.
    #[must_use]
    pub fn layout(mut self, name: impl Into<String>) -> Self {
        self.layout = Some(name.into());
        self
    }

    /// Also write a `Modelfile` for Ollama beside a GGUF file that is made so that it runs.
    #[must_use]
    pub fn modelfile(mut self, modelfile: bool) -> Self {
        self.modelfile = modelfile;
        self
    }

    /// The types apply to decoded weights only, plain tensors stay as they are, and the format is
    /// the model's own where that can be written.
    pub(super) fn dequantizing(mut self) -> Self {
        self.only_decoded = true;
        self.same_format = true;
        self
    }

    /// Weights are quantized, and the format is the model's own where that can hold them.
    pub(super) fn quantizing(mut self, how: &QuantizeOptions) -> Self {
        self.quantize = Some(Arc::new(how.clone()));
        self
    }

    /// An error if they name a layout: what is decoded or encoded anew has none to keep.
    pub(super) fn refuse_layout(&self) -> Result<()> {
        match &self.layout {
            None => Ok(()),
            Some(_) => Err(Error::usage(
                "codes that are moved into another layout are neither decoded nor encoded anew",
            )),
        }
    }

    /// What an output made with these options says that it was made by.
    pub(super) fn verb(&self) -> &'static str {
        match (self.only_decoded, &self.quantize) {
            (_, Some(_)) => QUANTIZE,
            (true, None) => DEQUANTIZE,
            (false, None) => CONVERT,
        }
    }

    /// Which weights are written, by their names in the source.
    #[must_use]
    pub fn select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// Leave out weights that cannot be read, such as arrays of text, instead of refusing all:
    /// [`ConvertReport::skipped`] names them. Problems of the model as a whole are refused all the
    /// same.
    ///
    /// [`ConvertReport::skipped`]: super::ConvertReport::skipped
    #[must_use]
    pub fn skip_unreadable(mut self, skip: bool) -> Self {
        self.skip_unreadable = skip;
        self
    }

    /// Replace an existing output, once the new one is complete: a regular file, or a directory that
    /// is empty or holds nothing but what an earlier conversion wrote. The model's own files are
    /// never replaced.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Plan and report, but write nothing.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Continue an interrupted conversion to the same directory; files that are complete are kept.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    /// Read the output again when it is complete, and compare it with the model, before it has its
    /// name. One that is wrong is deleted, and [`ConvertReport::verified`] says what differs.
    ///
    /// [`ConvertReport::verified`]: super::ConvertReport::verified
    #[must_use]
    pub fn verify(mut self, verify: bool) -> Self {
        self.verify = verify;
        self
    }

    /// Of a repository that is dequantized, also copy files outside of it that links in it lead to.
    /// Links to folders outside of it are never followed.
    #[must_use]
    pub fn follow_links(mut self, follow_links: bool) -> Self {
        self.follow_links = follow_links;
        self
    }

    /// The most bytes of data in one file of a directory; the default is 5 GB.
    #[must_use]
    pub fn max_shard_size(mut self, bytes: u64) -> Self {
        self.max_shard_size = bytes;
        self
    }

    /// The most bytes that all files of weights may have together. Without this, 1000 times what
    /// the model's files hold (compressed members as they are decompressed): a small file can
    /// describe a huge tensor by repeating its values, and more is refused before there is an output.
    #[must_use]
    pub fn max_output(mut self, bytes: u64) -> Self {
        self.max_output = Some(bytes);
        self
    }

    pub(super) fn renamed(&self, name: &str) -> String {
        self.renames.iter().fold(name.to_owned(), |name, rename| rename(&name))
    }
}
