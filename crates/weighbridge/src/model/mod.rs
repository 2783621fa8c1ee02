//! What the user points at: one or several stored files, opened as one model.

use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::catalog::{Finding, Shape, TensorInfo, Value};
use crate::error::{Error, Remedy, Result};
use crate::input::{Folder, ReadSeek};
use crate::limits::{Budget, Limits};
use crate::schemes::{Config, Entry, Evidence, Ledger, SCHEMES, SchemeChoice, TensorId};
use crate::source::{Slab, Source};

mod bounds;
mod by_name;
mod codes;
mod cost;
mod derived;
mod find;
mod importance;
mod locate;
mod options;
mod read;
mod read_direct;
#[cfg(test)]
mod read_tests;
mod readahead;
mod repeats;
mod reshape;
mod row_steps;
mod select;
mod side_by_side;
mod twins;
mod weight;
mod weights;

pub(crate) use derived::{Derived, MadeOf};
pub use importance::ImportanceMatrix;
pub use locate::{PLACES, Place, Stores};
pub(crate) use locate::{Writing, as_address, starts_of};
pub use options::OpenOptions;
pub(crate) use readahead::Readahead;
pub(crate) use repeats::most_repeating;
pub use select::Select;
pub use weight::{Scratch, Weight};
pub use weights::{SelectedWeights, Weights};

use by_name::ByName;
use locate::Located;
use reshape::OriginalShapes;
use twins::Twin;

/// A model: its files and the weights in them.
///
/// A `Model` is a cheap handle. Clones share the open files.
///
/// ```no_run
/// let model = weighbridge::Model::open("model.gguf")?;
/// println!("{} with {} weights", model.format(), model.weights().len());
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct Model(Arc<Contents>);

/// What all handles to a model share.
struct Contents {
    files: Arc<Files>,
    ledger: Ledger,
    original_shapes: OriginalShapes,
    /// Where each name is among the weights, once somebody asks for one by its name.
    by_name: OnceLock<ByName>,
}

