//! Every PyTorch sample: names, shapes, types and bytes as torch itself gives them.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use weighbridge::Limits;
use weighbridge::internals::containers::{Opening, recognize};
use weighbridge::internals::input::{FileAccess, Input};
use weighbridge::internals::limits::Budget;
use weighbridge::internals::source::{Slab, Source};

/// What these readers give otherwise than torch, each for a reason.
const KNOWN: &[(&str, &str)] = &[("legacy_tar.pth", "the tar format is recognised and refused")];

fn samples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/pth");
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file() && path.extension().is_none_or(|e| e != "json"));
    paths.sort();
    paths
}

fn open(input: Input, strict: bool) -> weighbridge::Result<Source> {
    let budget = Budget::new(Limits::default());
    let stem = input.name().file_stem().unwrap().to_string_lossy().into_owned();
    let container = recognize(&input)?.expect("recognised");
    assert_eq!(container.name(), "pth");
    let opening = Opening { budget: &budget, stem: &stem, root: None, strict_pickle: strict };
    let catalog = container.open(&input, &opening)?;
    Ok(Source::new(input, catalog, container, Limits::default()))
}

fn sha(source: &Source, index: usize) -> weighbridge::Result<String> {
    let tensor = &source.catalog().tensors[index];
    let mut scratch = Vec::new();
    let staged = source.fetch(tensor, &Slab::whole(0, 0, tensor.bytes), &mut scratch)?;
    Ok(format!("{:x}", Sha256::digest(staged.bytes())))
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
    let unsafe_file = catalog.unsafe_to_read.is_some();
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
    let noted = catalog.notes.iter().any(|n| n.contains("which names leave off"));
    if wrapper.is_some() != noted {
        faults.push(format!("{name}: wrapper {wrapper:?}, notes {:?}", catalog.notes));
    }
}

#[test]
fn samples_agree_with_torch() {
    for access in [FileAccess::Map, FileAccess::Read] {
        let mut faults = Vec::new();
        for path in samples() {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if KNOWN.iter().any(|(known, _)| *known == name) {
                continue;
            }
            check(&path, access, &mut faults);
        }
        assert!(faults.is_empty(), "{access:?}: {} faults\n{}", faults.len(), faults.join("\n"));
    }
}

fn text(text: &[u8]) -> Vec<u8> {
    [&b"X"[..], &u32::try_from(text.len()).unwrap().to_le_bytes(), text].concat()
}

/// Small pickles that would keep a careless walk busy for hours, each with what it is about.
fn tangles() -> Vec<(&'static str, Vec<u8>)> {
    const MANY: usize = 200_000;
    let ints = || [&b"]("[..], &b"K\x01".repeat(MANY), b"e"].concat();
    let often = |what: &[u8], again: &[u8]| {
        [b"\x80\x02", what, b"q\x000](", &again.repeat(MANY), b"e."].concat()
    };
    let long = text(&b"x".repeat(20 << 20));
    let globals = (0..MANY).flat_map(|i| format!("cmylab\nf{i}\n0").into_bytes());
    let encoded = [b"c_codecs\nencode\n", &long[..], b"X\x06\0\0\0latin1\x86R"].concat();
    let dtype = b"cnumpy\ndtype\nX\x02\0\0\0f4K\0K\x01\x87R(K\x03X\x01\0\0\0<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb";
    let array = [
        &b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85X\x01\0\0\0b\x87R(K\x01J"
            [..],
        &(5u32 << 20).to_le_bytes(),
        b"\x85",
        dtype,
        b"\x89",
        &encoded,
        b"tb",
    ]
    .concat();
    let meta = b"ctorch._utils\n_rebuild_meta_tensor_no_storage\n(ctorch\nfloat32\nK\x01\x85K\x01\x85\x89tR";
    let with_tensor = [&b"]("[..], &b"K\x01".repeat(MANY), meta, b"e"].concat();
    let entries: Vec<u8> =
        (0..MANY).flat_map(|i| [text(&i.to_le_bytes()), b"N".to_vec()].concat()).collect();
    let state = [&b"}("[..], &entries, b"u"].concat();
    let tuple = |inner: &[u8]| [inner, &b"2".repeat(31), b"t"].concat();
    let mut key = [b"(", &text(&b"k".repeat(100_000))[..]].concat();
    key = tuple(&key);
    for _ in 0..3 {
        key = tuple(&[b"(", &key[..]].concat());
    }
    vec![
        ("globals", [b"\x80\x02".to_vec(), globals.collect(), b"N.".to_vec()].concat()),
        ("lists", often(&ints(), b"h\0")),
        ("lists with a dict", often(&[&ints()[..], b"}a"].concat(), b"h\0")),
        ("lists with a tensor", often(&with_tensor, b"h\0")),
        ("states", often(&state, b"cmylab\nNet\n)\x81h\0b")),
        ("text", often(&long, b"h\0")),
        ("names", often(&long, b"h\0h\0\x93")),
        ("keys", [b"\x80\x02", &long[..], b"q\x000}(", &b"h\0N".repeat(MANY), b"u."].concat()),
        (
            "entries",
            [b"\x80\x02", &long[..], b"q\x000cmylab\nMap\n)R(", &b"h\0}".repeat(MANY), b"u."]
                .concat(),
        ),
        ("arrays", often(&array, b"h\0")),
        ("tuples", [b"\x80\x02}", &key[..], b"]s."].concat()),
    ]
}

#[test]
fn tangles_are_given_up_soon() {
    for (what, pickle) in tangles() {
        let started = std::time::Instant::now();
        let result = open(Input::from_bytes(pickle, "tangle.pkl"), false);
        let took = started.elapsed();
        if let Err(error) = result {
            assert_eq!(error.kind(), weighbridge::ErrorKind::Limit, "{what}: {error}");
        }
        assert!(took.as_secs() < 30, "{what}: {took:?}");
        println!("{what}: {took:?}");
    }
}

#[test]
fn an_unknown_byte_order_is_not_guessed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/files/pth");
    let mut bytes = std::fs::read(folder.join("state_dict.pth")).unwrap();
    let at = bytes.windows(6).position(|window| window == b"little").expect("the record");
    bytes[at..at + 6].copy_from_slice(b"middle");
    let source = open(Input::from_bytes(bytes, "state_dict.pth"), false).unwrap();
    assert!(source.catalog().findings.iter().any(|f| f.kind == "unknown-byte-order"));
    let index = source.catalog().tensors.iter().position(|t| t.bytes > 8).unwrap();
    assert!(sha(&source, index).unwrap_err().to_string().contains("order"));
}
