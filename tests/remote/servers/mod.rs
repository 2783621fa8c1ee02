//! Real servers for the tests: SeaweedFS for S3, Azurite for Azure. They run as long as the tests.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use http::{Method, Request};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::azure::{AzureAccessKey, AzureAuthorizer, AzureCredential};
use object_store::client::{HttpRequest, HttpService as _};
use weighbridge::internals::remote::{Address, Bucket, Purpose, Remote, connect_with};

const KEY: &str = "tests";
const SECRET: &str = "tests-secret";
const ACCOUNT: &str = "devstoreaccount1";
/// The key that every Azurite has.
const ACCOUNT_KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    S3,
    Azure,
}

impl Kind {
    fn program(self) -> &'static str {
        match self {
            Self::S3 => "venv/bin/weed",
            Self::Azure => "azurite/node_modules/.bin/azurite-blob",
        }
    }
}

/// A server that was started.
pub struct Server {
    pub kind: Kind,
    pub endpoint: String,
    runtime: tokio::runtime::Runtime,
    /// Its standard input stays open as long as this process lives: then the server is stopped.
    _process: Mutex<Child>,
    _data: tempfile::TempDir,
}

/// The server of a kind, started when it is wanted first; `None`, and a line that says so, where
/// there is none.
pub fn server(kind: Kind) -> Option<&'static Server> {
    static SERVERS: [OnceLock<Option<Server>>; 2] = [const { OnceLock::new() }; 2];
    let found = SERVERS[kind as usize].get_or_init(|| {
        let program = program(kind.program())?;
        Some(Server::start(kind, &program))
    });
    found.as_ref()
}

/// A program that `install-servers.sh` has installed; `None`, and a line that says so, if it has not.
pub fn program(path: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("WEIGHBRIDGE_SERVERS").map(PathBuf::from);
    let found = folder.map(|folder| folder.join(path)).filter(|program| program.exists());
    if found.is_none() {
        #[expect(clippy::print_stderr, reason = "a test that did not run says so")]
        {
            eprintln!(
                "not run: WEIGHBRIDGE_SERVERS names no folder where install-servers.sh has put {path}"
            );
        }
    }
    found
}

