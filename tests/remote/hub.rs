//! Repositories of the Hub: what they cost, what is refused, what is read from the cache.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::server::hub::{COMMIT, Hub, Repository, SIGNATURE, TOKEN};
use crate::server::{Fault, Reply, safetensors};
use weighbridge::internals::remote::Remote;
use weighbridge::internals::remote::{Environment, HubAddress, HubFolder};
use weighbridge::{EntryKind, Folder, Model, OpenOptions, Result};

fn settings() -> Remote {
    let mut settings = Remote::default();
    settings.timeout = Duration::from_secs(15);
    settings.retries = 2;
    settings.max_wait = Duration::from_secs(2);
    settings
}

/// A folder of the server, with some variables set.
fn folder(hub: &Hub, typed: &str, variables: &[(&str, &str)]) -> HubFolder {
    let endpoint = hub.hub.url("");
    let lookup = |name: &str| match name {
        "HF_ENDPOINT" => Some(endpoint.clone().into()),
        _ => variables.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()),
    };
    let environment = Environment::from_lookup(&lookup).unwrap();
    let address = HubAddress::parse(typed, environment.endpoint()).unwrap().unwrap();
    HubFolder::new(&address, &environment, &settings()).unwrap()
}

fn open(hub: &Hub, typed: &str, variables: &[(&str, &str)], path: &str) -> Result<Model> {
    OpenOptions::new().open_in(Arc::new(folder(hub, typed, variables)), path)
}

/// What a user is told, with the hint.
fn refused(hub: &Hub, typed: &str, variables: &[(&str, &str)]) -> String {
    let text = format!("{:?}", open(hub, typed, variables, "").err().unwrap());
    assert!(!text.contains(TOKEN) && !text.contains(SIGNATURE), "{text}");
    text
}

const WITH_TOKEN: &[(&str, &str)] = &[("HF_TOKEN", TOKEN)];

fn one_file() -> Repository {
    Repository::new(
        "o/n",
        &[
            ("config.json", b"{\"model_type\":\"llama\"}".to_vec()),
            ("model.safetensors", safetensors(&[("a", 1000), ("b", 1_000_000)], 0)),
        ],
    )
}

#[test]
fn one_file_costs_five_requests() {
    let mut repository = one_file();
    repository.private = true;
    let hub = Hub::start(vec![repository]);
    let model = open(&hub, "hf://o/n", WITH_TOKEN, "").unwrap();
    assert_eq!(model.weights().count(), 2);
    assert_eq!(hub.requests(), 5, "{:?} {:?}", hub.hub.requests(), hub.cdn.requests());
    assert_eq!(hub.cdn.sent(), 128 << 10);
    // Values come from the signed address.
    let values: Vec<f32> = model.weight("b").unwrap().decode_to_vec().unwrap();
    assert_eq!((values.len(), values[999]), (1_000_000, 999.0));
    assert_eq!(hub.hub.requests().len(), 4);
}

#[test]
fn a_commit_and_a_page_are_as_good_as_a_name() {
    let hub = Hub::start(vec![one_file()]);
    open(&hub, &format!("hf://o/n@{COMMIT}"), &[], "model.safetensors").unwrap();
    assert_eq!(hub.requests(), 4);
    open(&hub, "hf://o/n@refs%2Fpr%2F1", &[], "").unwrap();
    let page = hub.hub.url("/o/n/blob/main/model.safetensors");
    assert_eq!(folder(&hub, &page, &[]).commit().unwrap(), COMMIT);
}

