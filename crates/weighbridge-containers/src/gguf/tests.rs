//! Files put together by hand: the odd, the old and the hostile.
#![allow(clippy::arithmetic_side_effects)]

use super::*;
use crate::catalog::Swap;
use crate::dtype::StoredType;
use crate::error::ErrorKind;

/// A file under construction.
struct File {
    version: u32,
    big: bool,
    entries: (u64, Vec<u8>),
    tensors: (u64, Vec<u8>),
}

impl File {
    fn new() -> Self {
        Self { version: 3, big: false, entries: (0, Vec::new()), tensors: (0, Vec::new()) }
    }

    fn u32(&self, value: u32) -> [u8; 4] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u64(&self, value: u64) -> [u8; 8] {
        if self.big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn count(&self, value: u64) -> Vec<u8> {
        match self.version {
            1 => self.u32(u32::try_from(value).unwrap()).to_vec(),
            _ => self.u64(value).to_vec(),
        }
    }

    fn string(&self, text: &[u8]) -> Vec<u8> {
        [self.count(text.len() as u64), text.to_vec()].concat()
    }

    fn entry(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        let bytes = [self.string(key.as_bytes()), self.u32(kind).to_vec(), value.to_vec()].concat();
        self.entries.0 += 1;
        self.entries.1.extend(bytes);
        self
    }

    fn text(self, key: &str, text: &str) -> Self {
        let value = self.string(text.as_bytes());
        self.entry(key, 8, &value)
    }

    /// `dims` innermost first, as the file has them.
    fn tensor(mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Self {
        let rank = self.u32(u32::try_from(dims.len()).unwrap());
        let mut bytes = [self.string(name.as_bytes()), rank.to_vec()].concat();
        dims.iter().for_each(|&dim| bytes.extend(self.count(dim)));
        bytes.extend([self.u32(kind).to_vec(), self.u64(offset).to_vec()].concat());
        self.tensors.0 += 1;
        self.tensors.1.extend(bytes);
        self
    }

    fn header(&self) -> Vec<u8> {
        [
            b"GGUF".to_vec(),
            self.u32(self.version).to_vec(),
            self.count(self.tensors.0),
            self.count(self.entries.0),
            self.entries.1.clone(),
            self.tensors.1.clone(),
        ]
        .concat()
    }

    /// The header, its padding and `data` zeros.
    fn bytes(&self, data: usize) -> Vec<u8> {
        let mut bytes = self.header();
        bytes.resize(bytes.len().next_multiple_of(32) + data, 0);
        bytes
    }
}

fn open_with(bytes: Vec<u8>, limits: Limits) -> Result<Catalog> {
    let budget = Budget::new(limits);
    let opening = Opening { budget: &budget, stem: "x", root: None, strict_pickle: false };
    Gguf.open(&Input::from_bytes(bytes, "x.gguf"), &opening)
}

fn open(bytes: Vec<u8>) -> Result<Catalog> {
    open_with(bytes, Limits::default())
}

fn kinds(catalog: &Catalog) -> Vec<&'static str> {
    catalog.findings.iter().map(|finding| finding.kind).collect()
}

#[track_caller]
fn fails(bytes: Vec<u8>, kind: ErrorKind, text: &str) {
    let error = open(bytes).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn shapes_turn_and_offsets_are_from_the_aligned_end() {
    for (version, big) in [(1, false), (2, false), (3, false), (3, true), (1, true)] {
        let file = File { version, big, ..File::new() };
        let file = file.text("general.architecture", "llama").tensor("w", &[64, 3], 8, 32);
        let catalog = open(file.bytes(32 + 3 * 68)).unwrap();
        let tensor = &catalog.tensors[0];
        assert_eq!(&tensor.shape[..], [3, 64]);
        assert_eq!(tensor.bytes, 3 * 2 * 34);
        let start = file.header().len().next_multiple_of(32) as u64 + 32;
        assert_eq!(tensors::start(tensor), start);
        assert_eq!(tensor.place.swap != Swap::None, big);
        assert!(catalog.findings.is_empty() && catalog.notes.is_empty());
        let order = if big { "big" } else { "little" };
        assert_eq!(catalog.detail, Some(format!("v{version}, {order}-endian, alignment 32")));
    }
}

#[test]
fn versions_and_alignments_that_are_not() {
    fails(File { version: 4, ..File::new() }.header(), ErrorKind::Unsupported, "version 4");
    fails(File { version: 0, ..File::new() }.header(), ErrorKind::Malformed, "version 0");
    for (kind, value) in [(4, &48u32.to_le_bytes()[..]), (4, &[0; 4]), (5, &[255; 4]), (8, &[0; 8])]
    {
        let file = File::new().entry("general.alignment", kind, value);
        fails(file.header(), ErrorKind::Malformed, "power of two");
    }
    let file = File::new().entry("general.alignment", 10, &64u64.to_le_bytes());
    assert!(open(file.header()).unwrap().detail.unwrap().ends_with("alignment 64"));
}

#[test]
fn twice_the_same_name() {
    let file = File::new().tensor("w", &[8], 0, 0).tensor("w", &[8], 0, 32);
    fails(file.bytes(64), ErrorKind::Malformed, "lists this name twice");
    let file = File::new().text("k", "first").text("k", "second");
    let catalog = open(file.header()).unwrap();
    assert_eq!(catalog.metadata.len(), 1);
    assert_eq!(catalog.metadata.get("k").and_then(Value::as_str), Some("first"));
    assert_eq!(kinds(&catalog), ["duplicate-key"]);
}

#[test]
fn odd_places_are_found_and_listed() {
    let file =
        File::new().tensor("a", &[16], 0, 0).tensor("b", &[16], 0, 32).tensor("c", &[1], 0, 97);
    let catalog = open(file.bytes(101)).unwrap();
    assert_eq!(kinds(&catalog), ["misaligned", "overlap"]);
    assert_eq!(catalog.findings[1].tensor.as_deref(), Some("b"));
    let catalog = open(file.bytes(90)).unwrap();
    let cut = catalog.findings.iter().filter(|f| f.kind == "truncated");
    let cut: Vec<Option<&str>> = cut.map(|f| f.tensor.as_deref()).collect();
    assert_eq!(cut, [None, Some("b"), Some("c")], "{:?}", catalog.findings);
    assert!(open(file.bytes(1000)).unwrap().notes[0].contains("bytes follow"));
}

#[test]
fn rows_of_broken_blocks_refuse_one_tensor() {
    let file = File::new().tensor("a", &[33, 2], 8, 0).tensor("b", &[2], 0, 96);
    let catalog = open(file.bytes(104)).unwrap();
    assert_eq!(kinds(&catalog), ["bad-shape"]);
    assert_eq!(catalog.tensors[0].bytes, 96);
    assert!(catalog.tensors[0].refused.is_some() && catalog.tensors[1].refused.is_none());
}

#[test]
fn forks_give_old_numbers_new_meanings() {
    let stored = |architecture: &str, kind| {
        let file = File::new().text("general.architecture", architecture);
        let catalog = open(file.tensor("w", &[64, 2], kind, 0).bytes(96)).unwrap();
        let tensor = &catalog.tensors[0];
        let opaque = matches!(tensor.stored, StoredType::Opaque(_));
        (tensor.stored.name().to_owned(), opaque, tensor.bytes, tensor.refused.is_some())
    };
    assert_eq!(stored("bitnet-b1.58", 36), ("I2_S".to_owned(), true, 64, false));
    assert_eq!(stored("bitnet", 39), ("TL2".to_owned(), true, 96, true));
    assert_eq!(stored("llama", 39), ("MXFP4".to_owned(), false, 68, false));
    assert_eq!(stored("llama", 36), ("type 36".to_owned(), true, 96, true));
    assert_eq!(stored("gptoss", 4), ("MXFP4".to_owned(), true, 68, false));
    assert_eq!(stored("gpt-oss", 4), ("type 4".to_owned(), true, 96, true));
    assert_eq!(stored("llama", 135), ("IQ2_BN".to_owned(), false, 2 * (16 + 4), false));
}

#[test]
fn stated_shapes_must_fit_their_tensors() {
    const KEY: &str = "comfy.gguf.orig_shape.w";
    let array = |kind: u32, sides: &[i32]| {
        let file = File::new();
        let sides = sides.iter().flat_map(|&side| file.u32(side.cast_unsigned())).collect();
        [file.u32(kind).to_vec(), file.count(3), sides].concat()
    };
    let opened = |kind: u32, value: &[u8]| {
        let file = File::new().entry(KEY, kind, value).tensor("w", &[8, 3], 0, 0);
        open(file.bytes(96)).unwrap()
    };
    let good = opened(9, &array(5, &[2, 4, 3]));
    assert_eq!(good.findings, []);
    assert_eq!(good.tensors[0].shape[..], [3, 8], "the stored shape stays");
    assert_eq!(good.original_shapes, [("w".into(), [2, 4, 3].into_iter().collect())]);
    assert!(good.notes[0].contains("1 tensor was flattened"), "{:?}", good.notes);
    assert!(matches!(good.metadata.get(KEY), Some(Value::Array(array)) if array.len == 3));
    let long = [File::new().u32(5).to_vec(), File::new().count(9), vec![1; 36]].concat();
    for (kind, value, words) in [
        (9, array(5, &[2, 4, 4]), "must have the 24 elements of the stored shape [3, 8]"),
        (9, array(5, &[-2, -4, 3]), "is [-2,-4,3], but every dimension must be positive"),
        (9, array(5, &[0, 4, 3]), "every dimension must be positive"),
        (9, array(6, &[2, 4, 3]), "is not an array of at most 8 integers"),
        (9, long, "is not an array of at most 8 integers"),
        (4, 24u32.to_le_bytes().to_vec(), "is not an array of at most 8 integers"),
    ] {
        let bad = opened(kind, &value);
        let [finding] = &bad.findings[..] else { panic!("{:?}", bad.findings) };
        assert_eq!((finding.tensor.as_deref(), finding.kind), (Some("w"), "bad-original-shape"));
        assert!(finding.message.contains(words), "{}", finding.message);
        assert!(bad.original_shapes.is_empty());
    }
}

#[test]
fn arrays_stay_in_the_file() {
    let file = File::new();
    let strings = [file.string(b"a"), file.string(b"\xff"), file.string(b"")].concat();
    let value = [file.u32(8).to_vec(), file.count(3), strings].concat();
    let inner = [file.u32(4).to_vec(), file.count(1), file.u32(7).to_vec()].concat();
    let other = [file.u32(7).to_vec(), file.count(1), vec![1]].concat();
    let head = [file.u32(9).to_vec(), file.count(2)].concat();
    let nested = [head.clone(), inner.clone(), inner.clone()].concat();
    let mixed = [head, inner, other].concat();
    let file = file.entry("a", 9, &value).entry("b", 9, &nested).entry("c", 9, &mixed);
    let input = Input::from_bytes(file.header(), "x");
    let catalog = open(file.header()).unwrap();
    let read = |key: &str| match catalog.metadata.get(key) {
        Some(Value::Array(array)) => {
            let values = Gguf.array(&input, array, &Limits::default()).unwrap();
            (array.element.to_string(), Value::List(values).to_json().to_string())
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(read("a"), ("string".to_owned(), r#"["a","\\xff",""]"#.to_owned()));
    assert_eq!(read("b"), ("array[u32]".to_owned(), "[[7],[7]]".to_owned()));
    assert_eq!(read("c"), ("array[mixed]".to_owned(), "[[7],[true]]".to_owned()));
    let Some(Value::Array(array)) = catalog.metadata.get("a") else { panic!() };
    let small = Limits::default().max_items(2);
    assert_eq!(Gguf.array(&input, array, &small).unwrap_err().kind(), ErrorKind::Limit);
    let small = Limits::default().max_allocation(16);
    assert_eq!(Gguf.array(&input, array, &small).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn depth_has_an_end() {
    let file = File::new();
    let level = [file.u32(9).to_vec(), file.count(1)].concat();
    let nested = |levels: usize| {
        let value = [level.repeat(levels), file.u32(0).to_vec(), file.count(0)].concat();
        File::new().entry("deep", 9, &value).header()
    };
    assert!(open(nested(64)).is_ok());
    fails(nested(65), ErrorKind::Limit, "levels");
    fails(nested(100_000), ErrorKind::Limit, "levels");
    let endless = Limits::default().max_depth(u32::MAX);
    assert_eq!(open_with(nested(100_000), endless).unwrap_err().kind(), ErrorKind::Limit);
}

#[test]
fn lengths_that_lie() {
    let mut counts = File::new();
    counts.tensors.0 = u64::MAX;
    fails(counts.header(), ErrorKind::Malformed, "the tensor list");
    let mut counts = File::new();
    counts.entries.0 = u64::MAX / 13;
    fails(counts.header(), ErrorKind::Malformed, "the metadata");
    let huge = u64::MAX.to_le_bytes();
    fails(File::new().entry("k", 8, &huge).header(), ErrorKind::Malformed, "a metadata value");
    for kind in [0u32, 8, 9, 12] {
        let array = [&kind.to_le_bytes()[..], &huge[..]].concat();
        fails(File::new().entry("k", 9, &array).header(), ErrorKind::Malformed, "array");
    }
    fails(
        File::new().entry("k", 13, &[]).entry("l", 0, &[0]).header(),
        ErrorKind::Malformed,
        "type 13",
    );
    let one = [&8u32.to_le_bytes()[..], &1u64.to_le_bytes(), &huge].concat();
    fails(
        File::new().entry("k", 9, &one).header(),
        ErrorKind::Malformed,
        "a string in a metadata array",
    );
}

#[test]
fn shapes_that_overflow() {
    for dims in [&[u64::MAX, 2][..], &[1 << 40, 1 << 40, 0], &[1 << 57], &[1 << 32; 4]] {
        fails(File::new().tensor("w", dims, 0, 0).bytes(32), ErrorKind::Malformed, "too large");
    }
    fails(File::new().tensor("w", &[1; 9], 0, 0).bytes(32), ErrorKind::Malformed, "9 dimensions");
    let far = File::new().tensor("w", &[8], 0, u64::MAX - 31);
    fails(far.bytes(32), ErrorKind::Malformed, "offset");
    let catalog = open(File::new().tensor("w", &[1, 2, 3, 4, 5], 0, 0).bytes(480)).unwrap();
    assert_eq!(&catalog.tensors[0].shape[..], [5, 4, 3, 2, 1]);
}

#[test]
fn a_stream_costs_its_header() {
    let file = File::new().text("k", &"long ".repeat(50_000)).tensor("w", &[8], 0, 0);
    let endless = std::io::Read::chain(std::io::Cursor::new(file.bytes(0)), std::io::repeat(0));
    let input = Input::from_stream(endless, "x", 1 << 20);
    let budget = Budget::new(Limits::default());
    let opening = Opening { budget: &budget, stem: "x", root: None, strict_pickle: false };
    let catalog = Gguf.open(&input, &opening).unwrap();
    assert_eq!(catalog.tensors.len(), 1);
    assert_eq!(catalog.declared_len, Some(file.bytes(32).len() as u64));
}

#[test]
fn names_that_are_not_utf8_are_refused_by_their_place() {
    // Names of four bytes, damaged afterwards: a letter becomes 0xff.
    let file = File::new().text("a.kk", "text").tensor("w.xx", &[1], 0, 0).bytes(4);
    for (name, what) in [(&b"a.kk"[..], "a metadata key"), (b"w.xx", "a tensor's name")] {
        let at = file.windows(4).position(|window| window == name).unwrap();
        let mut damaged = file.clone();
        damaged[at + 2] = 0xff;
        let error = open(damaged).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(at as u64 + 2)));
        assert!(error.message().contains(&format!("{what} is not UTF-8")), "{error}");
        assert!(error.message().contains("\\xff"), "{error}");
    }
}

#[test]
fn values_that_are_not_utf8_keep_their_bytes() {
    let file = File::new();
    let raw = file.string(b"caf\xe9");
    let catalog = open(file.entry("a", 8, &raw).bytes(0)).unwrap();
    let value = catalog.metadata.get("a").unwrap();
    assert_eq!(*value, Value::RawText(b"caf\xe9"[..].into()));
    assert_eq!(value.to_json(), "caf\\xe9");
}
