//! A small web server with faults on demand. It counts what it was asked for and what it sent; it
//! can wait before each answer and limit its rate.

#![allow(dead_code)] // Each test program uses a part of it.

pub mod hub;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The authority behind the certificate of encrypted servers; nobody else trusts it.
pub const AUTHORITY: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/remote/server/certificates/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("certificates/server.pem");
const KEY: &[u8] = include_bytes!("certificates/server.key");

/// A connection, plain or encrypted.
trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// What a client asked for.
pub struct Request {
    /// The path, as it was sent.
    pub path: String,
    pub query: String,
    headers: Vec<(String, String)>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }

    /// The bytes that are asked for, with an end.
    pub fn range(&self, len: usize) -> Option<(usize, usize)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        let last: usize = last.parse().ok()?;
        Some((first.parse().ok()?, (last + 1).min(len)))
    }
}

/// What a server answers.
#[derive(Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// A file, or the part that was asked for.
    pub fn of_file(bytes: &[u8], request: &Request) -> Self {
        match request.range(bytes.len()) {
            None => Self::new(200).body(bytes),
            Some((start, _)) if start >= bytes.len() => {
                Self::new(416).with("Content-Range", format!("bytes */{}", bytes.len()))
            }
            Some((start, end)) => Self::new(206)
                .with("Content-Range", format!("bytes {start}-{}/{}", end - 1, bytes.len()))
                .body(&bytes[start..end]),
        }
    }
}

/// Something that goes wrong.
#[derive(Clone)]
pub enum Fault {
    /// Another answer.
    Answer(Reply),
    /// The whole file, though a part was asked for.
    IgnoreRange,
    /// This `Content-Range`.
    Says(&'static str),
    /// The connection ends after so many bytes of the body.
    Cut(usize),
    /// Nothing more comes after so many bytes of the body.
    Stall(usize),
    /// More bytes than were asked for, with a length that fits.
    Longer,
    /// The last byte of the body is another one.
    Wrong,
    /// One byte of the body at a time, with a pause after each.
    Drip(Duration),
}

type Handler = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

struct Shared {
    handler: Handler,
    /// Faults by a part of the path, each with how often it still happens.
    faults: Mutex<Vec<(String, Fault, usize)>>,
    requests: Mutex<Vec<String>>,
    sent: AtomicU64,
    delay: Mutex<Duration>,
    /// Bytes a second.
    rate: AtomicU64,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
}

/// A server on a port of its own, until the program ends.
#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Server {
    pub fn start(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(handler, None)
    }

    /// A server that speaks https.
    pub fn start_encrypted(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificate = CertificateDer::from_pem_slice(CERTIFICATE).unwrap();
        let key = PrivateKeyDer::from_pem_slice(KEY).unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        Self::listen(handler, Some(Arc::new(config)))
    }

    fn listen(
        handler: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        encrypted: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            faults: Mutex::default(),
            requests: Mutex::default(),
            sent: AtomicU64::new(0),
            delay: Mutex::default(),
            rate: AtomicU64::new(u64::MAX),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
        });
        let server = Self { address: listener.local_addr().unwrap(), shared: shared.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, encrypted) = (shared.clone(), encrypted.clone());
                // Heads and bodies are written one after the other; nobody is to wait between them.
                stream.set_nodelay(true).unwrap();
                std::thread::spawn(move || {
                    let mut stream = connection(stream, encrypted);
                    while serve(&mut *stream, &shared).is_some() {}
                });
            }
        });
        server
    }

    /// Files by their paths, with tags.
    pub fn of_files(files: &[(&str, Vec<u8>)]) -> Self {
        let files: HashMap<String, Vec<u8>> =
            files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.clone())).collect();
        Self::start(move |request| match files.get(&request.path) {
            None => Reply::new(404).body("nothing here"),
            Some(bytes) => match request.header("if-match").is_some_and(|tag| tag != "\"v1\"") {
                true => Reply::new(412),
                false => Reply::of_file(bytes, request).with("ETag", "\"v1\""),
            },
        })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Makes requests whose paths contain a text fail, so many times.
    pub fn fail(&self, path: &str, fault: Fault, times: usize) {
        self.shared.faults.lock().unwrap().push((path.to_owned(), fault, times));
    }

    /// Ends all faults.
    pub fn forgive(&self) {
        self.shared.faults.lock().unwrap().clear();
    }

    /// How long each answer takes to begin.
    pub fn delay(&self, delay: Duration) {
        *self.shared.delay.lock().unwrap() = delay;
    }

    /// How many bytes a second each answer is sent with.
    pub fn rate(&self, rate: u64) {
        self.shared.rate.store(rate, Ordering::Relaxed);
    }

    /// The requests so far: path, query and range.
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// The bytes of all bodies so far.
    pub fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::SeqCst)
    }

    /// The most requests that were answered at the same time.
    pub fn most_under_way(&self) -> usize {
        self.shared.most_under_way.load(Ordering::Relaxed)
    }
}

