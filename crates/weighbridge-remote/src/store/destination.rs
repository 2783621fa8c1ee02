//! An output in an object store: files under a prefix, or one object.
//!
//! An object is there as soon as it is complete, and stores cannot rename. So shards have their
//! final keys at once, and what makes them a model comes last: the index, then the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path as FilePath, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use crate::input::error_of;
use crate::output::{Destination, FoundFile, Kept, OutputFile, WriteOrder};
use crate::{Error, Remedy, Result};
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{
    ObjectMeta, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};

use crate::runtime::block_on;
use crate::stop::lock;
use crate::store::bucket::Bucket;
use crate::store::finishing::{Content, is_held_back};
use crate::store::output_file::StoreOutput;
use crate::store::records::{
    MANIFEST, Manifest, PLAN, Plan, Record, VERSION, is_record, record_key, run_id, same_tag, under,
};
use crate::store::upload::{Room, Upload};

/// How long ending uploads may take after an error.
pub(crate) const ABORT_TIME: Duration = Duration::from_secs(10);

/// Files under a prefix of a bucket, or one object.
pub struct StoreDestination {
    pub(crate) bucket: Arc<Bucket>,
    /// The prefix, or the key of the one object.
    pub(crate) root: Path,
    pub(crate) is_single: bool,
    pub(crate) force: bool,
    in_turn: bool,
    resume: bool,
    pub(crate) room: Arc<Room>,
    pub(crate) run: String,
    pub(crate) stamp: OnceLock<String>,
    /// What was under the prefix when the work began.
    pub(crate) there: OnceLock<BTreeMap<Path, ObjectMeta>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Files that are complete, with their sums.
    pub(crate) files: BTreeMap<String, Record>,
    /// Uploads that were started and not completed.
    pub(crate) uploads: BTreeMap<Path, Arc<Upload>>,
    /// What waits for the end.
    pub(crate) held_back: BTreeMap<String, (Content, Record)>,
    /// Keys that this run has put.
    pub(crate) put: BTreeSet<Path>,
    /// What an earlier output consists of that is being replaced.
    pub(crate) replaced: Vec<Record>,
    /// Files of which an upload was begun and never completed.
    begun: BTreeSet<String>,
    /// The manifest is there.
    is_finished: bool,
    pub(crate) notes: Vec<String>,
}

weighbridge_core::setters! { StoreDestination:
    /// Whether keys that exist may be overwritten.
    force(force: bool) force = force;

    /// Whether to go on with what an interrupted run has finished.
    resume(resume: bool) resume = resume;

    /// Whether files are written front to back, because their formats need that.
    in_turn(in_turn: bool) in_turn = in_turn;
}

impl StoreDestination {
    /// Files under a prefix. Bytes that wait to be sent take up to `memory`; at least two parts of
    /// 16 MiB are needed to fill one while another is sent.
    pub fn folder(bucket: Arc<Bucket>, prefix: Path, memory: u64) -> Self {
        Self::new(bucket, prefix, memory, false)
    }

    /// One object, whatever its file is called. It is there when all is done, has no manifest, and
    /// cannot be resumed.
    pub fn object(bucket: Arc<Bucket>, key: Path, memory: u64) -> Self {
        Self::new(bucket, key, memory, true)
    }