#[test]
fn shards_are_opened_side_by_side() {
    let name = |i: usize| format!("model-{i:05}-of-00010.safetensors");
    let entries: Vec<String> = (1..=10).map(|i| format!("\"t{i}\":\"{}\"", name(i))).collect();
    let index = format!("{{\"weight_map\":{{{}}}}}", entries.join(","));
    let mut files = vec![("model.safetensors.index.json".to_owned(), index.into_bytes())];
    for i in 1..=10 {
        files.push((name(i), safetensors(&[(&*format!("t{i}"), 100_000)], 500 * i)));
    }
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(n, b)| (&**n, b.clone())).collect();
    let mut repository = Repository::new("o/n", &files);
    repository.page = 6;
    let hub = Hub::start(vec![repository]);
    let delay = Duration::from_millis(100);
    hub.hub.delay(delay);
    hub.cdn.delay(delay);
    let model = open(&hub, "hf://o/n", &[], "").unwrap();
    assert_eq!(model.weights().count(), 10);
    // The revision, two pages, the index; each shard is resolved and its header fetched.
    assert_eq!(hub.requests(), 4 + 20, "{:?}", hub.hub.requests());
    assert!(hub.cdn.most_under_way() >= 4, "{}", hub.cdn.most_under_way());
    assert_eq!(hub.cdn.sent(), 10 * (16 << 10));
}

#[test]
fn a_thousand_shards_cost_two_requests_each() {
    let name = |i: usize| format!("model-{i:05}-of-01000.safetensors");
    let tensor = |i: usize, t: usize| format!("model.layers.{i}.mlp.experts.{t}.down_proj.weight");
    let mut files = Vec::new();
    let mut map = Vec::new();
    for i in 1..=1000 {
        let tensors: Vec<String> = (0..30).map(|t| tensor(i, t)).collect();
        map.extend(tensors.iter().map(|tensor| format!("\"{tensor}\": \"{}\"", name(i))));
        let tensors: Vec<(&str, usize)> = tensors.iter().map(|tensor| (&**tensor, 100)).collect();
        files.push((name(i), safetensors(&tensors, 0)));
    }
    let index = format!("{{\"weight_map\": {{\n    {}\n}}}}", map.join(",\n    "));
    files.push(("model.safetensors.index.json".to_owned(), index.into_bytes()));
    let files: Vec<(&str, Vec<u8>)> = files.iter().map(|(n, b)| (&**n, b.clone())).collect();
    let hub = Hub::start(vec![Repository::new("o/n", &files)]);
    let model = open(&hub, "hf://o/n", WITH_TOKEN, "").unwrap();
    assert_eq!(model.weights().count(), 30_000);
    assert!((2000..=2100).contains(&hub.requests()), "{}", hub.requests());
    // Headers, and not many more bytes: the first guess is the index's.
    let headers: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64 - 30 * 400).sum();
    assert!(hub.cdn.sent() < headers * 4, "{} of {headers}", hub.cdn.sent());
}

