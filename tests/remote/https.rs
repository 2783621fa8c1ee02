//! Files on a web server: what they cost, and what can go wrong.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::server::{AUTHORITY, Fault, Reply, Server, safetensors};
use weighbridge::internals::remote::{Remote, WebFolder};
use weighbridge::ops::{ReadInto, Work};
use weighbridge::{DType, ErrorKind, Folder, Need, OpenOptions, ReadAt, ReadRange, Reading};

pub const SECRET: &str = "sig=TOPSECRET";

pub fn settings() -> Remote {
    let mut settings = Remote::default();
    settings.timeout = Duration::from_secs(15);
    settings.retries = 2;
    settings.max_wait = Duration::from_secs(2);
    settings
}

fn folder(server: &Server, path: &str) -> WebFolder {
    WebFolder::new(&server.url(&format!("{path}?{SECRET}")), &settings()).unwrap()
}

pub fn open(server: &Server, path: &str) -> std::io::Result<Arc<dyn ReadAt>> {
    let folder = folder(server, path);
    folder.open(folder.name())
}

pub fn numbers(len: usize) -> Vec<u8> {
    (0..251u8).map(|i| i.wrapping_mul(7)).cycle().take(len).collect()
}

pub fn read(file: &dyn ReadAt, offset: usize, len: usize) -> std::io::Result<Vec<u8>> {
    let mut out = vec![0; len];
    file.read_at(offset as u64, &mut out).map(|()| out)
}

/// The text of an error, with its hint, as a user sees it.
pub fn text(error: std::io::Error) -> String {
    let error = error.downcast::<weighbridge::Error>().unwrap();
    let text = format!("{error:?}");
    assert!(!text.contains("TOPSECRET"), "{text}");
    text
}

fn refused(server: &Server, path: &str) -> String {
    text(open(server, path).err().unwrap())
}

#[test]
fn a_safetensors_file_costs_one_or_two_requests() {
    for (metadata, requests) in [(100, 1), (200_000, 2), (1_000_000, 2)] {
        let bytes = safetensors(&[("a", 1000), ("b", 500_000)], metadata);
        let server = Server::of_files(&[("/m/model.safetensors", bytes)]);
        let folder = folder(&server, "/m/model.safetensors");
        let model = OpenOptions::new().open_in(Arc::new(folder), "model.safetensors").unwrap();
        assert_eq!(model.weights().count(), 2);
        assert_eq!(server.requests().len(), requests, "{:?}", server.requests());
        assert!(server.sent() <= metadata as u64 + 1000 + (128 << 10), "{}", server.sent());
        let values: Vec<f32> = model.weight("b").unwrap().decode_to_vec().unwrap();
        assert_eq!((values.len(), values[999], values[1000]), (500_000, 999.0, 0.0));
    }
}

#[test]
fn all_bytes_are_those_of_the_file() {
    let bytes = numbers(3 << 20);
    let server = Server::of_files(&[("/x.bin", bytes.clone())]);
    let file = open(&server, "/x.bin").unwrap();
    assert_eq!(file.len(), Some(3 << 20));
    for (offset, len) in
        [(0, 10), (131_070, 5), (1 << 20, 200_000), (0, 3 << 20), ((3 << 20) - 1, 1)]
    {
        assert_eq!(read(&*file, offset, len).unwrap(), bytes[offset..offset + len]);
    }
    let beyond = read(&*file, (3 << 20) - 1, 2).unwrap_err();
    assert_eq!(beyond.kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(file.has_latency() && file.is_unchanged().unwrap());
}

#[test]
fn small_reads_are_one_request_each_place() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    let file = open(&server, "/x.npy").unwrap();
    for i in 0..100 {
        read(&*file, 1_000_000 + i * 100, 100).unwrap();
        read(&*file, i * 100, 100).unwrap();
    }
    assert_eq!(server.requests().len(), 2);
    assert_eq!(server.sent(), (128 << 10) + (64 << 10));
}

#[test]
fn a_long_header_read_in_small_steps_costs_a_fifth_more() {
    let server = Server::of_files(&[("/x.gguf", numbers(40 << 20))]);
    let file = open(&server, "/x.gguf").unwrap();
    let header = 10 << 20;
    for offset in (0..header).step_by(64 << 10) {
        read(&*file, offset, 64 << 10).unwrap();
    }
    assert!(server.requests().len() <= 8, "{:?}", server.requests());
    assert!(server.sent() <= header as u64 / 5 * 6 + (1 << 20), "{}", server.sent());
}

