use std::io::Write as _;
use std::sync::Barrier;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::*;
use crate::catalog::{Member, NameInFile, Order, Place, Swap};
use crate::dtype::{DType, StoredType};
use crate::error::ErrorKind;

/// A format without metadata arrays.
struct Plain;

impl FormatRules for Plain {}

const PLAIN: Format = Format { name: "plain", rules: &Plain };

fn contents(len: usize) -> Vec<u8> {
    (0u32..).take(len).map(|at| (at.wrapping_mul(2_654_435_761) >> 27) as u8).collect()
}

/// A source of one byte tensor for each member; `size` is what the archive says of it.
fn source(members: &[(&[u8], u64)], limits: Limits) -> Source {
    let mut catalog = Catalog::default();
    let mut file = vec![0; 7];
    for (index, (contents, size)) in (0u32..).zip(members) {
        let offset = file.len() as u64;
        let mut encoder = DeflateEncoder::new(file, Compression::fast());
        encoder.write_all(contents).unwrap();
        file = encoder.finish().unwrap();
        let compressed = file.len() as u64 - offset;
        let crc = (contents.len() as u64 == *size).then(|| crc32fast::hash(contents));
        let name = NameInFile::default();
        let (compression, max_memory) = (crate::catalog::Compression::Deflate, u64::MAX);
        catalog.members.push(Member {
            compression,
            max_memory,
            offset,
            compressed,
            size: *size,
            crc,
            name,
        });
        catalog.tensors.push(TensorInfo {
            name: format!("t{index}").into(),
            shape: [*size].into_iter().collect(),
            stored: StoredType::Element(DType::U8),
            bytes: *size,
            place: Place {
                run: Run::Inside { member: index, offset: 0 },
                order: Order::RowMajor,
                swap: Swap::None,
            },
            refused: None,
        });
    }
    Source::new(Input::from_bytes(file, "archive"), catalog, PLAIN, limits)
}

fn fetched(source: &Source, tensor: usize, offset: u64, len: u64) -> Result<Vec<u8>> {
    let tensor = &source.catalog().tensors[tensor];
    let mut scratch = Vec::new();
    let slab = Slab::whole(0, offset, len);
    source.fetch(tensor, &slab, &mut scratch).map(|staged| staged.bytes().to_vec())
}

#[test]
fn reading_on_inflates_once_and_keeps_nothing() {
    let bytes = contents(3 << 20);
    let source = source(&[(&bytes, 3 << 20)], Limits::default());
    for start in (0..bytes.len()).step_by(100_000) {
        let len = bytes.len().min(start + 100_000) - start;
        let found = fetched(&source, 0, start as u64, len as u64).unwrap();
        assert!(found == bytes[start..start + len]);
    }
    assert_eq!((source.members.begun(), source.members.spooled()), (1, 0));
}

/// Two threads that take tiles in turn, of which the later one often arrives first.
#[test]
fn tiles_that_come_nearly_in_order_are_inflated_once() {
    const TILE: usize = 1 << 20;
    let bytes = contents(8 * TILE + 5);
    let source = source(&[(&bytes, bytes.len() as u64)], Limits::default());
    for tile in [1, 0, 3, 2, 4, 6, 7, 5, 8] {
        let range = tile * TILE..bytes.len().min((tile + 1) * TILE);
        let found = fetched(&source, 0, range.start as u64, range.len() as u64).unwrap();
        assert!(found == bytes[range], "{tile}");
    }
    assert_eq!((source.members.begun(), source.members.spooled()), (1, 0));
}

#[test]
fn threads_that_go_back_inflate_a_member_once_more() {
    const TILE: usize = 64 << 10;
    // The first is kept as it is skipped, the second takes a file.
    for (tiles, begun) in [(40, 1), (100, 2)] {
        let bytes = contents(tiles * TILE);
        let source = source(&[(&bytes, bytes.len() as u64)], Limits::default());
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            for parity in 0..2 {
                let (source, bytes, both) = (&source, &bytes, &both);
                scope.spawn(move || {
                    for tile in (0..tiles).rev().filter(|tile| tile % 2 == parity) {
                        both.wait();
                        let start = tile * TILE;
                        let found = fetched(source, 0, start as u64, TILE as u64).unwrap();
                        assert!(found == bytes[start..start + TILE], "{tile}");
                    }
                });
            }
        });
        assert_eq!(source.members.begun(), begun);
        assert_eq!(source.members.spooled(), begun - 1);
    }
}

