//! Bytes as text, in four letters for three of them.

/// Six bits a letter, the highest first.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0u32, 0);
    for letter in letters {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    // Letters come in groups of four, and what is left over is nothing.
    (text.len().is_multiple_of(4) && letters.len() % 4 != 1).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap()).unwrap();
        assert_eq!(text(decoded("d2VpZ2g=")), "weigh");
        assert_eq!(text(decoded("d2VpZ2hz")), "weighs");
        assert_eq!(text(decoded("")), "");
        assert_eq!(decoded("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
        for wrong in ["d2V", "d2Vp!A==", "A===", "d2V pZ2g="] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
