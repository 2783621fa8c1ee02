//! Wraps text to the width of a terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

/// Narrowest width that is wrapped to; below it the terminal breaks lines.
const LEAST: usize = 40;

/// Units that stay on the line of their number.
const UNITS: [&str; 13] =
    ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "K", "M", "T", "dB", "%", "s"];

/// Writes wrapped text. The first line starts at column `column`; further lines are indented by
/// `indent`. Words longer than a line are not broken.
pub(crate) fn wrapped(
    out: &mut dyn Write,
    width: Option<usize>,
    indent: usize,
    column: usize,
    text: &str,
) -> io::Result<()> {
    match width {
        Some(width) if width >= LEAST => wrapped_at(out, width, indent, column, text),
        _ => writeln!(out, "{text}"),
    }
}

/// As [`wrapped`], at any width.
pub(crate) fn wrapped_at(
    out: &mut dyn Write,
    width: usize,
    indent: usize,
    mut column: usize,
    text: &str,
) -> io::Result<()> {
    for (index, word) in words(text).into_iter().enumerate() {
        if index > 0 && column + 1 + columns(word) > width {
            write!(out, "\n{:indent$}", "")?;
            column = indent;
        } else if index > 0 {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += columns(word);
    }
    writeln!(out)
}

/// Splits a text into words. A number and its unit are one word.
fn words(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut start = 0;
    for word in text.split(' ') {
        let end = start + word.len();
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ')']));
        match words.last_mut() {
            Some(number) if is_unit && number.ends_with(|c: char| c.is_ascii_digit()) => {
                *number = &text[start - 1 - number.len()..end];
            }
            _ => words.push(word),
        }
        start = end + 1;
    }
    words
}

/// The width of a text in columns, without its colours.
fn columns(text: &str) -> usize {
    if text.contains('\x1b') {
        anstream::adapter::strip_str(text).to_string().width()
    } else {
        text.width()
    }
}

/// A writer that wraps lines that are too long for the terminal, with a hanging indent. Lines that
/// fit are unchanged.
pub(crate) struct Folded<'o> {
    out: &'o mut dyn Write,
    width: Option<usize>,
    line: Vec<u8>,
}

impl<'o> Folded<'o> {
    pub(crate) fn new(out: &'o mut dyn Write, width: Option<usize>) -> Self {
        Self { out, width, line: Vec::new() }
    }

    /// Writes the completed line.
    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        if self.width.is_none_or(|width| columns(&text) <= width) {
            self.out.write_all(&line)?;
            return self.out.write_all(b"\n");
        }
        let indent = text.len() - text.trim_start().len();
        write!(self.out, "{:indent$}", "")?;
        wrapped(self.out, self.width, indent + 4, indent, text.trim_start())
    }
}

impl Write for Folded<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            match part.split_last() {
                Some((b'\n', rest)) => {
                    self.line.extend_from_slice(rest);
                    self.end_line()?;
                }
                _ => self.line.extend_from_slice(part),
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrap(width: Option<usize>, text: &str) -> String {
        let mut out = Vec::new();
        wrapped(&mut out, width, 2, 0, text).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn words_move_to_the_next_line() {
        let text = "a".repeat(30) + " bb " + &"c".repeat(20);
        assert_eq!(wrap(Some(40), &text), format!("{} bb\n  {}\n", "a".repeat(30), "c".repeat(20)));
        assert_eq!(wrap(None, &text), format!("{text}\n"));
        assert_eq!(wrap(Some(5), &text), format!("{text}\n"));
    }

    #[test]
    fn a_number_keeps_its_unit() {
        let text = format!("{} 210.6 KiB, and 5 apples", "a".repeat(33));
        assert_eq!(
            wrap(Some(40), &text),
            format!("{}\n  210.6 KiB, and 5 apples\n", "a".repeat(33))
        );
        assert_eq!(words("1 KiB 2 KiB  x B"), ["1 KiB", "2 KiB", "", "x", "B"]);
    }

    #[test]
    fn long_lines_are_folded_and_others_left_alone() {
        let fold = |width| {
            let (mut out, long) =
                (Vec::new(), "  note: \x1b[1mx\x1b[0m ".to_owned() + &"word ".repeat(7));
            let mut folded = Folded::new(&mut out, width);
            write!(folded, "short  \n{}", &long[..9]).unwrap();
            writeln!(folded, "{}", long[9..].trim_end()).unwrap();
            String::from_utf8(out).unwrap()
        };
        let whole = "short  \n  note: \x1b[1mx\x1b[0m word word word word word word word\n";
        assert_eq!(fold(None), whole);
        let (first, second) = ("word word word word word word", "      word");
        assert_eq!(fold(Some(40)), format!("short  \n  note: \x1b[1mx\x1b[0m {first}\n{second}\n"));
        assert_eq!(fold(Some(80)), whole);
    }
}
