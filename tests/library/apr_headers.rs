//! Headers that are wrong, dialects, and the samples' reports.

use weighbridge::internals::source::Slab;
use weighbridge::{Error, ErrorKind, Limits, Model, OpenOptions};

use crate::common::root;

/// A tensor of a file to be made: name, type, shape, offset, bytes.
struct Entry(&'static str, u8, &'static [u64], u64, u64);

struct File {
    magic: [u8; 4],
    flags: u16,
    metadata: &'static str,
    entries: Vec<Entry>,
    data: usize,
    sum: Option<u32>,
    tail: usize,
}

impl Default for File {
    fn default() -> Self {
        let entries = vec![Entry("a", 0, &[2], 0, 8), Entry("b", 1, &[4], 64, 8)];
        let metadata = r#"{"name":"x"}"#;
        Self { magic: *b"APR\0", flags: 0x400, metadata, entries, data: 128, sum: None, tail: 4 }
    }
}

impl File {
    fn bytes(&self) -> Vec<u8> {
        let mut index = Vec::new();
        for Entry(name, dtype, shape, offset, bytes) in &self.entries {
            index.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
            index.extend(name.bytes());
            index.extend([*dtype, u8::try_from(shape.len()).unwrap()]);
            shape.iter().chain([offset, bytes]).for_each(|n| index.extend(n.to_le_bytes()));
        }
        let pad = |mut bytes: Vec<u8>| {
            bytes.resize(bytes.len().next_multiple_of(64), 0);
            bytes
        };
        let (metadata, index) = (pad(self.metadata.into()), pad(index));
        let mut out = self.magic.to_vec();
        out.extend([2, 0]);
        out.extend(self.flags.to_le_bytes());
        out.extend(u32::try_from(self.entries.len()).unwrap().to_le_bytes());
        out.extend(64u64.to_le_bytes());
        out.extend(u32::try_from(self.metadata.len()).unwrap().to_le_bytes());
        out.extend((64 + metadata.len() as u64).to_le_bytes());
        out.extend((64 + metadata.len() as u64 + index.len() as u64).to_le_bytes());
        let sum = crc32fast::hash(&[&out[..], &[0; 20]].concat());
        out.extend(self.sum.unwrap_or(sum).to_le_bytes());
        out.resize(64, 0);
        [out, metadata, index, vec![7; self.data + self.tail]].concat()
    }

    fn open(&self) -> Result<Model, Error> {
        Model::open_bytes(self.bytes(), "x.apr")
    }

    fn findings(&self) -> Vec<(Option<String>, &'static str)> {
        let model = self.open().unwrap();
        model.findings().iter().map(|f| (f.tensor.clone(), f.kind)).collect()
    }

    fn with(entries: Vec<Entry>) -> Self {
        Self { entries, ..Self::default() }
    }
}

fn of(tensor: &str, kind: &'static str) -> (Option<String>, &'static str) {
    (Some(tensor.to_owned()), kind)
}

#[test]
fn a_canonical_file_gives_no_finding_and_no_note() {
    let model = File::default().open().unwrap();
    assert_eq!((model.findings(), model.notes()), (&[][..], &[][..]));
    assert_eq!(model.format(), "apr");
}

#[test]
fn findings_of_the_file() {
    let general = |kind| vec![(None, kind)];
    let file = |flags, sum, tail| File { flags, sum, tail, ..File::default() };
    assert_eq!(file(0, Some(1), 4).findings(), general("checksum"));
    assert_eq!(file(0x04, None, 4).findings(), general("encrypted"));
    assert_eq!(file(0x08, None, 4).findings(), general("signed"));
    assert_eq!(file(0, None, 9).findings(), general("trailing-bytes"));
    let broken = File { metadata: "{\"a\":", ..File::default() };
    assert_eq!(broken.findings(), general("metadata"));
    let unsorted = vec![Entry("b", 0, &[2], 0, 8), Entry("a", 0, &[2], 64, 8)];
    assert_eq!(File::with(unsorted).findings(), general("unsorted"));
    let error = file(0x800, None, 4).open().err().unwrap();
    assert!(error.to_string().contains("column-major"), "{error}");
}

