//! Sizes as people type them: `1048576`, `64MiB`, `5GB`.

/// Units, the long ones first so that none hides another.
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

/// The bytes that a size stands for, like `1048576`, `64MiB` or `5GB`.
///
/// # Errors
/// What a size looks like, if this is none.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_start_matches(|c: char| c.is_ascii_digit());
    let (number, unit) = lower.split_at(lower.len() - digits.len());
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, scale)| *scale);
    match (number.parse::<u64>(), scale) {
        (Ok(number), Some(scale)) => {
            number.checked_mul(scale).ok_or_else(|| "more bytes than 64 bits can count".to_owned())
        }
        _ => Err("a size is a whole number, alone or with KiB, MiB, GiB, TiB, KB, MB, GB or TB"
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