#[test]
fn the_listing_has_lengths_and_folders_and_nothing_outside() {
    let files = [("a/b/c.json", b"{}".to_vec()), ("x.gguf", vec![0; 9])];
    let hub = Hub::start(vec![Repository::new("o/n", &files)]);
    let folder = folder(&hub, "hf://o/n", &[]);
    let names = |path: &str| {
        let listed = folder.list(Path::new(path)).unwrap();
        listed.iter().map(|e| e.name.to_string_lossy().into_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("."), ["a", "x.gguf"]);
    assert_eq!(names("a"), ["b"]);
    assert_eq!(folder.kind(Path::new("x.gguf")).unwrap(), EntryKind::File(9));
    assert_eq!(folder.kind(Path::new("a/b")).unwrap(), EntryKind::Folder);
    for path in ["../x", "../../x", "a/../x.gguf", "none", "/x.gguf"] {
        let error = folder.open(Path::new(path)).err().unwrap();
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{path}");
    }
    let error = folder.open(Path::new("a/b")).err().unwrap();
    assert_eq!(error.kind(), std::io::ErrorKind::IsADirectory);
    assert_eq!(hub.requests(), 2);
}

/// What is typed, the variables, and what is said about it.
type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

#[test]
fn refusals_are_told_apart() {
    let mut gated = one_file();
    (gated.id, gated.gated) = ("o/gated".into(), true);
    let mut private = one_file();
    (private.id, private.private) = ("o/private".into(), true);
    let mut down = one_file();
    (down.id, down.taken_down) = ("o/down".into(), true);
    let hub = Hub::start(vec![one_file(), gated, private, down]);
    let page = hub.hub.url("/o/gated");
    let cases: &[Case<'_>] = &[
        (
            "hf://o/gated/model.safetensors",
            &[],
            &["hf://o/gated", "this repository is gated", "then set HF_TOKEN", &page],
        ),
        ("hf://o/gated", WITH_TOKEN, &["with the account of your token"]),
        (
            "hf://o/private",
            &[],
            &["hf://o/private: repository not found on the Hub, or it is private", "HF_TOKEN"],
        ),
        (
            "hf://o/none",
            WITH_TOKEN,
            &["repository not found on the Hub, or your token cannot read it"],
        ),
        ("hf://o/n@v9", &[], &["hf://o/n@v9: the repository has no revision `v9`"]),
        ("hf://o/down", &[], &["the Hub has disabled access to this repository"]),
    ];
    for (typed, variables, expected) in cases {
        let told = refused(&hub, typed, variables);
        for text in *expected {
            assert!(told.contains(text), "{told}");
        }
    }
}

#[test]
fn a_file_that_is_listed_and_gone() {
    let hub = Hub::start(vec![one_file()]);
    hub.hub.fail(
        "resolve",
        Fault::Answer(Reply::new(404).with("X-Error-Code", "EntryNotFound")),
        9,
    );
    let error = open(&hub, "hf://o/n", &[], "model.safetensors").err().unwrap();
    let text = format!("{error:?}");
    assert!(text.contains("hf://o/n/model.safetensors: the repository has no such file"), "{text}");
}

#[test]
fn limits_are_waited_for() {
    let hub = Hub::start(vec![one_file()]);
    let busy = || Fault::Answer(Reply::new(429).with("RateLimit", "\"resolvers\";r=0;t=1"));
    hub.hub.fail("/api/", busy(), 1);
    hub.hub.fail("/resolve/", busy(), 1);
    let begun = Instant::now();
    open(&hub, "hf://o/n", WITH_TOKEN, "").unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(2));
    assert_eq!(hub.requests(), 7);
}

#[test]
fn expired_addresses_are_resolved_again() {
    let hub = Hub::start(vec![one_file()]);
    let model = open(&hub, "hf://o/n", WITH_TOKEN, "").unwrap();
    hub.expire();
    let values: Vec<f32> = model.weight("b").unwrap().decode_to_vec().unwrap();
    assert_eq!(values.len(), 1_000_000);
    let resolves = hub.hub.requests().iter().filter(|line| line.contains("model.safe")).count();
    assert_eq!(resolves, 2);
}

#[test]
fn other_contents_under_the_same_commit_are_refused() {
    let hub = Hub::start(vec![one_file()]);
    let model = open(&hub, "hf://o/n", WITH_TOKEN, "").unwrap();
    hub.expire();
    hub.change();
    let error = model.weight("b").unwrap().decode_to_vec::<f32>().err().unwrap();
    let text = format!("{error:?}");
    assert!(
        text.contains("hf://o/n/model.safetensors") && text.contains("was changed while"),
        "{text}"
    );
    // What the listing says is held against the first answer too.
    let told = refused(&hub, "hf://o/n", WITH_TOKEN);
    assert!(told.contains("was changed while it was read"), "{told}");
}

#[test]
fn a_signed_address_that_is_refused_for_good_is_not_shown() {
    let hub = Hub::start(vec![one_file()]);
    hub.cdn.fail("model", Fault::Answer(Reply::new(403)), 9);
    let told = refused(&hub, "hf://o/n", WITH_TOKEN);
    assert!(told.contains("the Hub's storage server 127.0.0.1"), "{told}");
    assert!(told.contains(" denied access (403 Forbidden)"), "{told}");
}

