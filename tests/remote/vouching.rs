//! What vouches for the bytes: the SHA-256 that the Hub states for a file, if all of it is read.

use std::path::Path;
use std::sync::Arc;

use crate::server::hub::{Hub, Repository};
use crate::server::{Fault, Reply, Server, safetensors};
use weighbridge::internals::remote::{Environment, HubAddress, HubFolder, Remote, WebFolder};
use weighbridge::ops::{ConvertOptions, ConvertReport, convert};
use weighbridge::{Folder, Model, OpenOptions, Result, Select};

/// Two files, each of many requests; the order in the header is that of the data.
fn repository() -> Repository {
    let tensors = |first: usize| -> Vec<u8> {
        let names: Vec<String> = (first..first + 4).map(|i| format!("t{i}")).collect();
        let tensors: Vec<_> = names.iter().map(|name| (&**name, 3_000_000)).collect();
        safetensors(&tensors, 0)
    };
    let shard = |i: usize| format!("model-0000{i}-of-00002.safetensors");
    let map: Vec<String> = (0..8).map(|i| format!("\"t{i}\":\"{}\"", shard(i / 4 + 1))).collect();
    let index = format!("{{\"weight_map\":{{{}}}}}", map.join(","));
    Repository::new(
        "o/n",
        &[
            ("model.safetensors.index.json", index.into_bytes()),
            (&shard(1), tensors(0)),
            (&shard(2), tensors(4)),
        ],
    )
}

fn of_hub(hub: &Hub) -> Model {
    let endpoint = hub.hub.url("");
    let lookup = |name: &str| (name == "HF_ENDPOINT").then(|| endpoint.clone().into());
    let environment = Environment::from_lookup(&lookup).unwrap();
    let address = HubAddress::parse("hf://o/n", environment.endpoint()).unwrap().unwrap();
    let folder = HubFolder::new(&address, &environment, &Remote::default()).unwrap();
    open(Arc::new(folder), "")
}

fn open(folder: Arc<dyn Folder>, path: &str) -> Model {
    OpenOptions::new().open_in(folder, path).unwrap()
}

fn converted(model: &Model, to: &Path) -> Result<ConvertReport> {
    convert(model, &ConvertOptions::new(to).max_shard_size(20_000_000))
}

fn vouched(report: &ConvertReport) -> Vec<&String> {
    report.notes.iter().filter(|note| note.contains("vouches")).collect()
}

#[test]
fn a_file_that_is_read_whole_has_the_sum_that_the_hub_states() {
    let (hub, place) = (Hub::start(vec![repository()]), tempfile::tempdir().unwrap());
    let model = of_hub(&hub);
    let before = hub.cdn.sent();
    let report = converted(&model, &place.path().join("out")).unwrap();
    assert!(vouched(&report).is_empty(), "{:?}", report.notes);
    // Nothing is read again for that.
    let all: usize = repository().files.values().map(|file| file.len()).sum();
    assert!(before < hub.cdn.sent() && hub.cdn.sent() < all as u64, "{}", hub.cdn.sent());
}

#[test]
fn one_wrong_byte_leaves_no_output() {
    for turn in 0..3 {
        let (hub, place) = (Hub::start(vec![repository()]), tempfile::tempdir().unwrap());
        let model = of_hub(&hub);
        // Of the first shard, then of the second.
        let shard = if turn < 2 { "00001-of" } else { "00002-of" };
        hub.cdn.fail(shard, Fault::Wrong, turn + 1);
        let error = converted(&model, &place.path().join("out")).err().unwrap().to_string();
        let told =
            format!("hf://o/n/model-{shard}-00002.safetensors: the downloaded bytes do not have");
        assert!(
            error.contains(&told) && error.contains("the SHA-256 that the Hub states"),
            "{error}"
        );
        let left: Vec<_> = std::fs::read_dir(place.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn what_is_read_in_part_is_not_vouched_for() {
    let (hub, place) = (Hub::start(vec![repository()]), tempfile::tempdir().unwrap());
    let options = ConvertOptions::new(place.path().join("out.safetensors"));
    let options = options.select(Select::new().include(|name| name == "t1"));
    let report = convert(&of_hub(&hub), &options).unwrap();
    let expected = "nothing vouches for the bytes of ./model-00001-of-00002.safetensors and \
                    1 more: not every byte was read once and in order, so their SHA-256 was not \
                    checked";
    assert_eq!(vouched(&report), [expected]);
}

#[test]
fn a_web_server_vouches_with_a_strong_tag() {
    let bytes = safetensors(&[("a", 1_000_000)], 0);
    for (tag, is_strong) in [("\"v1\"", true), ("W/\"v1\"", false), ("", false)] {
        let bytes = bytes.clone();
        let server = Server::start(move |request| match tag {
            "" => Reply::of_file(&bytes, request),
            _ => Reply::of_file(&bytes, request).with("ETag", tag),
        });
        let folder = WebFolder::new(&server.url("/x.safetensors"), &Remote::default()).unwrap();
        let (place, model) =
            (tempfile::tempdir().unwrap(), open(Arc::new(folder), "x.safetensors"));
        let report = convert(&model, &ConvertOptions::new(place.path().join("y.safetensors")));
        let report = report.unwrap();
        let why = "the server states neither a checksum nor a strong ETag";
        assert_eq!(vouched(&report).is_empty(), is_strong, "{tag}: {:?}", report.notes);
        assert!(vouched(&report).iter().all(|note| note.ends_with(why)), "{:?}", report.notes);
    }
}
