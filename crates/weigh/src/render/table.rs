//! Tables with aligned columns, for characters of any width.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use super::LABEL;
use super::wrap::wrapped_at;

/// Narrowest first column. Longer names get their own lines.
const LEAST: usize = 8;
/// Cells wider than this do not widen their column for all rows.
const MOST: usize = 64;
/// Space between two columns.
const GAP: usize = 2;

/// The alignment of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table under construction. Cells must already be escaped.
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Side); N],
    rows: Vec<[String; N]>,
    dropping: &'static [&'static str],
}

/// The visible columns of a table and their widths.
struct Layout<const N: usize> {
    shown: [bool; N],
    widths: [usize; N],
}

impl<const N: usize> Layout<N> {
    /// The width of a line without its first cell.
    fn beside_first(&self, indent: usize) -> usize {
        let others = self.widths.iter().zip(self.shown).skip(1).filter(|(_, shown)| *shown);
        others.fold(indent, |sum, (width, _)| sum + width + GAP)
    }
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [(&'static str, Side); N]) -> Self {
        Self { columns, rows: Vec::new(), dropping: &[] }
    }

    /// Sets the columns to drop on a narrow terminal, least important first.
    pub(crate) fn dropping(mut self, columns: &'static [&'static str]) -> Self {
        self.dropping = columns;
        self
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Writes the header and the rows, indented. Empty columns are omitted. A narrow terminal drops
    /// the least important columns if that keeps every row on one line, and a line below the table
    /// names them. Otherwise long first cells get their own lines. In a pipe no column with contents
    /// is dropped.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        indent: usize,
        width: Option<usize>,
    ) -> io::Result<()> {
        let layout = self.layout(indent, width);
        let head = self.columns.map(|(name, _)| name);
        write!(out, "{LABEL}")?;
        self.line(out, indent, &layout, &head)?;
        write!(out, "{LABEL:#}")?;
        for row in &self.rows {
            let mut cells = row.each_ref().map(String::as_str);
            if width.is_some() && cells[0].width() > layout.widths[0] {
                write!(out, "\n{:indent$}{}", "", std::mem::take(&mut cells[0]))?;
            }
            writeln!(out)?;
            self.line(out, indent, &layout, &cells)?;
        }
        writeln!(out)?;
        self.left_out(out, indent, width, &layout)
    }

    /// Says which columns there was no room for.
    fn left_out(
        &self,
        out: &mut dyn Write,
        indent: usize,
        width: Option<usize>,
        layout: &Layout<N>,
    ) -> io::Result<()> {
        let all = self.with_contents().shown.into_iter().zip(layout.shown).zip(self.columns);
        let gone = all.filter(|((full, shown), _)| *full && !shown).map(|(_, (name, _))| name);
        let gone: Vec<&str> = gone.collect();
        let (Some(width), false) = (width, gone.is_empty()) else { return Ok(()) };
        let text = format!(
            "columns not shown: {} (use a wider terminal, a pipe or --json)",
            gone.join(", ")
        );
        write!(out, "{:indent$}{LABEL}", "")?;
        wrapped_at(out, width, indent, indent, &format!("{text}{LABEL:#}"))
    }

    fn layout(&self, indent: usize, width: Option<usize>) -> Layout<N> {
        let all = self.with_contents();
        let Some(width) = width else { return all };
        let longest = self.rows.iter().map(|row| row[0].width()).max().unwrap_or(0);
        let first = longest.max(self.columns[0].0.width());
        let without = |dropped: usize| {
            let (mut shown, gone) = (all.shown, &self.dropping[..dropped]);
            for (shown, (name, _)) in shown.iter_mut().zip(self.columns).skip(1) {
                *shown &= !gone.contains(&name);
            }
            Layout { shown, widths: all.widths }
        };
        // First every row on one line, then as many columns as leave room for short names.
        for least in [first, LEAST.min(first)] {
            for dropped in 0..=self.dropping.len() {
                let mut layout = without(dropped);
                let room = width.saturating_sub(layout.beside_first(indent));
                if room >= least {
                    layout.widths[0] = room.min(first);
                    return layout;
                }
            }
        }
        let mut layout = without(self.dropping.len());
        layout.widths[0] = self.columns[0].0.width();
        layout
    }

    /// All columns with contents, at the width of their contents.
    fn with_contents(&self) -> Layout<N> {
        let mut widths = self.columns.map(|(name, _)| name.width());
        let mut shown = [self.rows.is_empty(); N];
        shown[0] = true;
        for row in &self.rows {
            for (index, cell) in row.iter().enumerate() {
                widths[index] = widths[index].max(cell.width().min(MOST));
                shown[index] |= !cell.is_empty();
            }
        }
        Layout { shown, widths }
    }