#[test]
fn what_is_no_hub_is_said_to_be_none() {
    let hub = Hub::start(vec![one_file()]);
    hub.hub.fail("revision", Fault::Answer(Reply::new(200).body("<html>")), 1);
    let told = refused(&hub, "hf://o/n", WITH_TOKEN);
    assert!(told.contains("the server does not respond like the Hub"), "{told}");
    let away = Reply::new(200).body("[]").with("Link", "<http://127.0.0.1:9/x>; rel=\"next\"");
    hub.hub.fail("tree", Fault::Answer(away), 1);
    let told = refused(&hub, "hf://o/n", WITH_TOKEN);
    assert!(told.contains("the server does not respond like the Hub"), "{told}");
}

/// A cache that holds one file of a repository.
fn cache(name: &str, bytes: &[u8]) -> tempfile::TempDir {
    let cache = tempfile::tempdir().unwrap();
    let repository = cache.path().join("models--o--n");
    let snapshot = repository.join("snapshots").join(COMMIT);
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(repository.join("refs")).unwrap();
    std::fs::write(repository.join("refs/main"), COMMIT).unwrap();
    std::fs::write(snapshot.join(name), bytes).unwrap();
    cache
}

#[test]
fn what_is_in_the_cache_is_not_fetched() {
    let repository = one_file();
    let cache = cache("model.safetensors", &repository.files["model.safetensors"]);
    let hub = Hub::start(vec![repository]);
    let variables = [("HF_HUB_CACHE", cache.path().to_str().unwrap())];
    open(&hub, "hf://o/n", &variables, "").unwrap();
    // The revision, the listing, the config.
    assert_eq!((hub.hub.requests().len(), hub.cdn.requests().len()), (3, 0));
    let snapshot = cache.path().join("models--o--n/snapshots").join(COMMIT);
    std::fs::write(snapshot.join("model.safetensors"), b"cut").unwrap();
    open(&hub, "hf://o/n", &variables, "").unwrap();
    assert_eq!(hub.cdn.requests().len(), 1);
}

#[test]
fn offline_nothing_is_asked_for() {
    let repository = one_file();
    let cache = cache("model.safetensors", &repository.files["model.safetensors"]);
    let hub = Hub::start(vec![repository]);
    let path = cache.path().to_str().unwrap();
    let offline = [("HF_HUB_CACHE", path), ("HF_HUB_OFFLINE", "1")];
    assert_eq!(open(&hub, "hf://o/n", &offline, "").unwrap().weights().count(), 2);
    let told = refused(&hub, "hf://o/other", &offline);
    let expected = "hf://o/other: this revision of the repository is not in the local cache, and \
                    HF_HUB_OFFLINE is set";
    assert!(told.contains(expected), "{told}");
    let error = folder(&hub, "hf://o/n", &offline).open(Path::new("x.gguf")).err().unwrap();
    assert!(
        error.to_string().contains(
            "hf://o/n/x.gguf: this file is not in the local cache, and HF_HUB_OFFLINE is set"
        ),
        "{error}"
    );
    assert_eq!(hub.requests(), 0);
}

#[test]
fn a_token_stays_with_the_hub() {
    let hub = Hub::start(vec![one_file()]);
    let thief = crate::server::Server::start(|request| {
        let stolen = request.header("authorization").is_some();
        Reply::new(if stolen { 200 } else { 418 }).body("{}")
    });
    let away = Reply::new(307).with("Location", thief.url("/api"));
    hub.hub.fail("revision", Fault::Answer(away), 1);
    let told = refused(&hub, "hf://o/n", WITH_TOKEN);
    assert!(told.contains("418"), "{told}");
    assert_eq!(thief.requests().len(), 1);
}
