//! JSON that is safe to print on a terminal.
//!
//! JSON requires escapes only for control characters below 32. Names in a file can contain others
//! that move the cursor or change the reading direction. These are written as `\uXXXX`, which every
//! parser reads as the same character.
//!
//! Every report object starts with the version of its fields.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter, PrettyFormatter, Serializer};
use weighbridge::internals::text::is_harmless;

/// The version of the report fields. It changes when a field is removed or changes its meaning, not
/// when a field is added.
const SCHEMA: u32 = 1;

/// The layout of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// Indented.
    Indented,
    /// One object per line.
    Lines,
}

/// A report preceded by its version.
#[derive(Serialize)]
pub(crate) struct Versioned<T> {
    schema: u32,
    #[serde(flatten)]
    report: T,
}

impl<T> Versioned<T> {
    pub(crate) fn new(report: T) -> Self {
        Self { schema: SCHEMA, report }
    }
}

/// Writes a report and a newline.
pub(crate) fn report<T: Serialize>(
    out: &mut dyn Write,
    layout: Layout,
    report: T,
) -> io::Result<()> {
    json(out, layout, &Versioned::new(report))
}

/// Writes a value and a newline.
pub(crate) fn json<T: Serialize + ?Sized>(
    out: &mut dyn Write,
    layout: Layout,
    value: &T,
) -> io::Result<()> {
    match layout {
        Layout::Indented => {
            let formatter = Safe(PrettyFormatter::new());
            value.serialize(&mut Serializer::with_formatter(&mut *out, formatter))?;
        }
        Layout::Lines => {
            let formatter = Safe(CompactFormatter);
            value.serialize(&mut Serializer::with_formatter(&mut *out, formatter))?;
        }
    }
    writeln!(out)
}

struct Safe<F>(F);

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| !is_harmless(*c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        c: CharEscape,
    ) -> io::Result<()> {
        self.0.write_char_escape(out, c)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{Layout, json, report};

    #[test]
    fn the_version_comes_first_in_either_layout() {
        let written = |layout| {
            let mut out = Vec::new();
            report(&mut out, layout, serde_json::json!({ "path": "\u{9b}" })).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(Layout::Lines), "{\"schema\":1,\"path\":\"\\u009b\"}\n");
        assert_eq!(written(Layout::Indented), "{\n  \"schema\": 1,\n  \"path\": \"\\u009b\"\n}\n");
    }

    #[test]
    fn marks_are_spelled_out_and_mean_the_same() {
        let text = "a\u{9b}2J\u{202e}b\u{e0041}\n\u{7f}é";
        let mut out = Vec::new();
        json(&mut out, Layout::Indented, text).unwrap();
        let written = String::from_utf8(out).unwrap();
        assert_eq!(written, "\"a\\u009b2J\\u202eb\\udb40\\udc41\\n\\u007fé\"\n");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
