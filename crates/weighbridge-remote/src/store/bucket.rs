//! A bucket that was connected to: its store, its name for messages, how it is asked.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use crate::Result;
use crate::input::error_of;
use object_store::ObjectStore;
use object_store::multipart::MultipartStore;
use object_store::path::Path;

use crate::ahead::{AHEAD_AT_ONCE, Ahead};
use crate::process::PerProcess;
use crate::runtime::block_on;
use crate::settings::Remote;
use crate::store::address::{Address, Scheme};

/// A store of objects that takes parts in any order.
pub(crate) trait Store: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Store for T {}

/// A store that each process connects to: connections of a parent process have nobody who drives them.
pub(crate) struct Connected {
    first: Arc<dyn Store>,
    of: PerProcess<Arc<dyn Store>>,
    connect: Box<dyn Fn() -> Result<Arc<dyn Store>> + Send + Sync>,
}

impl Connected {
    pub(crate) fn new(
        connect: impl Fn() -> Result<Arc<dyn Store>> + Send + Sync + 'static,
    ) -> Result<Self> {
        let (first, of) = (connect()?, PerProcess::new());
        of.get(|| first.clone());
        Ok(Self { first, of, connect: Box::new(connect) })
    }
}

impl Deref for Connected {
    type Target = Arc<dyn Store>;

    fn deref(&self) -> &Self::Target {
        // What could be connected to once can be again: nothing is sent yet, and nothing read.
        self.of.get(|| (self.connect)().unwrap_or_else(|_| self.first.clone()))
    }
}

/// A bucket, or on Azure a container.
pub struct Bucket {
    pub(crate) store: Connected,
    pub(crate) scheme: Scheme,
    pub(crate) settings: Remote,
    /// What is fetched ahead, of all its objects.
    ahead: PerProcess<Arc<Ahead>>,
    pub(super) name: String,
    pub(super) tried: String,
}

impl Bucket {
    pub(crate) fn new(store: Connected, at: &Address, tried: String, settings: Remote) -> Self {
        let (name, ahead) = (at.bucket.clone(), PerProcess::new());
        Self { store, scheme: at.scheme, settings, ahead, name, tried }
    }

    /// What is fetched ahead, of all its objects.
    pub(crate) fn ahead(&self) -> &Arc<Ahead> {
        let settings = &self.settings;
        self.ahead.get(|| Ahead::new(settings.read_ahead, settings.parallel.min(AHEAD_AT_ONCE)))
    }

    /// An object's address, as errors name it.
    pub(crate) fn place(&self, key: &Path) -> PathBuf {
        PathBuf::from(format!("{}://{}/{key}", self.scheme.name(), self.name))
    }

    /// Waits for a request; `doing` says what was being done ("cannot read").
    pub(crate) fn ask<T>(
        &self,
        key: &Path,
        doing: &str,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        let done = block_on(request).map_err(|e| {
            error_of(e, "cannot start threads for requests").in_file(&self.place(key))
        })?;
        done.map_err(|error| self.fault(key, doing, &error))
    }
}
