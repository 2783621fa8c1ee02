//! Files behind a web server that the world uses: nginx, with https, over HTTP/1.1 and HTTP/2.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::root;
use crate::samples::{described, difference, options};
use crate::server::{AUTHORITY, safetensors};
use crate::servers::{ended_with_us, free_ports, program};
use weighbridge::OpenOptions;
use weighbridge::internals::remote::Remote;

/// The variable that makes this program open an address, with what the environment says about
/// certificates.
const CHILD: &str = "WEIGHBRIDGE_TEST_OPENS";

/// nginx with the samples under `/files/`, and a folder of its own.
struct Nginx {
    /// HTTP/1.1 and HTTP/2.
    addresses: [String; 2],
    data: tempfile::TempDir,
    _process: Child,
}

impl Nginx {
    /// Starts it; `None`, and a line that says so, where there is none.
    fn start() -> Option<Self> {
        let program = program("nginx/usr/sbin/nginx")?;
        let data = tempfile::tempdir().unwrap();
        let ports = free_ports::<2>();
        std::fs::create_dir(data.path().join("own")).unwrap();
        let config = data.path().join("nginx.conf");
        std::fs::write(&config, configuration(data.path(), ports)).unwrap();
        let log = data.path().join("error.log");
        let process = ended_with_us(data.path())
            .arg(program)
            .args(["-e", log.to_str().unwrap(), "-p", data.path().to_str().unwrap(), "-c"])
            .arg(config)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", ports[1])).is_err() {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(begun.elapsed() < Duration::from_secs(20), "it does not start: {}", said());
            std::thread::sleep(Duration::from_millis(50));
        }
        let addresses = ports.map(|port| format!("https://127.0.0.1:{port}"));
        Some(Self { addresses, data, _process: process })
    }

    fn own(&self, name: &str) -> PathBuf {
        self.data.path().join("own").join(name)
    }

    /// The requests so far: protocol, status and path.
    /// Whether the last request was logged so. The server answers first and logs then.
    fn logs(&self, words: &str) -> bool {
        (0..100).any(|_| {
            let is_logged = self.log().last().is_some_and(|line| line.contains(words));
            if !is_logged {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            is_logged
        })
    }

    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.data.path().join("access.log")).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

fn configuration(data: &Path, [plain, second]: [u16; 2]) -> String {
    let (data, root) = (data.display(), root());
    let certificates = root.join("tests/remote/server/certificates");
    let (root, certificates) = (root.display(), certificates.display());
    format!(
        "daemon off; master_process off; pid {data}/pid;
events {{}}
http {{
    log_format short '$server_protocol $status $uri';
    access_log {data}/access.log short;
    client_body_temp_path {data}/body; proxy_temp_path {data}/proxy;
    fastcgi_temp_path {data}/fastcgi; uwsgi_temp_path {data}/uwsgi; scgi_temp_path {data}/scgi;
    server {{
        listen 127.0.0.1:{plain} ssl;
        listen 127.0.0.1:{second} ssl http2;
        ssl_certificate {certificates}/server.pem;
        ssl_certificate_key {certificates}/server.key;
        location /files/ {{ alias {root}/tests/files/; }}
        location /own/ {{ alias {data}/own/; }}
    }}
}}
"
    )
}

fn settings() -> Remote {
    let mut settings = Remote::default();
    settings.ca_file = Some(AUTHORITY.into());
    settings.timeout = Duration::from_secs(15);
    settings
}

#[test]
fn files_are_the_same_as_here() {
    let Some(nginx) = Nginx::start() else { return };
    let files = [
        "safetensors/dtypes.safetensors",
        "safetensors/sharded/model.safetensors.index.json",
        "names/qwen3-q8/model.gguf",
        "gguf/split/model-00001-of-00003.gguf",
        "npz/deflated.npz",
        "pth/views.pth",
        "bnb/nf4-plain/model.safetensors",
    ];
    for (address, protocol) in nginx.addresses.iter().zip(["HTTP/1.1", "HTTP/2.0"]) {
        let before = nginx.log().len();
        for file in files {
            let path = root().join("tests/files").join(file);
            let here = described(options().open_all(&path));
            assert!(here.len() > 1, "{here:?}");
            let address = format!("{address}/files");
            let there = OpenOptions::new().remote(settings()).open_all(format!("{address}/{file}"));
            let local = root().join("tests/files").to_str().unwrap().to_owned();
            let named = |lines: Vec<String>, base: &str| -> Vec<String> {
                lines.into_iter().map(|line| line.replace(base, "[FILES]")).collect()
            };
            let found = difference(file, &named(described(there), &address), &named(here, &local));
            assert_eq!(found, None);
        }
        // Parts were asked for and sent; what is not there were configs.
        let log = nginx.log();
        let odd = |line: &&String| match line.split(' ').collect::<Vec<_>>()[..] {
            [found, "206", _] => found != protocol,
            [found, "404", path] => found != protocol || !path.ends_with(".json"),
            _ => true,
        };
        assert_eq!(log[before..].iter().find(odd), None);
        assert!(log.len() - before >= files.len());
    }
}

#[test]
fn a_file_that_is_replaced_is_refused_by_the_server() {
    let Some(nginx) = Nginx::start() else { return };
    for (address, name) in nginx.addresses.iter().zip(["first.safetensors", "second.safetensors"]) {
        std::fs::write(nginx.own(name), safetensors(&[("a", 1000), ("b", 500_000)], 0)).unwrap();
        let open = || OpenOptions::new().remote(settings()).open(format!("{address}/own/{name}"));
        let model = open().unwrap();
        let numbers: Vec<f32> = model.weight("b").unwrap().decode_to_vec().unwrap();
        assert_eq!((numbers.len(), numbers[999]), (500_000, 999.0));
        let other = nginx.own("other");
        std::fs::write(&other, safetensors(&[("a", 1000), ("b", 500_001)], 0)).unwrap();
        std::fs::rename(other, nginx.own(name)).unwrap();
        let error = model.weight("b").unwrap().decode_to_vec::<f32>().err().unwrap();
        assert!(error.to_string().contains("was changed while it was read"), "{error}");
        assert!(nginx.logs(" 412 "), "{:?}", nginx.log());
        assert_eq!(open().unwrap().weight("b").unwrap().len(), 500_001);
    }
}

/// Opens an address in a process of its own, where `SSL_CERT_FILE` says what is trusted.
fn opens_with(address: &str, certificates: Option<&str>) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "nginx::as_a_child", "--nocapture"]).env(CHILD, address);
    command.env_remove("SSL_CERT_DIR").env_remove("SSL_CERT_FILE");
    if let Some(certificates) = certificates {
        command.env("SSL_CERT_FILE", certificates);
    }
    let output = command.output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn certificates_are_trusted_by_the_environment() {
    let Some(nginx) = Nginx::start() else { return };
    let address = format!("{}/files/safetensors/dtypes.safetensors", nginx.addresses[0]);
    let (is_open, said) = opens_with(&address, Some(AUTHORITY));
    assert!(is_open, "{said}");
    let (is_open, said) = opens_with(&address, None);
    assert!(!is_open && said.contains("the server certificate is not valid"), "{said}");
}

/// Does nothing unless this process was started for it.
#[test]
fn as_a_child() {
    if let Some(address) = std::env::var_os(CHILD) {
        let model = OpenOptions::new().open(&address).unwrap();
        assert!(model.weights().count() > 0);
    }
}
