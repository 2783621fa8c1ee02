//! Outputs that are not completed: what is kept of them is what was written, and what is wrong never
//! gets a name.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::root;
use weighbridge::ops::{self, Conversion, ConvertOptions, Progress};
use weighbridge::output::{
    Destination, FoundFile, Kept, Leftover, LocalFile, LocalFolder, OutputFile,
};
use weighbridge::{Error, ErrorKind, Model, Remedy, Result};

fn sample() -> Model {
    Model::open(root().join("samples/tiny-llama-gptq")).unwrap()
}

/// Five shards.
fn options(target: &Path) -> ConvertOptions {
    ConvertOptions::new(target).max_shard_size(60_000).threads(1.try_into().unwrap())
}

/// Converts, and stops after so many bytes of data.
fn interrupted(options: &ConvertOptions, after: u64) -> Error {
    let stop = Arc::new(AtomicBool::new(false));
    let heard = {
        let stop = stop.clone();
        Arc::new(move |at: Progress| stop.store(at.done >= after, Ordering::Relaxed))
    };
    ops::convert(&sample(), &options.clone().progress(heard).cancel(stop)).unwrap_err()
}

/// The bytes of all files of a directory, sorted by name.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|path| (path.strip_prefix(folder).unwrap().to_owned(), std::fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn being_stopped_says_what_is_kept_and_how_to_go_on() {
    let place = tempfile::tempdir().unwrap();
    let target = place.path().join("out");
    let error = interrupted(&options(&target), 1);
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "stopped: nothing is kept"));
    assert!(error.remedies().is_empty(), "{error:?}");
    let error = interrupted(&options(&target), 100_000);
    let kept = format!("stopped: 2 of 5 files are kept in {}.weigh-partial", target.display());
    assert_eq!(error.message(), kept);
    assert_eq!(error.remedies(), [Remedy::Resume]);
    let file = ConvertOptions::new(place.path().join("out.safetensors"));
    assert_eq!(interrupted(&file, 1).message(), "stopped: nothing is kept");
}

#[test]
fn a_shard_that_is_no_longer_what_was_written_is_written_again() {
    let place = tempfile::tempdir().unwrap();
    let [whole, out] = ["whole", "out"].map(|name| place.path().join(name));
    ops::convert(&sample(), &options(&whole)).unwrap();
    let first = out.with_extension("weigh-partial").join("model-00001-of-00005.safetensors");
    let zeroed = |bytes: &mut Vec<u8>| bytes.fill(0);
    let one_bit = |bytes: &mut Vec<u8>| *bytes.last_mut().unwrap() ^= 1;
    for damage in [zeroed as fn(&mut Vec<u8>), one_bit] {
        interrupted(&options(&out), 100_000);
        let mut bytes = std::fs::read(&first).unwrap();
        damage(&mut bytes);
        std::fs::write(&first, bytes).unwrap();
        let report = ops::convert(&sample(), &options(&out).resume(true)).unwrap();
        assert!(contents(&out) == contents(&whole));
        let kept: Vec<bool> = report.files.iter().map(|file| file.kept).collect();
        assert_eq!(kept, [false, true, false, false, false]);
        let note = "model-00001-of-00005.safetensors changed after the interrupted run";
        assert!(report.notes.iter().any(|said| said.starts_with(note)), "{:?}", report.notes);
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn a_resumed_run_counts_its_own_work() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    interrupted(&options(&out), 100_000);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hear = {
        let heard = heard.clone();
        Arc::new(move |at: Progress| heard.lock().unwrap().push((at.done, at.total)))
    };
    let all = Conversion::plan(&sample(), &options(&out)).unwrap();
    let (all_data, read, write) =
        (all.data_bytes(), all.report().read_bytes, all.report().write_bytes);
    let report = ops::convert(&sample(), &options(&out).resume(true).progress(hear)).unwrap();
    let heard = heard.lock().unwrap();
    let (first, last) = (heard[0], heard[heard.len() - 1]);
    assert!(last.1 < all_data && last.0 == last.1, "{last:?} of {all_data}");
    assert!(first.0 < 60_000 && first.1 == last.1, "{first:?}");
    let kept: u64 = report.files.iter().filter(|file| file.kept).map(|file| file.bytes).sum();
    assert!(kept > 0);
    assert_eq!(report.write_bytes, write - kept);
    assert!(report.read_bytes < read && report.read_bytes > 0);
}

/// Work from memory cannot be told from other work of the same form.
#[test]
fn what_came_from_memory_is_not_kept() {
    let place = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(root().join("tests/files/safetensors/dtypes.safetensors")).unwrap();
    let target = place.path().join("out");
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let heard = {
        let (stop, done) = (stop.clone(), done.clone());
        Arc::new(move |_: Progress| {
            stop.store(done.fetch_add(1, Ordering::Relaxed) > 1, Ordering::Relaxed);
        })
    };
    let options = options(&target).max_shard_size(1);
    let model = Model::open_bytes(bytes, "memory").unwrap();
    let error = ops::convert(&model, &options.clone().progress(heard).cancel(stop)).unwrap_err();
    assert!(error.remedies().is_empty(), "{error:?}");
    assert_eq!(error.message(), "stopped: nothing is kept");
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

/// A destination on a disk that changes the last byte of every file.
struct BadDisk<'a>(&'a dyn Destination);

struct BadFile<'a>(Box<dyn OutputFile + 'a>, u64);