#[test]
fn a_small_member_is_kept_in_memory_when_it_is_read_again() {
    let bytes = contents(1 << 20);
    let source = source(&[(&bytes, 1 << 20)], Limits::default());
    for _ in 0..3 {
        assert!(fetched(&source, 0, 0, 1 << 20).unwrap() == bytes);
        assert!(fetched(&source, 0, 77, 5000).unwrap() == bytes[77..5077]);
    }
    assert_eq!((source.members.begun(), source.members.spooled()), (2, 0));
}

#[test]
fn several_members_are_kept_where_workers_meet() {
    let all: Vec<Vec<u8>> = (0..6).map(|index| contents((2 << 20) + index)).collect();
    let members: Vec<_> = all.iter().map(|bytes| (&bytes[..], bytes.len() as u64)).collect();
    let source = source(&members, Limits::default());
    for first in 0..5 {
        for _ in 0..3 {
            for (member, offset) in
                [(first, 1 << 20), (first + 1, 1 << 20), (first, 0), (first + 1, 0)]
            {
                let found = fetched(&source, member, offset, 1000).unwrap();
                let start = usize::try_from(offset).unwrap();
                assert!(found == all[member][start..start + 1000]);
            }
        }
    }
    // Skipped bytes are kept, but served only once: each is inflated again, once.
    assert_eq!(source.members.begun(), 12);
    assert!(source.members.spooled() <= 2);
}

#[test]
fn sizes_that_are_not_true_are_found_out() {
    let bytes = contents(2 << 20);
    let back = |size: u64, limits| {
        let source = source(&[(&bytes, size)], limits);
        fetched(&source, 0, 0, 1_500_000).unwrap();
        fetched(&source, 0, 0, 1000).unwrap_err()
    };
    for (size, why) in
        [((2 << 20) + 1, "ends before its stated size"), ((2 << 20) - 1, "continues past")]
    {
        let error = back(size, Limits::default());
        assert!(error.message().contains(why), "{error}");
        assert_eq!((error.kind(), error.tensor()), (ErrorKind::Malformed, Some("t0")));
    }
    let error = back(2 << 20, Limits::default().max_ratio(1));
    assert_eq!((error.kind(), error.tensor()), (ErrorKind::Limit, Some("t0")));
    assert!(error.path().is_some());
}

/// Pieces of a slab are the same whether they are read one by one or with the gaps between them.
#[test]
fn pieces_of_a_slab_are_gathered_from_a_file() {
    let bytes = contents(300_000);
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), &bytes).unwrap();
    for (width, swap) in [(1, Swap::None), (4, Swap::Elements(4))] {
        let mut catalog = Catalog::default();
        catalog.tensors.push(TensorInfo {
            name: "t".into(),
            shape: [bytes.len() as u64].into_iter().collect(),
            stored: StoredType::Element(DType::U8),
            bytes: bytes.len() as u64,
            place: Place { swap, ..Place::at(0) },
            refused: None,
        });
        let input = Input::open(path.path(), crate::input::FileAccess::Read).unwrap();
        let source = Source::new(input, catalog, PLAIN, Limits::default());
        for (offset, row_bytes, count, stride) in [
            (8, 40, 1000, 200),
            (4, 24, 20, 12_000),
            (5, 7, 99, 31),
            (8, 20_000, 9, 30_000),
            (0, 0, 5, 9),
        ] {
            let slab = Slab { part: 0, offset, row_bytes, count, stride };
            let mut scratch = Vec::new();
            let staged = source.fetch(&source.catalog().tensors[0], &slab, &mut scratch).unwrap();
            for row in 0..count {
                let place = |at: u64| match width {
                    1 => at,
                    width => at / width * width + (width - 1 - at % width),
                };
                let start = offset + row * stride;
                let wanted: Vec<u8> = (start..start + row_bytes)
                    .map(|at| bytes[usize::try_from(place(at)).unwrap()])
                    .collect();
                assert_eq!(staged.row(usize::try_from(row).unwrap()), wanted, "{slab:?} {swap:?}");
            }
        }
    }
}
