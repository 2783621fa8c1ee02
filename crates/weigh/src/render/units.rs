//! Formats numbers for people.

/// `118.4 KiB`; below a kibibyte, `300 B`.
pub(crate) fn bytes(value: u64) -> String {
    match scaled(value, 1024.0, &["", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]) {
        Some(text) => text,
        None => format!("{value} B"),
    }
}

/// `118.4 KiB (121,216 bytes)`.
pub(crate) fn bytes_exactly(value: u64) -> String {
    match value {
        0..1024 => plural(value, "byte"),
        _ => format!("{} ({} bytes)", bytes(value), grouped(value)),
    }
}

/// Shortest run with a meaningful speed, in seconds.
const TOO_SHORT: f64 = 0.2;

/// `1.23 GiB/s`; `None` if the run was too short for a meaningful speed.
pub(crate) fn rate(value: u64, seconds: f64) -> Option<String> {
    #[allow(clippy::cast_precision_loss)] // A figure for people.
    let speed = value as f64 / seconds;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Neither is negative.
    (seconds >= TOO_SHORT).then(|| format!("{}/s", bytes(speed as u64)))
}

/// `3.25 s`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 0.01 { "under 0.01 s".to_owned() } else { format!("{seconds:.2} s") }
}

/// `8.03 B`; below a thousand, the number.
pub(crate) fn count(value: u64) -> String {
    scaled(value, 1000.0, &["", "K", "M", "B", "T", "P", "E"]).unwrap_or_else(|| value.to_string())
}

/// `8.03 B (8,030,261,248)`.
pub(crate) fn count_exactly(value: u64) -> String {
    match value {
        0..1000 => count(value),
        _ => format!("{} ({})", count(value), grouped(value)),
    }
}

/// `8,030,261,248`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 file`, `2 files`.
pub(crate) fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// Three or four significant digits: `0.0213`, `-1.3e-5`.
pub(crate) fn figure(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value == 0.0 => "0".to_owned(),
        0.001..10.0 => format!("{value:.*}", if size < 0.1 { 5 } else { 4 }),
        10.0..1000.0 => format!("{value:.2}"),
        1000.0..100_000.0 => format!("{value:.0}"),
        _ => format!("{value:.1e}"),
    }
}

/// Three or four significant digits and a unit; `None` if the first unit is enough.
#[allow(clippy::cast_precision_loss)] // Three digits are shown.
fn scaled(value: u64, step: f64, units: &[&str]) -> Option<String> {
    let mut scaled = value as f64;
    let mut unit = 0;
    // A value that rounds up to a whole step belongs to the next unit.
    while scaled >= step - 0.05 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    let digits = if scaled < 10.0 { 2 } else { 1 };
    (unit > 0).then(|| format!("{scaled:.digits$} {}", units[unit]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_counts() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes_exactly(1), "1 byte");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes((1 << 20) - 1), "1.00 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(bytes_exactly(121_216), "118.4 KiB (121,216 bytes)");
        assert_eq!(count(999), "999");
        assert_eq!(count_exactly(8_030_261_248), "8.03 B (8,030,261,248)");
        assert_eq!(count(999_999), "1.00 M");
        assert_eq!(plural(1, "file"), "1 file");
        assert_eq!(rate(3 << 30, 2.0).as_deref(), Some("1.50 GiB/s"));
        assert_eq!(rate(5 << 20, 0.5).as_deref(), Some("10.0 MiB/s"));
        assert_eq!(rate(3 << 30, 0.19), None);
        assert_eq!(rate(3 << 30, 0.0), None);
        assert_eq!(duration(0.001), "under 0.01 s");
        assert_eq!(duration(12.25), "12.25 s");
        let figures = [0.0, -0.0, 0.021_34, -1.5, 123.456, -12_345.6, 1e-7, -3e38, f64::NAN];
        let texts = figures.map(figure);
        assert_eq!(
            texts,
            ["0", "0", "0.02134", "-1.5000", "123.46", "-12346", "1.0e-7", "-3.0e38", "NaN"]
        );
        assert_eq!(plural(1200, "file"), "1,200 files");
    }
}