#[test]
fn ranges_are_merged_and_fetched_side_by_side() {
    let bytes = numbers(40 << 20);
    let server = Server::of_files(&[("/x.npy", bytes.clone())]);
    server.delay(Duration::from_millis(50));
    let file = open(&server, "/x.npy").unwrap();
    let places: Vec<usize> = (0..8).flat_map(|i| [i * 5_000_000, i * 5_000_000 + 1000]).collect();
    let mut buffers = vec![[0; 300]; places.len()];
    let mut ranges: Vec<ReadRange<'_>> = places
        .iter()
        .zip(&mut buffers)
        .map(|(offset, out)| ReadRange { offset: *offset as u64, out })
        .collect();
    file.read_ranges(&mut ranges).unwrap();
    for (offset, found) in places.iter().zip(&buffers) {
        assert_eq!(found[..], bytes[*offset..offset + 300]);
    }
    // The first place is in what was fetched first.
    assert_eq!(server.requests().len(), 1 + 7);
    assert!(server.most_under_way() >= 4, "{}", server.most_under_way());
}

#[test]
fn what_will_be_needed_is_fetched_ahead_once() {
    let bytes = numbers(30 << 20);
    let server = Server::of_files(&[("/x.npy", bytes.clone())]);
    let file = open(&server, "/x.npy").unwrap();
    file.will_need(&once(1_000_000..20_000_000));
    file.will_need(&once(1_000_000..20_000_000));
    let mut found = Vec::new();
    for offset in (1_000_000..20_000_000).step_by(1 << 20) {
        let end = (offset + (1 << 20)).min(20_000_000);
        found.extend(read(&*file, offset, end - offset).unwrap());
    }
    assert!(found == bytes[1_000_000..20_000_000]);
    assert_eq!(server.requests().len(), 1 + 3, "{:?}", server.requests());
    // The buffers are gone: the same bytes are fetched again.
    read(&*file, 1_000_000, 1 << 20).unwrap();
    assert_eq!(server.requests().len(), 5);
}

pub fn once(range: Range<u64>) -> Need {
    Need { range, reading: Reading::Once, group: 1 }
}

#[test]
fn fetching_ahead_is_bounded_and_its_room_comes_back() {
    let server = Server::of_files(&[("/x.npy", numbers(30 << 20))]);
    let mut settings = settings();
    settings.read_ahead = 8 << 20;
    let folder = WebFolder::new(&server.url("/x.npy"), &settings).unwrap();
    let file = folder.open(folder.name()).unwrap();
    let first = server.requests().len();
    for (turn, start) in [1 << 20, 20 << 20].into_iter().enumerate() {
        file.will_need(&once(start..start + (8 << 20)));
        file.will_need(&once(start + (8 << 20)..start + (9 << 20)));
        // What does not fit waits for its turn.
        let fetched = server.requests().len() - first;
        assert!(fetched <= turn * 9 + 8, "{fetched}");
        let all = read(&*file, usize::try_from(start).unwrap(), 9 << 20).unwrap();
        assert_eq!(all.len(), 9 << 20);
    }
    assert_eq!(server.requests().len() - first, 2 * 9, "{:?}", server.requests());
}

#[test]
fn a_failed_fetch_ahead_is_told_to_the_reader() {
    let server = Server::of_files(&[("/x.npy", numbers(4 << 20))]);
    let file = open(&server, "/x.npy").unwrap();
    server.fail("/x.npy", Fault::Answer(Reply::new(418)), 1);
    file.will_need(&once(1 << 20..2 << 20));
    let told = text(read(&*file, 1 << 20, 1 << 20).unwrap_err());
    assert!(told.contains("the server responded 418 I'm a teapot"), "{told}");
}

#[test]
fn configs_beside_the_file_can_be_opened() {
    let server = Server::of_files(&[
        ("/m/model.safetensors", safetensors(&[("a", 10)], 0)),
        ("/m/config.json", b"{}".to_vec()),
    ]);
    let folder = folder(&server, "/m/model.safetensors");
    assert_eq!(folder.list(Path::new("")).unwrap().len(), 1);
    assert!(folder.kind(Path::new("config.json")).is_err());
    assert_eq!(server.requests().len(), 0);
    assert_eq!(folder.open(Path::new("config.json")).unwrap().len(), Some(2));
    assert!(folder.kind(Path::new("config.json")).is_ok());
    let missing = folder.open(Path::new("other.json")).err().unwrap();
    assert_eq!(missing.kind(), std::io::ErrorKind::NotFound);
    assert!(server.requests().iter().all(|line| !line.contains("json?sig")));
}

