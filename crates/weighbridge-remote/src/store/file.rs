//! An object that is read by ranges. Every range is of the object that was opened, or an error.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, Need, ReadAt, ReadRange, Requests, Result, read_ranges_merged};
use bytes::Bytes;
use futures_util::StreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore as _};

use crate::ahead::{AHEAD_AT_ONCE, Ahead, Fetch, Fetching};
use crate::announced::Announced;
use crate::guess;
use crate::process::PerProcess;
use crate::runtime::block_on;
use crate::store::bucket::Bucket;
use crate::store::fault;

const MAX_GAP: u64 = 1 << 20;

/// An object. The stretch that was fetched when it was opened is kept.
pub struct StoreFile {
    object: Arc<Object>,
    /// What is fetched ahead, for each work that wants it.
    announced: PerProcess<Announced>,
    /// Its number among the files of which something is fetched ahead.
    id: u64,
    kept_from: u64,
    kept: Bytes,
}

/// What is asked for ranges.
struct Object {
    bucket: Arc<Bucket>,
    key: Path,
    /// What the first answer said; all others must say the same.
    meta: ObjectMeta,
}

/// Numbers of files.
static NEXT: AtomicU64 = AtomicU64::new(0);

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

    /// Fills a buffer with one request.
    async fn fill(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let filled = async {
            let answer = self.get(offset..offset + out.len() as u64).await?;
            if !self.is_same(&answer.meta) {
                return Ok(false);
            }
            fill(answer, out).await?;
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

    /// A store that gives no tags is believed if length and time are the same.
    fn is_same(&self, now: &ObjectMeta) -> bool {
        let same_time = self.meta.e_tag.is_some() || now.last_modified == self.meta.last_modified;
        now.size == self.meta.size && now.e_tag == self.meta.e_tag && same_time
    }

    fn changed(&self) -> io::Error {
        let error = Error::malformed("was changed while it was read")
            .hint("start again when nobody writes to it");
        io::Error::other(error.in_file(&self.bucket.place(&self.key)))
    }
}

impl Fetch for Object {
    fn fetch(self: Arc<Self>, range: Range<u64>, mut bytes: Vec<u8>) -> Fetching {
        Box::pin(async move {
            bytes.resize(usize::try_from(range.end - range.start).unwrap_or(0), 0);
            self.fill(range.start, &mut bytes).await?;
            Ok(bytes)
        })
    }
}

impl StoreFile {
    /// Opens an object with a single request for its first stretch; `size` is its length, where a
    /// listing said it.
    pub fn open(bucket: &Arc<Bucket>, key: &Path, size: Option<u64>) -> Result<Self> {
        let stretch = guess::first(key.filename().unwrap_or_default(), size);
        let first = bucket.ask(key, "cannot read", first_answer(bucket, key, stretch))?;
        let (meta, range, kept) = first;
        let expected = range.end - range.start;
        if kept.len() as u64 != expected || range.end > meta.size {
            return Err(bucket.fault(key, "cannot read", &cut_short(kept.len(), expected)));
        }
        let object = Arc::new(Object { bucket: bucket.clone(), key: key.clone(), meta });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { object, announced: PerProcess::new(), id, kept_from: range.start, kept })
    }

    /// The length that the store states.
    pub fn size(&self) -> u64 {
        self.object.meta.size
    }

    /// What the store calls this content of the object.
    pub(crate) fn tag(&self) -> Option<&String> {
        self.object.meta.e_tag.as_ref()
    }

    fn ahead(&self) -> &Arc<Ahead> {
        self.object.bucket.ahead()
    }

    /// What is kept from an offset on.
    fn kept_from(&self, offset: u64) -> &[u8] {
        let start = offset.checked_sub(self.kept_from).and_then(|at| usize::try_from(at).ok());
        start.and_then(|start| self.kept.get(start..)).unwrap_or_default()
    }

    fn is_inside(&self, offset: u64, len: usize) -> bool {
        offset.checked_add(len as u64).is_some_and(|end| end <= self.size())
    }

    /// Fills `out` from what is kept, from what was fetched ahead, and by requests for the rest.
    fn read(&self, mut offset: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let kept = self.kept_from(offset);
            let mut count = kept.len().min(out.len());
            out[..count].copy_from_slice(&kept[..count]);
            if count == 0 {
                count = self.ahead().copy(self.id, offset, out);
            }
            if count == 0 {
                let next =
                    self.ahead().next(self.id, offset).map_or(u64::MAX, |next| next - offset);
                count = usize::try_from(next).unwrap_or(usize::MAX).min(out.len());
                let range = ReadRange { offset, out: &mut out[..count] };
                self.fetch(&mut [range])?;
            }
            offset += count as u64;
            out = &mut out[count..];
        }
        Ok(())
    }

    fn fetch(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        let parallel = self.object.bucket.settings.parallel.clamp(1, AHEAD_AT_ONCE);
        let max_len = usize::try_from(self.ahead().request_bytes()).unwrap_or(usize::MAX);
        let how = Requests { max_gap: MAX_GAP, max_len, parallel };
        read_ranges_merged(ranges, how, |offset, out| block_on(self.object.fill(offset, out))?)
    }
}

