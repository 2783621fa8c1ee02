//! The text forms of protocol 0: numbers in decimal, strings quoted and escaped.

/// A whole number in decimal, perhaps with Python 2's `L` behind it.
pub(super) fn integer(line: &[u8]) -> Option<Integer<'_>> {
    let digits = line.strip_suffix(b"L").unwrap_or(line).trim_ascii();
    let body = digits.strip_prefix(b"-").or(digits.strip_prefix(b"+")).unwrap_or(digits);
    if body.is_empty() || !body.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let small = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok());
    Some(small.map_or(Integer::Large(digits), Integer::Small))
}

/// A whole number, as far as it fits.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Integer<'a> {
    Small(i64),
    Large(&'a [u8]),
}

/// A number as `repr` prints it.
pub(super) fn float(line: &[u8]) -> Option<f64> {
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

/// What is between the quotes of a Python 2 `repr`, escapes and all.
pub(super) fn unquoted(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    let (&quote, rest) = line.split_first()?;
    let (&last, inside) = rest.split_last()?;
    (quote == last && matches!(quote, b'\'' | b'"')).then_some(inside)
}

/// Undoes the escapes of a Python 2 string.
pub(super) fn unescape(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let meant = match bytes.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            first @ b'0'..=b'7' => octal(first, &mut bytes),
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'x' => hex(bytes.next()?)?.checked_mul(16)?.checked_add(hex(bytes.next()?)?)?,
            same @ (b'\\' | b'\'' | b'"') => same,
            other => {
                out.push(b'\\');
                other
            }
        };
        out.push(meant);
    }
    Some(out)
}

/// Up to three octal digits, of which the first was taken; the value is kept to a byte.
fn octal(first: u8, rest: &mut (impl Iterator<Item = u8> + Clone)) -> u8 {
    let mut value = first.wrapping_sub(b'0');
    for _ in 0..2 {
        let Some(digit @ b'0'..=b'7') = rest.clone().next() else { break };
        rest.next();
        value = value.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'));
    }
    value
}

/// Undoes `raw-unicode-escape`: bytes are Latin-1, `\uXXXX` and `\UXXXXXXXX` are characters.
pub(super) fn unescape_unicode(text: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = match after.first() {
            Some(b'u') if byte == b'\\' => 4usize,
            Some(b'U') if byte == b'\\' => 8,
            _ => 0,
        };
        if digits == 0 {
            out.push(char::from(byte));
            rest = after;
            // A backslash keeps the one behind it from opening an escape.
            if let (b'\\', Some((b'\\', behind))) = (byte, after.split_first()) {
                out.push('\\');
                rest = behind;
            }
            continue;
        }
        let end = digits.checked_add(1)?;
        let code = after
            .get(1..end)?
            .iter()
            .try_fold(0u32, |code, &digit| code.checked_mul(16)?.checked_add(hex(digit)?.into()))?;
        out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = after.get(end..)?;
    }
    Some(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(integer(b"-12L"), Some(Integer::Small(-12)));
        assert_eq!(integer(b"99999999999999999999"), Some(Integer::Large(b"99999999999999999999")));
        assert_eq!(integer(b"1x"), None);
        assert_eq!(integer(b""), None);
        assert_eq!(float(b"1e-3"), Some(0.001));
        assert!(float(b"nan").unwrap().is_nan());
    }

    #[test]
    fn strings() {
        assert_eq!(unquoted(b"'a b'"), Some(&b"a b"[..]));
        assert_eq!(unquoted(b"'"), None);
        assert_eq!(unquoted(b"'a\""), None);
        assert_eq!(unescape(br"a\n\x41\\\'\q").unwrap(), b"a\nA\\'\\q");
        assert_eq!(unescape(br"\157\0s\18\501").unwrap(), b"o\0s\x018A");
        assert_eq!(unescape(br"a\x4"), None);
        assert_eq!(unescape_unicode(b"\\u00e9\xe9\\n").unwrap(), "éé\\n");
        assert_eq!(unescape_unicode(b"\\\\u0041").unwrap(), "\\\\u0041");
        assert_eq!(unescape_unicode(b"\\u00"), None);
    }
}
