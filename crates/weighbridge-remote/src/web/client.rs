//! One GET, and the redirects that are followed on its way.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::{Error, Result};
use bytes::Bytes;
use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderValue, IF_MATCH, LOCATION, RANGE,
};
use reqwest::{Certificate, Response, StatusCode, Url};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ahead::{AHEAD_AT_ONCE, Ahead};
use crate::pace::Pace;
use crate::process::PerProcess;
use crate::settings::Remote;
use crate::stop::lock;
use crate::web::fault::{Again, Fault, server};
use crate::web::places::{check_redirect, check_start};
use crate::web::refusal::what_to_check;
use crate::web::resolved::Resolved;

const MOST_REDIRECTS: usize = 10;

/// The text of a redirect that is read, so that its connection can be used again.
const SMALL_TEXT: u64 = 16 << 10;

/// How long that text may take: another connection costs less.
const DRAIN: Duration = Duration::from_millis(500);

/// Makes requests. Clones share the connections.
#[derive(Clone)]
pub(crate) struct Client(Arc<Shared>);

struct Shared {
    settings: Remote,
    /// What is trusted besides the system's.
    certificates: Vec<Certificate>,
    connections: PerProcess<Result<Connections, Fault>>,
    /// What is fetched ahead, of all files.
    ahead: PerProcess<Arc<Ahead>>,
}

struct Connections {
    http: reqwest::Client,
    /// Requests that may be under way.
    slots: Arc<Semaphore>,
    resolved: Resolved,
}

/// A token, and the only server that may see it.
#[derive(Clone)]
pub(crate) struct Auth {
    server: Url,
    header: HeaderValue,
}

impl Auth {
    /// A token for the scheme, host and port of an address. `None` for one that no header can
    /// hold.
    pub(crate) fn bearer(token: &str, server: &Url) -> Option<Self> {
        let mut header = HeaderValue::from_str(&format!("Bearer {token}")).ok()?;
        header.set_sensitive(true);
        Some(Self { server: server.clone(), header })
    }
}

/// What is asked for.
pub(crate) struct Ask<'a> {
    pub(crate) url: &'a Url,
    pub(crate) range: Option<Range<u64>>,
    /// The tag that the file must have, and the address whose server gave it.
    pub(crate) tag: Option<(String, Url)>,
    pub(crate) auth: Option<&'a Auth>,
    /// An address that the user has set up: it may be plain http.
    pub(crate) trusted: Option<&'a Url>,
}

/// What came back after all redirects; the body is still to be read.
pub(crate) struct Answer {
    pub(crate) response: Response,
    /// Where it came from.
    pub(crate) url: Url,
    /// What the first server said when it redirected.
    pub(crate) redirect: Option<HeaderMap>,
    pace: Pace,
    _slot: OwnedSemaphorePermit,
}

impl Answer {
    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        let chunk = self.response.chunk().await?;
        let len = chunk.as_ref().map_or(0, Bytes::len);
        if len > 0 {
            self.pace.add(len).map_err(Fault::too_slow)?;
        }
        Ok(chunk)
    }

    /// All bytes of the body; `None` if there are more than `most`.
    pub(crate) async fn body(&mut self, most: u64) -> Result<Option<Vec<u8>>, Fault> {
        if self.response.content_length().is_some_and(|len| len > most) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if (bytes.len() + chunk.len()) as u64 > most {
                return Ok(None);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Some(bytes))
    }
}

/// The clients, by their settings.
static CLIENTS: PerProcess<Mutex<Vec<(String, Client)>>> = PerProcess::new();

impl Client {
    /// The client for these settings.
    pub(crate) fn new(settings: &Remote) -> Result<Self> {
        let key = format!("{settings:?}");
        let mut clients = lock(CLIENTS.get(Mutex::default));
        if let Some((_, client)) = clients.iter().find(|(by, _)| *by == key) {
            return Ok(client.clone());
        }
        let client = Self(Arc::new(Shared {
            settings: settings.clone(),
            certificates: settings.ca_file.as_deref().map_or(Ok(Vec::new()), certificates)?,
            connections: PerProcess::new(),
            ahead: PerProcess::new(),
        }));
        client.connections().map_err(Fault::into_error)?;
        clients.push((key, client.clone()));
        Ok(client)
    }

    /// The connections of this process: those of a parent process have nobody who drives them.
    fn connections(&self) -> Result<&Connections, Fault> {
        self.0.connections.get(|| self.0.connect()).as_ref().map_err(Clone::clone)
    }

    pub(crate) fn settings(&self) -> &Remote {
        &self.0.settings
    }