impl ReadAt for StoreFile {
    fn len(&self) -> Option<u64> {
        Some(self.size())
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_ranges(&mut [ReadRange { offset, out }])
    }

    fn read_ranges(&self, ranges: &mut [ReadRange<'_>]) -> io::Result<()> {
        if ranges.iter().any(|range| !self.is_inside(range.offset, range.out.len())) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut left: Vec<ReadRange<'_>> = Vec::new();
        for ReadRange { offset, out } in ranges {
            let wanted = *offset..*offset + out.len() as u64;
            match self.kept_from(*offset).get(..out.len()) {
                Some(kept) => out.copy_from_slice(kept),
                None if self.ahead().touches(self.id, &wanted) => self.read(*offset, out)?,
                None => left.push(ReadRange { offset: *offset, out }),
            }
        }
        self.fetch(&mut left)
    }

    fn has_latency(&self) -> bool {
        true
    }

    fn will_need(&self, need: &Need) {
        let range = &need.range;
        let kept = self.kept_from(range.start).len() as u64;
        let (start, end) = (range.start.saturating_add(kept), range.end.min(self.size()));
        if start < end {
            let object = self.announced.get(Announced::default).of(self.object.clone());
            let need = Need { range: start..end, ..need.clone() };
            self.ahead().will_need(&object, self.id, &need);
        }
    }

    fn limit_ahead(&self, bytes: u64) {
        self.ahead().limit(bytes);
    }

    /// Asks for one byte of the same object.
    fn is_unchanged(&self) -> io::Result<bool> {
        use object_store::Error as Refused;
        let object = &self.object;
        match block_on(object.get(0..1))? {
            Ok(answer) => Ok(object.is_same(&answer.meta)),
            Err(Refused::Precondition { .. } | Refused::NotFound { .. }) => Ok(false),
            Err(error) if fault::is_outside(&error) => Ok(self.size() == 0),
            Err(error) => {
                Err(fault::as_io(object.bucket.fault(&object.key, "cannot read", &error)))
            }
        }
    }
}

impl Drop for StoreFile {
    fn drop(&mut self) {
        self.ahead().forget(self.id);
    }
}

/// What an object is, and the bytes of its first stretch.
async fn first_answer(
    bucket: &Bucket,
    key: &Path,
    stretch: Range<u64>,
) -> object_store::Result<(ObjectMeta, Range<u64>, Bytes)> {
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
        return Err(other("the object is not as long as the listing said".to_owned()));
    }
    let (meta, range) = (answer.meta.clone(), answer.range.clone());
    let mut bytes = vec![0; usize::try_from(range.end - range.start).unwrap_or(0)];
    fill(answer, &mut bytes).await?;
    Ok((meta, range, bytes.into()))
}

/// Takes an answer of exactly this many bytes.
async fn fill(answer: GetResult, out: &mut [u8]) -> object_store::Result<()> {
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
        let Some(place) = out.get_mut(filled..filled + piece.len()) else {
            let why = format!("the server sent more than the {len} bytes it was asked for");
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