/// A file's tensors, and the findings about them.
type Case = (Vec<Entry>, &'static [(&'static str, &'static str)]);

#[test]
fn findings_of_tensors() {
    let cases: [Case; 7] = [
        (vec![Entry("a", 0, &[2], 0, 9)], &[("a", "size")]),
        (vec![Entry("a", 77, &[2], 0, 8)], &[("a", "unknown-type")]),
        (vec![Entry("a", 0, &[2], 1 << 40, 8)], &[("a", "truncated")]),
        (vec![Entry("a", 0, &[2], u64::MAX - 8, 8)], &[("a", "out-of-bounds")]),
        (vec![Entry("a", 0, &[1 << 40, 1 << 40], 0, 8)], &[("a", "size")]),
        (vec![Entry("a", 0, &[2], 0, 8), Entry("b", 0, &[2], 4, 8)], &[("b", "overlap")]),
        (vec![Entry("a", 0, &[0, u64::MAX, 9], 0, 0)], &[]),
    ];
    for (entries, expected) in cases {
        let file = File { data: 64, tail: 4, entries, ..File::default() };
        let found: Vec<_> =
            file.findings().into_iter().filter(|f| f.1 != "trailing-bytes").collect();
        let expected: Vec<_> = expected.iter().map(|(tensor, kind)| of(tensor, kind)).collect();
        assert_eq!(found, expected);
    }
    let twice = File::with(vec![Entry("a", 0, &[2], 0, 8), Entry("a", 0, &[2], 64, 8)]);
    assert_eq!(twice.findings(), [(None, "unsorted"), of("a", "duplicate-name")]);
}

#[test]
fn what_is_compressed_is_named() {
    let whole = |method: u8, data: &[u8]| {
        let bytes = [&b"APR\0"[..], &[method], &[200, 0, 0, 0], data, &[1; 80]].concat();
        Model::open_bytes(bytes, "x.apr").err().unwrap().to_string()
    };
    assert!(whole(1, &[200, 0, 0, 0]).contains("whole APR1 file is compressed with LZ4"));
    assert!(
        whole(2, &[0x28, 0xb5, 0x2f, 0xfd]).contains("whole APR1 file is compressed with zstd")
    );
    for (flag, name) in [(1, "LZ4"), (2, "zstd")] {
        let file = File { flags: flag, metadata: "\u{1}\u{2}\u{3}", ..File::default() };
        let error = file.open().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(name), "{error}");
        let model = File { flags: flag, ..File::default() }.open().unwrap();
        assert!(model.notes()[0].contains("nothing is compressed"));
    }
}

#[test]
fn an_encrypted_file_is_listed_and_not_read() {
    let model = File { flags: 4, ..File::default() }.open().unwrap();
    let source = &model.sources()[0];
    let tensor = &source.catalog().tensors[0];
    assert!(source.fetch(tensor, &Slab::whole(0, 0, 8), &mut Vec::new()).is_err());
}

#[test]
fn a_count_the_file_cannot_hold_costs_nothing() {
    let mut bytes = File::default().bytes();
    bytes[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = Model::open_bytes(bytes, "x.apr").err().unwrap();
    assert!(error.to_string().contains("4294967295 tensors"), "{error}");
    let few = OpenOptions::new().limits(Limits::default().max_items(1));
    let error = few.open_bytes(File::default().bytes(), "x.apr").err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Limit);
}

#[test]
fn other_letters_are_other_versions() {
    let error = Model::open_bytes(b"APR9 and more".to_vec(), "x.apr").err().unwrap();
    assert!(error.to_string().contains("unknown APR variant"), "{error}");
}

fn sample(name: &str) -> Model {
    Model::open(root().join("tests/files/apr").join(name)).unwrap()
}

#[test]
fn schemes_of_every_type() {
    let model = sample("all_dtypes.apr");
    let scheme = |name: &str| {
        let weight = model.weight(name).unwrap();
        (weight.scheme(), weight.variant().to_owned())
    };
    let cases = [
        ("t.aprq4", "apr", "APR_Q4"),
        ("t.aprq4_partial", "apr", "APR_Q4"),
        ("t.aprq8", "apr", "APR_Q8"),
        ("t.q4k", "ggml", "Q4_K"),
        ("t.q4k_rowpad", "apr", "Q4_K"),
        ("t.q6k", "ggml", "Q6_K"),
        ("t.bf16", "plain", "BF16"),
        ("t.scalar", "plain", "F32"),
    ];
    for (name, expected, variant) in cases {
        assert_eq!(scheme(name), (expected, variant.to_owned()), "{name}");
    }
    assert_eq!((model.findings(), model.notes()), (&[][..], &[][..]));
    let mut value = [0f32];
    model.weight("t.scalar").unwrap().decode_into(&mut value).unwrap();
    assert_eq!(value, [3.5]);
}

#[test]
fn dialects_are_noted() {
    let cases: [(&str, &[&str]); 11] = [
        ("lz4_flag_only_not_compressed.apr", &["nothing is compressed"]),
        ("shard_0_of_2.apr", &["shard 0 of 2"]),
        ("golden_v1.apr", &["LinearRegression, 61 bytes uncompressed"]),
        ("v1_zstd.apr", &["33 bytes zstd (level 3) of 72"]),
        (
            "dialect_no_checksum.apr",
            &["header checksum is zero (not set)", "not sorted", "read as Q8_0"],
        ),
        ("dialect_ggml_ids.apr", &["read as Q4_0", "read as Q5_K", "no trailing checksum"]),
        (
            "dialect_old_ids.apr",
            &["2 is read as BF16", "8 is read as APR_Q4", "9 is read as APR_Q8"],
        ),
        ("apr2_old_types.apr", &[]),
        ("dialect_duplicate_keys.apr", &["more than once (`hidden_size`)"]),
        ("dialect_names.apr", &["exactly 256 bytes"]),
        ("dialect_json_index.apr", &[]),
    ];
    for (name, expected) in cases {
        let model = sample(name);
        for text in expected {
            assert!(model.notes().iter().any(|n| n.contains(text)), "{name}: {:?}", model.notes());
        }
        if expected.is_empty() {
            assert!(!model.notes().iter().any(|n| n.contains("type number")), "{name}");
        }
    }
}
