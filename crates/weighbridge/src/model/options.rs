//! How a model is opened.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Model;
use super::locate::{self, Located, Stores};
use super::side_by_side::side_by_side;
use crate::containers::{self, Opening, Recognition};
use crate::error::Result;
use crate::input::{FileAccess, Folder, Input, LocalFolder, ReadAt, ReadSeek};
use crate::limits::{Budget, Limits};
use crate::schemes::{SCHEMES, SchemeChoice};
use crate::source::Source;
use crate::stop::while_reading;

/// Files that are opened at once where each of them waits for an answer.
const SIDE_BY_SIDE: usize = 32;

/// Options for opening a model.
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
    choices: Vec<SchemeChoice>,
    remote: crate::Remote,
}

weighbridge_core::setters! { OpenOptions:
    /// Sets whether files are memory-mapped or read.
    access(access: FileAccess) access = access;

    /// Sets limits on memory, items and nesting for untrusted files.
    limits(limits: Limits) limits = limits;

    /// Opens only one branch of a nested checkpoint.
    root(key: impl Into<String>) root = Some(key.into());

    /// Rejects pickles that name classes or functions outside the known set.
    strict_pickle(strict: bool) strict_pickle = strict;

    /// Sets the local stores for bare names. Default: [`Stores::from_env`].
    stores(stores: Stores) stores = Some(stores);

    /// Sets the network options for remote files.
    #[cfg(feature = "remote")]
    remote(remote: crate::remote::Remote) remote = remote;
}

impl OpenOptions {
    /// Default options: memory-mapped files and default limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Resolves an ambiguous file: weights whose names match are stored as `says`, a
    /// `scheme/variant`.
    ///
    /// The first matching rule applies. A rule with an unknown scheme is an error on opening; a rule
    /// without effect is a finding.
    #[must_use]
    pub fn scheme(
        mut self,
        matches: impl Fn(&str) -> bool + Send + Sync + 'static,
        says: &str,
    ) -> Self {
        self.choices.push(SchemeChoice::new(Arc::new(matches), says.into()));
        self
    }

