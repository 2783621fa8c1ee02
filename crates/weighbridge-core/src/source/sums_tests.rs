use super::*;
use crate::catalog::NameInFile;

/// A file of a name, some bytes, and a member between others.
fn file(len: usize) -> (Vec<u8>, SummedMember) {
    let mut all = b"the name".to_vec();
    all.extend((0..=250u8).cycle().step_by(31).take(len + 20));
    let crc = crc32fast::hash(&all[18..18 + len]);
    let name = NameInFile { offset: 4, len: 4 };
    (all, SummedMember { offset: 18, len: len as u64, crc, name })
}

fn catalog(member: SummedMember) -> Catalog {
    Catalog { summed: vec![member, member], ..Catalog::default() }
}

/// Shows the bytes of some ranges of a member, by several threads at once.
fn show(sums: &Sums, catalog: &Catalog, all: &[u8], ranges: &[Range<usize>]) -> Vec<Result<()>> {
    let input = Input::from_bytes(all.to_vec(), "archive");
    std::thread::scope(|scope| {
        let each = ranges.iter().map(|range| {
            let (input, range) = (&input, range.clone());
            scope.spawn(move || {
                sums.touch(catalog, input, range.start as u64 + 18)?;
                let bytes = &all[range.start + 18..range.end + 18];
                sums.saw(catalog, input, range.start as u64 + 18, bytes)
            })
        });
        let running: Vec<_> = each.collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn stretches_in_any_order_and_twice_make_the_sum() {
    let (mut all, member) = file(100_000);
    let catalog = catalog(member);
    let ranges =
        [60_000..100_000, 128..40_000, 30_000..70_000, 128..40_000, 50_000..50_100, 0..20_000];
    for _ in 0..20 {
        let (sums, input) = (Sums::default(), Input::from_bytes(all.clone(), "archive"));
        assert!(show(&sums, &catalog, &all, &ranges).iter().all(Result::is_ok));
        assert!(sums.accounts.get().unwrap()[0].seen.lock().unwrap().whole.is_some());
        assert!(sums.finish(&input, &|_| true, &|| Ok(())).is_ok());
    }
    all[40_000] ^= 4;
    let (sums, input) = (Sums::default(), Input::from_bytes(all.clone(), "archive"));
    let shown = show(&sums, &catalog, &all, &ranges);
    let message = shown.into_iter().find_map(Result::err).unwrap().to_string();
    assert!(message.contains("member `name` has CRC-32"), "{message}");
    assert!(message.contains(&format!("{:08x}", member.crc)), "{message}");
    // It stays known.
    assert!(sums.finish(&input, &|_| true, &|| Ok(())).is_err());
    assert!(sums.touch(&catalog, &input, 20).is_err());
}

#[test]
fn what_was_not_seen_is_read_at_the_end() {
    let (mut all, member) = file(3_000_000);
    let catalog = catalog(member);
    // Rows of which each is long enough, and so many that no account is kept.
    let scattered: Vec<_> = (0..300).map(|row| row * 10_000..row * 10_000 + 5_000).collect();
    let (few, short) = (vec![9..70_000, 9..10], vec![5..6, 5..7]);
    for ranges in [&scattered, &few, &short] {
        for byte in [None, Some(100), Some(2_999_999)] {
            if let Some(byte) = byte {
                all[byte + 18] ^= 1;
            }
            let (sums, input) = (Sums::default(), Input::from_bytes(all.clone(), "archive"));
            assert!(show(&sums, &catalog, &all, ranges).iter().all(Result::is_ok));
            assert_eq!(sums.finish(&input, &|_| true, &|| Ok(())).is_ok(), byte.is_none());
            if let Some(byte) = byte {
                all[byte + 18] ^= 1;
            }
        }
    }
    // Members that nobody reads are not looked at.
    all[100] ^= 1;
    let (sums, input) = (Sums::default(), Input::from_bytes(all.clone(), "archive"));
    sums.touch(&catalog, &input, 4).unwrap();
    assert!(sums.finish(&input, &|_| true, &|| Ok(())).is_ok());
}