#[test]
fn an_empty_file_is_empty() {
    let server = Server::of_files(&[("/x.safetensors", Vec::new())]);
    assert_eq!(open(&server, "/x.safetensors").unwrap().len(), Some(0));
}

#[test]
fn refusals_are_explained() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    let told = refused(&server, "/none.npy");
    assert!(told.contains("/none.npy: file not found (404 Not Found)"), "{told}");
    server.fail("/x.npy", Fault::Answer(Reply::new(403)), 1);
    let told = refused(&server, "/x.npy");
    assert!(told.contains("the server denied access (403 Forbidden)"), "{told}");
    assert!(told.contains("may have expired"), "{told}");
    let folder = folder(&server, "/none.npy");
    let error = OpenOptions::new().open_in(Arc::new(folder), "none.npy").err().unwrap();
    assert!(error.to_string().contains("file not found"), "{error}");
}

#[test]
fn failures_that_pass_are_waited_for() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    server.fail("/x", Fault::Answer(Reply::new(503)), 1);
    server.fail("/x", Fault::Answer(Reply::new(429).with("RateLimit", "\"api\";r=0;t=1")), 1);
    let begun = Instant::now();
    open(&server, "/x.npy").unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(1500), "{:?}", begun.elapsed());
    assert_eq!(server.requests().len(), 3);
    server.fail("/x", Fault::Answer(Reply::new(429).with("Retry-After", "60")), 1);
    let told = refused(&server, "/x.npy");
    assert!(
        told.contains("429 Too Many Requests and asks to wait 60 seconds, the limit is 2 seconds"),
        "{told}"
    );
    server.fail("/x", Fault::Answer(Reply::new(500)), 9);
    let told = refused(&server, "/x.npy");
    assert!(
        told.contains("the server responded 500 Internal Server Error (after 3 tries)"),
        "{told}"
    );
}

#[test]
fn a_broken_body_is_resumed_where_it_broke() {
    let bytes = numbers(4 << 20);
    let server = Server::of_files(&[("/x.npy", bytes.clone())]);
    server.fail("/x", Fault::Cut(50_000), 1);
    let file = open(&server, "/x.npy").unwrap();
    assert_eq!(read(&*file, 0, 131_072).unwrap(), bytes[..131_072]);
    server.fail("/x", Fault::Cut(300_000), 1);
    assert!(read(&*file, 1 << 20, 2 << 20).unwrap() == bytes[1 << 20..3 << 20]);
    assert_eq!(server.requests().len(), 4);
    assert_eq!(server.sent(), 131_072 + (2 << 20));
    server.fail("/x", Fault::Cut(10), 9);
    let told = text(read(&*file, 1 << 20, 1 << 20).unwrap_err());
    assert!(told.contains("the connection closed") && told.contains("(after 3 tries)"), "{told}");
}

#[test]
fn a_silent_server_is_given_up() {
    let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
    let mut settings = settings();
    settings.timeout = Duration::from_millis(700);
    let folder = WebFolder::new(&server.url(&format!("/x.npy?{SECRET}")), &settings).unwrap();
    let file = folder.open(folder.name()).unwrap();
    server.fail("/x", Fault::Stall(1000), 9);
    let told = text(read(&*file, 1 << 20, 100_000).unwrap_err());
    assert!(
        told.contains("the server stopped sending data (read timeout) (after 3 tries)"),
        "{told}"
    );
}

#[test]
fn servers_without_ranges() {
    let small = numbers(1000);
    let server =
        Server::of_files(&[("/small.npy", small.clone()), ("/large.npy", numbers(2 << 20))]);
    server.fail("/", Fault::IgnoreRange, 2);
    let file = open(&server, "/small.npy").unwrap();
    assert_eq!(read(&*file, 0, 1000).unwrap(), small);
    assert_eq!(server.requests().len(), 1);
    let told = refused(&server, "/large.npy");
    assert!(told.contains("does not support range requests for this file"), "{told}");
    assert!(told.contains("hint: download the file, then open it"), "{told}");
}

