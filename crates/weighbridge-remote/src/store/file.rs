//! An object that is read by ranges. Every range is of the object that was opened, or an error.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::{Result, Vouched};
use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore as _};

use crate::ahead::Ahead;
use crate::far::{Elsewhere, FarFile};
use crate::guess;
use crate::kept::{Kept, Stretch};
use crate::pace::Pace;
use crate::process::PerProcess;
use crate::runtime::block_on;
use crate::stop::lock;
use crate::store::bucket::Bucket;
use crate::store::fault;

/// An object. The stretch that was fetched when it was opened is kept.
pub type StoreFile = FarFile<Object>;

/// What is asked for ranges.
pub struct Object {
    bucket: Arc<Bucket>,
    key: Path,
    /// What the first answer said; all others must say the same.
    meta: ObjectMeta,
    first: Stretch,
    kept: PerProcess<Mutex<Kept>>,
}

impl Object {
    /// Asks for a range of the same object.
    async fn get(&self, range: Range<u64>) -> object_store::Result<GetResult> {
        let options = GetOptions {
            if_match: self.meta.e_tag.clone(),
            // An empty object has no ranges.
            range: (self.meta.size > 0).then_some(GetRange::Bounded(range)),
            ..GetOptions::default()
        };
        self.bucket.store.get_opts(&self.key, options).await
    }

    /// A store that gives no tags is believed if length and time are the same.
    fn is_same(&self, now: &ObjectMeta) -> bool {
        let same_time = self.meta.e_tag.is_some() || now.last_modified == self.meta.last_modified;
        now.size == self.meta.size && now.e_tag == self.meta.e_tag && same_time
    }

    fn changed(&self) -> io::Error {
        io::Error::other(fault::changed().in_file(&self.bucket.place(&self.key)))
    }
}

impl StoreFile {
    /// Opens an object with a single request for its first stretch; `size` is its length, where a
    /// listing said it.
    pub fn open(bucket: &Arc<Bucket>, key: &Path, size: Option<u64>) -> Result<Self> {
        let stretch = guess::first(key.filename().unwrap_or_default(), size);
        let answer = bucket.ask(key, "cannot read", first_answer(bucket, key, stretch))?;
        let ((meta, first), kept) = (answer, PerProcess::new());
        let (bucket, key) = (bucket.clone(), key.clone());
        Ok(Self::new(Object { bucket, key, meta, first, kept }))
    }

    /// The length that the store states.
    pub fn size(&self) -> u64 {
        self.of.meta.size
    }

    /// What the store calls this content of the object.
    pub(crate) fn tag(&self) -> Option<&String> {
        self.of.meta.e_tag.as_ref()
    }
}

impl Elsewhere for Object {
    fn ahead(&self) -> &Arc<Ahead> {
        self.bucket.ahead()
    }

    fn parallel(&self) -> usize {
        self.bucket.settings.parallel
    }

    fn len(&self) -> Option<u64> {
        Some(self.meta.size)
    }

    /// Fills a buffer with one request.
    async fn fill(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let filled = async {
            let answer = self.get(offset..offset + out.len() as u64).await?;
            if !self.is_same(&answer.meta) {
                return Ok(false);
            }
            fill(answer, out, Pace::of(&self.bucket.settings)).await?;
            Ok(true)
        };
        match filled.await {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.changed()),
            Err(object_store::Error::NotFound { .. }) => Err(self.changed()),
            // A range that lies outside now lay inside when the object was opened.
            Err(error) if fault::is_outside(&error) => Err(self.changed()),
            Err(error) => Err(fault::as_io(self.bucket.fault(&self.key, "cannot read", &error))),
        }
    }

    fn kept(&self) -> io::Result<MutexGuard<'_, Kept>> {
        Ok(lock(self.kept.get(|| Mutex::new(Kept::new(self.first.clone())))))
    }

    fn kept_already(&self) -> Option<MutexGuard<'_, Kept>> {
        self.kept().ok()
    }

    fn vouch(&self) -> io::Result<Vouched> {
        let is_strong = self.meta.e_tag.as_ref().is_some_and(|tag| !tag.starts_with("W/"));
        Ok(if is_strong { Vouched::Yes } else { Vouched::Unstated })
    }

    fn is_unchanged(&self) -> io::Result<bool> {
        use object_store::Error as Refused;
        match block_on(self.get(0..1))? {
            Ok(answer) => Ok(self.is_same(&answer.meta)),
            Err(Refused::Precondition { .. } | Refused::NotFound { .. }) => Ok(false),
            Err(error) if fault::is_outside(&error) => Ok(self.meta.size == 0),
            Err(error) => Err(fault::as_io(self.bucket.fault(&self.key, "cannot read", &error))),
        }
    }
}

/// What an object is, and the bytes of its first stretch.
async fn first_answer(
    bucket: &Bucket,
    key: &Path,
    stretch: Range<u64>,
) -> object_store::Result<(ObjectMeta, Stretch)> {
    let wanted = stretch.end - stretch.start;
    // An empty object has no ranges: it is asked for as a whole.
    let range = (wanted > 0).then_some(GetRange::Bounded(stretch));
    let whole = range.is_none();
    let answer = bucket.store.get_opts(key, GetOptions { range, ..GetOptions::default() }).await;
    let answer = match answer {
        Err(error) if !whole && fault::is_outside(&error) => {
            bucket.store.get_opts(key, GetOptions::default()).await?
        }
        other => other?,
    };
    // Asked for as a whole, it must still be empty: nobody expects all its bytes here.
    if answer.range.end - answer.range.start > wanted {
        return Err(other("the object length differs from the listing".to_owned()));
    }
    let (meta, range) = (answer.meta.clone(), answer.range.clone());
    let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
    fill(answer, &mut bytes, Pace::of(&bucket.settings)).await?;
    if range.end > meta.size {
        return Err(cut_short(bytes.len(), range.end - range.start));
    }
    Ok((meta, Stretch { start: range.start, bytes: bytes.into() }))
}

/// Takes an answer of exactly this many bytes.
async fn fill(answer: GetResult, out: &mut [u8], mut pace: Pace) -> object_store::Result<()> {
    let len = out.len() as u64;
    if answer.range.end - answer.range.start != len {
        return Err(cut_short(
            usize::try_from(answer.range.end - answer.range.start).unwrap_or(0),
            len,
        ));
    }
    let (mut stream, mut filled) = (answer.into_stream(), 0);
    while let Some(piece) = stream.next().await {
        let piece = piece?;
        pace.add(piece.len()).map_err(other)?;
        let Some(place) = out.get_mut(filled..filled + piece.len()) else {
            let why = format!("the server sent more than the {len} requested bytes");
            return Err(other(why));
        };
        place.copy_from_slice(&piece);
        filled += piece.len();
    }
    if filled as u64 == len { Ok(()) } else { Err(cut_short(filled, len)) }
}

fn cut_short(got: usize, wanted: u64) -> object_store::Error {
    other(format!("the server sent {got} of {wanted} bytes"))
}

fn other(text: String) -> object_store::Error {
    object_store::Error::Generic { store: "", source: text.into() }
}
