//! The end of an output in a store: what was held back, the manifest, what is deleted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Remedy, Result};
use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutMode, PutPayload};

use crate::runtime::block_on;
use crate::store::destination::{ABORT_TIME, StoreDestination};
use crate::store::records::{
    Begun, MANIFEST, Manifest, PLAN, Record, SUMS, VERSION, record_key, same_tag,
};
use crate::store::upload::Upload;

/// What an object is made of.
pub(crate) enum Content {
    Small(PutPayload),
    Sent(Arc<Upload>),
}

impl StoreDestination {
    /// Makes an object; what the store calls this content of it.
    pub(crate) fn make(&self, key: &Path, of: Content, mode: PutMode) -> Result<Option<String>> {
        let upload = match of {
            Content::Small(bytes) => return self.put(key, bytes, mode),
            Content::Sent(upload) => upload,
        };
        let done = upload.complete()?;
        let mut state = self.state();
        state.uploads.remove(key);
        state.put.insert(key.clone());
        Ok(done.e_tag)
    }

    /// Puts what was held back.
    pub(super) fn put_held_back(&self) -> Result<()> {
        let held_back = std::mem::take(&mut self.state().held_back);
        let is_new = self.is_single && !self.force;
        for (name, (content, record)) in held_back {
            let key = self.key(&name)?;
            // Stores cannot complete an upload only if nothing is there; this comes close.
            if is_new && matches!(content, Content::Sent(_)) && !self.list()?.is_empty() {
                return Err(meanwhile("another run wrote this object in the meantime")
                    .in_file(&self.bucket.place(&key)));
            }
            let mode = if is_new { PutMode::Create } else { PutMode::Overwrite };
            let etag = self.make(&key, content, mode)?;
            self.state().files.insert(name, Record { etag, ..record });
        }
        Ok(())
    }

    /// The manifest is put only if there is none: of two runs, one finishes.
    pub(super) fn put_manifest(&self) -> Result<()> {
        let key = self.key(MANIFEST)?;
        let files = self.state().files.values().cloned().collect();
        let stamp = self.stamp.get().cloned().unwrap_or_default();
        let manifest =
            Manifest { version: VERSION, stamp, run: self.run.clone(), sums: SUMS.into(), files };
        let Err(error) = self.put_json(&key, &manifest, PutMode::Create) else { return Ok(()) };
        // An answer that was lost on the way makes the second attempt find the first one's.
        match self.read_json::<Manifest>(&key) {
            Some(there) if there.run == self.run => drop(self.state().put.insert(key)),
            Some(_) => return Err(self.finished_by_other()),
            None => return Err(error),
        }
        Ok(())
    }

    /// What this run has put belongs to the other one now, and is not deleted any more.
    pub(super) fn finished_by_other(&self) -> Error {
        self.state().put.clear();
        meanwhile("another run finished an output here in the meantime; files of both may be mixed")
            .in_file(&self.bucket.place(&self.root))
    }

    /// The plan and the records have done their work.
    pub(super) fn remove_records(&self) {
        let names: Vec<String> = self.state().files.keys().cloned().collect();
        let keys =
            names.iter().filter_map(|name| record_key(&self.root, name)).chain(self.key(PLAN).ok());
        self.delete(keys.collect(), None);
    }

    /// Deletes what an earlier output of ours had there and this one does not, unless somebody has
    /// written it anew since.
    pub(super) fn remove_replaced(&self) {
        let replaced = std::mem::take(&mut self.state().replaced);
        let Some(there) = self.there.get() else { return };
        let written: BTreeSet<String> = self.state().files.keys().cloned().collect();
        let is_untouched = |old: &&Record| {
            let object = self.key(&old.name).ok().and_then(|key| there.get(&key));
            object.is_some_and(|is| same_tag(is.e_tag.as_deref(), old.etag.as_deref()))
        };
        let old = replaced.iter().filter(|old| !written.contains(&old.name)).filter(is_untouched);
        let old = old.filter_map(|old| self.key(&old.name).ok());
        let records = replaced.iter().filter_map(|old| record_key(&self.root, &old.name));
        self.delete(old.chain(records.filter(|key| there.contains_key(key))).collect(), None);
    }

    /// Deletes objects; what cannot be deleted is noted.
    pub(super) fn delete(&self, keys: Vec<Path>, within: Option<Duration>) {
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

    /// Notes that an upload has begun: what a killed run leaves can be ended by the next.
    pub(super) fn note_begun(&self, name: &str, upload: &str) -> Result<()> {
        match record_key(&self.root, name).filter(|_| !self.is_single) {
            Some(key) => {
                let begun = Begun { name: name.to_owned(), upload: upload.to_owned() };
                self.put_json(&key, &begun, PutMode::Overwrite).map(drop)
            }
            None => Ok(()),
        }
    }

    /// Ends the upload that a killed run has noted; stores charge for its parts.
    /// The name of its file.
    pub(super) fn end_stale_upload(&self, record: &Path) -> Option<String> {
        let begun = self.read_json::<Begun>(record)?;
        let key = self.key(&begun.name).ok()?;
        let end = self.bucket.store.abort_multipart(&key, &begun.upload);
        // It may have been ended by somebody else, and is no harm to this run.
        let _ = block_on(async { tokio::time::timeout(ABORT_TIME, end).await });
        Some(begun.name)
    }

    /// Ends all uploads that are not complete, in bounded time.
    pub(super) fn abort_uploads(&self) {
        self.state().held_back.clear();
        let uploads = std::mem::take(&mut self.state().uploads);
        let all = futures_util::future::join_all(uploads.iter().map(|(key, upload)| async move {
            let ended = tokio::time::timeout(ABORT_TIME, upload.abort()).await;
            let is_ended = matches!(ended, Ok(Ok(()) | Err(object_store::Error::NotFound { .. })));
            (key, &upload.id, is_ended)
        }));
        let (ended, left): (Vec<_>, Vec<_>) =
            block_on(all).unwrap_or_default().into_iter().partition(|(.., is_ended)| *is_ended);
        self.forget_begun(ended.into_iter().map(|(key, ..)| key));
        for (key, id, _) in left {
            let place = self.bucket.place(key);
            let note = format!(
                "the multipart upload {id} of {} could not be aborted; a bucket lifecycle rule for incomplete uploads removes it",
                place.display()
            );
            self.state().notes.push(note);
        }
    }

    /// Deletes the notes about uploads that have ended.
    pub(super) fn forget_begun<'k>(&self, keys: impl Iterator<Item = &'k Path>) {
        let record = |key: &Path| {
            let name: Vec<_> =
                key.prefix_match(&self.root)?.map(|part| part.as_ref().to_owned()).collect();
            record_key(&self.root, &name.join("/"))
        };
        if self.is_single {
        } else {
            self.delete(keys.filter_map(record).collect(), Some(ABORT_TIME));
        }
    }
}

/// Whether a file makes others a model, so that it must not be there before them.
pub(crate) fn is_held_back(name: &str) -> bool {
    name.ends_with(".index.json")
}

/// Another run was faster.
fn meanwhile(what: &str) -> Error {
    Error::usage(what).remedy(Remedy::OverwriteInPlace).remedy(Remedy::AnotherTarget)
}