#[test]
fn wrong_parts_are_refused() {
    let cases = [
        (Fault::Says("bytes 1-131072/2097152"), "the server sent bytes 1 to 131073"),
        (Fault::Says("bytes 0-99/2097152"), "the server sent bytes 0 to 100"),
        (Fault::Says("nonsense"), "the server sent no Content-Range for a range request"),
        (Fault::Longer, "the server sent more bytes than requested"),
    ];
    for (fault, expected) in cases {
        let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
        server.fail("/x", fault, 1);
        let told = refused(&server, "/x.npy");
        assert!(told.contains(expected), "{told}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn another_version_is_refused() {
    let other = |tag: &str| {
        let reply = Reply::new(206).with("Content-Range", "bytes 1048576-1148575/2097152");
        Fault::Answer(reply.with("ETag", tag).body(vec![0; 100_000]))
    };
    let longer = Reply::new(206).with("Content-Range", "bytes 1048576-1148575/2097153");
    let longer = Fault::Answer(longer.body(vec![0; 100_000]));
    let gone = Fault::Answer(Reply::new(412));
    for fault in [other("\"v2\""), other("W/\"v1\""), longer, gone] {
        let server = Server::of_files(&[("/x.npy", numbers(2 << 20))]);
        let file = open(&server, "/x.npy").unwrap();
        server.fail("/x", fault, 1);
        let told = text(read(&*file, 1 << 20, 100_000).unwrap_err());
        assert!(told.contains("/x.npy: was changed while it was read"), "{told}");
        assert!(!file.is_unchanged().unwrap());
    }
}

#[test]
fn without_a_tag_the_date_counts_and_weak_tags_are_no_condition() {
    let bytes = numbers(2 << 20);
    let dates = std::sync::atomic::AtomicUsize::new(0);
    let dated = Server::start({
        let bytes = bytes.clone();
        move |request| {
            let count = dates.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            let date = format!("Mon, 0{} Jan 2026 00:00:00 GMT", count / 2 + 1);
            Reply::of_file(&bytes, request).with("Last-Modified", date)
        }
    });
    let file = open(&dated, "/x.npy").unwrap();
    read(&*file, 1 << 20, 100_000).unwrap();
    let told = text(read(&*file, 1 << 20, 100_000).unwrap_err());
    assert!(told.contains("was changed while it was read"), "{told}");
    let weak = Server::start(move |request| match request.header("if-match") {
        Some(_) => Reply::new(412),
        None => Reply::of_file(&bytes, request).with("ETag", "W/\"v1\""),
    });
    let file = open(&weak, "/x.npy").unwrap();
    read(&*file, 1 << 20, 100_000).unwrap();
}

#[test]
fn redirects_are_followed_and_remembered_until_they_expire() {
    let bytes = numbers(2 << 20);
    let store = Server::of_files(&[("/y", bytes.clone())]);
    let target = store.url("/y?sig=TOPSECRET");
    let front = Server::start(move |_| Reply::new(302).with("Location", target.clone()));
    let file = open(&front, "/x.npy").unwrap();
    read(&*file, 1 << 20, 100_000).unwrap();
    assert_eq!((front.requests().len(), store.requests().len()), (1, 2));
    store.fail("/y", Fault::Answer(Reply::new(403)), 1);
    assert_eq!(read(&*file, 1 << 20, 100_000).unwrap(), bytes[1 << 20..(1 << 20) + 100_000]);
    assert_eq!((front.requests().len(), store.requests().len()), (2, 4));
}

#[test]
fn redirects_that_are_refused() {
    let cases = [
        ("http://example.com/x?sig=TOPSECRET", "redirects to plain http on example.com"),
        ("ftp://example.com/x", "redirects to an address that is not http or https"),
        ("/again.npy", "redirects more than 10 times"),
    ];
    for (target, expected) in cases {
        let server = Server::start(move |_| Reply::new(307).with("Location", target));
        let told = refused(&server, "/x.npy");
        assert!(told.contains(expected), "{told}");
    }
    let server = Server::start(|_| Reply::new(301));
    let told = refused(&server, "/x.npy");
    assert!(told.contains("redirects without a target address"), "{told}");
}

#[test]
fn nobody_listens() {
    let told = text(
        WebFolder::new("http://127.0.0.1:9/x.npy?sig=TOPSECRET", &settings())
            .unwrap()
            .open(Path::new("x.npy"))
            .err()
            .unwrap(),
    );
    assert!(told.contains("http://127.0.0.1:9/x.npy: cannot fetch: cannot connect"), "{told}");
    assert!(told.contains("connection refused") && told.contains("127.0.0.1:9"), "{told}");
}

/// Even if nothing comes: a flag is looked at while a thread waits.
#[test]
fn a_read_ends_when_the_work_is_stopped() {
    let server = Server::of_files(&[("/x.safetensors", safetensors(&[("a", 1_000_000)], 0))]);
    let mut settings = settings();
    settings.timeout = Duration::from_secs(60);
    settings.retries = 0;
    let folder = WebFolder::new(&server.url("/x.safetensors"), &settings).unwrap();
    let model = OpenOptions::new().open_in(Arc::new(folder), "x.safetensors").unwrap();
    server.fail("/x", Fault::Stall(1000), usize::MAX);
    let asked = Arc::new(AtomicBool::new(false));
    let work = Work::new().cancel(asked.clone());
    let mut out = vec![0; 4_000_000];
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            while server.requests().len() < 2 {
                std::thread::yield_now();
            }
            asked.store(true, Ordering::Release);
        });
        let request = ReadInto::new(model.weight("a").unwrap(), DType::F32, &mut out);
        weighbridge::ops::read(vec![request], &work).unwrap_err()
    });
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
}

