//! Every kind of input.

use super::*;

fn sample() -> Vec<u8> {
    (0..200_000u32).map(|i| (i % 251) as u8).collect()
}

#[test]
fn only_a_long_stretch_begins_reading_ahead() {
    let path = std::env::temp_dir().join(format!("weigh-ahead-{}", std::process::id()));
    std::fs::write(&path, sample()).unwrap();
    for access in [FileAccess::Map, FileAccess::Read] {
        let input = Input::open(&path, access).unwrap();
        let reads_ahead = || input.0.reads_ahead.load(Ordering::Relaxed);
        input.will_need_stretch(LONG_STRETCH - 1);
        assert!(!reads_ahead());
        input.will_need_stretch(LONG_STRETCH);
        assert!(reads_ahead());
    }
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn every_form_reads_the_same_and_refuses_the_same() {
    let bytes = sample();
    let dir = std::env::temp_dir().join(format!("weigh-input-{}", std::process::id()));
    std::fs::write(&dir, &bytes).unwrap();
    let inputs = [
        Input::open(&dir, FileAccess::Map).unwrap(),
        Input::open(&dir, FileAccess::Read).unwrap(),
        Input::from_bytes(bytes.clone(), "bytes"),
        Input::from_reader(io::Cursor::new(bytes.clone()), "reader").unwrap(),
        Input::from_stream(io::Cursor::new(bytes.clone()), "stream", 1 << 20),
    ];
    for input in &inputs {
        let mut scratch = Vec::new();
        for (offset, len) in
            [(0, 0), (5, 10), (199_990, 10), (70_000, 90_000), (3, 1), (200_000, 0)]
        {
            let want = &bytes[offset..offset + len];
            assert_eq!(input.view(offset as u64, len, &mut scratch).unwrap(), want);
        }
        for (offset, len) in [(199_991, 10), (u64::MAX, 1), (200_001, 0), (u64::MAX, usize::MAX)] {
            if len < 100 {
                assert!(input.view(offset, len, &mut scratch).is_err(), "{:?}", input.name());
            }
        }
        assert_eq!(input.whole_len().unwrap(), 200_000);
        assert_eq!(input.len(), Some(200_000));
        assert_eq!(input.head(16).unwrap(), &bytes[..16]);
    }
    std::fs::remove_file(&dir).unwrap();
}

#[test]
fn a_stream_keeps_no_more_than_allowed() {
    let input = Input::from_stream(io::repeat(1), "endless", 100_000);
    assert!(input.head(1000).is_ok());
    assert_eq!(input.len(), None);
    assert_eq!(input.whole_len().unwrap_err().kind(), crate::ErrorKind::Limit);
}

/// A header of which the first bytes were looked at is read on from there.
#[test]
fn what_was_looked_at_is_not_read_again() {
    struct Counted(Vec<u8>, Mutex<Vec<(u64, usize)>>);
    impl ReadAt for Counted {
        fn len(&self) -> Option<u64> {
            Some(self.0.len() as u64)
        }
        fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            lock(&self.1).push((offset, out.len()));
            memory::copy_range(&self.0, offset, out)
        }
    }
    let source = Arc::new(Counted(sample(), Mutex::default()));
    let input = Input::from_source(source.clone(), "counted");
    assert_eq!(&*input.head(16).unwrap(), &sample()[..16]);
    let mut out = vec![0; 100_000];
    input.read_at(8, &mut out).unwrap();
    assert_eq!(out, &sample()[8..100_008]);
    assert_eq!(*lock(&source.1), [(0, 8192), (8192, 91_816)]);
    // Nothing of it is known, or all.
    input.read_at(50_000, &mut out[..40_000]).unwrap();
    assert_eq!(out[..40_000], sample()[50_000..90_000]);
    assert_eq!(lock(&source.1).len(), 3);
}
