//! Writing to real servers.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::servers::{Kind, Server, fresh, numbers, server};
use object_store::path::Path as Key;
use weighbridge::internals::remote::{Bucket, StoreDestination, StoreFile, StoreFolder};
use weighbridge::ops::{self, Conversion, ConvertOptions};
use weighbridge::output::{Destination, FoundFile, OutputFile};
use weighbridge::{Error, Model, OpenOptions, ReadAt as _, Remedy, Result};

const MIB: usize = 1 << 20;
pub const MEMORY: u64 = 64 << 20;

pub fn on_both(test: impl Fn(&'static Server)) {
    for kind in [Kind::S3, Kind::Azure] {
        if let Some(server) = server(kind) {
            test(server);
        }
    }
}

pub fn stamp() -> String {
    "the same work".into()
}

pub fn read(bucket: &Arc<Bucket>, key: &str) -> Vec<u8> {
    let file = StoreFile::open(bucket, &Key::from(key), None).unwrap();
    let mut bytes = vec![0; usize::try_from(file.size()).unwrap()];
    file.read_at(0, &mut bytes).unwrap();
    bytes
}

/// A repository of two shards, of 20 MiB and 12 MiB when it is cut at 20 MiB.
pub fn model(folder: &Path) -> Model {
    let folder = &folder.join("in");
    std::fs::create_dir(folder).unwrap();
    let (mut header, mut at) = (serde_json::Map::new(), 0);
    for layer in 0..8 {
        let end = at + 4 * MIB;
        let tensor =
            serde_json::json!({"dtype": "F32", "shape": [1024, 1024], "data_offsets": [at, end]});
        header.insert(format!("model.layers.{layer}.mlp.up_proj.weight"), tensor);
        at = end;
    }
    let mut text = serde_json::to_vec(&header).unwrap();
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text);
    bytes.extend(numbers(at));
    std::fs::write(folder.join("model.safetensors"), bytes).unwrap();
    std::fs::write(folder.join("config.json"), r#"{"model_type": "llama"}"#).unwrap();
    Model::open(folder).unwrap()
}

fn options(target: &Path) -> ConvertOptions {
    ConvertOptions::new(target).to("safetensors").max_shard_size(20 * MIB as u64 + 100_000)
}

pub fn convert(model: &Model, destination: &dyn Destination) -> Result<()> {
    let options = options(Path::new("out"));
    Conversion::plan_for(model, &options, destination)?.run_into(destination).map(drop)
}

/// The files of a local conversion.
fn local(model: &Model, folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let target = folder.join("out");
    ops::convert(model, &options(&target)).unwrap();
    let entries = std::fs::read_dir(&target).unwrap().map(|entry| entry.unwrap());
    let files =
        entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap()));
    files.filter(|(name, _)| name != ".weigh.json").collect()
}

fn assert_same(
    server: &Server,
    name: &str,
    bucket: &Arc<Bucket>,
    expected: &BTreeMap<String, Vec<u8>>,
) {
    let mut keys: Vec<String> = expected.keys().map(|name| format!("out/{name}")).collect();
    keys.push("out/weigh-manifest.json".into());
    keys.sort();
    assert_eq!(server.keys(name), keys);
    for (file, bytes) in expected {
        assert!(read(bucket, &format!("out/{file}")) == *bytes, "{file}");
    }
}

