//! What the whole-file tests share: the samples folder and its expectations.
#![allow(dead_code)] // Each test binary uses its own part.

pub mod decoded;
pub mod fixtures;
pub mod folders;
pub mod ledger;
pub mod made;
pub mod pairing;
pub mod torch;

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use weighbridge::Model;
use weighbridge::catalog::TensorInfo;
use weighbridge::internals::source::{Slab, Source};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// A file or directory with what its canonical library reads in it.
pub struct Sample {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub expect: Json,
}

impl Sample {
    /// Whether a tensor of it lies in an archive member that does not have its checksum, so that its
    /// values are refused when they are read.
    pub fn is_damaged(&self) -> bool {
        self.expect["damaged"].as_array().is_some_and(|names| !names.is_empty())
    }

    /// Its path below `tests/files`, or in the repository.
    pub fn name(&self) -> String {
        name_of(&self.path)
    }
}

/// A path below `tests/files`, or in the repository, with slashes.
pub fn name_of(path: &Path) -> String {
    let short = path.strip_prefix(root()).unwrap_or(path);
    let short = short.strip_prefix("tests/files").unwrap_or(short).components();
    short.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}

/// Every sample that has an expectation, found by looking.
pub fn samples() -> Vec<Sample> {
    let mut found = Vec::new();
    collect(&root().join("tests/files"), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 100, "the samples folder is missing");
    found
}

fn collect(folder: &Path, found: &mut Vec<Sample>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        }
        let Some(sample) = path.to_str().and_then(|p| p.strip_suffix(".expect.json")) else {
            continue;
        };
        let mut sample = PathBuf::from(sample);
        let demo = root().join("samples").join(sample.file_name().unwrap());
        if !sample.exists() && demo.exists() {
            sample = demo;
        }
        assert!(sample.exists(), "{} has no sample", path.display());
        let expect = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        found.push(Sample { path: sample, expect });
    }
}

/// Samples that are single files of at most `most` bytes, with their bytes; the ones under
/// `tests/bad` too, which have no expectation beyond doing no harm.
pub fn small_files(most: usize) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = samples()
        .into_iter()
        .filter(|sample| sample.path.is_file())
        .map(|sample| (sample.name(), std::fs::read(&sample.path).unwrap()))
        .collect();
    for entry in std::fs::read_dir(root().join("tests/bad")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        files.push((format!("bad/{name}"), std::fs::read(entry.path()).unwrap()));
    }
    files.retain(|(_, bytes)| bytes.len() <= most);
    files
}

/// A tensor's row-major bytes, all of them.
pub fn tensor_bytes(source: &Source, tensor: &TensorInfo) -> weighbridge::Result<Vec<u8>> {
    let mut scratch = Vec::new();
    let slab = Slab::whole(0, 0, tensor.bytes);
    source.fetch(tensor, &slab, &mut scratch).map(|staged| staged.bytes().to_vec())
}

/// Every stored tensor of a model, with its source.
pub fn stored(model: &Model) -> impl Iterator<Item = (&Source, &TensorInfo)> {
    model.sources().iter().flat_map(|s| s.catalog().tensors.iter().map(move |t| (s, t)))
}

/// SHA-256 as the expectations write it.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs `job` over all items on all cores.
pub fn in_parallel<T: Sync>(items: &[T], job: impl Fn(&T) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(item) =
                    items.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
                {
                    job(item);
                }
            });
        }
    });
}
