//! Bytes as byte-level vocabularies spell them.

use std::sync::LazyLock;

/// The letter of each byte: printable ones of Latin-1 stand for themselves, the others are the
/// letters from U+0100 in their order.
static LETTERS: LazyLock<Vec<char>> = LazyLock::new(|| {
    let mut others = '\u{100}'..;
    let letter = |byte: u8| match byte {
        0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff => char::from(byte),
        _ => others.next().unwrap_or_default(),
    };
    (0..=u8::MAX).map(letter).collect()
});

/// The letter of each byte.
pub(in crate::tokenizer) fn letters() -> &'static [char] {
    &LETTERS
}

pub(in crate::tokenizer) fn of_bytes(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| LETTERS[usize::from(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_its_letter() {
        assert_eq!(of_bytes(" a\né".as_bytes()), "ĠaĊÃ©");
        assert_eq!(of_bytes(&[0xad, 0x7f, 0x00]), "ŃġĀ");
    }
}
