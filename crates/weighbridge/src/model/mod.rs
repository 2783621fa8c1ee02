//! What the user points at: one or several stored files, opened as one model.

use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{Finding, TensorInfo, Value};
use crate::containers::{self, Opening};
use crate::error::{Error, Result};
use crate::input::{FileAccess, Input, ReadSeek};
use crate::limits::{Budget, Limits};
use crate::schemes::{self, Answer, Config, Evidence, Ledger, TensorId};
use crate::source::{Slab, Source};

mod ahead;
mod locate;
mod panel;
mod straight;
mod weight;

pub(crate) use ahead::Ahead;
pub use locate::Stores;
pub use weight::{Scratch, Weight};

use locate::Located;

/// How a model is opened.
///
/// ```no_run
/// use weighbridge::{FileAccess, Limits, OpenOptions};
/// let model = OpenOptions::new()
///     .access(FileAccess::Read)
///     .limits(Limits::default().max_items(100_000))
///     .open("model.safetensors")?;
/// # Ok::<(), weighbridge::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    access: FileAccess,
    limits: Limits,
    root: Option<String>,
    strict_pickle: bool,
    stores: Option<Stores>,
    answers: Vec<Answer>,
}

impl OpenOptions {
    /// Mapped files, default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Map files or read them by position.
    #[must_use]
    pub fn access(mut self, access: FileAccess) -> Self {
        self.access = access;
        self
    }

    /// What opening may cost.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Take one branch of a nested checkpoint.
    #[must_use]
    pub fn root(mut self, key: impl Into<String>) -> Self {
        self.root = Some(key.into());
        self
    }

    /// Refuse pickles that name anything outside the known set.
    #[must_use]
    pub fn strict_pickle(mut self, strict: bool) -> Self {
        self.strict_pickle = strict;
        self
    }

    /// Where names that are no paths are looked up; without this, where the environment says.
    #[must_use]
    pub fn stores(mut self, stores: Stores) -> Self {
        self.stores = Some(stores);
        self
    }

    /// Answers what a file cannot tell: the weights whose names match are what `says` says, as
    /// `scheme/variant`. Of several rules for one weight the first counts; one that names no
    /// scheme is an error on opening, one that decides nothing a finding.
    #[must_use]
    pub fn scheme(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        says: &str,
    ) -> Self {
        self.answers.push(Answer::new(Arc::new(matches), says.into()));
        self
    }

    /// Opens a file, a directory, an index, or a name known to a local store.
    ///
    /// A place that holds several models is an error that names them; see
    /// [`open_all`](Self::open_all).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        self.open_located(locate::only(self.locate(path)?, path)?)
    }

    /// Opens everything at a place: the one model, or each component of a pipeline.
    pub fn open_all(&self, path: impl AsRef<Path>) -> Result<Vec<Model>> {
        let found = self.locate(path.as_ref())?;
        found.into_iter().map(|one| self.open_located(one)).collect()
    }

    fn locate(&self, path: &Path) -> Result<Vec<Located>> {
        locate::locate(path, self.stores.as_ref(), &self.limits)
    }

    /// Opens bytes in memory; `name` stands in for a path.
    pub fn open_bytes(
        &self,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        name: &str,
    ) -> Result<Model> {
        self.open_input(Input::from_bytes(bytes, name))
    }

    /// Opens anything that reads and seeks; `name` stands in for a path.
    pub fn open_reader(&self, reader: impl ReadSeek + 'static, name: &str) -> Result<Model> {
        self.open_input(Input::from_reader(reader, name)?)
    }

    /// Opens a reader that cannot seek, such as a pipe. Formats whose header comes first cost
    /// their header; others are kept in memory whole, within the limits.
    pub fn open_stream(&self, reader: impl Read + Send + 'static, name: &str) -> Result<Model> {
        self.open_input(Input::from_stream(reader, name, self.limits.max_allocation))
    }

    fn open_input(&self, input: Input) -> Result<Model> {
        let path = input.name().to_owned();
        self.assemble(vec![input], Located::new(path))
    }

    fn open_located(&self, mut located: Located) -> Result<Model> {
        let mut opened = located.opened.take();
        let open = |path: &PathBuf| match opened.take() {
            Some((file, about)) => Input::from_file(file, &about, path, self.access),
            None => Input::open(path, self.access),
        };
        let inputs = located.files.iter().map(open).collect::<Result<_>>()?;
        self.assemble(inputs, located)
    }

    fn assemble(&self, inputs: Vec<Input>, mut located: Located) -> Result<Model> {
        self.answers.iter().try_for_each(Answer::check)?;
        let budget = Budget::new(self.limits.clone());
        let sources: Vec<Source> = inputs
            .into_iter()
            .map(|input| {
                let name = input.name().to_owned();
                self.open_source(input, &budget).map_err(|e| e.in_file(&name))
            })
            .collect::<Result<_>>()?;
        locate::beside_late(&sources, &mut located, &budget)?;
        Model::new(sources, located, &self.answers)
    }

    fn open_source(&self, input: Input, budget: &Budget) -> Result<Source> {
        if let Some(stranger) = locate::certain_stranger(&input)? {
            return Err(stranger);
        }
        let Some(container) = containers::recognize(&input)? else {
            return Err(locate::name_stranger(&input));
        };
        let stem = input.name().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let opening = Opening {
            budget,
            stem: &stem,
            root: self.root.as_deref(),
            strict_pickle: self.strict_pickle,
        };
        let catalog = container.open(&input, &opening)?;
        Ok(Source::new(input, catalog, container, self.limits.clone()))
    }
}