fn connection(stream: TcpStream, encrypted: Option<Arc<rustls::ServerConfig>>) -> Box<dyn Stream> {
    match encrypted {
        None => Box::new(stream),
        Some(config) => {
            let session = rustls::ServerConnection::new(config).unwrap();
            Box::new(rustls::StreamOwned::new(session, stream))
        }
    }
}

/// Answers one request; `None` when the connection is over.
fn serve(stream: &mut dyn Stream, shared: &Shared) -> Option<()> {
    let request = read_request(stream)?;
    let range = request.header("range").unwrap_or_default();
    let line = format!("{}?{} {range}", request.path, request.query);
    shared.requests.lock().unwrap().push(line);
    let now = shared.under_way.fetch_add(1, Ordering::SeqCst) + 1;
    shared.most_under_way.fetch_max(now, Ordering::SeqCst);
    // Copied out first: a lock that is held while this sleeps would let one answer through at a time.
    let delay = *shared.delay.lock().unwrap();
    std::thread::sleep(delay);
    let done = answer(stream, shared, &request);
    shared.under_way.fetch_sub(1, Ordering::SeqCst);
    done
}

fn answer(stream: &mut dyn Stream, shared: &Shared, request: &Request) -> Option<()> {
    let fault = next_fault(shared, &request.path);
    let mut reply = match &fault {
        Some(Fault::Answer(reply)) => reply.clone(),
        Some(Fault::IgnoreRange) => {
            let whole = Request {
                path: request.path.clone(),
                query: request.query.clone(),
                headers: Vec::new(),
            };
            (shared.handler)(&whole)
        }
        _ => (shared.handler)(request),
    };
    match &fault {
        Some(Fault::Says(text)) => {
            reply.headers.retain(|(name, _)| name != "Content-Range");
            reply = reply.with("Content-Range", *text);
        }
        Some(Fault::Longer) => reply.body.extend([7; 100]),
        Some(Fault::Wrong) => reply.body.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1),
        _ => {}
    }
    let mut head = format!("HTTP/1.1 {} Status\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", reply.body.len()));
    stream.write_all(head.as_bytes()).ok()?;
    let most = match fault {
        Some(Fault::Cut(most) | Fault::Stall(most)) => most.min(reply.body.len()),
        _ => reply.body.len(),
    };
    if let Some(Fault::Drip(pause)) = fault {
        for byte in &reply.body {
            stream.write_all(&[*byte]).and_then(|()| stream.flush()).ok()?;
            std::thread::sleep(pause);
        }
        return Some(());
    }
    send(stream, &reply.body[..most], shared)?;
    match fault {
        Some(Fault::Cut(_)) => None,
        Some(Fault::Stall(_)) => {
            std::thread::sleep(Duration::from_secs(20));
            None
        }
        _ => Some(()),
    }
}

fn send(stream: &mut dyn Stream, body: &[u8], shared: &Shared) -> Option<()> {
    let rate = shared.rate.load(Ordering::Relaxed);
    for chunk in body.chunks(64 << 10) {
        // Counted first: who has the bytes finds them counted.
        shared.sent.fetch_add(chunk.len() as u64, Ordering::SeqCst);
        stream.write_all(chunk).ok()?;
        if rate < u64::MAX {
            std::thread::sleep(Duration::from_secs_f64(chunk.len() as f64 / rate as f64));
        }
    }
    stream.flush().ok()
}

fn next_fault(shared: &Shared, path: &str) -> Option<Fault> {
    let mut faults = shared.faults.lock().unwrap();
    let found = faults.iter_mut().find(|(part, _, left)| *left > 0 && path.contains(&**part))?;
    found.2 -= 1;
    Some(found.1.clone())
}

fn read_request(stream: &mut dyn Stream) -> Option<Request> {
    // A client sends its next request when it has read the answer: nothing is lost with the reader.
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
    let target = line.split(' ').nth(1)?.to_owned();
    let is_tunnel = line.starts_with("CONNECT ");
    assert!(is_tunnel || line.starts_with("GET "), "only GET is ever sent: {line}");
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    if is_tunnel {
        // It is no proxy for strangers.
        let refused = b"HTTP/1.1 407 Who\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        reader.into_inner().write_all(refused).ok()?;
        return None;
    }
    // A proxy is told the whole address, and this one passes it on.
    let target = match target.strip_prefix("http://").and_then(|rest| rest.split_once('/')) {
        Some((_, path)) => format!("/{path}"),
        None => target,
    };
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request { path: path.to_owned(), query: query.to_owned(), headers })
}

/// A safetensors file: tensors by name and count of 32-bit floats, with text in its metadata.
pub fn safetensors(tensors: &[(&str, usize)], metadata: usize) -> Vec<u8> {
    let mut header = format!("{{\"__metadata__\":{{\"note\":\"{}\"}}", "x".repeat(metadata));
    let mut at = 0;
    for (name, count) in tensors {
        let end = at + count * 4;
        header.push_str(&format!(
            ",\"{name}\":{{\"dtype\":\"F32\",\"shape\":[{count}],\"data_offsets\":[{at},{end}]}}"
        ));
        at = end;
    }
    header.push('}');
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    let values = (0u16..1000).cycle().map(f32::from).take(at / 4);
    file.extend(values.flat_map(f32::to_le_bytes));
    file
}