    /// Opens a file, a directory, a shard index or a name in a local store.
    ///
    /// With the feature `remote`, it also opens `hf://`, `https://`, `s3://`, `gs://` and `az://`
    /// addresses. If there are several models, it returns an error that lists them; see
    /// [`open_all`](Self::open_all).
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        self.open_located(locate::only(self.locate(path)?, path)?)
    }

    /// Opens all models at a path: a single model, or each component of a pipeline.
    pub fn open_all(&self, path: impl AsRef<Path>) -> Result<Vec<Model>> {
        self.open_each(self.locate(path.as_ref())?)
    }

    /// Opens the components of a pipeline: a `model_index.json` with a directory per component.
    ///
    /// `None` if the path is not a pipeline.
    pub fn open_pipeline(&self, path: impl AsRef<Path>) -> Result<Option<Vec<Model>>> {
        let found = self.locate(path.as_ref())?;
        let is_pipeline = found.iter().all(|one| one.pipeline.is_some());
        is_pipeline.then(|| self.open_each(found)).transpose()
    }

    /// Opens a path of a [`Folder`], as [`open`](Self::open) opens a path on disk.
    ///
    /// The path names a file, a shard index or a directory. An empty path is the folder itself.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use weighbridge::{MemoryFolder, OpenOptions};
    /// let header = br#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}"#;
    /// let file = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat();
    /// let folder = MemoryFolder::new().with("model.safetensors", file).with("config.json", "{}");
    /// let model = OpenOptions::new().open_in(Arc::new(folder), "")?;
    /// assert_eq!(model.weights().count(), 1);
    /// # Ok::<(), weighbridge::Error>(())
    /// ```
    pub fn open_in(&self, folder: Arc<dyn Folder>, path: impl AsRef<Path>) -> Result<Model> {
        let path = path.as_ref();
        let found = locate::locate_in(folder, path, &self.limits)?;
        self.open_located(locate::only(found, path)?)
    }

    /// Opens a model and those in folders beside it as one model.
    pub(crate) fn open_with(
        &self,
        folder: &Arc<dyn Folder>,
        path: &Path,
        beside: &[PathBuf],
    ) -> Result<Model> {
        let locate = |path: &Path| {
            locate::only(locate::locate_in(Arc::clone(folder), path, &self.limits)?, path)
        };
        let mut all = locate(path)?;
        for path in beside {
            all.files.extend(locate(path)?.files);
        }
        // An index knows the model's own files, and what is open already is one of several.
        (all.index, all.opened) = (None, None);
        self.open_located(all)
    }

    /// Opens all models at a path of a [`Folder`]; see [`open_all`](Self::open_all).
    pub fn open_all_in(
        &self,
        folder: Arc<dyn Folder>,
        path: impl AsRef<Path>,
    ) -> Result<Vec<Model>> {
        self.open_each(locate::locate_in(folder, path.as_ref(), &self.limits)?)
    }

    fn open_each(&self, found: Vec<Located>) -> Result<Vec<Model>> {
        found.into_iter().map(|one| self.open_located(one)).collect()
    }

    fn locate(&self, path: &Path) -> Result<Vec<Located>> {
        let typed = locate::Typed::new(path, self.stores.as_ref(), &self.remote);
        while_reading(|| locate::locate(&typed, self.local_files(), &self.limits))
    }

    /// The files of this machine.
    fn local_files(&self) -> Arc<dyn Folder> {
        Arc::new(LocalFolder::new("", self.access))
    }

    /// Opens bytes in memory; `name` takes the place of a path.
    pub fn open_bytes(
        &self,
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        name: &str,
    ) -> Result<Model> {
        self.open_input(Input::from_bytes(bytes, name))
    }

    /// Opens a reader that can seek; `name` takes the place of a path.
    pub fn open_reader(&self, reader: impl ReadSeek + 'static, name: &str) -> Result<Model> {
        self.open_input(Input::from_reader(reader, name)?)
    }

    /// Opens a reader that cannot seek, such as a pipe.
    ///
    /// Formats that start with their header buffer only the header. Other formats are buffered whole,
    /// within the limits.
    pub fn open_stream(&self, reader: impl Read + Send + 'static, name: &str) -> Result<Model> {
        self.open_input(Input::from_stream(reader, name, self.limits.max_allocation))
    }

    /// Opens a custom source of bytes; `name` takes the place of a path.
    pub fn open_read_at(&self, source: Arc<dyn ReadAt>, name: &str) -> Result<Model> {
        self.open_input(Input::from_source(source, name))
    }

    fn open_input(&self, input: Input) -> Result<Model> {
        let path = input.name().to_owned();
        self.assemble(vec![input], Located::alone(path))
    }

    fn open_located(&self, mut located: Located) -> Result<Model> {
        while_reading(|| {
            if let Some(source) = located.opened.take() {
                let first = located.files.first().cloned().unwrap_or_default();
                return self.assemble(vec![Input::from_source(source, first)], located);
            }
            let (folder, files) = (located.folder.clone(), located.files.clone());
            let open = |path: PathBuf| Input::open_in(&*folder, &path);
            let inputs = side_by_side(files, threads_for(folder.has_latency()), open)?;
            self.assemble(inputs, located)
        })
    }

    fn assemble(&self, inputs: Vec<Input>, mut located: Located) -> Result<Model> {
        self.choices.iter().try_for_each(|choice| choice.check(SCHEMES))?;
        let budget = Budget::new(self.limits.clone());
        let threads = threads_for(inputs.iter().any(Input::has_latency));
        let sources = side_by_side(inputs, threads, |input| {
            let name = input.name().to_owned();
            self.open_source(input, &budget).map_err(|e| e.in_file(&name))
        })?;
        locate::beside_late(&sources, &mut located, &budget)?;
        Model::new(sources, located, &self.choices, budget)
    }

    fn open_source(&self, input: Input, budget: &Budget) -> Result<Source> {
        let container = match containers::recognize(&input)? {
            Some((container, Recognition::Certain)) => container,
            other => {
                let explained = locate::explain_certain(&input)?;
                if (explained.is_some() || other.is_none())
                    && let Some(source) = self.dangerous_source(&input, budget)?
                {
                    return Ok(source);
                }
                if let Some(error) = explained {
                    return Err(error);
                }
                other.ok_or_else(|| locate::explain(&input))?.0
            }
        };
        let stem = input.name().file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let opening = Opening {
            budget,
            stem: &stem,
            root: self.root.as_deref(),
            strict_pickle: self.strict_pickle,
        };
        let catalog = containers::open(container, &input, &opening)?;
        Ok(Source::new(input, catalog, containers::format_of(container), self.limits.clone()))
    }

    /// A file without weights that can be read, if it carries dangerous code: nobody should be told
    /// only that its format is unknown.
    fn dangerous_source(&self, input: &Input, budget: &Budget) -> Result<Option<Source>> {
        if input.has_latency() {
            return Ok(None);
        }
        let catalog = containers::open_dangerous(input, budget)?;
        let format = containers::program_format();
        Ok(catalog.map(|c| Source::new(input.clone(), c, format, self.limits.clone())))
    }
}

/// How many files are opened at once: on this machine one after the other, since that is done before
/// a thread would be there.
fn threads_for(has_latency: bool) -> usize {
    if has_latency { SIDE_BY_SIDE } else { 1 }
}