/// A server with https, and what a client is told who trusts its authority, or not.
fn encrypted(server: &Server, trusting: bool) -> std::io::Result<Arc<dyn ReadAt>> {
    let mut settings = settings();
    settings.ca_file = trusting.then(|| AUTHORITY.into());
    let url = format!("https://{}/x.npy?{SECRET}", server.address);
    WebFolder::new(&url, &settings).unwrap().open(Path::new("x.npy"))
}

#[test]
fn own_certificates_are_trusted_when_they_are_named() {
    let bytes = numbers(300_000);
    let server = Server::start_encrypted({
        let bytes = bytes.clone();
        move |request| Reply::of_file(&bytes, request)
    });
    let file = encrypted(&server, true).unwrap();
    assert!(read(&*file, 0, 300_000).unwrap() == bytes);
    let told = text(encrypted(&server, false).err().unwrap());
    assert!(told.contains("certificate") && told.contains("issuer is not trusted"), "{told}");
    let mut settings = settings();
    settings.ca_file = Some("Cargo.toml".into());
    let error = WebFolder::new("https://localhost/x", &settings).err().unwrap();
    assert!(error.to_string().contains("Cargo.toml: no PEM certificates found"), "{error}");
}

#[test]
fn https_stays_https() {
    let plain = Server::of_files(&[("/x.npy", numbers(1000))]);
    let target = plain.url("/x.npy?sig=TOPSECRET");
    let server = Server::start_encrypted(move |_| Reply::new(302).with("Location", target.clone()));
    let told = text(encrypted(&server, true).err().unwrap());
    assert!(told.contains("redirects from https to plain http on 127.0.0.1"), "{told}");
    assert_eq!(plain.requests().len(), 0);
}

/// A file with a matrix that may be packed, and so may need a config.
fn packed() -> Vec<u8> {
    let header = r#"{"a":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]}}"#;
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[1, 2, 3, 4]].concat()
}

#[test]
fn beside_a_signed_address_nothing_is_missed() {
    let bytes = packed();
    let signed = Server::start(move |request| match &*request.query {
        SECRET => Reply::of_file(&bytes, request),
        _ => Reply::new(403),
    });
    for path in ["/model.safetensors", "/m-00001-of-00002.safetensors"] {
        let folder = Arc::new(folder(&signed, path));
        let model = OpenOptions::new().open_in(folder, path.trim_start_matches('/')).unwrap();
        assert_eq!(model.findings().len(), 0, "{:?}", model.findings());
    }
    assert!(signed.requests().iter().any(|line| line.starts_with("/config.json? ")));
}

#[test]
fn an_index_leads_to_its_files() {
    let index = br#"{"weight_map": {"a": "x.safetensors", "b": "y.safetensors"}}"#;
    let server = Server::of_files(&[
        ("/m/model.safetensors.index.json", index.to_vec()),
        ("/m/x.safetensors", safetensors(&[("a", 10)], 0)),
        ("/m/y.safetensors", safetensors(&[("b", 10)], 0)),
    ]);
    let open = || {
        let address = server.url("/m/model.safetensors.index.json");
        OpenOptions::new().remote(settings()).open(address)
    };
    assert_eq!(open().unwrap().weights().count(), 2);
    let requests = server.requests();
    let shards = requests.iter().filter(|line| line.contains("y.safetensors")).count();
    assert_eq!(shards, 1, "{requests:?}");
    server.fail("/m/y", Fault::Answer(Reply::new(404)), 1);
    let kinds: Vec<_> = open().unwrap().findings().iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, ["missing-shard"]);
    server.fail("/m/y", Fault::Answer(Reply::new(403)), 1);
    let told = open().err().unwrap().to_string();
    assert!(told.contains("/m/y.safetensors: the server denied access (403 Forbidden)"), "{told}");
}