    fn line(
        &self,
        out: &mut dyn Write,
        indent: usize,
        layout: &Layout<N>,
        cells: &[&str; N],
    ) -> io::Result<()> {
        write!(out, "{:indent$}", "")?;
        let last = layout.shown.iter().rposition(|shown| *shown);
        for (index, (cell, (_, side))) in cells.iter().zip(self.columns).enumerate() {
            if !layout.shown[index] {
                continue;
            }
            let gap = if index > 0 { GAP } else { 0 };
            let pad = layout.widths[index].saturating_sub(cell.width());
            match side {
                Side::Right => write!(out, "{:1$}{cell}", "", gap + pad)?,
                Side::Left if Some(index) == last => write!(out, "{:gap$}{cell}", "")?,
                Side::Left => write!(out, "{:gap$}{cell}{:pad$}", "", "")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(width: Option<usize>) -> String {
        let mut table = Table::new([("name", Side::Left), ("n", Side::Right), ("x", Side::Left)]);
        table.row(["重".to_owned(), "1".to_owned(), "a".to_owned()]);
        table.row(["a.very.long.name.indeed".to_owned(), "22".to_owned(), String::new()]);
        let mut out = Vec::new();
        table.write(&mut out, 2, width).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn columns_line_up() {
        let want = "  name                      n  x\n  重                        1  a\n  a.very.long.name.indeed  22  \n";
        assert_eq!(sample(None), want);
    }

    #[test]
    fn one_wide_cell_does_not_widen_the_others() {
        let mut table = Table::new([("name", Side::Left), ("n", Side::Right)]);
        table.row(["x".repeat(200), "1".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out, 0, None).unwrap();
        let first = out.split(|byte| *byte == b'\n').next().unwrap();
        assert!(first.len() < 100);
    }

    #[test]
    fn a_long_name_gets_its_own_line_where_there_is_no_room() {
        let want = "\n  a.very.long.name.indeed\n                      22  \n";
        assert!(sample(Some(27)).ends_with(want), "{}", sample(Some(27)));
        assert_eq!(sample(Some(80)), sample(None));
    }

    /// Two names and three figures, of which `b` matters least and then `c`.
    fn figures(width: Option<usize>) -> String {
        let mut table = Table::new([
            ("name", Side::Left),
            ("a", Side::Right),
            ("b", Side::Right),
            ("c", Side::Right),
            ("nothing", Side::Right),
        ])
        .dropping(&["b", "c"]);
        for name in ["short", "a.name.of.24.letters.yes"] {
            table.row([name, "1000", "2000", "3000", ""].map(str::to_owned));
        }
        let mut out = Vec::new();
        table.write(&mut out, 0, width).unwrap();
        anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string()
    }

    #[test]
    fn columns_that_matter_least_go_first() {
        let head = |width| figures(width).lines().next().unwrap().trim_end().to_owned();
        assert_eq!(head(None), "name                         a     b     c");
        assert_eq!(head(Some(42)), head(None), "the empty column takes no room");
        assert_eq!(head(Some(41)), "name                         a     c");
        assert_eq!(head(Some(35)), "name                         a");
        assert!(
            figures(Some(41))
                .ends_with("\ncolumns not shown: b (use a wider\nterminal, a pipe or --json)\n"),
            "{}",
            figures(Some(41))
        );
        assert!(!figures(Some(42)).contains("not shown"));
        assert_eq!(
            figures(Some(26)),
            "name         a     b     c\nshort     1000  2000  3000\na.name.of.24.letters.yes\n          1000  2000  3000\n",
            "names that do not fit anyway leave room for figures"
        );
    }

    #[test]
    fn nothing_is_wider_than_the_terminal() {
        for width in 24..60 {
            let text = figures(Some(width));
            assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
            for cell in ["1000", "a.name.of.24.letters.yes"] {
                assert!(text.contains(cell), "{width}\n{text}");
            }
        }
    }

    #[test]
    fn a_wide_terminal_is_used() {
        let mut table = Table::new([("name", Side::Left), ("n", Side::Right)]);
        table.row(["x".repeat(100), "1".to_owned()]);
        table.row(["y".to_owned(), "2".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out, 0, Some(140)).unwrap();
        let text = anstream::adapter::strip_str(&String::from_utf8(out).unwrap()).to_string();
        assert!(text.lines().all(|line| line.len() == 103), "{text}");
    }
}
