//! Every sample is the same elsewhere as it is here: what `inspect` says of it, every number, every
//! stored byte, what it becomes when it is converted, and what is refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::common::{root, sha256, stored, tensor_bytes};
use crate::server::hub::{Hub, Repository};
use crate::server::{Reply, Server};
use crate::servers::{Kind, fresh, server};
use weighbridge::catalog::TensorInfo;
use weighbridge::internals::remote::{Environment, HubAddress, HubFolder, Remote, StoreFolder};
use weighbridge::ops::{Conversion, ConvertOptions, InspectOptions, Names, inspect};
use weighbridge::output::Memory;
use weighbridge::{
    DType, Error, FileAccess, Folder, LocalFolder, MemoryFolder, Model, OpenOptions, Result, Stores,
};

pub fn options() -> OpenOptions {
    let mut remote = Remote::default();
    remote.timeout = Duration::from_secs(15);
    remote.retries = 0;
    OpenOptions::new().stores(Stores::none()).remote(remote)
}

/// The files and folders below a path of the repository.
fn below(place: &str) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let (mut files, mut folders) = (Vec::new(), vec![root().join(place)]);
    let mut next = 0;
    while next < folders.len() {
        for entry in std::fs::read_dir(&folders[next]).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
        next += 1;
    }
    files.sort();
    (files, folders)
}

/// All that can be learned of what was opened, a line for each thing: long ones as sums.
pub fn described(opened: Result<Vec<Model>>) -> Vec<String> {
    match opened {
        Ok(models) => models.iter().flat_map(described_model).collect(),
        Err(error) => vec![told(&error)],
    }
}

fn told(error: &Error) -> String {
    format!("{:?} {error} {:?}", error.kind(), error.hint_text())
}

fn described_model(model: &Model) -> Vec<String> {
    let options =
        InspectOptions { tensors: true, full_metadata: true, ..InspectOptions::default() };
    let report = inspect(model, &options).unwrap();
    let mut lines = vec![serde_json::to_string(&report).unwrap(), format!("{:?}", model.notes())];
    for weight in model.weights() {
        let mut line = format!("{} {:?} as numbers: ", weight.name(), weight.shape());
        match weight.decode_to_vec::<f32>() {
            Ok(numbers) => {
                let bytes: Vec<u8> =
                    numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
                line += &sha256(&bytes);
            }
            Err(error) => line += &told(&error),
        }
        lines.push(line);
    }
    for (source, tensor) in stored(model) {
        let bytes = tensor_bytes(source, tensor);
        let said = bytes.map_or_else(|error| told(&error), |bytes| sha256(&bytes));
        lines.push(format!("{} as it is stored: {said}", tensor.name));
    }
    lines.push(converted(model));
    lines
}

/// Whether a config beside a file is left alone: it is worth some requests only if a matrix may be
/// the packed form of something else.
fn needs_no_config(path: &Path, models: &[Model]) -> bool {
    let is_wide = |dtype: DType| dtype.is_float() && dtype.bits() >= 16;
    let is_packed = |tensor: &TensorInfo| {
        tensor.shape.len() > 1 && !tensor.stored.element().is_some_and(is_wide)
    };
    let reads_configs = path.extension().is_some_and(|e| e == "safetensors" || e == "bin");
    reads_configs && !models.iter().flat_map(stored).any(|(_, tensor)| is_packed(tensor))
}

/// A file without what lies beside it.
fn alone(path: &Path) -> Result<Vec<Model>> {
    let folder = MemoryFolder::new().with(path, std::fs::read(path).unwrap());
    options().open_all_in(Arc::new(folder), path)
}

/// What the model becomes as safetensors, in memory.
fn converted(model: &Model) -> String {
    let options = ConvertOptions::new("out.safetensors").names(Names::Keep);
    let memory = Memory::default();
    let plan = Conversion::plan(model, &options);
    match plan.and_then(|plan| plan.run_into(&memory)) {
        Ok(_) => {
            memory.into_files().iter().fold("converted:".to_owned(), |mut line, (name, bytes)| {
                let _ = write!(line, " {name} {}", sha256(bytes));
                line
            })
        }
        Err(error) => format!("converted: {}", told(&error)),
    }
}

/// The first difference, if there is one.
pub fn difference(name: &str, there: &[String], here: &[String]) -> Option<String> {
    let at = (0..there.len().max(here.len())).find(|&at| there.get(at) != here.get(at))?;
    let line = |lines: &[String]| lines.get(at).cloned().unwrap_or_default();
    let (there, here) = (line(there), line(here));
    let same = there.bytes().zip(here.bytes()).take_while(|(a, b)| a == b).count();
    let part = |text: &str| {
        let start = (0..=same.saturating_sub(100)).rev().find(|at| text.is_char_boundary(*at));
        text[start.unwrap_or(0)..].chars().take(400).collect::<String>()
    };
    Some(format!("{name}\n  there: {}\n  here:  {}\n", part(&there), part(&here)))
}

fn assert_same(differences: &[String]) {
    let count = differences.len();
    assert!(differences.is_empty(), "{count} samples differ:\n{}", differences.concat());
}

