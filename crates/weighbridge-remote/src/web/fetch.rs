//! Bytes of one file: asked for, checked, and asked for again where the connection broke.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use reqwest::{StatusCode, Url};

use crate::kept::Stretch;
use crate::process::PerProcess;
use crate::stop::lock;
use crate::web::answer::{ContentRange, Pin, length_alone};
use crate::web::client::{Answer, Ask, Auth, Client};
use crate::web::fault::{Again, Fault};
use crate::web::hub::Repository;
use crate::web::refusal::{no_parts, refusal, too_much};
use crate::web::retry::{Tries, retried};

/// A file that is sent whole though a part was asked for is taken up to this length.
pub(crate) const WHOLE: u64 = 1 << 20;

/// Where a file is, and who may read it.
pub(crate) struct Site {
    pub(crate) url: Url,
    /// What it is called in messages.
    pub(crate) name: String,
    pub(crate) auth: Option<Auth>,
    /// The repository it is from, whose server explains its refusals.
    pub(crate) hub: Option<Arc<Repository>>,
    /// Up to which length it may be sent whole.
    pub(crate) whole: u64,
}

/// A file on a server, and what is known of it.
pub(crate) struct Fetcher {
    pub(crate) client: Client,
    site: Site,
    known: PerProcess<Mutex<Known>>,
    /// What was known of it before it was asked for, and what the first answer said: for children of
    /// this process, too.
    listed: (Option<u64>, Pin),
    answered: OnceLock<(Option<u64>, Pin)>,
}

struct Known {
    len: Option<u64>,
    pin: Pin,
    /// Where the last redirects led. Asking there saves them, until the address expires.
    direct: Option<Url>,
    changed: bool,
}

impl Fetcher {
    pub(crate) fn new(client: Client, site: Site, len: Option<u64>, pin: Pin) -> Self {
        let (known, answered) = (PerProcess::new(), OnceLock::new());
        Self { client, site, known, listed: (len, pin), answered }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        let known = self.known.get(|| {
            let (len, pin) = self.answered.get().unwrap_or(&self.listed).clone();
            Mutex::new(Known { len, pin, direct: None, changed: false })
        });
        lock(known)
    }

    pub(crate) fn len(&self) -> Option<u64> {
        self.known().len
    }

    /// What tells this version of the file from another, if the server says that.
    pub(crate) fn version(&self) -> Option<String> {
        self.known().pin.version().map(str::to_owned)
    }

    /// Whether every request states a version that the server compares itself.
    pub(crate) fn is_pinned(&self) -> bool {
        self.known().pin.condition().is_some()
    }

    /// The error for bytes that do not have the sum of the file.
    pub(crate) fn wrong_sum(&self) -> Fault {
        Fault::wrong_sum().at(&self.site.name)
    }

    pub(crate) fn was_changed(&self) -> bool {
        self.known().changed
    }

    /// The first bytes that are asked for, which tell the length too. It may be all of a short
    /// file.
    pub(crate) async fn first(&self, range: Range<u64>) -> Result<Stretch, Fault> {
        if range.is_empty() {
            return Ok(Stretch::default());
        }
        let tried = retried(self.client.settings(), || self.try_first(&range)).await;
        tried.map_err(|fault| self.named(fault))
    }

    async fn try_first(&self, range: &Range<u64>) -> Result<Stretch, Fault> {
        let mut answer = self.ask(range).await?;
        let status = answer.response.status();
        if status == StatusCode::RANGE_NOT_SATISFIABLE {
            return match length_alone(answer.response.headers()) {
                Some(0) => self.settle(0, &answer).map(|()| Stretch::default()),
                _ => Err(Fault::changed()),
            };
        }
        if status == StatusCode::OK {
            return self.whole(answer).await;
        }
        let found = self.checked(&answer, range)?;
        let len = usize::try_from(found.range.end - found.range.start);
        let mut bytes = vec![0; len.map_err(|_| too_much())?];
        let mut got = 0;
        match receive(&mut answer, &mut bytes, &mut got).await {
            Ok(()) => {}
            // The rest is asked for as any other bytes.
            Err(fault) if fault.again != Again::Never && got > 0 => {
                let rest = bytes.get_mut(got..).unwrap_or_default();
                self.fill(found.range.start + got as u64, rest).await?;
            }
            Err(fault) => return Err(fault),
        }
        Ok(Stretch { start: found.range.start, bytes: bytes.into() })
    }

    /// All of a short file, from a server that does not send parts.
    async fn whole(&self, mut answer: Answer) -> Result<Stretch, Fault> {
        let bytes = answer.body(self.site.whole).await?.ok_or_else(no_parts)?;
        self.settle(bytes.len() as u64, &answer)?;
        Ok(Stretch { start: 0, bytes: bytes.into() })
    }

