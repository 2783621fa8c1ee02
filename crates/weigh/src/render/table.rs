//! Columns that line up, whatever the width of their characters.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

use super::LABEL;

/// The first column is not made narrower than this.
const LEAST: usize = 16;
/// Cells wider than this do not widen their column for all rows.
const MOST: usize = 64;

/// Which side of its column a cell keeps to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// A table under construction. Cells must be escaped already.
pub(crate) struct Table<const N: usize> {
    columns: [(&'static str, Side); N],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [(&'static str, Side); N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Writes head and rows, indented. Nothing is ever cut: on a terminal that is too narrow, a
    /// long first cell gets a line of its own.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        indent: usize,
        width: Option<usize>,
    ) -> io::Result<()> {
        let mut widths = self.widths();
        if let Some(width) = width {
            let all = widths.iter().sum::<usize>() + indent + 2 * (N - 1);
            let first = widths[0].saturating_sub(all.saturating_sub(width));
            widths[0] = first.max(LEAST.min(widths[0]));
        }
        let head = self.columns.map(|(name, _)| name);
        write!(out, "{LABEL}")?;
        self.line(out, indent, &widths, &head)?;
        write!(out, "{LABEL:#}")?;
        for row in &self.rows {
            let mut cells = row.each_ref().map(String::as_str);
            if width.is_some() && cells[0].width() > widths[0] {
                write!(out, "\n{:indent$}{}", "", std::mem::take(&mut cells[0]))?;
            }
            writeln!(out)?;
            self.line(out, indent, &widths, &cells)?;
        }
        writeln!(out)
    }

    fn widths(&self) -> [usize; N] {
        let mut widths = self.columns.map(|(name, _)| name.width());
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width().min(MOST));
            }
        }
        widths
    }

    fn line(
        &self,
        out: &mut dyn Write,
        indent: usize,
        widths: &[usize; N],
        cells: &[&str; N],
    ) -> io::Result<()> {
        write!(out, "{:indent$}", "")?;
        for (index, (cell, (_, side))) in cells.iter().zip(self.columns).enumerate() {
            let gap = if index > 0 { 2 } else { 0 };
            let pad = widths[index].saturating_sub(cell.width());
            match side {
                Side::Right => write!(out, "{:1$}{cell}", "", gap + pad)?,
                Side::Left if index + 1 == N => write!(out, "{:gap$}{cell}", "")?,
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
}