/// A model: some stored files, one catalog, and who reads what of it.
pub struct Model {
    path: PathBuf,
    sources: Vec<Source>,
    ledger: Ledger,
    findings: Vec<Finding>,
    notes: Vec<String>,
    configs: Vec<Config>,
}

impl Model {
    /// Opens a file, a directory, an index, or a name known to a local store.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        OpenOptions::new().open(path)
    }

    /// Opens bytes in memory; `name` stands in for a path.
    pub fn open_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static, name: &str) -> Result<Self> {
        OpenOptions::new().open_bytes(bytes, name)
    }

    /// Opens anything that reads and seeks; `name` stands in for a path.
    pub fn open_reader(reader: impl ReadSeek + 'static, name: &str) -> Result<Self> {
        OpenOptions::new().open_reader(reader, name)
    }

    fn new(sources: Vec<Source>, located: Located, answers: &[Answer]) -> Result<Self> {
        let catalogs = sources.iter().map(|s| (&s.catalog().tensors[..], &s.catalog().metadata));
        let read = |id: TensorId| read_whole(&sources, id);
        let evidence = Evidence::new(catalogs, &located.configs).reading(&read).answered(answers);
        let ledger = schemes::settle(&evidence, schemes::SCHEMES);
        evidence.effort().check().map_err(|e| e.in_file(&located.path))?;
        let mut findings = located.findings;
        let mut notes = located.notes;
        for source in &sources {
            findings.extend(source.catalog().findings.iter().cloned());
            notes.extend(source.catalog().notes.iter().cloned());
        }
        findings.extend(locate::cross_check(located.index.as_ref(), &sources));
        findings.extend(ledger.findings.iter().cloned());
        add_unreadable(&sources, &mut findings);
        Ok(Self { path: located.path, sources, ledger, findings, notes, configs: located.configs })
    }

    /// The place it was opened from.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The format of its files: `safetensors`, `gguf`, ..
    #[must_use]
    pub fn format(&self) -> &'static str {
        self.sources.first().map_or("empty", |source| source.container().name())
    }

    /// Its files.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The JSON documents that lie beside its files.
    #[must_use]
    pub fn configs(&self) -> &[Config] {
        &self.configs
    }

    /// What is wrong with it.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What is wrong with its files and their places, whatever schemes make of their contents.
    pub(crate) fn findings_of_files(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !self.ledger.findings.contains(finding))
    }

    /// Says that most of its files will be read, which they were not opened for.
    pub(crate) fn will_need_all(&self) {
        self.sources.iter().for_each(|source| source.input().will_need_all());
    }

    /// An error if one of its files was changed since it was opened.
    pub(crate) fn refuse_changed(&self) -> Result<()> {
        self.sources.iter().try_for_each(|source| source.input().refuse_changed())
    }

    /// What was decided on the user's behalf.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The metadata of its files with the file each entry is from. A key that several files have
    /// is given once, as the first file has it.
    #[must_use]
    pub fn metadata(&self) -> Vec<(&str, &Value, &Source)> {
        let mut seen = HashSet::with_hasher(foldhash::fast::RandomState::default());
        let mut all = Vec::new();
        for source in &self.sources {
            let entries = source.catalog().metadata.iter().map(|(key, value)| (key, value, source));
            all.extend(entries.filter(|(key, ..)| seen.insert(*key)));
        }
        all
    }

    /// Its logical weights, in the order of the files.
    pub fn weights(&self) -> impl ExactSizeIterator<Item = Weight<'_>> {
        self.ledger.weights.iter().map(|entry| Weight::new(self, entry))
    }

    /// The weight of that name.
    pub fn weight(&self, name: &str) -> Result<Weight<'_>> {
        self.weights().find(|weight| weight.name() == name).ok_or_else(|| {
            Error::usage("the model has no such weight")
                .in_tensor(name)
                .in_file(&self.path)
                .hint("`weigh inspect --tensors` lists the names")
        })
    }

    /// Stored tensors that no weight needs, with the reason.
    pub fn dropped(&self) -> impl Iterator<Item = (&TensorInfo, &str)> {
        self.ledger.dropped.iter().map(|(id, reason)| (self.stored(*id).1, reason.as_str()))
    }

    /// A stored tensor and the source it lies in.
    pub(crate) fn stored(&self, id: TensorId) -> (&Source, &TensorInfo) {
        let source = &self.sources[id.source as usize];
        (source, &source.catalog().tensors[id.tensor as usize])
    }
}

/// The image of one stored tensor.
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