/// What was opened. Models that are made of the weights of another one share it.
struct Files {
    path: PathBuf,
    folder: Arc<dyn Folder>,
    sources: Vec<Source>,
    findings: Vec<Finding>,
    hazards: Vec<Finding>,
    notes: Vec<String>,
    configs: Vec<Config>,
    twins: Vec<Twin>,
    /// The twins that are none after all, once somebody needs values.
    unlike_twins: OnceLock<Vec<Finding>>,
    pipeline: Option<PathBuf>,
    /// What opening it has cost, and what it may cost.
    budget: Budget,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("path", &self.0.files.path)
            .field("format", &self.format())
            .field("weights", &self.0.ledger.weights.len())
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Opens a file, a directory, a shard index or a name in a local store.
    ///
    /// With the feature `remote`, it also opens addresses such as `hf://owner/name`. See
    /// [`OpenOptions`] for settings.
    ///
    /// ```no_run
    /// use weighbridge::Model;
    /// let file = Model::open("model.safetensors")?;
    /// let directory = Model::open("Qwen3-8B/")?;
    /// let pulled = Model::open("ollama:llama3.2:1b")?;
    /// # Ok::<(), weighbridge::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// Opens bytes in memory; `name` takes the place of a path.
    pub fn open_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static, name: &str) -> Result<Self> {
        OpenOptions::new().open_bytes(bytes, name)
    }

    /// Opens a reader that can seek; `name` takes the place of a path.
    pub fn open_reader(reader: impl ReadSeek + 'static, name: &str) -> Result<Self> {
        OpenOptions::new().open_reader(reader, name)
    }

    fn new(
        mut sources: Vec<Source>,
        located: Located,
        choices: &[SchemeChoice],
        budget: Budget,
    ) -> Result<Self> {
        cost::charge_tensors(&sources, &budget).map_err(|e| e.in_file(&located.path))?;
        let twins = match sources.len() {
            0 | 1 => Vec::new(),
            _ => twins::take(&mut sources, located.index.as_ref()),
        };
        let original_shapes = OriginalShapes::of(&sources);
        let catalogs = sources.iter().map(|s| (&s.catalog().tensors[..], &s.catalog().metadata));
        let read = |id: TensorId| read_whole(&sources, id);
        let evidence =
            Evidence::new(catalogs, &located.configs, SCHEMES).reading(&read).with_choices(choices);
        let mut ledger = SCHEMES.settle(&evidence);
        evidence.match_budget().check().map_err(|e| e.in_file(&located.path))?;
        cost::charge_ledger(&ledger, &budget).map_err(|e| e.in_file(&located.path))?;
        original_shapes.apply(&sources, &mut ledger);
        let mut findings = located.findings;
        let mut notes = located.notes;
        for source in &sources {
            findings.extend(findings_of(source, sources.len()));
            notes.extend(source.catalog().notes.iter().cloned());
        }
        notes.extend(twins::notes(&twins, &sources));
        notes.extend(repeats::note(&sources));
        findings.extend(locate::cross_check(located.index.as_ref(), &sources, &mut notes));
        findings.extend(ledger.findings.iter().cloned());
        notes.extend(ledger.notes.iter().cloned());
        add_unreadable(&sources, &mut findings);
        let Located { path, folder, configs, pipeline, hazards, .. } = located;
        let unlike_twins = OnceLock::new();
        let files = Arc::new(Files {
            path,
            folder,
            sources,
            findings,
            hazards,
            notes,
            configs,
            twins,
            unlike_twins,
            pipeline,
            budget,
        });
        Ok(Self(Arc::new(Contents { files, ledger, original_shapes, by_name: OnceLock::new() })))
    }

    /// The path, name or address it was opened from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.files.path
    }

    /// The version of one of its files: the commit of a Hub repository, or the ETag of a server.
    ///
    /// `None` if only length and modification time are known.
    #[must_use]
    pub fn version_of(&self, source: &Source) -> Option<String> {
        self.0.files.folder.version(source.input().name())
    }

    /// Whether it is read over a network.
    #[must_use]
    pub fn has_latency(&self) -> bool {
        self.0.files.sources.iter().any(|source| source.input().has_latency())
    }

    /// What it may cost.
    pub(crate) fn limits(&self) -> &Limits {
        self.0.files.budget.limits()
    }

    /// The folder that its path leads into; an empty one for a model that was given as bytes.
    pub(crate) fn folder(&self) -> &Arc<dyn Folder> {
        &self.0.files.folder
    }

    /// The folder of the pipeline that it is a component of.
    pub(crate) fn pipeline(&self) -> Option<&Path> {
        self.0.files.pipeline.as_deref()
    }

    /// The format of its files: `safetensors`, `gguf`, ..
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.0.files.sources.first().map_or("empty", |source| source.format())
    }

    /// Its files.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.0.files.sources
    }

    /// The JSON configs in the directory of its files.
    #[must_use]
    pub fn configs(&self) -> &[Config] {
        &self.0.files.configs
    }

    /// The problems found on opening. Operations reject the affected weights.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.0.files.findings
    }

    /// Dangerous files in its directory that are not part of it, such as a malicious pickle next to
    /// safetensors. Operations ignore these files, and warn about them.
    ///
    /// Only local directories are searched, and their immediate subdirectories.
    #[must_use]
    pub fn hazards(&self) -> &[Finding] {
        &self.0.files.hazards
    }

    /// The notes and hazards, for reports that list no problems.
    pub(crate) fn notes_and_hazards(&self) -> impl Iterator<Item = &str> {
        let hazards = self.hazards().iter().map(|finding| &*finding.message);
        hazards.chain(self.notes().iter().map(String::as_str))
    }

    /// What is wrong with its files and their places, whatever schemes make of their contents.
    pub(crate) fn findings_of_files(&self) -> impl Iterator<Item = &Finding> {
        self.0.files.findings.iter().filter(|finding| !self.0.ledger.findings.contains(finding))
    }

    /// Says that most of its files will be read, which they were not opened for.
    pub(crate) fn will_need_all(&self) {
        self.0.files.sources.iter().for_each(|source| source.input().will_need_all());
    }

    /// Limits the bytes that its sources fetch before they are asked for: those of one place fetch
    /// ahead together.
    pub(crate) fn limit_ahead(&self, bytes: u64) {
        self.0.files.sources.iter().for_each(|source| source.input().limit_ahead(bytes));
    }

    /// An error if one of its files was changed since it was opened.
    pub(crate) fn refuse_changed(&self) -> Result<()> {
        self.0.files.sources.iter().try_for_each(|source| source.input().refuse_changed())
    }

    /// An error if some of what was read came from an archive member that does not have the checksum
    /// that the archive states; `go_on` is asked from time to time.
    pub(crate) fn check_sums(&self, go_on: &dyn Fn() -> Result<()>) -> Result<()> {
        self.0.files.sources.iter().try_for_each(|source| source.check_sums(go_on))
    }

    /// Notes on decisions made on opening, such as ignored files.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.0.files.notes
    }

    /// The quantization method that its configs name although all of its tensors are plain numbers.
    pub(crate) fn stale_method(&self) -> Option<&str> {
        self.0.ledger.stale.as_deref()
    }

    /// The method that its configs name or imply, whatever its tensors are.
    pub(crate) fn method(&self) -> Option<String> {
        SCHEMES.method_of(&self.0.files.configs)
    }

    /// The metadata entries of its files, each with its file. If several files have a key, the first
    /// one applies.
    #[must_use]
    pub fn metadata(&self) -> Vec<(&str, &Value, &Source)> {
        let mut seen = HashSet::with_hasher(foldhash::fast::RandomState::default());
        let mut all = Vec::new();
        for source in self.0.files.sources.iter() {
            let entries = source.catalog().metadata.iter().map(|(key, value)| (key, value, source));
            all.extend(entries.filter(|(key, ..)| seen.insert(*key)));
        }
        all
    }

    /// Its weights, in file order.
    #[must_use]
    pub fn weights(&self) -> Weights<'_> {
        Weights::new(self, self.0.ledger.weights.len())
    }

    /// Returns the weight with this exact name; the first one if there are several.
    ///
    /// The first call builds an index of all names. Later calls take constant time.
    ///
    /// ```no_run
    /// let model = weighbridge::Model::open("model.safetensors")?;
    /// let weight = model.weight("model.embed_tokens.weight")?;
    /// println!("{:?} stored as {}", weight.shape(), weight.scheme());
    /// # Ok::<(), weighbridge::Error>(())
    /// ```
    pub fn weight(&self, name: &str) -> Result<Weight> {
        let name_at = |index: usize| self.name_at(index);
        let by_name =
            self.0.by_name.get_or_init(|| ByName::new(self.0.ledger.weights.len(), name_at));
        let index = by_name.find(name, name_at).ok_or_else(|| {
            Error::usage("the model has no such weight")
                .in_tensor(name)
                .in_file(&self.0.files.path)
                .remedy(Remedy::ListNames)
        })?;
        Ok(Weight::new(self.clone(), index))
    }

    /// The name of one of its weights.
    fn name_at(&self, index: usize) -> &str {
        match self.entry(index) {
            Entry::Plain(id) => &self.stored(*id).1.name,
            Entry::Scheme(_, bid) => &bid.name,
        }
    }

    /// What one of its weights is.
    fn entry(&self, index: usize) -> &Entry {
        &self.0.ledger.weights[index]
    }

    /// Stored tensors that belong to no weight, with the reason.
    pub fn dropped(&self) -> impl Iterator<Item = (&TensorInfo, &str)> {
        self.0.ledger.dropped.iter().map(|(id, reason)| (self.stored(*id).1, reason.as_str()))
    }

    /// The shape that a stored tensor had before it was stored, if that was another one.
    pub(crate) fn original_shape(&self, id: TensorId) -> Option<&Shape> {
        self.0.original_shapes.get(id)
    }

    /// A stored tensor and the source it lies in.
    pub(crate) fn stored(&self, id: TensorId) -> (&Source, &TensorInfo) {
        let source = &self.0.files.sources[id.source as usize];
        (source, &source.catalog().tensors[id.tensor as usize])
    }
}