    /// Fills `out` with the bytes from an offset on.
    pub(crate) async fn fill(&self, offset: u64, out: &mut [u8]) -> Result<(), Fault> {
        let mut tries = Tries::new(self.client.settings());
        let mut done = 0;
        while let Some(rest) = out.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let mut got = 0;
            let tried = self.try_fill(offset + done as u64, rest, &mut got).await;
            done += got;
            if got > 0 {
                tries.go_on();
            }
            if let Err(fault) = tried {
                tries.pause(fault).await.map_err(|fault| self.named(fault))?;
            }
        }
        Ok(())
    }

    async fn try_fill(&self, offset: u64, out: &mut [u8], got: &mut usize) -> Result<(), Fault> {
        let range = offset..offset.saturating_add(out.len() as u64);
        let mut answer = self.ask(&range).await?;
        match answer.response.status() {
            StatusCode::OK => return Err(no_parts()),
            StatusCode::RANGE_NOT_SATISFIABLE => return Err(Fault::changed()),
            _ => {}
        }
        self.checked(&answer, &range)?;
        receive(&mut answer, out, got).await
    }

    /// Asks where the file was found last, else from the beginning.
    async fn ask(&self, range: &Range<u64>) -> Result<Answer, Fault> {
        let (direct, tag) = {
            let known = self.known();
            (known.direct.clone(), known.pin.condition())
        };
        let ask = Ask {
            url: direct.as_ref().unwrap_or(&self.site.url),
            range: Some(range.clone()),
            tag,
            auth: self.site.auth.as_ref(),
            trusted: self.site.hub.as_ref().map(|hub| &hub.endpoint),
        };
        let answer = self.client.send(&ask).await?;
        let status = answer.response.status();
        match status.as_u16() {
            200 | 206 | 416 => Ok(answer),
            412 => Err(Fault::changed()),
            // What was signed has expired: the first address leads to a new one.
            400 | 401 | 403 | 404 | 410 if direct.is_some() => {
                self.forget(direct.as_ref());
                Err(self.refusal(status, &answer).again(Again::Now))
            }
            _ => Err(self.refusal(status, &answer)),
        }
    }

    /// The range of an answer, which is of the file that is known and the one that was asked for.
    fn checked(&self, answer: &Answer, asked: &Range<u64>) -> Result<ContentRange, Fault> {
        let found = ContentRange::of(answer.response.headers()).ok_or_else(|| {
            Fault::unsupported("the server sent no Content-Range for a range request")
                .hint("the server or a proxy misbehaves; download the file instead")
        })?;
        self.settle(found.total, answer)?;
        found.check(asked)?;
        Ok(found)
    }

    /// Compares an answer with what is known, and learns from it.
    fn settle(&self, total: u64, answer: &Answer) -> Result<(), Fault> {
        let seen = Pin::of(answer, self.site.hub.is_some());
        let mut known = self.known();
        if known.len.is_some_and(|len| len != total) || known.pin.differs(&seen) {
            return Err(Fault::changed());
        }
        known.len = Some(total);
        known.pin.complete(seen);
        self.answered.get_or_init(|| (Some(total), known.pin.clone()));
        if answer.url != self.site.url {
            known.direct = Some(answer.url.clone());
        }
        Ok(())
    }

    /// Drops an address that has expired, unless another reader has found a new one meanwhile.
    fn forget(&self, expired: Option<&Url>) {
        let mut known = self.known();
        if known.direct.as_ref() == expired {
            known.direct = None;
        }
    }

    fn refusal(&self, status: StatusCode, answer: &Answer) -> Fault {
        let headers = answer.response.headers();
        let is_elsewhere = answer.url.origin() != self.site.url.origin();
        match &self.site.hub {
            Some(hub) if is_elsewhere && matches!(status.as_u16(), 400 | 401 | 403) => {
                hub.refused_elsewhere(&answer.url, status)
            }
            Some(hub) if !is_elsewhere => hub.refusal(status, headers),
            _ => refusal(status, headers),
        }
    }

    /// What is told of a fault; that the file was changed is remembered.
    fn named(&self, fault: Fault) -> Fault {
        self.known().changed |= fault.is_change();
        fault.at(&self.site.name)
    }
}

/// Takes a body: as many bytes as there is room for, no more and no less.
async fn receive(answer: &mut Answer, out: &mut [u8], got: &mut usize) -> Result<(), Fault> {
    while let Some(chunk) = answer.chunk().await? {
        let Some(room) = out.get_mut(*got..*got + chunk.len()) else { return Err(too_much()) };
        room.copy_from_slice(&chunk);
        *got += chunk.len();
    }
    if *got == out.len() {
        return Ok(());
    }
    let message = format!("only {} of {} bytes arrived", *got, out.len());
    Err(Fault::passing(io::ErrorKind::UnexpectedEof, message))
}
