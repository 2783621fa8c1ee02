use super::*;
use crate::ErrorKind;
use crate::catalog::NameInFile;
use crate::inflate::Inflater;

/// Reads the contents of a member of `size` bytes whose compressed bytes are these.
fn unpacked(compression: Compression, packed: &[u8], size: u64, max: u64) -> Result<Vec<u8>> {
    let member = Member {
        compression,
        max_memory: max,
        offset: 3,
        compressed: packed.len() as u64,
        size,
        crc: None,
        name: NameInFile::default(),
    };
    let input = Input::from_bytes([b"abc", packed, b"what follows"].concat(), "archive");
    let mut out = vec![0; usize::try_from(size.min(100)).unwrap()];
    Inflater::new(&member).fill(&input, &mut out)?;
    Ok(out)
}

/// A frame of raw blocks; the window is `1 << log` bytes.
fn frame(log: u8, blocks: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3];
    for (index, block) in blocks.iter().enumerate() {
        let last = u32::from(index + 1 == blocks.len());
        let header = last | u32::try_from(block.len()).unwrap() << 3;
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(*block);
    }
    out
}

#[test]
fn frames_follow_each_other_and_some_are_skipped() {
    let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0][..], b"xy"].concat();
    let all =
        [&skipped[..], &frame(17, &[b"he", b"llo"]), &skipped, &frame(12, &[b" you"]), &skipped];
    let packed = all.concat();
    let whole = unpacked(Compression::Zstd, &packed, 9, 1 << 20).unwrap();
    assert_eq!(whole, b"hello you");
    // Longer than it says, shorter than it says, cut, and not this at all.
    for (packed, size) in
        [(&packed[..], 8), (&packed, 10), (&packed[..18], 9), (b"something else", 9), (b"", 1)]
    {
        let error = unpacked(Compression::Zstd, packed, size, 1 << 20).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
        assert!(error.to_string().contains("compressed member, zstd"), "{error}");
    }
}

#[test]
fn windows_and_dictionaries_are_held_to_the_limit() {
    let error = |compression, packed: &[u8], size, max| {
        let error = unpacked(compression, packed, size, max).unwrap_err();
        (error.kind(), error.remedies().to_vec())
    };
    let limit = (ErrorKind::Limit, vec![Remedy::RaiseLimit("max_allocation")]);
    // Eight megabytes are allowed whatever the limit is, and not asked for at once.
    assert!(unpacked(Compression::Zstd, &frame(23, &[b"a"]), 1, 1).is_ok());
    assert_eq!(error(Compression::Zstd, &frame(24, &[b"a"]), 1, 1), limit);
    assert!(unpacked(Compression::Zstd, &frame(24, &[b"a"]), 1, 1 << 24).is_ok());
    assert_eq!(error(Compression::Zstd, &frame(41, &[b"a"]), 1, 1 << 30), limit);
    let lzma = [9, 4, 5, 0, 0x5d, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0];
    assert_eq!(error(Compression::Lzma, &lzma, 1 << 40, 1 << 30), limit);
    // Small contents need no large dictionary.
    let small = error(Compression::Lzma, &lzma, 50, 1 << 20);
    assert_eq!(small.0, ErrorKind::Malformed);
    for broken in [&lzma[..5], &[9, 4, 6, 0, 0x5d, 0, 0, 1, 0], &[9, 4, 5, 0, 0xff, 0, 0, 1, 0]] {
        assert_eq!(error(Compression::Lzma, broken, 50, 1 << 30).0, ErrorKind::Malformed);
    }
    assert_eq!(error(Compression::Bzip2, b"BZh9 no", 50, 1 << 30).0, ErrorKind::Malformed);
}
