//! Bytes as an importance matrix, in whichever format they begin.

use std::path::Path;

use weighbridge::ImportanceMatrix;

/// Opens it twice: an error, or the same names with as many values as stated.
pub fn read_importance(bytes: &[u8]) {
    // Only files can be opened. Several fuzzers may run at once.
    let path =
        std::env::temp_dir().join(format!("weighbridge-fuzz-{}.imatrix", std::process::id()));
    std::fs::write(&path, bytes).expect("a scratch file can be written");
    assert_eq!(answer(&path), answer(&path), "two answers");
}

fn answer(path: &Path) -> Result<Vec<String>, String> {
    let matrix = ImportanceMatrix::open(path).map_err(|error| error.to_string())?;
    let mut names: Vec<&str> = matrix.names().collect();
    names.sort_unstable();
    assert!(!names.is_empty(), "an empty matrix");
    let mut said: Vec<String> = names.iter().map(|name| values(&matrix, name)).collect();
    said.extend(matrix.entries().into_iter().map(|(key, value)| format!("{key} {value:?}")));
    Ok(said)
}

/// What is known of one weight. Values that cannot weigh anything are refused by their reader or by
/// the quantizer, which needs to meet no other number.
fn values(matrix: &ImportanceMatrix, name: &str) -> String {
    let of = matrix.of(name).expect("a name that is listed");
    match of.values() {
        Ok(values) => {
            assert_eq!(Some(values.len()), matrix.len_of(name), "{name}");
            let bits = values
                .iter()
                .fold(0u64, |sum, value| sum.rotate_left(5) ^ u64::from(value.to_bits()));
            format!("{name} {} {bits:x}", values.len())
        }
        Err(error) => format!("{name} {error}"),
    }
}
