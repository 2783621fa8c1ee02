//! The options of a conversion.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::mmproj::Mmproj;
use super::names::Names;
use super::translate::NextLayers;
use crate::catalog::Value;
use crate::dtype::DType;
use crate::model::Select;
use crate::ops::Work;
use crate::ops::work::{setters, work_options};
use crate::pipeline::{Cast, OutputType};

/// The default for the most bytes of data in one file of a directory.
pub(super) const MAX_SHARD_SIZE: u64 = 5_000_000_000;

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
#[derive(Clone, Default)]
pub struct ConvertOptions {
    pub(in crate::ops) target: PathBuf,
    pub(in crate::ops) to: Option<String>,
    pub(in crate::ops) dtype: OutputType,
    pub(in crate::ops) casts: Vec<Cast>,
    pub(in crate::ops) renames: Vec<Rename>,
    pub(in crate::ops) metadata: Vec<(String, Value)>,
    pub(in crate::ops) names: Names,
    pub(in crate::ops) mmproj: Mmproj,
    pub(in crate::ops) modelfile: bool,
    pub(in crate::ops) pre: Option<String>,
    pub(in crate::ops) base: Option<PathBuf>,
    pub(in crate::ops) next_layers: NextLayers,
    pub(in crate::ops) layout: Option<String>,
    pub(in crate::ops) select: Select,
    pub(in crate::ops) skip_unreadable: bool,
    pub(in crate::ops) lossy_config: bool,
    pub(in crate::ops) force: bool,
    pub(in crate::ops) dry_run: bool,
    pub(in crate::ops) resume: bool,
    pub(in crate::ops) follow_links: bool,
    pub(in crate::ops) verify: bool,
    pub(in crate::ops) max_shard_size: Option<u64>,
    pub(in crate::ops) max_output: Option<u64>,
    pub(in crate::ops) work: Work,
    pub(super) network: crate::Remote,
}

/// Maps a name to a new one.
pub type Rename = Arc<dyn Fn(&str) -> String + Send + Sync>;

work_options!(ConvertOptions);

impl ConvertOptions {
    /// Options for an output at this path, with the types of [`OutputType::Auto`].
    ///
    /// The output must not exist yet. A name without an extension is a directory; `-` is standard
    /// output. With the feature `remote`, addresses such as `s3://bucket/prefix/` are supported.
    pub fn new(target: impl Into<PathBuf>) -> Self {
        Self { target: target.into(), ..Self::default() }
    }

    /// Sets the network options for an output in an object store.
    #[cfg(feature = "remote")]
    #[must_use]
    pub fn remote(mut self, remote: crate::remote::Remote) -> Self {
        self.network = remote;
        self
    }

    /// The path of the output.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Sets the type (F32, BF16 or F16) of floating-point weights whose source name matches.
    ///
    /// The first matching rule applies.
    #[must_use]
    pub fn cast(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        dtype: DType,
    ) -> Self {
        self.casts.push(Cast { matches: Arc::new(matches), dtype });
        self
    }

    /// Renames weights. Several rules apply in the order they were added.
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

    /// The name of a weight in the output.
    pub(super) fn renamed(&self, name: &str) -> String {
        self.renames.iter().fold(name.to_owned(), |name, rename| rename(&name))
    }
}

setters! { ConvertOptions:
    /// The format: `safetensors`, `gguf`, `npz` or `npy`. By default the extension of the output
    /// decides.
    to(format: impl Into<String>) to = Some(format.into());

    /// The type of the numbers.
    dtype(dtype: OutputType) dtype = dtype;

    /// Whether names, values and metadata are translated; by default as [`Names::Auto`] says.
    names(names: Names) names = names;

    /// The name of the pre-tokenizer, where a tokenizer is translated: how it cuts text before it
    /// looks for tokens. By default it is found in the tokenizer itself.
    pre_tokenizer(name: impl Into<String>) pre = Some(name.into());

    /// What becomes of next-token prediction layers, where a repository becomes a GGUF file.
    next_layers(layers: NextLayers) next_layers = layers;

    /// Write a GGUF file that llama.cpp will not load, because of a setting that it cannot hold.
    /// [`ConvertReport::warnings`](crate::ops::ConvertReport) then names the setting. By default
    /// this is an error.
    allow_lossy_config(allow: bool) lossy_config = allow;

    /// A repository that says what the model does not say about itself, where it is translated: the
    /// base model of an adapter, whose weights need not be there, or the repository that a GGUF model
    /// was made from, whose config and tokenizer are taken unless they contradict the model.
    base(folder: impl Into<PathBuf>) base = Some(folder.into());

    /// Lays out quantized weights in another way, undecoded: the same codes and factors in the tensors
    /// that another library reads, with a config that says so. [`layouts`](crate::ops::layouts) are the
    /// names. What a layout cannot hold as it is is an error. The output is a directory, and the model
    /// must have been one.
    layout(name: impl Into<String>) layout = Some(name.into());

    /// What becomes of a multimodal model's encoders of images and sound: by default they are left out of
    /// a GGUF file.
    mmproj(mmproj: Mmproj) mmproj = mmproj;

    /// Also write a `Modelfile` for Ollama beside a GGUF file that is made so that it runs.
    modelfile(modelfile: bool) modelfile = modelfile;

    /// Which weights are written, by their names in the source.
    select(select: Select) select = select;

    /// Leave out weights that cannot be read, such as arrays of text, instead of refusing all:
    /// [`ConvertReport::skipped`] names them. Problems of the model as a whole are refused all the
    /// same.
    ///
    /// [`ConvertReport::skipped`]: crate::ops::ConvertReport::skipped
    skip_unreadable(skip: bool) skip_unreadable = skip;

    /// Replace an existing output, once the new one is complete: a regular file, or a directory that
    /// is empty or holds nothing but what an earlier conversion wrote. The model's own files are
    /// never replaced.
    force(force: bool) force = force;

    /// Plan and report, but write nothing.
    dry_run(dry_run: bool) dry_run = dry_run;

    /// Continue an interrupted conversion to the same directory; files that are complete are kept.
    resume(resume: bool) resume = resume;

    /// Read the output again when it is complete, and compare it with the model, before it has its
    /// name. One that is wrong is deleted, and [`ConvertReport::verified`] says what differs.
    ///
    /// [`ConvertReport::verified`]: crate::ops::ConvertReport::verified
    verify(verify: bool) verify = verify;

    /// Of a repository that is dequantized, also copy files outside of it that links in it lead to.
    /// Links to folders outside of it are never followed.
    follow_links(follow_links: bool) follow_links = follow_links;

    /// The most bytes of data in one file of a directory; the default is 5 GB.
    max_shard_size(bytes: u64) max_shard_size = Some(bytes);

    /// The most bytes that all files of weights may have together. Without this, 1000 times what
    /// the model's files hold (compressed members as they are decompressed): a small file can
    /// describe a huge tensor by repeating its values, and more is refused before there is an output.
    max_output(bytes: u64) max_output = Some(bytes);
}
