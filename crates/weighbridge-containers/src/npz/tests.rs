#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation
)]
//! Arrays and archives that lie about themselves.

use std::io::Write;

use super::*;
use crate::format_of;
use crate::source::{Slab, Source};

fn npy(entries: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = [&MAGIC[..], &[1, 0]].concat();
    bytes.extend((entries.len() as u16).to_le_bytes());
    bytes.extend(entries.as_bytes());
    bytes.extend(data);
    bytes
}

fn array(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    npy(&format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}}}\n"), data)
}

/// An archive of members with name, contents, and whether they are deflated.
fn npz(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data, deflated) in members {
        let mut encoder =
            flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(data).unwrap();
        let body = if *deflated { encoder.finish().unwrap() } else { data.to_vec() };
        let at = out.len() as u32;
        let mut common = vec![20, 0, 0, 0, if *deflated { 8 } else { 0 }, 0, 0, 0, 0, 0];
        common.extend(crc32fast::hash(data).to_le_bytes());
        common.extend((body.len() as u32).to_le_bytes());
        common.extend((data.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend([0, 0]);
        out.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &body].concat());
        directory.extend(
            [b"PK\x01\x02\x14\0", &common[..], &[0; 10], &at.to_le_bytes(), name.as_bytes()]
                .concat(),
        );
    }
    let (size, at, count) = (directory.len() as u32, out.len() as u32, members.len() as u16);
    out.extend(directory);
    out.extend([b"PK\x05\x06\0\0\0\0", &count.to_le_bytes()[..], &count.to_le_bytes()].concat());
    out.extend([&size.to_le_bytes()[..], &at.to_le_bytes(), &[0, 0]].concat());
    out
}

fn open_as(container: &'static dyn Container, bytes: &[u8], limits: &Limits) -> Result<Source> {
    let input = Input::from_bytes(bytes.to_vec(), "it");
    let budget = Budget::new(limits.clone());
    let opening = Opening { budget: &budget, stem: "it", root: None, strict_pickle: false };
    let catalog = container.open(&input, &opening)?;
    Ok(Source::new(input, catalog, format_of(container), limits.clone()))
}

fn open(container: &'static dyn Container, bytes: &[u8]) -> Result<Source> {
    open_as(container, bytes, &Limits::default())
}

fn kinds(source: &Source) -> Vec<&'static str> {
    source.catalog().findings.iter().map(|finding| finding.kind).collect()
}

fn values(source: &Source, index: usize) -> Result<Vec<u8>> {
    let tensor = &source.catalog().tensors[index];
    let mut scratch = Vec::new();
    source.fetch(tensor, &Slab::whole(0, 0, tensor.bytes), &mut scratch).map(|s| s.bytes().to_vec())
}

fn recognized(bytes: &[u8], name: &str) -> (Recognition, Recognition) {
    let input = Input::from_bytes(bytes.to_vec(), name);
    let head = input.head(4096).unwrap();
    let probe = Probe { head: &head, input: &input };
    (Npz.recognize(&probe), Npy.recognize(&probe))
}

#[test]
fn an_array_must_fit_its_file() {
    let open = |data: &[u8]| open(&Npy, &array("<i2", "False", "(3,)", data)).unwrap();
    assert!(kinds(&open(&[0; 6])).is_empty());
    assert_eq!(kinds(&open(&[0; 7])), ["trailing-bytes"]);
    let two = open(&[&[0; 6][..], &array("<i2", "False", "(3,)", &[0; 6])].concat());
    assert!(two.catalog().notes[0].contains("another array"));
    let short = open(&[0; 5]);
    assert_eq!(kinds(&short), ["truncated"]);
    assert!(values(&short, 0).is_err());
}

