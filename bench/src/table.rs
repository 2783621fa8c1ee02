//! A table of results, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use crate::harness::Row;

/// A finished table.
#[derive(Debug, Default, Serialize)]
pub struct Table {
    /// Its name on the command line.
    pub name: &'static str,
    /// What was measured.
    pub title: String,
    /// Timed rows.
    pub rows: Vec<Row>,
    /// Many contests side by side, where one list of rows is not enough.
    pub matrix: Matrix,
    /// Measured figures that are not times.
    pub figures: Vec<Figure>,
    /// What was asked for, and whether it was reached.
    pub targets: Vec<Target>,
    /// Which tools were missing and how to install them; how the figures were measured.
    pub notes: Vec<String>,
}

/// Contests side by side: one line each, in the columns that the table chooses.
#[derive(Debug, Default, Serialize)]
pub struct Matrix {
    /// The columns' names.
    pub head: Vec<String>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One contest of a matrix.
#[derive(Debug, Serialize)]
pub struct Line {
    /// What is printed.
    pub cells: Vec<String>,
    /// What was timed, in full: for programs.
    pub rows: Vec<Row>,
}

/// One figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What it is.
    pub what: String,
    /// Its value with its unit.
    pub value: String,
}

/// A demand on the figures.
#[derive(Debug, Serialize)]
pub struct Target {
    /// The demand in words.
    pub what: String,
    /// What was measured.
    pub measured: f64,
    /// Whether it was reached.
    pub met: bool,
}

impl Table {
    /// An empty table.
    pub fn new(name: &'static str, title: impl Into<String>) -> Self {
        Self { name, title: title.into(), ..Self::default() }
    }

    /// Demands that `contestant` takes at least `factor` times as long as the first one, by median.
    pub fn at_least(&mut self, contestant: &str, factor: f64) {
        if let Some(row) = self.rows.iter().find(|row| row.contestant == contestant) {
            let what = format!("{contestant} takes at least {factor}x as long as ours");
            let measured = row.median_ratio;
            self.targets.push(Target { what, measured, met: measured >= factor });
        }
    }

    /// Demands that `contestant` takes at most `factor` times as long as the first one.
    pub fn at_most(&mut self, contestant: &str, factor: f64) {
        if let Some(row) = self.rows.iter().find(|row| row.contestant == contestant) {
            let what = format!("{contestant} takes at most {factor}x as long as the first row");
            let measured = row.median_ratio;
            self.targets.push(Target { what, measured, met: measured <= factor });
        }
    }

    /// Demands that a figure stays below a bound.
    pub fn bounded(&mut self, what: impl Into<String>, measured: f64, bound: f64) {
        self.targets.push(Target { what: what.into(), measured, met: measured <= bound });
    }

    /// Demands that a figure reaches a bound.
    pub fn reaches(&mut self, what: impl Into<String>, measured: f64, bound: f64) {
        self.targets.push(Target { what: what.into(), measured, met: measured >= bound });
    }

    /// Adds a figure.
    pub fn figure(&mut self, what: impl Into<String>, value: impl Into<String>) {
        self.figures.push(Figure { what: what.into(), value: value.into() });
    }

    /// As Markdown, which is also what people see.
    pub fn markdown(&self) -> String {
        let mut out = format!("## {}: {}\n\n", self.name, self.title);
        if !self.rows.is_empty() {
            out += "| contestant | best | median | spread (p10 to p90) | best ratio | median ratio |\n";
            out += "|---|---|---|---|---|---|\n";
        }
        for row in &self.rows {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} to {} | {:.2} | {:.2} |",
                row.contestant,
                seconds(row.best),
                seconds(row.median),
                seconds(row.low),
                seconds(row.high),
                row.best_ratio,
                row.median_ratio
            );
        }
        if !self.matrix.lines.is_empty() {
            let _ = writeln!(out, "| {} |", self.matrix.head.join(" | "));
            let _ = writeln!(out, "|{}", "---|".repeat(self.matrix.head.len()));
            for line in &self.matrix.lines {
                let _ = writeln!(out, "| {} |", line.cells.join(" | "));
            }
        }
        if !self.figures.is_empty() {
            out += "\n| figure | value |\n|---|---|\n";
            for figure in &self.figures {
                let _ = writeln!(out, "| {} | {} |", figure.what, figure.value);
            }
        }
        if !self.targets.is_empty() {
            out += "\n| target | measured | met |\n|---|---|---|\n";
            for target in &self.targets {
                let met = if target.met { "yes" } else { "**no**" };
                let _ = writeln!(out, "| {} | {:.2} | {met} |", target.what, target.measured);
            }
        }
        for note in &self.notes {
            let _ = writeln!(out, "\n- {note}");
        }
        out
    }
}

/// Seconds in the unit that reads best.
pub fn seconds(value: f64) -> String {
    match value {
        v if v < 1e-6 => format!("{:.0} ns", v * 1e9),
        v if v < 1e-3 => format!("{:.2} µs", v * 1e6),
        v if v < 1.0 => format!("{:.3} ms", v * 1e3),
        v => format!("{v:.3} s"),
    }
}