pub fn free_ports<const N: usize>() -> [u16; N] {
    // All are held until all are known, so that they differ.
    let held: [TcpListener; N] = std::array::from_fn(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    held.map(|listener| listener.local_addr().unwrap().port())
}

/// A command for a server that ends when this process ends, however that happens, and its data with
/// it. Its standard input must stay open as long as it is wanted.
pub fn ended_with_us(data: &Path) -> Command {
    let script =
        "exec 3<&0; \"$@\" </dev/null & p=$!; cat <&3 >/dev/null; kill -9 $p; rm -rf \"$0\"";
    let mut command = Command::new("sh");
    command.arg("-c").arg(script).arg(data).stdin(Stdio::piped());
    command
}

impl Server {
    fn start(kind: Kind, program: &Path) -> Self {
        let data = tempfile::tempdir().unwrap();
        let [port, ports @ ..] = free_ports::<8>();
        let mut command = ended_with_us(data.path());
        command.arg(program);
        match kind {
            Kind::S3 => seaweed(&mut command, data.path(), port, ports),
            Kind::Azure => azurite(&mut command, data.path(), port),
        }
        let log = std::fs::File::create(data.path().join("log")).unwrap();
        let process = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let path = if kind == Kind::Azure { format!("/{ACCOUNT}") } else { String::new() };
        let endpoint = format!("http://127.0.0.1:{port}{path}");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = Self { kind, endpoint, runtime, _process: Mutex::new(process), _data: data };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() || !server.make_bucket("ready") {
            if start.elapsed() > Duration::from_secs(30) {
                let log =
                    std::fs::read_to_string(server._data.path().join("log")).unwrap_or_default();
                let tail = &log[log.len().saturating_sub(1500)..];
                panic!(
                    "{kind:?} was not ready after 30 s, {:?}:\n{tail}",
                    server.send(&Method::PUT, "/ready", b"")
                );
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        server
    }

    /// What a program that uses this server has in its environment.
    pub fn env(&self) -> Vec<(&'static str, String)> {
        match self.kind {
            Kind::S3 => vec![
                ("AWS_ENDPOINT_URL", self.endpoint.clone()),
                ("AWS_ACCESS_KEY_ID", KEY.into()),
                ("AWS_SECRET_ACCESS_KEY", SECRET.into()),
            ],
            Kind::Azure => vec![
                ("AZURE_STORAGE_ENDPOINT", self.endpoint.clone()),
                ("AZURE_STORAGE_ACCOUNT", ACCOUNT.into()),
                ("AZURE_STORAGE_ACCOUNT_KEY", ACCOUNT_KEY.into()),
            ],
        }
    }

    pub fn address(&self, bucket: &str, key: &str) -> Address {
        let scheme = if self.kind == Kind::S3 { "s3" } else { "az" };
        Address::parse(&format!("{scheme}://{bucket}/{key}")).unwrap()
    }

    /// Connects to a bucket, with some variables changed.
    pub fn connect_as(&self, bucket: &str, change: &[(&'static str, Option<&str>)]) -> Arc<Bucket> {
        let mut vars = self.env();
        for (name, value) in change {
            vars.retain(|(n, _)| n != name);
            vars.extend(value.map(|value| (*name, value.to_owned())));
        }
        let env = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
        connect_with(&self.address(bucket, ""), &Remote::default(), Purpose::Write, &env).unwrap()
    }

    /// A new bucket of this name.
    pub fn bucket(&self, name: &str) -> Arc<Bucket> {
        assert!(self.make_bucket(name), "cannot make {name}");
        self.connect_as(name, &[])
    }

    fn make_bucket(&self, name: &str) -> bool {
        let query = if self.kind == Kind::Azure { "?restype=container" } else { "" };
        let (status, _) = self.send(&Method::PUT, &format!("/{name}{query}"), b"");
        status == 200 || status == 201 || status == 409
    }

    /// Puts an object past the library.
    pub fn put(&self, bucket: &str, key: &str, bytes: &[u8]) {
        let (status, body) = self.send(&Method::PUT, &format!("/{bucket}/{key}"), bytes);
        assert!(status == 200 || status == 201, "{status} {body}");
    }

    /// The keys of a bucket.
    pub fn keys(&self, bucket: &str) -> Vec<String> {
        let (query, element) = match self.kind {
            Kind::S3 => ("list-type=2", "Key"),
            Kind::Azure => ("comp=list&restype=container", "Name"),
        };
        let (status, body) = self.send(&Method::GET, &format!("/{bucket}?{query}"), b"");
        assert_eq!(status, 200, "{body}");
        elements(&body, element)
    }

    /// The uploads that were started and not completed.
    pub fn uploads(&self, bucket: &str) -> Vec<String> {
        let (status, body) = self.send(&Method::GET, &format!("/{bucket}?uploads="), b"");
        assert_eq!(status, 200, "{body}");
        elements(&body, "UploadId")
    }

    /// Sends a signed request.
    fn send(&self, method: &Method, path: &str, bytes: &[u8]) -> (u16, String) {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut request: HttpRequest = Request::builder()
            .method(method.clone())
            .uri(format!("{}{path}", self.endpoint))
            .body(bytes::Bytes::copy_from_slice(bytes).into())
            .unwrap();
        if self.kind == Kind::Azure && *method == Method::PUT {
            request.headers_mut().insert("content-length", bytes.len().into());
            if !path.contains('?') {
                request.headers_mut().insert("x-ms-blob-type", "BlockBlob".parse().unwrap());
            }
        }
        match self.kind {
            Kind::S3 => {
                let by =
                    AwsCredential { key_id: KEY.into(), secret_key: SECRET.into(), token: None };
                AwsAuthorizer::new(&by, "s3", "us-east-1")
                    .try_authorize(&mut request, None)
                    .unwrap();
            }
            Kind::Azure => {
                let by = AzureCredential::AccessKey(AzureAccessKey::try_new(ACCOUNT_KEY).unwrap());
                AzureAuthorizer::new(&by, ACCOUNT).try_authorize(&mut request).unwrap();
            }
        }
        self.runtime.block_on(async {
            let Ok(answer) = reqwest::Client::new().call(request).await else {
                return (0, String::new());
            };
            let status = answer.status().as_u16();
            let body = answer.into_body().bytes().await.unwrap_or_default();
            (status, String::from_utf8_lossy(&body).into_owned())
        })
    }
}

fn elements(xml: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let inside = |rest: &str| rest.split_once(&close).map(|(text, _)| text.to_owned());
    xml.split(&open).skip(1).filter_map(inside).collect()
}

fn seaweed(command: &mut Command, data: &Path, port: u16, ports: [u16; 7]) {
    let config = serde_json::json!({"identities": [{
        "name": "tests",
        "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]});
    let file = data.join("s3.json");
    std::fs::write(&file, config.to_string()).unwrap();
    let [master, master_grpc, volume, volume_grpc, filer, filer_grpc, s3_grpc] = ports;
    command.args(["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3"]);
    command.arg(format!("-dir={}", data.display()));
    command.arg(format!("-s3.config={}", file.display()));
    command.args(["-master.volumeSizeLimitMB=64", "-volume.max=500", "-master.telemetry=false"]);
    for (name, port) in [
        ("s3.port", port),
        ("s3.port.grpc", s3_grpc),
        ("s3.port.iceberg", 0),
        ("s3.port.lance", 0),
        ("master.port", master),
        ("master.port.grpc", master_grpc),
        ("volume.port", volume),
        ("volume.port.grpc", volume_grpc),
        ("filer.port", filer),
        ("filer.port.grpc", filer_grpc),
    ] {
        command.arg(format!("-{name}={port}"));
    }
}

fn azurite(command: &mut Command, data: &Path, port: u16) {
    command.args([
        "--silent",
        "--skipApiVersionCheck",
        "--blobHost",
        "127.0.0.1",
        "--blobPort",
        &port.to_string(),
    ]);
    command.arg("--location").arg(data);
}

/// Names that no other test of this process has.
pub fn fresh(start: &str) -> String {
    static COUNT: Mutex<u32> = Mutex::new(0);
    let mut count = COUNT.lock().unwrap_or_else(PoisonError::into_inner);
    *count += 1;
    format!("{start}-{count}")
}

/// Bytes that repeat nowhere soon.
pub fn numbers(len: usize) -> Vec<u8> {
    (0u32..).take(len).map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[1]).collect()
}