#[test]
fn fortran_order_and_byte_order_are_undone() {
    let stored = array(">i2", "True", "(2, 3)", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
    let source = open(&Npy, &stored).unwrap();
    assert_eq!(values(&source, 0).unwrap(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    assert_eq!(source.catalog().detail.as_deref(), Some("npy v1.0, fortran order, big-endian"));
    let source = open(&Npz, &npz(&[("w.npy", &stored, true)])).unwrap();
    assert_eq!(values(&source, 0).unwrap(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    for (shape, len) in [("(1, 1, 6)", 6), ("(0, 3)", 0), ("()", 1), ("(6,)", 6)] {
        let bytes = array("|u1", "True", shape, &[1, 2, 3, 4, 5, 6][..len]);
        let source = open(&Npy, &bytes).unwrap();
        assert_eq!(
            source.lent_bytes(&source.catalog().tensors[0]).map(<[u8]>::len),
            Some(len),
            "{shape}"
        );
    }
}

#[test]
fn huge_shapes_are_refused() {
    for shape in ["(4294967296, 4294967296, 4294967296)", "(9223372036854775807, 2)"] {
        let bytes = array("<f8", "True", shape, &[]);
        assert!(open(&Npy, &bytes).err().unwrap().to_string().contains("too large"));
        let source = open(
            &Npz,
            &npz(&[("a.npy", &bytes, false), ("b.npy", &array("|u1", "False", "()", &[7]), false)]),
        );
        let source = source.unwrap();
        assert_eq!(kinds(&source), ["damaged-array"]);
        assert_eq!(values(&source, 1).unwrap(), [7]);
    }
    // With no elements at all nothing is too large.
    assert!(open(&Npy, &array("<f8", "True", "(9223372036854775807, 2, 0)", &[])).is_ok());
}

#[test]
fn a_member_never_reads_into_the_next() {
    let long = array("|u1", "False", "(400,)", &[1; 4]);
    let next = array("|u1", "False", "(400,)", &[2; 400]);
    for deflated in [false, true] {
        let source =
            open(&Npz, &npz(&[("a.npy", &long, deflated), ("b.npy", &next, deflated)])).unwrap();
        assert_eq!(kinds(&source), ["truncated"]);
        assert!(values(&source, 0).unwrap_err().to_string().contains("396 of 400 bytes"));
        assert_eq!(values(&source, 1).unwrap(), [2; 400]);
    }
}

#[test]
fn names_that_meet_are_kept_apart() {
    let one = array("|u1", "False", "()", &[1]);
    let bytes = npz(&[
        ("a", &one, false),
        ("a.npy", &one, false),
        ("b.npy.npy", &one, false),
        ("c.txt", b"hi", true),
    ]);
    let source = open(&Npz, &bytes).unwrap();
    let names: Vec<_> = source.catalog().tensors.iter().map(|t| &*t.name).collect();
    assert_eq!(names, ["a", "a.npy", "b.npy"]);
    assert_eq!(source.catalog().notes, ["members other than arrays: `c.txt`"]);
}

#[test]
fn one_bad_member_spoils_no_other() {
    let good = array("<V2", "False", "(2,)", &[1, 2, 3, 4]);
    let deep = npy(&format!("{{'descr': {}", "[".repeat(60_000)), &[]);
    let cases: [(&[u8], &str); 4] = [
        (b"not an array", "wrong magic bytes"),
        (b"\x93NUMPY\x01", "is truncated"),
        (&good[..20], "is truncated"),
        (b"\x93NUMPY\x09\0\0\0\0\0\0", "version 9.0"),
    ];
    for (bad, reason) in cases {
        let source =
            open(&Npz, &npz(&[("bad.npy", bad, false), ("good.npy", &good, true)])).unwrap();
        let tensor = &source.catalog().tensors[0];
        assert_eq!((&*tensor.name, tensor.stored.name()), ("bad", "?"));
        assert!(tensor.refused.as_deref().unwrap().contains(reason), "{:?}", tensor.refused);
        assert_eq!(values(&source, 1).unwrap(), [1, 2, 3, 4]);
    }
    let error = open(&Npz, &npz(&[("deep.npy", &deep, true)])).err().unwrap();
    assert_eq!(error.kind(), crate::error::ErrorKind::Limit);
}

#[test]
fn compression_beyond_the_limit_is_refused() {
    let bytes = npz(&[("a.npy", &array("|u1", "False", "(60000,)", &[0; 60000]), true)]);
    assert_eq!(values(&open(&Npz, &bytes).unwrap(), 0).unwrap(), [0; 60000]);
    let source = open_as(&Npz, &bytes, &Limits::default().max_ratio(20)).unwrap();
    assert_eq!(kinds(&source), ["compression-ratio"]);
    assert!(values(&source, 0).is_err());
}

#[test]
fn recognition() {
    use Recognition::{Certain, Likely, No};
    let one = array("|u1", "False", "()", &[1]);
    let cases: [(Vec<u8>, &str, (Recognition, Recognition)); 10] = [
        (one.clone(), "x", (No, Certain)),
        (npz(&[("a.npy", &one, false)]), "x", (Certain, No)),
        (npz(&[("a.npy", &one, true)]), "x", (Certain, No)),
        (npz(&[("readme", b"", true), ("a", &one, true)]), "x", (Certain, No)),
        (npz(&[("readme", b"", true)]), "x", (No, No)),
        (npz(&[("readme", b"", true)]), "x.npz", (Likely, No)),
        (npz(&[]), "x.NPZ", (Likely, No)),
        (npz(&[("r/data.pkl", b"", true), ("a.npy", &one, true)]), "x.npz", (No, No)),
        (npz(&[("a.npy", &one, true), ("data.pkl", b"", true)]), "x.npz", (No, No)),
        (b"<html>".to_vec(), "x.npz", (No, No)),
    ];
    for (index, (bytes, name, expected)) in cases.into_iter().enumerate() {
        assert_eq!(recognized(&bytes, name), expected, "case {index}");
    }
}

#[test]
fn half_an_archive_lists_what_is_there() {
    let one = array("<f4", "False", "(2,)", &[1, 2, 3, 4, 5, 6, 7, 8]);
    for deflated in [false, true] {
        let bytes = npz(&[("a.npy", &one, deflated), ("b.npy", &one, deflated)]);
        let end = bytes.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        let source = open(&Npz, &bytes[..end - 3]).unwrap();
        assert_eq!(source.catalog().tensors.len(), 2);
        assert_eq!(kinds(&source), ["truncated", "truncated"], "{deflated}");
        assert_eq!(values(&source, 0).unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert!(values(&source, 1).is_err());
    }
}
