use tempfile::TempDir;

use super::*;

/// A file of the older form.
fn older(entries: &[(&str, i32, &[f32])], end: &[u8]) -> Vec<u8> {
    let mut file = i32::try_from(entries.len()).unwrap().to_le_bytes().to_vec();
    for (name, calls, sums) in entries {
        file.extend(i32::try_from(name.len()).unwrap().to_le_bytes());
        file.extend(name.bytes());
        file.extend(calls.to_le_bytes());
        file.extend(i32::try_from(sums.len()).unwrap().to_le_bytes());
        file.extend(sums.iter().flat_map(|sum| sum.to_le_bytes()));
    }
    file.extend(end);
    file
}

/// Opens it, in a folder that goes with it.
fn opened(bytes: &[u8]) -> Result<(ImportanceMatrix, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.dat");
    std::fs::write(&path, bytes).unwrap();
    Ok((ImportanceMatrix::open(&path)?, folder))
}

#[test]
fn sums_are_divided_by_calls() {
    let end = [&7_i32.to_le_bytes()[..], &5_i32.to_le_bytes(), b"te\0xt"].concat();
    let file = older(&[("a", 4, &[1.0, 2.0]), ("b", 0, &[3.0]), ("a", 2, &[1.0, 3.0])], &end);
    let (matrix, _folder) = opened(&file).unwrap();
    assert_eq!(*matrix.of("a").unwrap().values().unwrap(), [0.5, 1.5]);
    assert_eq!(*matrix.of("b").unwrap().values().unwrap(), [3.0]);
    assert!(matrix.of("c").is_none() && matrix.len_of("c").is_none());
    assert_eq!((matrix.len_of("a"), matrix.names().count()), (Some(2), 2));
    let entries = matrix.entries();
    let keys: Vec<&str> = entries.iter().map(|(key, _)| &**key).collect();
    let expected = ["file", "dataset", "entries_count", "chunks_count"];
    assert_eq!(keys, expected.map(|key| format!("quantize.imatrix.{key}")));
    assert_eq!(entries[1].1, Value::text("te"));
    assert_eq!(entries[2].1, Value::Unsigned(32, 2));
    assert_eq!(entries[3].1, Value::Unsigned(32, 7));
}

#[test]
fn every_length_is_checked() {
    let file = older(&[("a", 4, &[1.0, 2.0]), ("b", 1, &[3.0])], &[]);
    assert_eq!(opened(&file).unwrap().0.entries().len(), 2);
    for len in 0..file.len() {
        assert!(opened(&file[..len]).is_err(), "{len} bytes of {}", file.len());
    }
    for (at, number) in [(0, -1), (0, 3), (0, i32::MAX), (4, -1), (4, i32::MAX), (13, -1), (13, 99)]
    {
        let mut file = file.clone();
        file[at..at + 4].copy_from_slice(&number.to_le_bytes());
        assert!(opened(&file).is_err(), "{number} at byte {at}");
    }
    assert!(opened(&[&file[..], &[1, 0, 0, 0, 0, 0, 0, 0, 9]].concat()).is_err());
}

#[test]
fn numbers_must_be_finite_and_not_negative() {
    for odd in [f32::NAN, f32::INFINITY, -1.0] {
        let (matrix, _folder) = opened(&older(&[("a", 1, &[0.0, odd])], &[])).unwrap();
        let error = matrix.of("a").unwrap().values().unwrap_err().to_string();
        assert!(error.contains("some.dat: tensor `a`"), "{error}");
        assert!(error.contains(&format!("column 1 is {odd}")), "{error}");
    }
}

#[test]
fn texts_are_cut_where_llama_quantize_cuts_them() {
    let long = "x".repeat(126) + "é";
    assert_eq!(shortened(long.as_bytes()), Value::RawText(long.as_bytes()[..127].into()));
    assert_eq!(shortened(b"short"), Value::text("short"));
}
