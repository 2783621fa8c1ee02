//! Text that came out of a file, made safe to show.
//!
//! A tensor name may hold terminal escapes, newlines or characters that reverse the reading
//! direction. Whatever could move a cursor or mislead a reader is shown as `\u{..}`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text itself when it is harmless, otherwise a copy with the rest spelled out.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_harmless(c) => out.push(c),
            c => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    Cow::Owned(out)
}

/// Bytes as text, in which those that are not UTF-8 are spelled `\xNN`.
pub fn spelled_out(bytes: &[u8]) -> String {
    bytes.utf8_chunks().fold(String::with_capacity(bytes.len()), |mut out, chunk| {
        out.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
        out
    })
}

/// Harmless text cut to at most `limit` characters, with a mark where it was cut.
pub fn shortened(text: &str, limit: usize) -> String {
    let mut cut = text.char_indices().skip(limit);
    match cut.next() {
        None => escaped(text).into_owned(),
        Some((end, _)) => format!("{}…", escaped(&text[..end])),
    }
}

/// Whether a name, taken for that of a file, leads out of the folder it is meant for, on any system:
/// `../x`, `/x`, `C:/x`, and the same with backslashes, which are separators on some. A zero byte
/// counts too: what comes after it is not the name that everybody sees.
pub fn leads_outside(name: &str) -> bool {
    let separators = ['/', '\\'];
    let drive =
        matches!(name.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic());
    let climbs = || name.split(separators).any(|part| part == "..");
    drive || name.starts_with(separators) || name.contains('\0') || climbs()
}

/// "a, b and c", with `last` for "and".
pub fn listed<T: AsRef<str>>(words: &[T], last: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.split_last() {
        None => String::new(),
        Some((one, [])) => (*one).to_owned(),
        Some((end, front)) => format!("{} {last} {end}", front.join(", ")),
    }
}

/// Whether a character can be shown as it is: no control, no mark that hides or reorders text.
pub fn is_harmless(c: char) -> bool {
    let invisible_or_reordering = matches!(
        c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    );
    !c.is_control() && !invisible_or_reordering
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_outside() {
        let outside = [
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "/etc/x",
            "C:/x",
            "C:\\x",
            "\\x",
            "a\\..\\x",
            "..\\x",
            "a\0b",
        ];
        assert!(outside.iter().all(|name| leads_outside(name)));
        let inside = [
            "",
            "x",
            "a/b",
            "a\\b",
            "..x",
            "a/..b/c",
            "layer.0.w",
            "w:0",
            "x:0",
            "a.../b",
            "größe",
        ];
        assert!(inside.iter().all(|name| !leads_outside(name)));
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        assert!(matches!(escaped("blk.0.attn_q.weight é 重"), Cow::Borrowed(_)));
    }

    #[test]
    fn controls_and_direction_marks_are_spelled_out() {
        assert_eq!(escaped("a\x1b[2J\u{202e}b\n"), "a\\u{1b}[2J\\u{202e}b\\n");
    }

    #[test]
    fn cutting_counts_characters() {
        assert_eq!(shortened("äöüß", 2), "äö…");
        assert_eq!(shortened("äö", 2), "äö");
    }
}
