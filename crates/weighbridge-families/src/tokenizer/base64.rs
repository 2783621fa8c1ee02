//! Bytes as text, in four letters for three of them.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Six bits a letter, the highest first.
pub(super) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4u32 {
            let place = (bits >> (18 - 6 * at) & 63) as usize;
            let is_filled = at as usize <= three.len();
            text.push(if is_filled { char::from(LETTERS[place]) } else { '=' });
        }
    }
    text
}

/// The bytes of such a text, if it is one.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=').as_bytes();
    let mut bytes = Vec::with_capacity(letters.len() / 4 * 3 + 2);
    let (mut bits, mut held) = (0u32, 0);
    for letter in letters {
        let (six, _) = (0..).zip(LETTERS).find(|(_, known)| *known == letter)?;
        bits = bits << 6 | six;
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

    #[test]
    fn the_examples_of_the_standard() {
        let examples =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in examples {
            assert_eq!(encoded(bytes.as_bytes()), text);
        }
        assert_eq!(encoded(&[0xfb, 0xff]), "+/8=");
    }
}
