//! The servers that the command is run against: one with files and with every fault by its path, the
//! same with https, and one that speaks the Hub's protocol.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use libtest_mimic::Failed;

use crate::root;
use crate::server::hub::{Hub, Repository, SIGNATURE, TOKEN};
use crate::server::{AUTHORITY, Fault, Reply, Request, Server, safetensors};

/// Variables that lead requests elsewhere, or let other certificates be trusted.
const UNSET: [&str; 22] = [
    "ALL_PROXY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "HF_ENDPOINT",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN",
    "HF_HUB_OFFLINE",
    "HF_TOKEN",
    "HF_TOKEN_PATH",
    "HUGGINGFACE_HUB_CACHE",
    "HUGGING_FACE_HUB_TOKEN",
    "TRANSFORMERS_OFFLINE",
    "XDG_CACHE_HOME",
    "REQUEST_METHOD",
];

/// How often a fault happens that never passes.
const ALWAYS: usize = usize::MAX;

pub struct Network {
    pub web: Server,
    pub tls: Server,
    pub hub: Hub,
}

/// The servers, started when they are wanted first.
pub fn network() -> &'static Network {
    static NETWORK: OnceLock<Network> = OnceLock::new();
    NETWORK.get_or_init(|| Network {
        web: faulty(Server::start(answer)),
        tls: Server::start_encrypted(answer),
        hub: hub(),
    })
}

impl Network {
    /// Lets a command reach these servers and no others.
    pub fn reach(&self, command: &mut Command) {
        UNSET.iter().for_each(|name| {
            command.env_remove(name);
        });
        command
            .env("WEB", self.web.url(""))
            .env("TLS", format!("https://{}", self.tls.address))
            .env("CA", AUTHORITY)
            .env("HF_ENDPOINT", self.hub.hub.url(""))
            .env("HF_TOKEN", TOKEN);
    }

    /// What was shown, with names for the servers. Secrets are an error.
    pub fn named(&self, text: &str) -> Result<String, Failed> {
        refuse_secrets("what is shown", text)?;
        let servers = [
            ("[WEB]", &self.web),
            ("[TLS]", &self.tls),
            ("[HUB]", &self.hub.hub),
            ("[CDN]", &self.hub.cdn),
        ];
        let text = text.replace(AUTHORITY, "[CA]");
        Ok(servers
            .iter()
            .fold(text, |text, (name, server)| text.replace(&server.address.to_string(), name)))
    }

    /// No secret was written to disk or sent to a stranger.
    pub fn check(&self, folder: &Path) -> Result<(), Failed> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_symlink() {
                continue;
            }
            if path.is_dir() {
                self.check(&path)?;
                continue;
            }
            let bytes = std::fs::read(&path)?;
            refuse_secrets(&path.to_string_lossy(), &String::from_utf8_lossy(&bytes))?;
        }
        match self.hub.leaks() {
            leaks if leaks.is_empty() => Ok(()),
            leaks => Err(format!("a token was sent along with {leaks:?}").into()),
        }
    }
}

fn refuse_secrets(place: &str, text: &str) -> Result<(), Failed> {
    match [TOKEN, SIGNATURE, "Bearer"].iter().find(|secret| text.contains(**secret)) {
        Some(secret) => Err(format!("{place} holds {secret}:\n{text}").into()),
        None => Ok(()),
    }
}

/// Two megabytes, so that values lie outside what is fetched first.
pub fn model() -> Vec<u8> {
    safetensors(&[("a", 1000), ("b", 500_000)], 0)
}

/// Files of the repository under their paths in it; everything else that is called
/// `model.safetensors` is the model.
fn answer(request: &Request) -> Reply {
    let asked = request.path.trim_start_matches('/');
    let bytes = match ["files/", "samples/"].iter().any(|place| asked.starts_with(place)) {
        true => std::fs::read(root().join(asked.replacen("files/", "tests/files/", 1))).ok(),
        false => asked.ends_with("/model.safetensors").then(model),
    };
    match bytes {
        None => Reply::new(404),
        // The file is another one as soon as somebody insists on this one.
        Some(_) if asked.starts_with("changing/") && request.header("if-match").is_some() => {
            Reply::new(412)
        }
        Some(bytes) => Reply::of_file(&bytes, request).with("ETag", "\"v1\""),
    }
}

/// Everything that a web server can do wrong, by the beginning of the path.
fn faulty(server: Server) -> Server {
    let answer = |status| Fault::Answer(Reply::new(status));
    let limited = Reply::new(429).with("RateLimit", "\"resolvers\";r=0;t=900");
    let away = |to: &str| Fault::Answer(Reply::new(302).with("Location", to));
    for (path, fault) in [
        ("/login/", answer(401)),
        ("/refused/", answer(403)),
        ("/limited/", Fault::Answer(limited)),
        ("/unwell/", answer(503)),
        ("/whole/", Fault::IgnoreRange),
        ("/shifted/", Fault::Says("bytes 1-131072/2004120")),
        ("/unsaid/", Fault::Says("nonsense")),
        ("/longer/", Fault::Longer),
        ("/cut/", Fault::Cut(1000)),
        ("/silent/", Fault::Stall(1000)),
        ("/to-http/", away("http://example.com/model.safetensors")),
        ("/around/", away("/around/model.safetensors")),
        ("/nowhere/", answer(302)),
    ] {
        server.fail(path, fault, ALWAYS);
    }
    server
}

/// Repositories with everything that can go wrong with one, by their names.
fn hub() -> Hub {
    let repository = |id: &str| {
        let config = b"{\"architectures\": [\"LlamaForCausalLM\"]}".to_vec();
        Repository::new(id, &[("config.json", config), ("model.safetensors", model())])
    };
    let mut gated = repository("owner/gated");
    gated.gated = true;
    let mut private = repository("owner/private");
    private.private = true;
    let mut disabled = repository("owner/disabled");
    disabled.taken_down = true;
    let ids = ["limited", "expired", "changed", "odd", "model"];
    let mut all: Vec<Repository> =
        ids.iter().map(|name| repository(&format!("owner/{name}"))).collect();
    all.extend([gated, private, disabled, quantized()]);
    let hub = Hub::start(all);
    let limited = Reply::new(429).with("RateLimit", "\"api\";r=0;t=900");
    hub.hub.fail("/owner/limited/", Fault::Answer(limited), ALWAYS);
    hub.hub.fail("/owner/odd/", Fault::Answer(Reply::new(200).body("<html>")), ALWAYS);
    hub.cdn.fail("/owner/expired/", Fault::Answer(Reply::new(403)), ALWAYS);
    let other =
        format!("{}?X-Signature={SIGNATURE}0", hub.cdn.url("/owner/model/model.safetensors"));
    let other = Reply::new(302).with("Location", other).with("X-Linked-Etag", "\"another\"");
    hub.hub.fail("/owner/changed/resolve/", Fault::Answer(other), ALWAYS);
    hub
}

/// The sample as a repository.
fn quantized() -> Repository {
    let folder = root().join("samples/tiny-llama-gptq");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    });
    let files: Vec<(String, Vec<u8>)> = files.collect();
    let files: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(name, bytes)| (&**name, bytes.clone())).collect();
    Repository::new("owner/tiny-llama-gptq", &files)
}
