#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation
)]
//! Archives put together by hand, right and wrong, and every prefix of the samples.

use std::io::{Cursor, Write};

use super::*;
use crate::error::ErrorKind;
use crate::limits::Limits;

/// Writes archives of any shape.
#[derive(Clone, Default)]
struct Writer {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

/// How one member is written.
#[derive(Clone, Copy, Default)]
struct How {
    deflated: bool,
    /// Sizes behind the data, with this many bytes each.
    streamed: Option<usize>,
    unsigned: bool,
    zip64: bool,
    padding: usize,
    flags: u16,
    method: Option<u16>,
    /// Added to the sizes the directory states.
    lie: u32,
}

fn deflate(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

impl Writer {
    fn add(&mut self, name: &str, data: &[u8], how: How) -> &mut Self {
        let body = if how.deflated { deflate(data) } else { data.to_vec() };
        let (comp, size) = (body.len() as u32, data.len() as u32);
        self.add_entry(name, [comp, size], how);
        let (local_comp, local_size, mut extra) = match how {
            How { streamed: Some(_), .. } => (0, 0, Vec::new()),
            How { zip64: true, .. } => (u32::MAX, u32::MAX, wide(&[size, comp])),
            _ => (comp, size, Vec::new()),
        };
        if how.padding > 0 {
            extra.extend(
                [b"FB", &shorts(&[how.padding as u16])[..], &vec![b'Z'; how.padding]].concat(),
            );
        }
        let out = &mut self.bytes;
        out.extend(b"PK\x03\x04\x14\0");
        out.extend(shorts(&[how.flags(), how.method(), 0, 0]));
        out.extend(longs(&[0, local_comp, local_size]));
        out.extend(shorts(&[name.len() as u16, extra.len() as u16]));
        out.extend([name.as_bytes(), &extra, &body].concat());
        if let Some(width) = how.streamed {
            out.extend(if how.unsigned { &b""[..] } else { b"PK\x07\x08" });
            out.extend([0; 4]);
            for value in [comp, size] {
                out.extend(&u64::from(value).to_le_bytes()[..width]);
            }
        }
        self
    }

    fn add_entry(&mut self, name: &str, [comp, size]: [u32; 2], how: How) {
        let numbers = [comp + how.lie, size + how.lie, self.bytes.len() as u32];
        let (numbers, extra) = if how.zip64 {
            ([u32::MAX; 3], wide(&[numbers[1], numbers[0], numbers[2]]))
        } else {
            (numbers, Vec::new())
        };
        let out = &mut self.directory;
        out.extend(b"PK\x01\x02\x14\0\x14\0");
        out.extend(shorts(&[how.flags(), how.method(), 0, 0]));
        out.extend(longs(&[0, numbers[0], numbers[1]]));
        out.extend(shorts(&[name.len() as u16, extra.len() as u16, 0, 0, 0]));
        out.extend(longs(&[0, numbers[2]]));
        out.extend([name.as_bytes(), &extra].concat());
        self.count += 1;
    }

    fn finish(&self, zip64: bool, comment: &[u8]) -> Vec<u8> {
        let mut out = [&self.bytes[..], &self.directory].concat();
        let (size, at) = (self.directory.len() as u32, self.bytes.len() as u32);
        let wide_at = out.len() as u64;
        if zip64 {
            out.extend(b"PK\x06\x06");
            out.extend(44u64.to_le_bytes());
            out.extend([0; 12]);
            let values = [u64::from(self.count), self.count.into(), size.into(), at.into()];
            out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
            out.extend(b"PK\x06\x07\0\0\0\0");
            out.extend(wide_at.to_le_bytes());
            out.extend(1u32.to_le_bytes());
        }
        let (count, size, at) =
            if zip64 { (0xFFFF, u32::MAX, u32::MAX) } else { (self.count, size, at) };
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend([count, count].iter().flat_map(|v| v.to_le_bytes()));
        out.extend([size, at].iter().flat_map(|v| v.to_le_bytes()));
        out.extend((comment.len() as u16).to_le_bytes());
        out.extend(comment);
        out
    }
}

impl How {
    fn flags(self) -> u16 {
        self.flags | if self.streamed.is_some() { 0x0808 } else { 0 }
    }

    fn method(self) -> u16 {
        self.method.unwrap_or(if self.deflated { 8 } else { 0 })
    }
}

fn shorts(values: &[u16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn longs(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

fn wide(values: &[u32]) -> Vec<u8> {
    let mut out = vec![1, 0];
    out.extend((8 * values.len() as u16).to_le_bytes());
    out.extend(values.iter().flat_map(|v| u64::from(*v).to_le_bytes()));
    out
}

fn inputs(bytes: &[u8]) -> [Input; 3] {
    [
        Input::from_bytes(bytes.to_vec(), "bytes"),
        Input::from_reader(Cursor::new(bytes.to_vec()), "reader").unwrap(),
        Input::from_stream(Cursor::new(bytes.to_vec()), "stream", 1 << 24),
    ]
}

fn budget() -> Budget {
    Budget::new(Limits::default())
}

/// Opens through every form of input and compares each member's contents.
fn check_contents(bytes: &[u8], expected: &[(&str, &[u8])]) {
    for input in inputs(bytes) {
        let archive = Archive::open(&input, &budget()).unwrap();
        assert_eq!(archive.members().len(), expected.len());
        for (name, data) in expected {
            let member = archive.find(name).unwrap();
            assert_eq!(archive.name(member), *name);
            assert_eq!(archive.contents(member, &budget(), "it").unwrap(), *data, "{name}");
            let mut scratch = Vec::new();
            let start = archive.start_of(member, 3, &mut scratch).unwrap();
            assert_eq!(start, &data[..data.len().min(3)]);
        }
        assert!(archive.find("absent").is_none());
    }
}

/// Whether hashes are spread evenly or crowd at either end, or repeat.
#[test]
fn the_place_of_a_hash_is_found_wherever_they_lie() {
    let mut state = 1u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    for count in [0, 1, 2, 40, 5000] {
        for form in [|x| x, |x| x >> 40, |x| x | u64::MAX << 20, |x| x & 7 << 61] {
            let mut sorted: Vec<(u64, u32)> = (0..count).map(|_| (form(random()), 0)).collect();
            sorted.sort_unstable();
            let asked = sorted.iter().flat_map(|&(known, _)| [known, known ^ 1]);
            for hash in asked.chain([0, u64::MAX, 1 << 63]) {
                let wanted = sorted.partition_point(|&(known, _)| known <= hash);
                assert_eq!(count_up_to(&sorted, hash), wanted, "{hash} of {count}");
            }
        }
    }
}

fn variants() -> Vec<How> {
    let plain = How::default();
    vec![
        plain,
        How { deflated: true, ..plain },
        How { zip64: true, ..plain },
        How { padding: 41, ..plain },
        How { streamed: Some(4), padding: 7, ..plain },
        How { streamed: Some(8), deflated: true, ..plain },
        How { streamed: Some(4), unsigned: true, ..plain },
        How { streamed: Some(8), unsigned: true, zip64: true, ..plain },
    ]
}

const DATA: &[(&str, &[u8])] =
    &[("a/data.pkl", b"first PK\x07\x08 member"), ("a/empty", b""), ("größe", &[7; 3000])];

#[test]
fn every_way_of_writing_is_read() {
    for how in variants() {
        let mut writer = Writer::default();
        for (name, data) in DATA {
            writer.add(name, data, how);
        }
        for zip64 in [false, true] {
            for comment in [&b""[..], b"PK\x05\x06 is not the end", &[0; 65535]] {
                let bytes = writer.finish(zip64, comment);
                check_contents(&bytes, DATA);
                check_contents(&[&[0x7f; 999], &bytes[..]].concat(), DATA);
            }
            check_contents(&[&writer.finish(zip64, b"")[..], b"junk"].concat(), DATA);
        }
    }
}

#[test]
fn an_archive_without_its_end_is_walked() {
    for how in variants() {
        let mut writer = Writer::default();
        for (name, data) in DATA {
            writer.add(name, data, how);
        }
        check_contents(&[&writer.bytes[..], b"PK\x01\x02"].concat(), DATA);
        let half = &writer.bytes[..writer.bytes.len() - 20 - 4];
        for input in inputs(half) {
            let archive = Archive::open(&input, &budget()).unwrap();
            assert!(archive.is_recovered());
            let last = archive.find("größe").unwrap();
            let expect_cut = !how.deflated || how.streamed.is_some();
            if expect_cut {
                assert!(last.is_incomplete());
                assert!(archive.contents(last, &budget(), "it").is_err());
                assert_eq!(archive.start_of(last, 2, &mut Vec::new()).unwrap(), [7, 7]);
            }
            let first = archive.find("a/data.pkl").unwrap();
            assert_eq!(archive.contents(first, &budget(), "it").unwrap(), DATA[0].1);
        }
    }
}

#[test]
fn a_search_across_chunks_finds_the_descriptor() {
    for shift in 0..30 {
        let data = vec![b'P'; (1 << 20) - 15 + shift];
        let mut writer = Writer::default();
        let how = How { streamed: Some(8), ..How::default() };
        writer.add("a", &data, how).add("b", b"b", how);
        check_contents(&writer.bytes, &[("a", &data), ("b", b"b")]);
    }
}

fn open_error(bytes: &[u8], limits: Limits) -> Error {
    let input = Input::from_bytes(bytes.to_vec(), "bytes");
    Archive::open(&input, &Budget::new(limits)).err().expect("must be refused")
}

#[test]
fn lies_are_refused() {
    let plain = How::default();
    let read = |bytes: &[u8], name: &str, limits: Limits| -> Error {
        let input = Input::from_bytes(bytes.to_vec(), "bytes");
        let budget = Budget::new(limits);
        let archive = Archive::open(&input, &budget).unwrap();
        let member = archive.find(name).unwrap();
        archive.contents(member, &budget, "it").unwrap_err()
    };
    let text = |bytes: &[u8]| read(bytes, "m", Limits::default()).to_string();
    let archive = |how: How| Writer::default().add("m", &[0; 2000], how).finish(false, b"");
    assert!(text(&archive(How { flags: 1, ..plain })).contains("encrypted"));
    assert!(text(&archive(How { method: Some(12), ..plain })).contains("bzip2"));
    assert!(text(&archive(How { method: Some(1234), ..plain })).contains("method 1234"));
    assert!(text(&archive(How { lie: 1, ..plain })).contains("past"));
    assert!(text(&archive(How { lie: u32::MAX - 2000, zip64: true, ..plain })).contains("past"));
    let bomb = archive(How { deflated: true, ..plain });
    assert_eq!(read(&bomb, "m", Limits::default().max_ratio(10)).kind(), ErrorKind::Limit);
    assert_eq!(read(&bomb, "m", Limits::default().max_allocation(1000)).kind(), ErrorKind::Limit);
    let many = |n: usize| {
        let mut writer = Writer::default();
        for i in 0..n {
            writer.add(&i.to_string(), b"", plain);
        }
        writer.finish(false, b"")
    };
    assert_eq!(open_error(&many(11), Limits::default().max_items(10)).kind(), ErrorKind::Limit);
    let mut wrong_count = many(3);
    let at = wrong_count.len() - 12;
    wrong_count[at] = 2;
    assert!(open_error(&wrong_count, Limits::default()).to_string().contains("lists 3 members"));
}

#[test]
fn overlapping_members_are_not_read() {
    let mut writer = Writer::default();
    writer.add("inner", &[0; 5000], How { deflated: true, ..How::default() });
    let body = writer.bytes.clone();
    // Every further name points at the same bytes.
    let one = writer.directory.clone();
    for _ in 0..3 {
        writer.directory.extend(&one);
        writer.count += 1;
    }
    writer.bytes = body;
    let input = Input::from_bytes(writer.finish(false, b""), "bytes");
    let mut archive = Archive::open(&input, &budget()).unwrap();
    assert!(archive.members().iter().all(|m| m.refusal().is_some_and(|r| r.contains("overlaps"))));
    let mut catalog = Catalog::default();
    archive.report(&mut catalog);
    let kinds: Vec<_> = catalog.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, ["duplicate-record", "overlapping-records"]);
}

#[test]
fn of_two_members_with_one_name_the_last_counts() {
    let mut writer = Writer::default();
    writer.add("x", b"old", How::default()).add("y", b"", How::default()).add(
        "x",
        b"new",
        How::default(),
    );
    let input = Input::from_bytes(writer.finish(false, b""), "bytes");
    let archive = Archive::open(&input, &budget()).unwrap();
    let found = archive.find("x").unwrap();
    assert_eq!(archive.contents(found, &budget(), "it").unwrap(), &b"new"[..]);
    let hidden: Vec<_> = archive.members().iter().map(|m| archive.is_hidden(m)).collect();
    assert_eq!(hidden, [true, false, false]);
}

#[test]
fn a_glimpse_names_the_first_members() {
    let mut writer = Writer::default();
    writer.add("a", b"123", How::default()).add("b", b"", How { padding: 9, ..How::default() });
    let bytes = writer.finish(false, b"");
    assert!(looks_like_zip(&bytes));
    let seen: Vec<_> =
        first_members(&bytes).map(|g| (g.name.to_vec(), g.data[..1].to_vec())).collect();
    assert_eq!(seen, [(b"a".to_vec(), b"1".to_vec()), (b"b".to_vec(), b"P".to_vec())]);
    assert_eq!(first_members(&bytes[..31]).count(), 1);
    assert_eq!(first_members(b"PK\x03\x04").count(), 0);
}

/// Nothing in any prefix or damaged copy of a small archive may panic, and what reads must agree.
#[test]
fn prefixes_and_damage() {
    for how in variants() {
        let mut writer = Writer::default();
        for (name, data) in &DATA[..2] {
            writer.add(name, data, how);
        }
        let bytes = writer.finish(how.zip64, b"note");
        for end in 0..bytes.len() {
            open_and_read(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for change in [1u8, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                open_and_read(&damaged);
            }
        }
    }
}

fn open_and_read(bytes: &[u8]) {
    let input = Input::from_bytes(bytes.to_vec(), "bytes");
    let budget = Budget::new(Limits::default().max_allocation(1 << 20));
    let Ok(archive) = Archive::open(&input, &budget) else { return };
    for member in archive.members() {
        let _ = archive.contents(member, &budget, "it");
        let _ = archive.start_of(member, 100, &mut Vec::new());
        let _ = archive.run_of(member, &mut Catalog::default());
    }
}

/// Every archive among the samples reads, and gives the same list after losing its end records.
#[test]
fn samples_with_and_without_their_end() {
    let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/files");
    let folders = ["pth", "npz"].map(|name| std::fs::read_dir(format!("{files}/{name}")).unwrap());
    let mut count = 0;
    for path in folders.into_iter().flatten().map(|entry| entry.unwrap().path()) {
        let bytes = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        let end = memchr::memmem::rfind(&bytes, end::SIGNATURE).unwrap_or(0);
        if !looks_like_zip(&bytes) || end == 0 {
            continue;
        }
        count += 1;
        let input = Input::from_bytes(bytes.clone(), "whole");
        let archive = Archive::open(&input, &budget()).unwrap();
        let cut = Input::from_bytes(bytes[..end.saturating_sub(76)].to_vec(), "cut");
        let recovered = Archive::open(&cut, &budget()).unwrap();
        assert_eq!(archive.members().len(), recovered.members().len(), "{}", path.display());
        for (a, b) in archive.members().iter().zip(recovered.members()) {
            let about = |m: &Member| (m.header, m.compressed, m.size, m.method, m.state);
            assert_eq!(about(a), about(b), "{}", path.display());
            assert_eq!(archive.name(a), recovered.name(b));
            let read = a.refusal().is_some() || archive.contents(a, &budget(), "it").is_ok();
            assert!(read, "{}: {}", path.display(), archive.name(a));
        }
    }
    assert!(count > 100, "the samples are missing");
}

#[test]
fn wide_records_must_agree() {
    let how = How { zip64: true, ..How::default() };
    let mut writer = Writer::default();
    writer.add("m", b"1234", how);
    let good = writer.finish(true, b"");
    // The narrow record names another number of members than the wide one.
    let mut bytes = good.clone();
    let at = good.len() - 12;
    bytes[at..at + 2].copy_from_slice(&[9, 0]);
    assert!(open_error(&bytes, Limits::default()).to_string().contains("disagree"));
    // The locator is there, what it points to is not.
    let mut bytes = good.clone();
    let wide = good.len() - 22 - 20 - 56;
    bytes[wide] = 0;
    assert!(open_error(&bytes, Limits::default()).to_string().contains("locator"));
    // A directory as large as the number allows, or a count to match.
    for field in [32, 40, 48] {
        let mut bytes = good.clone();
        bytes[wide + field..wide + field + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(open_error(&bytes, Limits::default()).kind(), ErrorKind::Malformed);
    }
    // The zip64 field of the entry has room for one number of three.
    let mut bytes = good.clone();
    let entry = wide - 46 - 1 - 28;
    bytes[entry + 46 + 1 + 2] = 8;
    assert!(open_error(&bytes, Limits::default()).to_string().contains("zip64 field"));
}

#[test]
fn two_archives_in_one_file_are_refused() {
    let one = |name: &str| {
        let mut writer = Writer::default();
        writer.add(name, b"1234", How::default());
        writer
    };
    let refused = |bytes: &[u8]| {
        let message = open_error(bytes, Limits::default()).to_string();
        assert!(message.contains("two archives"), "{message}");
    };
    // A record in the comment of the other, which ends before the file does.
    let hidden = [&one("evil").finish(false, b"")[..], b"?"].concat();
    refused(&one("good").finish(false, &hidden));
    // The stated directory and the one before the end record.
    let (good, evil) = (one("good"), one("evil"));
    let mut both = good.clone();
    both.bytes = [&evil.bytes[..], &evil.directory, &good.bytes].concat();
    let mut bytes = both.finish(false, b"");
    let at = bytes.len() - 6;
    bytes[at..at + 4].copy_from_slice(&(evil.bytes.len() as u32).to_le_bytes());
    refused(&bytes);
    // Two zip64 records, the locator pointing to the one further away.
    let mut bytes = good.finish(true, b"");
    let wide = bytes.len() - 22 - 20 - 56;
    let copy = bytes[wide..wide + 56].to_vec();
    bytes.splice(wide..wide, copy);
    refused(&bytes);
}

#[test]
fn stored_members_are_as_long_as_they_say() {
    let mut writer = Writer::default();
    writer.add("m", &[0; 100], How::default()).add("n", &[1; 5000], How::default());
    let mut bytes = writer.finish(false, b"");
    let entry = bytes.len() - 22 - writer.directory.len();
    bytes[entry + 24..entry + 28].copy_from_slice(&4000u32.to_le_bytes());
    let input = Input::from_bytes(bytes, "bytes");
    let archive = Archive::open(&input, &budget()).unwrap();
    let run = archive.run_of(archive.find("m").unwrap(), &mut Catalog::default());
    assert!(run.unwrap_err().to_string().contains("sizes differ"));
}
