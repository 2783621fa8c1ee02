//! RWKV's vocabulary: a line for each token with its id, its text as Python spells it, and its length.
//! GGUF has the bytes of a token, spelled as Python does too.

use std::str::Chars;

use super::files::wrong;
use super::{Beyond, Entries, Files, KINDS, Special, TokenType};
use crate::error::{Error, Result};
use crate::text::shortened;

const FILE: &str = "rwkv_vocab_v20230424.txt";

/// The token that ends a turn: two line breaks.
const ENDS_TURN: u64 = 261;

pub(super) fn write(files: &Files<'_>, entries: &mut Entries) -> Result<()> {
    let missing = || Error::unsupported(format!("the repository has no {FILE}"));
    let text = files.text(FILE)?.ok_or_else(missing)?;
    let mut tokens = vec![("<s>".to_owned(), TokenType::Control)];
    for (at, line) in text.split_terminator('\n').enumerate() {
        let odd = |what: &str| {
            let line = shortened(line, 40);
            wrong(FILE, format!("line {}, `{line}`, {what}", at + 1))
        };
        let bytes = token(line).ok_or_else(|| odd("is not an ID, a token and its length"))?;
        if stated_id(line) != Some(at as u64 + 1) {
            return Err(odd("has another ID than its place"));
        }
        tokens.push((spelled(&bytes), TokenType::Normal));
    }
    let (found, rows) = (tokens.len(), files.vocabulary());
    if rows > 0 && found > rows {
        let message = format!("it has {found} tokens, but the model has {rows}");
        return Err(wrong(FILE, message));
    }
    tokens.extend((found..rows).map(|id| (format!("[PAD{id}]"), TokenType::Unused)));
    entries.text("tokenizer.ggml.model", "rwkv");
    let count = tokens.len();
    TokenType::write(entries, tokens, None);
    special(files, count)?.write(entries)
}

/// Special tokens. Files name other ones than the model was trained with.
fn special(files: &Files<'_>, count: usize) -> Result<Special> {
    let mut special = Special::read(files, &KINDS, Beyond::LeaveOut(count))?;
    special.put("eot", ENDS_TURN);
    special.put("bos", 0);
    special.put("eos", 0);
    // Readers know a template by this name.
    special.templates.get_or_insert_with(|| "rwkv-world".into());
    Ok(special)
}

fn stated_id(line: &str) -> Option<u64> {
    line.split(' ').next()?.parse().ok()
}

/// The bytes of the token in a line, if they are as many as it says.
fn token(line: &str) -> Option<Vec<u8>> {
    let (_, rest) = line.split_once(' ')?;
    let (literal, length) = rest.rsplit_once(' ')?;
    let bytes = unspelled(literal)?;
    (length.trim_end().parse() == Ok(bytes.len())).then_some(bytes)
}

/// What one of Python's literals stands for: of a text its UTF-8.
fn unspelled(literal: &str) -> Option<Vec<u8>> {
    let (is_bytes, quoted) = match literal.strip_prefix('b') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let quote = quoted.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let mut rest = quoted.strip_prefix(quote)?.strip_suffix(quote)?.chars();
    let mut bytes = Vec::new();
    while let Some(letter) = rest.next() {
        let code = match letter {
            '\\' => escape(&mut rest, is_bytes)?,
            letter if letter == quote || is_bytes && !letter.is_ascii() => return None,
            letter => letter.into(),
        };
        if is_bytes {
            bytes.push(u8::try_from(code).ok()?);
        } else {
            bytes.extend(char::from_u32(code)?.encode_utf8(&mut [0; 4]).bytes());
        }
    }
    Some(bytes)
}

/// The number that stands behind a backslash.
fn escape(rest: &mut Chars<'_>, is_bytes: bool) -> Option<u32> {
    Some(match rest.next()? {
        'x' => hex(rest, 2)?,
        'u' if !is_bytes => hex(rest, 4)?,
        'U' if !is_bytes => hex(rest, 8)?,
        'a' => 7,
        'b' => 8,
        't' => 9,
        'n' => 10,
        'v' => 11,
        'f' => 12,
        'r' => 13,
        letter @ ('\\' | '\'' | '"') => letter.into(),
        _ => return None,
    })
}

/// A number of so many hexadecimal digits.
fn hex(rest: &mut Chars<'_>, count: usize) -> Option<u32> {
    (0..count).try_fold(0, |number: u32, _| Some(number << 4 | rest.next()?.to_digit(16)?))
}

/// Bytes as Python spells them between quotes. A quote is only marked where both kinds are there.
fn spelled(bytes: &[u8]) -> String {
    let quote = if bytes.contains(&b'\'') && !bytes.contains(&b'"') { b'"' } else { b'\'' };
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\t' => text.push_str("\\t"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\\' => text.push_str("\\\\"),
            byte if byte == quote => text.extend(['\\', byte.into()]),
            b' '..=b'~' => text.push(byte.into()),
            byte => text.push_str(&format!("\\x{byte:02x}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_spelled_as_python_does() {
        let cases = [
            (r"'a\n\x00'", Some(r"a\n\x00")),
            (r"b'\xe4\''", Some(r"\xe4'")),
            (r#""it's""#, Some("it's")),
            (r#"'a\'"'"#, Some(r#"a\'""#)),
            ("'ä'", Some(r"\xc3\xa4")),
            (r"'\u00e4'", Some(r"\xc3\xa4")),
            ("b'ä'", None),
            ("'a", None),
            (r"'\q'", None),
            ("'a'b'", None),
        ];
        for (literal, expected) in cases {
            let found = unspelled(literal).map(|bytes| spelled(&bytes));
            assert_eq!(found.as_deref(), expected, "{literal}");
        }
    }

    #[test]
    fn a_line_says_how_long_its_token_is() {
        assert_eq!(token("12 ' a' 2"), Some(b" a".to_vec()));
        assert_eq!(token("12 ' a' 3"), None);
        assert_eq!(token("12"), None);
    }
}