impl Destination for BadDisk<'_> {
    fn begin(&self, stamp: &dyn Fn() -> String) -> Result<()> {
        self.0.begin(stamp)
    }
    fn found(&self, name: &str, len: u64) -> FoundFile {
        self.0.found(name, len)
    }
    fn create(&self, name: &str, len: u64) -> Result<Box<dyn OutputFile + '_>> {
        Ok(Box::new(BadFile(self.0.create(name, len)?, len)))
    }
    fn unnamed(&self) -> Option<PathBuf> {
        self.0.unnamed()
    }
    fn finish(&self) -> Result<()> {
        self.0.finish()
    }
    fn discard(&self) {
        self.0.discard();
    }
    fn abort(&self) {
        self.0.abort();
    }
    fn kept(&self) -> Option<Kept> {
        self.0.kept()
    }
}

impl OutputFile for BadFile<'_> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let mut bytes = bytes.to_vec();
        if offset + bytes.len() as u64 == self.1 {
            *bytes.last_mut().unwrap() ^= 1;
        }
        self.0.write_at(offset, &bytes)
    }
    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

#[test]
fn what_is_found_wrong_never_has_the_name() {
    let (place, model) = (tempfile::tempdir().unwrap(), sample());
    let [file, folder] = ["out.safetensors", "out"].map(|name| place.path().join(name));
    std::fs::write(&file, "what was there").unwrap();
    let destinations: [(&Path, Box<dyn Destination>); 2] = [
        (&file, Box::new(LocalFile::new(&file, true))),
        (&folder, Box::new(LocalFolder::new(&folder, Leftover::Refuse, false))),
    ];
    for (target, destination) in destinations {
        let options = ConvertOptions::new(target).verify(true);
        let bad = BadDisk(&*destination);
        let report = Conversion::plan_for(&model, &options, &bad).unwrap().run_into(&bad).unwrap();
        let verified = report.verified.unwrap();
        assert!(!verified.ok && !verified.mismatched.is_empty());
        drop(destination);
        let names: Vec<_> = std::fs::read_dir(place.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, ["out.safetensors"]);
        assert_eq!(std::fs::read(&file).unwrap(), b"what was there");
    }
    let options = ConvertOptions::new(&folder).verify(true);
    assert!(ops::dequantize(&model, &options).unwrap().verified.unwrap().ok);
    assert!(folder.join("model.safetensors").is_file());
}