#[test]
fn a_conversion_is_the_same_as_on_disk() {
    on_both(|server| {
        let (name, folder) = (fresh("convert"), tempfile::tempdir().unwrap());
        let bucket = server.bucket(&name);
        let model = model(folder.path());
        let expected = local(&model, folder.path());
        assert_eq!(expected.len(), 3, "two shards and the index");
        let destination = StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        convert(&model, &destination).unwrap();
        assert_same(server, &name, &bucket, &expected);
        // The manifest has the sums of all files, by parts.
        let manifest: serde_json::Value =
            serde_json::from_slice(&read(&bucket, "out/weigh-manifest.json")).unwrap();
        let files = manifest["files"].as_array().unwrap();
        assert_eq!(files.len(), expected.len());
        for file in files {
            let bytes = &expected[file["name"].as_str().unwrap()];
            assert_eq!(file["bytes"], bytes.len());
            let parts =
                bytes.chunks(usize::try_from(file["part_bytes"].as_u64().unwrap()).unwrap());
            let sums: Vec<String> =
                parts.map(|part| blake3::hash(part).to_hex().to_string()).collect();
            assert_eq!(file["blake3_parts"], serde_json::json!(sums));
        }
        let there = Arc::new(StoreFolder::new(bucket.clone(), Key::from("out")));
        let there = OpenOptions::new().open_in(there, "").unwrap();
        assert_eq!(there.weights().count(), 8);
        for weight in model.weights() {
            let other = there.weight(weight.name()).unwrap().decode_to_vec::<f32>().unwrap();
            let same = |(a, b): (&f32, &f32)| a.to_bits() == b.to_bits();
            assert!(weight.decode_to_vec::<f32>().unwrap().iter().zip(&other).all(same));
        }
        // Once more: what is there is refused, and may be overwritten.
        let again = StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        let error = convert(&model, &again).unwrap_err();
        assert!(
            error.to_string().contains("4 objects already exist, the first is out/"),
            "{error}"
        );
        assert!(error.remedies().contains(&Remedy::OverwriteInPlace));
        assert_same(server, &name, &bucket, &expected);
        let forced = StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY).force(true);
        convert(&model, &forced).unwrap();
        assert_same(server, &name, &bucket, &expected);
        if server.kind == Kind::S3 {
            assert!(server.uploads(&name).is_empty());
        }
    });
}

/// A store that fails in the file after so many.
struct Breaking<'a> {
    inner: &'a StoreDestination,
    whole: usize,
    finished: AtomicUsize,
    aborts: bool,
    created: std::sync::Mutex<Vec<String>>,
}

/// A file that may be broken: then it fails when another one is complete.
struct BreakingFile<'a> {
    inner: Box<dyn OutputFile + 'a>,
    is_broken: bool,
    finished: &'a AtomicUsize,
}

impl Destination for Breaking<'_> {
    fn begin(&self, stamp: &dyn Fn() -> String) -> Result<()> {
        self.inner.begin(stamp)
    }
    fn found(&self, name: &str, len: u64) -> FoundFile {
        self.inner.found(name, len)
    }
    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        let mut created = self.created.lock().unwrap();
        let is_broken = created.len() == self.whole;
        created.push(name.to_owned());
        let (inner, finished) = (self.inner.create(name, len)?, &self.finished);
        Ok(Box::new(BreakingFile { inner, is_broken, finished }))
    }
    fn finish(&self) -> Result<()> {
        self.inner.finish()
    }
    fn abort(&self) {
        if self.aborts {
            self.inner.abort();
        }
    }
}

impl OutputFile for BreakingFile<'_> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        for _ in 0..if self.is_broken { 1000 } else { 0 } {
            if self.finished.load(Ordering::SeqCst) > 0 {
                return Err(Error::usage("broken"));
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self.inner.write_at(offset, bytes)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        self.inner.finish()?;
        self.finished.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn breaking(inner: &StoreDestination, whole: usize, aborts: bool) -> Breaking<'_> {
    Breaking {
        inner,
        whole,
        finished: AtomicUsize::new(0),
        aborts,
        created: std::sync::Mutex::default(),
    }
}

#[test]
fn an_interrupted_run_leaves_no_model_and_is_resumed() {
    on_both(|server| {
        for aborts in [true, false] {
            let (name, folder) = (fresh("broken"), tempfile::tempdir().unwrap());
            let bucket = server.bucket(&name);
            let model = model(folder.path());
            let expected = local(&model, folder.path());
            let target = || StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
            let first = target();
            let error = convert(&model, &breaking(&first, 1, aborts)).unwrap_err();
            assert!(error.to_string().contains("broken"), "{error}");
            let kept = first.kept().unwrap();
            assert_eq!(kept.names.len(), 1, "{kept:?}");
            let finished = kept.names[0].clone();
            drop(first);
            let keys = server.keys(&name);
            let wanted = [
                format!("out/{finished}"),
                format!("out/weigh-parts/{finished}.json"),
                "out/weigh-plan.json".into(),
            ];
            assert!(wanted.iter().all(|key| keys.contains(key)) && keys.len() == 3, "{keys:?}");
            if server.kind == Kind::S3 {
                assert!(server.uploads(&name).is_empty());
            }
            // Without leave to resume it is refused; other work is refused as well.
            let error = convert(&model, &target()).unwrap_err();
            assert!(
                error.to_string().contains("did not finish here")
                    && error.remedies().contains(&Remedy::Resume),
                "{error:?}"
            );
            let error = target().resume(true).begin(&|| "other".into()).unwrap_err();
            assert!(error.to_string().contains("an earlier run of another command"), "{error:?}");
            let second = target().resume(true);
            let watched = breaking(&second, 100, true);
            convert(&model, &watched).unwrap();
            assert!(!watched.created.lock().unwrap().contains(&finished));
            assert_same(server, &name, &bucket, &expected);
        }
    });
}