    pub(crate) fn ahead(&self) -> &Arc<Ahead> {
        let settings = self.settings();
        let make = || Ahead::new(settings.read_ahead, settings.parallel.min(AHEAD_AT_ONCE));
        self.0.ahead.get(make)
    }

    /// Makes one request and follows redirects by our rules. Every status that is no redirect is
    /// an answer.
    pub(crate) async fn send(&self, ask: &Ask<'_>) -> Result<Answer, Fault> {
        check_start(ask.url, ask.trusted, self.settings())?;
        let closed = |_| Fault::unsupported("the client is closed");
        let slots = self.connections()?.slots.clone();
        let slot = slots.acquire_owned().await.map_err(closed)?;
        let mut url = ask.url.clone();
        let mut outermost = None;
        let mut redirect = None;
        for _ in 0..=MOST_REDIRECTS {
            let response = self.hop(&url, ask).await?;
            if !is_redirect(response.status()) {
                let pace = Pace::of(self.settings());
                return Ok(Answer { response, url, redirect, pace, _slot: slot });
            }
            let next = target(&url, response.headers())?;
            let resolved = &self.connections()?.resolved;
            let places = async { (resolved.place(&url).await, resolved.place(&next).await) };
            let places = tokio::time::timeout(self.settings().timeout, places).await;
            let (from, to) = places.map_err(|_| Fault::unresolved())?;
            let so_far = outermost.unwrap_or(from).max(from);
            check_redirect(&url, (&next, to), so_far, ask.trusted, self.settings())?;
            outermost = Some(so_far.max(to));
            redirect.get_or_insert_with(|| response.headers().clone());
            drain(response).await;
            url = next;
        }
        let message = format!("{} redirects more than {MOST_REDIRECTS} times", server(ask.url));
        Err(Fault::unsupported(message).hint("this may be a redirect loop; use another address"))
    }

    async fn hop(&self, url: &Url, ask: &Ask<'_>) -> Result<Response, Fault> {
        let mut request = self.connections()?.http.get(url.clone());
        if let Some(range) = &ask.range {
            let last = range.end.saturating_sub(1);
            request = request.header(RANGE, format!("bytes={}-{last}", range.start));
        }
        if let Some((tag, _)) = ask.tag.as_ref().filter(|(_, from)| from.origin() == url.origin()) {
            request = request.header(IF_MATCH, tag);
        }
        if let Some(auth) = ask.auth.filter(|auth| auth.server.origin() == url.origin()) {
            request = request.header(AUTHORIZATION, auth.header.clone());
        }
        request.send().await.map_err(|error| {
            let fault = Fault::from(error);
            match fault.again {
                Again::Never => fault,
                _ => fault.hint(what_to_check(url)),
            }
        })
    }
}

impl Shared {
    fn connect(&self) -> Result<Connections, Fault> {
        let settings = &self.settings;
        // Another part of the program may have chosen one; that is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let builder = reqwest::Client::builder()
            .user_agent(concat!("weighbridge/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .connect_timeout(settings.timeout)
            .read_timeout(settings.timeout)
            .http2_adaptive_window(true);
        let builder = if self.certificates.is_empty() {
            builder
        } else {
            builder.tls_certs_merge(self.certificates.iter().cloned())
        };
        let http = builder.build().map_err(|error| {
            Fault::from(error)
                .hint("check the system's certificates, SSL_CERT_FILE and the proxy variables")
        })?;
        let slots = Arc::new(Semaphore::new(settings.parallel.clamp(1, 1 << 16)));
        Ok(Connections { http, slots, resolved: Resolved::default() })
    }
}

/// The certificates of a file.
fn certificates(file: &Path) -> Result<Vec<Certificate>> {
    let failed = |e| Error::io(e, "cannot read the certificates").in_file(file);
    let text = std::fs::read(file).map_err(failed)?;
    let found = Certificate::from_pem_bundle(&text).unwrap_or_default();
    if found.is_empty() {
        return Err(Error::usage("no PEM certificates found").in_file(file));
    }
    Ok(found)
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where a redirect leads.
pub(crate) fn target(from: &Url, headers: &HeaderMap) -> Result<Url, Fault> {
    let location =
        headers.get(LOCATION).and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
    let next = location.and_then(|location| from.join(location).ok());
    next.ok_or_else(|| {
        Fault::unsupported(format!("{} redirects without a target address", server(from)))
            .hint("the server or a proxy misbehaves; use another address")
    })
}

/// Reads a short text away, if it is there: a connection with something unread is closed.
async fn drain(response: Response) {
    if response.content_length().is_some_and(|len| len <= SMALL_TEXT) {
        let _ = tokio::time::timeout(DRAIN, response.bytes()).await;
    }
}