/// What is wrong with a file. Of several files, one that was cut short is named: the problem is the
/// file's, whichever of its tensors is looked at.
fn findings_of(source: &Source, files: usize) -> impl Iterator<Item = Finding> {
    let path: Arc<Path> = source.input().name().into();
    source.catalog().findings.iter().cloned().map(move |finding| {
        let mut finding = finding.in_file(&path);
        if files > 1 && finding.kind == "truncated" {
            finding.message = format!("{}: {}", file_name(source), finding.message);
        }
        finding
    })
}

/// The name of a file, for messages.
fn file_name(source: &Source) -> String {
    locate::shown_name(source.input().name())
}

/// All bytes of one stored tensor.
fn read_whole(sources: &[Source], id: TensorId) -> Result<Vec<u8>> {
    let source = &sources[id.source as usize];
    let tensor = &source.catalog().tensors[id.tensor as usize];
    let mut scratch = Vec::new();
    let staged = source.fetch(tensor, &Slab::whole(0, 0, tensor.bytes), &mut scratch)?;
    Ok(staged.bytes().to_vec())
}

/// A finding for each stored tensor that cannot be read, unless one says so already. (That it
/// overlaps another, say, does not.)
fn add_unreadable(sources: &[Source], findings: &mut Vec<Finding>) {
    let tensors = sources.iter().flat_map(|source| &source.catalog().tensors);
    let mut refused =
        tensors.filter_map(|tensor| Some((&*tensor.name, &**tensor.refused.as_ref()?))).peekable();
    if refused.peek().is_none() {
        return;
    }
    let said = findings.iter().map(|finding| (finding.tensor.as_deref(), &*finding.message));
    let said: HashSet<_, foldhash::fast::RandomState> = said.collect();
    let unsaid: Vec<Finding> = refused
        .filter(|(name, reason)| !said.contains(&(Some(*name), *reason)))
        .map(|(name, reason)| Finding::of(name, "unreadable", reason))
        .collect();
    findings.extend(unsaid);
}