#[test]
fn a_killed_run_leaves_no_model() {
    on_both(|server| {
        let name = fresh("killed");
        let bucket = server.bucket(&name);
        let to = StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        to.begin(&stamp).unwrap();
        let write = |name: &str, len: usize| {
            let file = to.create(name, len as u64).unwrap();
            file.write_at(0, &numbers(len)).unwrap();
            file
        };
        write("model-00001-of-00002.safetensors", 17 * MIB).finish().unwrap();
        write("model.safetensors.index.json", 10).finish().unwrap();
        // Nothing is dropped, as when the process is killed.
        std::mem::forget(write("model-00002-of-00002.safetensors", 20 * MIB));
        let first = "model-00001-of-00002.safetensors";
        let left = [
            format!("out/{first}"),
            format!("out/weigh-parts/{first}.json"),
            // It says which upload has begun.
            "out/weigh-parts/model-00002-of-00002.safetensors.json".into(),
            "out/weigh-plan.json".into(),
        ];
        assert_eq!(server.keys(&name), left);
        let next = StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY).resume(true);
        next.begin(&stamp).unwrap();
        assert_eq!(next.found(first, 17 * MIB as u64), FoundFile::Complete);
        assert_eq!(
            next.found("model-00002-of-00002.safetensors", 20 * MIB as u64),
            FoundFile::Nothing
        );
        // What the killed run was sending is ended.
        if server.kind == Kind::S3 {
            assert!(server.uploads(&name).is_empty());
        }
    });
}

#[test]
fn of_two_runs_one_finishes() {
    on_both(|server| {
        let name = fresh("two");
        let bucket = server.bucket(&name);
        let target = || StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        let write = |to: &StoreDestination, name: &str, bytes: &[u8]| {
            let file = to.create(name, bytes.len() as u64).unwrap();
            file.write_at(0, bytes).unwrap();
            file.finish().unwrap();
        };
        let (one, two) = (target(), target().resume(true));
        one.begin(&stamp).unwrap();
        // A third one is refused at once.
        assert!(target().begin(&stamp).is_err());
        two.begin(&stamp).unwrap();
        write(&one, "model.safetensors.index.json", b"one");
        write(&two, "model.safetensors.index.json", b"two");
        assert!(!server.keys(&name).iter().any(|key| key.ends_with("index.json")));
        one.finish().unwrap();
        let error = two.finish().unwrap_err();
        assert!(
            error.to_string().contains("another run finished an output here in the meantime"),
            "{error}"
        );
        two.abort();
        assert_eq!(read(&bucket, "out/model.safetensors.index.json"), b"one");
        assert_eq!(
            server.keys(&name),
            ["out/model.safetensors.index.json", "out/weigh-manifest.json"]
        );
    });
}

#[test]
fn parts_are_filled_in_any_order_by_several_threads() {
    on_both(|server| {
        let name = fresh("parts");
        let bucket = server.bucket(&name);
        let bytes = numbers(40 * MIB + 12_345);
        // Room for less than two parts: it is still done.
        for memory in [MEMORY, 20 << 20] {
            let to = StoreDestination::folder(bucket.clone(), Key::from("out"), memory).force(true);
            to.begin(&stamp).unwrap();
            let file = to.create("big.bin", bytes.len() as u64).unwrap();
            // Pieces of an odd length, in an order that jumps about; one is never written.
            let len = 300_007;
            let count = bytes.len().div_ceil(len);
            let order: Vec<usize> = (0..count).map(|i| i * 61 % count).collect();
            assert!(count % 61 != 0);
            let next = AtomicUsize::new(0);
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        while let Some(&piece) = order.get(next.fetch_add(1, Ordering::SeqCst)) {
                            let (start, end) = (piece * len, (piece * len + len).min(bytes.len()));
                            if piece != 7 {
                                file.write_at(start as u64, &bytes[start..end]).unwrap();
                            }
                        }
                    });
                }
            });
            let twice = file.write_at(len as u64 * 3 + 5, b"xx").unwrap_err();
            assert!(twice.to_string().contains("written twice"), "{twice}");
            assert!(file.write_at(bytes.len() as u64, b"x").is_err());
            file.finish().unwrap();
            to.finish().unwrap();
            let mut expected = bytes.clone();
            expected[7 * len..8 * len].fill(0);
            assert!(read(&bucket, "out/big.bin") == expected);
            let manifest: serde_json::Value =
                serde_json::from_slice(&read(&bucket, "out/weigh-manifest.json")).unwrap();
            assert_eq!(manifest["files"][0]["blake3_parts"].as_array().unwrap().len(), 3);
        }
    });
}

