//! An output in an object store: files under a prefix, or one object.
//!
//! An object is there as soon as it is complete, and stores cannot rename. So shards have their
//! final keys at once, and what makes them a model comes last: the index, then the manifest.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path as FilePath;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::output::{Destination, FoundFile, Kept, OutputFile};
use crate::{Error, Remedy, Result};
use futures_util::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path;
use object_store::{
    ObjectMeta, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions, PutPayload,
};

use crate::remote::runtime::block_on;
use crate::remote::store::bucket::Bucket;
use crate::remote::store::output_file::StoreOutput;
use crate::remote::store::records::{
    MANIFEST, Manifest, PLAN, Plan, Record, SUMS, VERSION, record_key, run_id, same_tag, under,
};
use crate::remote::store::upload::{Room, Upload};

/// How long ending uploads may take after an error.
pub(crate) const ABORT_TIME: Duration = Duration::from_secs(10);

/// Files under a prefix of a bucket, or one object.
pub struct StoreDestination {
    pub(crate) bucket: Arc<Bucket>,
    /// The prefix, or the key of the one object.
    root: Path,
    pub(crate) is_single: bool,
    force: bool,
    resume: bool,
    pub(crate) room: Arc<Room>,
    run: String,
    stamp: OnceLock<String>,
    /// What was under the prefix when the work began.
    there: OnceLock<BTreeMap<Path, ObjectMeta>>,
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    /// Files that are complete, with their sums.
    files: BTreeMap<String, Record>,
    /// Uploads that were started and not completed.
    pub(crate) uploads: BTreeMap<Path, Arc<Upload>>,
    /// What waits for the end.
    pub(crate) held_back: BTreeMap<String, HeldBack>,
    /// Keys that this run has put.
    put: BTreeSet<Path>,
    notes: Vec<String>,
}

/// A file that is put at the end.
pub(crate) enum HeldBack {
    Small(PutPayload, Record),
    Sent(Arc<Upload>, Record),
}

impl StoreDestination {
    /// Files under a prefix. Bytes that wait to be sent take up to `memory`; at least two parts of
    /// 16 MiB are needed to fill one while another is sent.
    #[must_use]
    pub fn folder(bucket: Arc<Bucket>, prefix: Path, memory: u64) -> Self {
        Self::new(bucket, prefix, memory, false)
    }

    /// One object, whatever its file is called. It is there when all is done, has no manifest, and
    /// cannot be resumed.
    #[must_use]
    pub fn object(bucket: Arc<Bucket>, key: Path, memory: u64) -> Self {
        Self::new(bucket, key, memory, true)
    }

    fn new(bucket: Arc<Bucket>, root: Path, memory: u64, is_single: bool) -> Self {
        Self {
            bucket,
            root,
            is_single,
            force: false,
            resume: false,
            room: Room::new(memory),
            run: run_id(),
            stamp: OnceLock::new(),
            there: OnceLock::new(),
            state: Mutex::default(),
        }
    }

    /// Whether keys that exist may be overwritten.
    #[must_use]
    pub fn force(mut self, force: bool) -> Self {
        self.force = force;
        self
    }

