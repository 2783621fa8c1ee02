//! Parses sizes: `1048576`, `64MiB`, `5GB`.

/// Units and their bytes.
const UNITS: &[(&str, u64)] = &[
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("b", 1),
    ("", 1),
];

/// Parses a size such as `1048576`, `64MiB` or `5GB` into bytes.
///
/// # Errors
/// Fails with a description of a valid size.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_start_matches(|c: char| c.is_ascii_digit());
    let (number, unit) = lower.split_at(lower.len() - digits.len());
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, scale)| *scale);
    match (number.parse::<u64>(), scale) {
        (Ok(number), Some(scale)) => number
            .checked_mul(scale)
            .ok_or_else(|| "size is too large: it does not fit in 64 bits".to_owned()),
        _ => Err("expected a whole number, with or without KiB, MiB, GiB, TiB, KB, MB, GB or TB"
            .to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_size;

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("0", 0), ("64MiB", 64 << 20), ("5GB", 5_000_000_000), ("12 kb", 12_000), ("7B", 7)]
        {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1.5GB", "-1", "5G", "1 potato", "99999999999TB"] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }
}
