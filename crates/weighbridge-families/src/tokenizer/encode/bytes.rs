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

/// A text in which every letter stands for a byte becomes these bytes; any other stays as it is.
pub(in crate::tokenizer) fn from_bytes(text: &str) -> String {
    let bytes: Option<Vec<u8>> = text.chars().map(byte_of).collect();
    bytes.map_or(text.to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The byte that a letter stands for.
fn byte_of(letter: char) -> Option<u8> {
    (0..=u8::MAX).zip(&*LETTERS).find(|(_, known)| **known == letter).map(|(byte, _)| byte)
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
        assert_eq!([byte_of('Ń'), byte_of('ń')], [Some(0xad), None]);
    }
}