#[test]
fn uploads_are_ended_with_the_work() {
    let Some(server) = server(Kind::S3) else { return };
    let name = fresh("ended");
    let bucket = server.bucket(&name);
    let to = StoreDestination::folder(bucket, Key::from("out"), MEMORY);
    to.begin(&stamp).unwrap();
    let bytes = numbers(17 * MIB);
    let write = |file: &str| {
        let file = to.create(file, 40 * MIB as u64).unwrap();
        file.write_at(0, &bytes).unwrap();
        file
    };
    // One is dropped, one is open while the work ends.
    let (dropped, open) = (write("a.bin"), write("b.bin"));
    assert_eq!(server.uploads(&name).len(), 2);
    drop(dropped);
    assert_eq!(server.uploads(&name).len(), 1);
    to.abort();
    assert!(server.uploads(&name).is_empty());
    drop(open);
    assert!(server.keys(&name).is_empty(), "{:?}", server.keys(&name));
    assert!(to.notes().is_empty() && to.kept().is_none());
}

#[test]
fn one_object_is_there_when_all_is_done() {
    on_both(|server| {
        let (name, folder) = (fresh("single"), tempfile::tempdir().unwrap());
        let bucket = server.bucket(&name);
        let sample =
            Model::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("files/gguf/bf16.gguf"))
                .unwrap();
        let here = folder.path().join("x.gguf");
        ops::convert(&sample, &ConvertOptions::new(&here)).unwrap();
        let to = StoreDestination::object(bucket.clone(), Key::from("dir/x.gguf"), MEMORY);
        let options = ConvertOptions::new("x.gguf");
        Conversion::plan_for(&sample, &options, &to).unwrap().run_into(&to).unwrap();
        assert!(read(&bucket, "dir/x.gguf") == std::fs::read(&here).unwrap());
        // Large ones are sent in parts, and are not there before the end either.
        let bytes = numbers(33 * MIB);
        let to = StoreDestination::object(bucket.clone(), Key::from("large.gguf"), MEMORY);
        to.begin(&stamp).unwrap();
        let file = to.create("whatever.gguf", bytes.len() as u64).unwrap();
        file.write_at(0, &bytes).unwrap();
        file.finish().unwrap();
        assert_eq!(server.keys(&name), ["dir/x.gguf"]);
        to.finish().unwrap();
        assert!(read(&bucket, "large.gguf") == bytes);
        assert_eq!(server.keys(&name), ["dir/x.gguf", "large.gguf"]);
        let again = StoreDestination::object(bucket.clone(), Key::from("large.gguf"), MEMORY);
        let error = again.begin(&stamp).unwrap_err();
        assert!(error.to_string().ends_with("large.gguf: this object already exists"), "{error}");
        let forced = StoreDestination::object(bucket, Key::from("large.gguf"), MEMORY).force(true);
        forced.begin(&stamp).unwrap();
        forced.abort();
        assert_eq!(server.keys(&name), ["dir/x.gguf", "large.gguf"]);
    });
}

#[test]
fn a_manifest_that_is_there_is_never_replaced() {
    on_both(|server| {
        let name = fresh("manifest");
        let bucket = server.bucket(&name);
        let to = StoreDestination::folder(bucket.clone(), Key::from("out"), MEMORY);
        to.begin(&stamp).unwrap();
        // Not one of ours, so that only the store itself can refuse.
        server.put(&name, "out/weigh-manifest.json", b"foreign");
        let error = to.finish().unwrap_err();
        assert!(error.to_string().contains("it already exists"), "{error}");
        to.discard();
        assert_eq!(read(&bucket, "out/weigh-manifest.json"), b"foreign");
        assert_eq!(server.keys(&name), ["out/weigh-manifest.json"]);
    });
}