    fn new(bucket: Arc<Bucket>, root: Path, memory: u64, is_single: bool) -> Self {
        Self {
            bucket,
            root,
            is_single,
            force: false,
            in_turn: false,
            resume: false,
            room: Room::new(memory),
            run: run_id(),
            stamp: OnceLock::new(),
            there: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn key(&self, name: &str) -> Result<Path> {
        if self.is_single {
            return Ok(self.root.clone());
        }
        let outside =
            || Error::usage("this name is outside the output prefix").in_file(FilePath::new(name));
        under(&self.root, name).ok_or_else(outside)
    }

    /// What is there now, with one listing.
    pub(crate) fn list(&self) -> Result<BTreeMap<Path, ObjectMeta>> {
        if self.is_single {
            let found = block_on(self.bucket.store.head(&self.root));
            let found = found.map_err(|e| error_of(e, "cannot start threads for requests"))?;
            return match found {
                Ok(meta) => Ok(BTreeMap::from([(self.root.clone(), meta)])),
                Err(object_store::Error::NotFound { .. }) => Ok(BTreeMap::new()),
                Err(error) => Err(self.bucket.fault(&self.root, "cannot stat", &error)),
            };
        }
        let prefix = Some(&self.root).filter(|prefix| !prefix.is_root());
        let listed = self.bucket.store.list(prefix).map_ok(|meta| (meta.location.clone(), meta));
        self.bucket.ask(&self.root, "cannot list", listed.try_collect())
    }

    pub(crate) fn read_json<T: serde::de::DeserializeOwned>(&self, key: &Path) -> Option<T> {
        /// Far more than any record of ours has.
        const MAX: u64 = 64 << 20;
        let answer = block_on(async {
            let answer =
                self.bucket.store.get(key).await.ok().filter(|answer| answer.meta.size <= MAX)?;
            answer.bytes().await.ok()
        });
        serde_json::from_slice(&answer.ok()??).ok()
    }

    pub(crate) fn put(
        &self,
        key: &Path,
        bytes: PutPayload,
        mode: PutMode,
    ) -> Result<Option<String>> {
        // Before it is put: what is under way when the run ends is ours, too.
        self.state().put.insert(key.clone());
        let put = self.bucket.store.put_opts(key, bytes, PutOptions::from(mode));
        let put = self.bucket.ask(key, "cannot write", put);
        if put.is_err() {
            self.state().put.remove(key);
        }
        put.map(|put| put.e_tag)
    }

    pub(crate) fn put_json(
        &self,
        key: &Path,
        value: &impl serde::Serialize,
        mode: PutMode,
    ) -> Result<Option<String>> {
        let text = serde_json::to_vec_pretty(value).map_err(|e| Error::usage(e.to_string()))?;
        self.put(key, text.into(), mode)
    }

    /// An error if something is there that may not be overwritten.
    fn refuse_existing(&self, there: &BTreeMap<Path, ObjectMeta>, stamp: &str) -> Result<()> {
        let Some(first) = there.keys().next() else { return Ok(()) };
        let place = self.bucket.place(&self.root);
        let is_there = |name| self.key(name).ok().filter(|key| there.contains_key(key));
        if self.force {
            let is_ours = self.is_single || is_there(PLAN).or(is_there(MANIFEST)).is_some();
            let foreign =
                "contains objects from another program (no manifest), which are never overwritten";
            let error = || Error::usage(foreign).remedy(Remedy::AnotherTarget).in_file(&place);
            return is_ours.then_some(()).ok_or_else(error);
        }
        let plan: Option<Plan> = is_there(PLAN).and_then(|key| self.read_json(&key));
        let exists = || match (self.is_single, there.len()) {
            (true, _) => Error::usage("this object already exists"),
            (_, 1) => Error::usage(format!("an object already exists: {first}")),
            (_, many) => {
                Error::usage(format!("{many} objects already exist, the first is {first}"))
            }
        };
        let error = match plan {
            Some(plan) if plan.stamp == stamp && self.resume => return Ok(()),
            Some(plan) if plan.stamp == stamp => {
                Error::usage("an earlier run of this command did not finish here")
                    .remedy(Remedy::Resume)
            }
            Some(_) => Error::usage("an earlier run of another command did not finish here"),
            None => exists(),
        };
        let replace = if self.is_single { Remedy::Overwrite } else { Remedy::OverwriteInPlace };
        Err(error.remedy(replace).remedy(Remedy::AnotherTarget).in_file(&place))
    }

    /// What made an earlier output a model is taken away before its files are replaced. Its other
    /// files stay until this one is complete.
    fn take_index_away(&self, there: &BTreeMap<Path, ObjectMeta>) -> Result<()> {
        if self.is_single {
            return Ok(());
        }
        let manifest_key = self.key(MANIFEST)?;
        let manifest = Some(&manifest_key).filter(|key| there.contains_key(key));
        let manifest: Option<Manifest> = manifest.and_then(|key| self.read_json(key));
        let mut files = manifest.map(|manifest| manifest.files).unwrap_or_default();
        let names = files.iter().map(|file| &file.name).filter(|name| is_held_back(name));
        let indexes: Vec<Path> = names.filter_map(|name| self.key(name).ok()).collect();
        // A run that was not finished has noted its files one by one.
        let records = there.keys().filter(|key| is_record(&self.root, key));
        for key in records {
            files.extend(self.read_json::<Record>(key));
            let begun = self.end_stale_upload(key);
            self.state().begun.extend(begun);
        }
        // Before anything is taken away: what was changed since is somebody's.
        for file in &files {
            let key = self.key(&file.name)?;
            let is_changed = |is: &ObjectMeta| !same_tag(is.e_tag.as_deref(), file.etag.as_deref());
            if there.get(&key).is_some_and(is_changed) {
                return Err(self.foreign(&key));
            }
        }
        self.state().replaced = files;
        for key in
            std::iter::once(manifest_key).chain(indexes).filter(|key| there.contains_key(key))
        {
            self.bucket.ask(&key, "cannot delete", self.bucket.store.delete(&key))?;
        }
        Ok(())
    }

    /// An error if an object is in the place of a file that no run of ours has noted: it is somebody's.
    fn refuse_foreign(&self, name: &str, key: &Path) -> Result<()> {
        let there = self.there.get().and_then(|there| there.get(key));
        let Some(object) = there.filter(|_| self.force && !self.is_single) else { return Ok(()) };
        let state = self.state();
        let is_noted = |old: &Record| {
            old.name == name && same_tag(object.e_tag.as_deref(), old.etag.as_deref())
        };
        if state.begun.contains(name) || state.replaced.iter().any(is_noted) {
            return Ok(());
        }
        Err(self.foreign(key))
    }

    fn foreign(&self, key: &Path) -> Error {
        Error::usage("was written by another program and is never overwritten")
            .in_file(&self.bucket.place(key))
            .remedy(Remedy::AnotherTarget)
    }

    /// Notes a file as complete, there and here.
    pub(crate) fn note(&self, record: Record) -> Result<()> {
        if !self.is_single
            && let Some(key) = record_key(&self.root, &record.name)
        {
            self.put_json(&key, &record, PutMode::Overwrite)?;
        }
        self.state().files.insert(record.name.clone(), record);
        Ok(())
    }
}

impl Destination for StoreDestination {
    fn order(&self) -> WriteOrder {
        if self.in_turn { WriteOrder::FrontToBack } else { WriteOrder::Any }
    }

    fn is_read_when_finished(&self) -> bool {
        true
    }

    fn unnamed(&self) -> Option<PathBuf> {
        let place = self.bucket.place(&self.root);
        // A slash says that it is no object.
        Some(if self.is_single { place } else { PathBuf::from(format!("{}/", place.display())) })
    }

    fn begin(&self, stamp: &dyn Fn() -> String) -> Result<()> {
        // What others can read names no files of this machine.
        let stamp = blake3::hash(stamp().as_bytes()).to_hex().to_string();
        let there = self.list()?;
        self.refuse_existing(&there, &stamp)?;
        if self.force {
            self.take_index_away(&there)?;
        }
        if !self.is_single {
            let key = self.key(PLAN)?;
            let resumed = self.resume && !self.force && there.contains_key(&key);
            if !resumed {
                let plan = Plan { version: VERSION, stamp: stamp.clone(), run: self.run.clone() };
                let mode = if self.force { PutMode::Overwrite } else { PutMode::Create };
                self.put_json(&key, &plan, mode)
                    .map_err(|error| error.hint("another run may have just started here"))?;
            }
        }
        let began = self.stamp.set(stamp).is_ok() && self.there.set(there).is_ok();
        began.then_some(()).ok_or_else(|| Error::usage("the output was already started"))
    }

    fn found(&self, name: &str, len: u64) -> FoundFile {
        // With permission to overwrite, the plan that is there is not ours.
        let Some(there) =
            self.there.get().filter(|_| self.resume && !self.force && !self.is_single)
        else {
            return FoundFile::Nothing;
        };
        let record = record_key(&self.root, name).filter(|key| there.contains_key(key));
        let Some(record_key) = record else { return FoundFile::Nothing };
        let Some(record) = self.read_json::<Record>(&record_key) else {
            self.end_stale_upload(&record_key);
            return FoundFile::Nothing;
        };
        let object = self.key(name).ok().and_then(|key| there.get(&key));
        let same = |object: &ObjectMeta| {
            record.bytes == len
                && object.size == len
                && same_tag(object.e_tag.as_deref(), record.etag.as_deref())
        };
        if object.is_some_and(same) && record.name == name {
            self.state().files.insert(name.to_owned(), record);
            FoundFile::Complete
        } else {
            FoundFile::Damaged
        }
    }

    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let key = self.key(name)?;
        if self.stamp.get().is_none() {
            return Err(
                Error::usage("the output was not started").in_file(&self.bucket.place(&key))
            );
        }
        self.refuse_foreign(name, &key)?;
        Ok(Box::new(StoreOutput::start(self, name, key, len)?))
    }

    fn finish(&self) -> Result<()> {
        if self.is_single {
            self.put_held_back()?;
            self.state().is_finished = true;
            return Ok(());
        }
        let manifest = self.key(MANIFEST)?;
        if self.read_json::<Manifest>(&manifest).is_some() {
            return Err(self.finished_by_other());
        }
        self.put_held_back()?;
        self.put_manifest()?;
        self.state().is_finished = true;
        self.remove_records();
        self.remove_replaced();
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        self.state().notes.clone()
    }

    fn left_behind(&self) -> Vec<String> {
        let finished = "the output is complete, but it could not be verified".to_owned();
        let finished = Some(finished).filter(|_| self.state().is_finished);
        finished.into_iter().chain(self.notes()).collect()
    }

    fn discard(&self) {
        self.abort_uploads();
        let mut keys = std::mem::take(&mut self.state().put);
        // Of a complete output, what an earlier run had written is as wrong as the rest.
        if std::mem::take(&mut self.state().is_finished) {
            let names: Vec<String> = self.state().files.keys().cloned().collect();
            keys.extend(names.iter().filter_map(|name| self.key(name).ok()));
        }
        self.delete(keys.into_iter().collect(), None);
        self.state().files.clear();
    }

    fn kept(&self) -> Option<Kept> {
        let names: Vec<String> = self.state().files.keys().cloned().collect();
        (!self.is_single && !names.is_empty() && !self.state().is_finished)
            .then(|| Kept { path: self.bucket.place(&self.root), names })
    }

    fn abort(&self) {
        self.abort_uploads();
        // A plan without files is of no use to anybody.
        let plan = self.key(PLAN).ok().filter(|key| self.state().put.contains(key));
        if self.state().files.is_empty() {
            self.delete(plan.into_iter().collect(), Some(ABORT_TIME));
        }
    }
}