/// A server with every file of the repository.
fn web() -> Server {
    let root = root();
    Server::start(move |request| {
        let path = root.join(request.path.trim_start_matches('/').replace("%20", " "));
        match std::fs::read(path) {
            Err(_) => Reply::new(404),
            Ok(bytes) => Reply::of_file(&bytes, request).with("ETag", "\"v1\""),
        }
    })
}

#[test]
fn files_on_the_web() {
    let server = web();
    let (local, remote) = (root().to_str().unwrap().to_owned(), server.url(""));
    let shown = |lines: Vec<String>, base: &str| -> Vec<String> {
        lines.into_iter().map(|line| line.replace(base, "[ROOT]")).collect()
    };
    let (mut opened, mut without_config, mut differences) = (0, 0, Vec::new());
    for path in ["tests/files", "samples", "tests/bad"].map(|place| below(place).0).concat() {
        let name = path.strip_prefix(root()).unwrap().to_str().unwrap();
        let mut here = options().open_all(&path);
        if let Ok(models) = &here {
            opened += 1;
            if needs_no_config(&path, models) {
                without_config += 1;
                here = alone(&path);
            }
        }
        let there = described(options().open_all(format!("{remote}/{name}")));
        let here = described(here);
        differences.extend(difference(name, &shown(there, &remote), &shown(here, &local)));
    }
    assert!(without_config > 250 && opened - without_config > 600, "{without_config} of {opened}");
    assert_same(&differences);
}

/// The files below a folder by their paths in it.
fn files_of(
    folder: &Path,
    all: &BTreeMap<PathBuf, Arc<Vec<u8>>>,
) -> BTreeMap<String, Arc<Vec<u8>>> {
    let inside = |(path, bytes): (&PathBuf, &Arc<Vec<u8>>)| {
        let path = path.strip_prefix(folder).ok()?.to_str()?;
        Some((path.to_owned(), bytes.clone()))
    };
    all.iter().filter_map(inside).collect()
}

#[test]
fn folders_as_repositories_of_the_hub() {
    let (mut all, mut folders) = (BTreeMap::new(), Vec::new());
    for place in ["tests/files", "samples"] {
        let (files, found) = below(place);
        all.extend(files.into_iter().map(|path| {
            let bytes = Arc::new(std::fs::read(&path).unwrap());
            (path, bytes)
        }));
        folders.extend(found);
    }
    let repository = |(number, folder): (usize, &PathBuf)| {
        Repository::of_shared(&format!("samples/n{number}"), files_of(folder, &all))
    };
    let hub = Hub::start(folders.iter().enumerate().map(repository).collect());
    let endpoint = hub.hub.url("");
    let lookup = |name: &str| (name == "HF_ENDPOINT").then(|| endpoint.clone().into());
    let environment = Environment::from_lookup(&lookup).unwrap();
    let (mut opened, mut differences) = (0, Vec::new());
    for (number, folder) in folders.iter().enumerate() {
        let address = format!("hf://samples/n{number}");
        let address = HubAddress::parse(&address, environment.endpoint()).unwrap().unwrap();
        let there = HubFolder::new(&address, &environment, &Remote::default()).unwrap();
        let (there, here) = both(Arc::new(there), folder);
        opened += usize::from(here.len() > 1);
        differences.extend(difference(&folder.to_string_lossy(), &there, &here));
    }
    assert!(opened > 300, "{opened}");
    assert_same(&differences);
}

/// What is opened in a folder there, and in the same one here.
fn both(there: Arc<dyn Folder>, here: &Path) -> (Vec<String>, Vec<String>) {
    let here: Arc<dyn Folder> = Arc::new(LocalFolder::new(here, FileAccess::Map));
    (described(options().open_all_in(there, "")), described(options().open_all_in(here, "")))
}

/// One in so many, so that a run takes seconds: every kind of folder is among them.
const EVERY: usize = 9;

#[test]
fn folders_in_a_store() {
    let Some(server) = server(Kind::S3) else { return };
    let name = fresh("samples");
    let bucket = server.bucket(&name);
    let holds_files = |folder: &PathBuf| {
        std::fs::read_dir(folder).unwrap().any(|entry| entry.unwrap().path().is_file())
    };
    let folders: Vec<PathBuf> = below("tests/files").1.into_iter().filter(holds_files).collect();
    let (mut opened, mut differences) = (0, Vec::new());
    for folder in folders.iter().step_by(EVERY) {
        let inside = folder.strip_prefix(root()).unwrap().to_str().unwrap();
        for path in below(inside).0 {
            let key = path.strip_prefix(root()).unwrap().to_str().unwrap();
            server.put(&name, &key.replace(" ", "%20"), &std::fs::read(&path).unwrap());
        }
        let there = StoreFolder::new(bucket.clone(), inside.into());
        let (there, here) = both(Arc::new(there), folder);
        opened += usize::from(here.len() > 1);
        differences.extend(difference(inside, &there, &here));
    }
    assert!(opened > 30, "{opened}");
    assert_same(&differences);
}