    /// Whether to go on with what an interrupted run has finished.
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Self {
        self.resume = resume;
        self
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn key(&self, name: &str) -> Result<Path> {
        if self.is_single {
            return Ok(self.root.clone());
        }
        let outside = || {
            Error::usage("this name leads out of the prefix that is written")
                .in_file(FilePath::new(name))
        };
        under(&self.root, name).ok_or_else(outside)
    }

    /// What is there now, with one listing.
    fn list(&self) -> Result<BTreeMap<Path, ObjectMeta>> {
        if self.is_single {
            let found = block_on(self.bucket.store.head(&self.root));
            let found = found.map_err(|e| Error::io(e, "cannot start threads for requests"))?;
            return match found {
                Ok(meta) => Ok(BTreeMap::from([(self.root.clone(), meta)])),
                Err(object_store::Error::NotFound { .. }) => Ok(BTreeMap::new()),
                Err(error) => Err(self.bucket.fault(&self.root, "cannot look at", &error)),
            };
        }
        let prefix = Some(&self.root).filter(|prefix| !prefix.is_root());
        let listed = self.bucket.store.list(prefix).map_ok(|meta| (meta.location.clone(), meta));
        self.bucket.ask(&self.root, "cannot list", listed.try_collect())
    }

    fn read_json<T: serde::de::DeserializeOwned>(&self, key: &Path) -> Option<T> {
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

    fn put_json(
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
        let Some(first) = there.keys().next().filter(|_| !self.force) else { return Ok(()) };
        let place = self.bucket.place(&self.root);
        let plan: Option<Plan> = self
            .key(PLAN)
            .ok()
            .filter(|key| there.contains_key(key))
            .and_then(|key| self.read_json(&key));
        let exists = || match (self.is_single, there.len()) {
            (true, _) => Error::usage("this object exists already"),
            (_, 1) => Error::usage(format!("an object is there already: {first}")),
            (_, many) => {
                Error::usage(format!("{many} objects are there already, the first is {first}"))
            }
        };
        let error = match plan {
            Some(plan) if plan.stamp == stamp && self.resume => return Ok(()),
            Some(plan) if plan.stamp == stamp => {
                Error::usage("an earlier run of the same work was not finished here")
                    .remedy(Remedy::Resume)
            }
            Some(_) => Error::usage("an earlier run was not finished here, and it did other work"),
            None => exists(),
        };
        Err(error.remedy(Remedy::Overwrite).remedy(Remedy::AnotherTarget).in_file(&place))
    }

    /// What made an earlier output a model is taken away before its files are replaced. Its other
    /// files stay, unless they are written again.
    fn take_index_away(&self, there: &BTreeMap<Path, ObjectMeta>) -> Result<()> {
        let manifest_key = self.key(MANIFEST)?;
        if self.is_single || !there.contains_key(&manifest_key) {
            return Ok(());
        }
        let manifest: Option<Manifest> = self.read_json(&manifest_key);
        let names = manifest.into_iter().flat_map(|manifest| manifest.files).map(|file| file.name);
        let indexes =
            names.filter(|name| is_held_back(name)).filter_map(|name| self.key(&name).ok());
        for key in
            std::iter::once(manifest_key).chain(indexes).filter(|key| there.contains_key(key))
        {
            self.bucket.ask(&key, "cannot delete", self.bucket.store.delete(&key))?;
        }
        Ok(())
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

    pub(crate) fn complete(&self, key: &Path, upload: &Upload) -> Result<Option<String>> {
        let done = upload.complete()?;
        let mut state = self.state();
        state.uploads.remove(key);
        state.put.insert(key.clone());
        Ok(done.e_tag)
    }

    /// Puts what was held back.
    fn put_held_back(&self) -> Result<()> {
        let names: Vec<String> = self.state().held_back.keys().cloned().collect();
        for name in names {
            let key = self.key(&name)?;
            let Some(held) = self.state().held_back.remove(&name) else { continue };
            let record = match held {
                HeldBack::Small(bytes, record) => {
                    let mode = match self.is_single && !self.force {
                        true => PutMode::Create,
                        false => PutMode::Overwrite,
                    };
                    let etag = self.put(&key, bytes, mode)?;
                    Record { etag, ..record }
                }
                HeldBack::Sent(upload, record) => {
                    // Stores cannot complete an upload only if nothing is there; this comes close.
                    if self.is_single && !self.force && !self.list()?.is_empty() {
                        let error = Error::usage("another run has written this object meanwhile");
                        return Err(error
                            .remedy(Remedy::Overwrite)
                            .remedy(Remedy::AnotherTarget)
                            .in_file(&self.bucket.place(&key)));
                    }
                    let etag = self.complete(&key, &upload)?;
                    Record { etag, ..record }
                }
            };
            self.state().files.insert(name, record);
        }
        Ok(())
    }

    /// The manifest is put only if there is none: of two runs, one finishes.
    fn put_manifest(&self) -> Result<()> {
        let key = self.key(MANIFEST)?;
        let files = self.state().files.values().cloned().collect();
        let stamp = self.stamp.get().cloned().unwrap_or_default();
        let manifest =
            Manifest { version: VERSION, stamp, run: self.run.clone(), sums: SUMS.into(), files };
        let mode = if self.force { PutMode::Overwrite } else { PutMode::Create };
        let Err(error) = self.put_json(&key, &manifest, mode) else { return Ok(()) };
        // An answer that was lost on the way makes the second attempt find the first one's.
        match self.read_json::<Manifest>(&key) {
            Some(there) if there.run == self.run => drop(self.state().put.insert(key)),
            Some(_) => return Err(self.finished_by_other()),
            None => return Err(error),
        }
        Ok(())
    }

    fn finished_by_other(&self) -> Error {
        Error::usage(
            "another run has finished an output here meanwhile; files of both may be mixed",
        )
        .remedy(Remedy::Overwrite)
        .remedy(Remedy::AnotherTarget)
        .in_file(&self.bucket.place(&self.root))
    }

    /// The plan and the records have done their work.
    fn remove_records(&self) {
        let names: Vec<String> = self.state().files.keys().cloned().collect();
        let keys =
            names.iter().filter_map(|name| record_key(&self.root, name)).chain(self.key(PLAN).ok());
        self.delete(keys.collect(), None);
    }

    /// Deletes objects; what cannot be deleted is noted.
    fn delete(&self, keys: Vec<Path>, within: Option<Duration>) {
        let work = async {
            let all = futures_util::stream::iter(keys).map(|key| async move {
                match self.bucket.store.delete(&key).await {
                    Ok(()) | Err(object_store::Error::NotFound { .. }) => None,
                    Err(_) => Some(key),
                }
            });
            all.buffer_unordered(self.bucket.settings.parallel.max(1))
                .filter_map(std::future::ready)
                .collect::<Vec<Path>>()
                .await
        };
        let left = match within {
            None => block_on(work),
            Some(time) => {
                block_on(async { tokio::time::timeout(time, work).await.unwrap_or_default() })
            }
        };
        for key in left.unwrap_or_default() {
            let note = format!("{} could not be deleted", self.bucket.place(&key).display());
            self.state().notes.push(note);
        }
    }

    /// Ends all uploads that are not complete, in bounded time.
    fn abort_uploads(&self) {
        self.state().held_back.clear();
        let uploads = std::mem::take(&mut self.state().uploads);
        let all = futures_util::future::join_all(uploads.iter().map(|(key, upload)| async move {
            let ended = tokio::time::timeout(ABORT_TIME, upload.abort()).await;
            match ended {
                Ok(Ok(()) | Err(object_store::Error::NotFound { .. })) => None,
                _ => Some((key, &upload.id)),
            }
        }));
        for (key, id) in block_on(all).unwrap_or_default().into_iter().flatten() {
            let place = self.bucket.place(key);
            let note = format!(
                "the upload {id} of {} could not be ended; a rule of the bucket that aborts incomplete uploads removes it",
                place.display()
            );
            self.state().notes.push(note);
        }
    }
}

impl Destination for StoreDestination {
    fn begin(&self, stamp: &dyn Fn() -> String) -> Result<()> {
        let stamp = stamp();
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
                    .map_err(|error| error.hint("another run may have begun here just now"))?;
            }
        }
        let began = self.stamp.set(stamp).is_ok() && self.there.set(there).is_ok();
        began.then_some(()).ok_or_else(|| Error::usage("the output was started already"))
    }

    fn found(&self, name: &str, len: u64) -> FoundFile {
        // With permission to overwrite, the plan that is there is not ours.
        let Some(there) =
            self.there.get().filter(|_| self.resume && !self.force && !self.is_single)
        else {
            return FoundFile::Nothing;
        };
        let record = record_key(&self.root, name).filter(|key| there.contains_key(key));
        let Some(record) = record.and_then(|key| self.read_json::<Record>(&key)) else {
            return FoundFile::Nothing;
        };
        let object = self.key(name).ok().and_then(|key| there.get(&key));
        let same = |object: &ObjectMeta| {
            record.bytes == len
                && object.size == len
                && same_tag(object.e_tag.as_deref(), record.etag.as_deref())
        };
        match object.is_some_and(same) && record.name == name {
            true => {
                self.state().files.insert(name.to_owned(), record);
                FoundFile::Complete
            }
            false => FoundFile::Damaged,
        }
    }

    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let key = self.key(name)?;
        if self.stamp.get().is_none() {
            return Err(
                Error::usage("the output was not started").in_file(&self.bucket.place(&key))
            );
        }
        Ok(Box::new(StoreOutput::start(self, name, key, len)?))
    }

    fn finish(&self) -> Result<()> {
        if self.is_single {
            return self.put_held_back();
        }
        let manifest = self.key(MANIFEST)?;
        if !self.force && self.read_json::<Manifest>(&manifest).is_some() {
            return Err(self.finished_by_other());
        }
        self.put_held_back()?;
        self.put_manifest()?;
        self.remove_records();
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        self.state().notes.clone()
    }

    fn discard(&self) {
        self.abort_uploads();
        let keys = std::mem::take(&mut self.state().put);
        self.delete(keys.into_iter().collect(), None);
        self.state().files.clear();
    }

    fn kept(&self) -> Option<Kept> {
        let names: Vec<String> = self.state().files.keys().cloned().collect();
        (!self.is_single && !names.is_empty())
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

/// Whether a file makes others a model, so that it must not be there before them.
pub(crate) fn is_held_back(name: &str) -> bool {
    name.ends_with(".index.json")
}
