//! Fitting text to a terminal.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

/// Narrower than this nothing can be laid out; let the terminal break the lines.
const LEAST: usize = 40;

/// Writes text whose first line starts at column `column`; further lines are indented by
/// `indent`. Words longer than a line are not broken.
pub(crate) fn wrapped(
    out: &mut dyn Write,
    width: Option<usize>,
    indent: usize,
    mut column: usize,
    text: &str,
) -> io::Result<()> {
    let width = match width {
        Some(width) if width >= LEAST => width,
        _ => return writeln!(out, "{text}"),
    };
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 && column + 1 + word.width() > width {
            write!(out, "\n{:indent$}", "")?;
            column = indent;
        } else if index > 0 {
            write!(out, " ")?;
            column += 1;
        }
        write!(out, "{word}")?;
        column += word.width();
    }
    writeln!(out)
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
}
