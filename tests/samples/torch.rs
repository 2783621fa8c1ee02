//! Every PyTorch sample: names, shapes, types and bytes as torch itself gives them.

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;
use serde_json::Value as Json;
use weighbridge::internals::input::{FileAccess, Input};
use weighbridge::internals::source::Source;

use crate::common::torch::{open, sha};
use crate::{counts, trial};

/// Where these readers differ from torch, each with the reason.
const KNOWN: &[(&str, &str)] = &[("legacy_tar.pth", "the tar format is recognised and refused")];

pub fn trials() -> Vec<Trial> {
    let named = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let is_known = |path: &PathBuf| KNOWN.iter().any(|(known, _)| *known == named(path));
    let files = samples().into_iter().filter(|path| !is_known(path));
    files
        .map(|path| trial(format!("pth/{}::torch", named(&path)), move || check_both(&path)))
        .collect()
}

/// Mapped and read.
fn check_both(path: &Path) -> Result<(), String> {
    let mut faults = Vec::new();
    for access in [FileAccess::Map, FileAccess::Read] {
        check(path, access, &mut faults);
    }
    counts::add("files of torch", 1);
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("files/pth");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file() && path.extension().is_none_or(|e| e != "json"));
    paths.sort();
    paths
}

fn check(path: &Path, access: FileAccess, faults: &mut Vec<String>) {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let expect = std::fs::read(format!("{}.expect.json", path.display())).unwrap();
    let expect: Json = serde_json::from_slice(&expect).unwrap();
    let mut fault = |text: String| faults.push(format!("{name}: {text}"));
    let source = match open(Input::open(path, access).unwrap(), false) {
        Ok(source) => source,
        Err(error) => return fault(format!("{error:?}")),
    };
    let catalog = source.catalog();
    let list = |key: &str| expect[key].as_array().cloned().unwrap_or_default();
    let refused: Vec<Json> = list("refused");
    let extra: Vec<Json> = [list("arrays"), list("attributes")].concat();
    let constants = list("constants");
    let is_extra = |name: &str| extra.iter().any(|e| e["name"] == name);
    let own: Vec<usize> = (0..catalog.tensors.len())
        .filter(|&i| {
            let name = &*catalog.tensors[i].name;
            !is_extra(name) && !name.starts_with("constants.")
        })
        .collect();
    let names: Vec<&str> = own.iter().map(|&i| &*catalog.tensors[i].name).collect();
    let wanted = list("tensors");
    let wanted_names: Vec<&str> = wanted.iter().map(|t| t["name"].as_str().unwrap()).collect();
    if names != wanted_names {
        return fault(format!("names {names:?}, should be {wanted_names:?}"));
    }
    let (unsafe_file, damaged) = (catalog.unsafe_to_read.is_some(), list("damaged"));
    let mut compare = |index: Option<usize>, want: &Json| {
        let Some(index) = index else { return fault(format!("{} is missing", want["name"])) };
        let tensor = &catalog.tensors[index];
        let shape: Option<Vec<u64>> = serde_json::from_value(want["shape"].clone()).unwrap();
        if shape.as_ref().is_some_and(|shape| shape[..] != tensor.shape[..]) {
            fault(format!("{}: shape {:?}, not {shape:?}", tensor.name, tensor.shape));
        }
        if tensor.stored.name() != want["dtype"] {
            fault(format!(
                "{}: dtype {}, not {}",
                tensor.name,
                tensor.stored.name(),
                want["dtype"]
            ));
        }
        let Some(hash) = want["sha256"].as_str() else {
            if tensor.refused.is_none() {
                fault(format!("{}: not refused", tensor.name));
            }
            return;
        };
        let opaque = tensor.stored.element().is_none();
        match sha(&source, index) {
            Ok(found) if found == hash && !unsafe_file => {}
            Err(_) if unsafe_file || opaque => {}
            // torch does not look at checksums.
            Err(error)
                if damaged.contains(&want["name"]) && error.to_string().contains("CRC-32") => {}
            other => fault(format!("{}: bytes {other:?}, not {hash}", tensor.name)),
        }
    };
    for (&index, want) in own.iter().zip(&wanted) {
        compare(Some(index), want);
    }
    let find = |name: &str| catalog.tensors.iter().position(|t| &*t.name == name);
    for want in &extra {
        compare(find(want["name"].as_str().unwrap()), want);
    }
    for want in &constants {
        compare(find(want["name"].as_str().unwrap()), want);
    }
    for want in &refused {
        let index = find(want.as_str().unwrap());
        if index.is_none_or(|i| catalog.tensors[i].refused.is_none()) {
            faults.push(format!("{name}: {want} should be refused"));
        }
    }
    check_findings(&name, &source, &expect, faults);
}

fn check_findings(name: &str, source: &Source, expect: &Json, faults: &mut Vec<String>) {
    let catalog = source.catalog();
    let list = |key: &str| expect[key].as_array().cloned().unwrap_or_default();
    let kinds: Vec<&str> = catalog.findings.iter().map(|f| f.kind).collect();
    for problem in list("problems") {
        // Checksums are not looked at: that would mean reading everything.
        if problem != "checksum" && !kinds.contains(&problem.as_str().unwrap()) {
            faults.push(format!("{name}: no finding {problem} in {kinds:?}"));
        }
    }
    let allowed = ["unknown-global", "duplicate-name", "dangerous-global"];
    for kind in kinds {
        if !allowed.contains(&kind) && !list("problems").iter().any(|p| p == kind) {
            faults.push(format!("{name}: an unexpected {:?}", catalog.findings));
        }
    }
    let mut as_written = list("dangerous_as_written");
    if as_written.is_empty() {
        as_written = list("dangerous");
    }
    for global in &as_written {
        let global = global.as_str().unwrap();
        let named = catalog
            .findings
            .iter()
            .any(|f| f.kind == "dangerous-global" && f.message.contains(global));
        if !named {
            faults.push(format!("{name}: {global} is not called dangerous"));
        }
    }
    if as_written.is_empty() == catalog.unsafe_to_read.is_some() {
        faults.push(format!("{name}: unsafe is {:?}", catalog.unsafe_to_read));
    }
    let wrapper = expect["wrapper"].as_str();
    let noted = catalog.notes.iter().any(|n| n.contains("names omit this prefix"));
    if wrapper.is_some() != noted {
        faults.push(format!("{name}: wrapper {wrapper:?}, notes {:?}", catalog.notes));
    }
}
