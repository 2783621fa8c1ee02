//! `bench summary`: the latest record as a short table for docs/speed.md: every missed demand, and
//! from each table without one, the demand closest to its bound.

use std::fs;
use std::path::{Path, PathBuf};

/// A demand of a record.
struct Demand<'a> {
    table: &'a str,
    what: &'a str,
    measured: &'a str,
    met: bool,
}

/// The summary's text; an error says what is missing.
pub fn run(record: &Path) -> Result<String, String> {
    let path = latest(record).ok_or("there is no record yet: run tables with --record")?;
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    Ok(short(&text))
}

/// The record with the latest date, of any machine.
fn latest(record: &Path) -> Option<PathBuf> {
    let folders = fs::read_dir(record).ok()?.flatten().filter_map(|f| fs::read_dir(f.path()).ok());
    let files = folders.flat_map(|folder| folder.flatten().map(|file| file.path()));
    files.max_by_key(|path| path.file_name().map(std::ffi::OsStr::to_owned))
}

fn short(text: &str) -> String {
    let mut heading = text.lines().filter(|line| !line.is_empty()).take(2);
    let (date, machine) = (heading.next().unwrap_or(""), heading.next().unwrap_or(""));
    let all = demands(text);
    let met = all.iter().filter(|demand| demand.met).count();
    let mut out = format!("{}. {machine}\n\n", date.trim_start_matches("# "));
    out += &format!("Of {} demands {met} were met.\n\n", all.len());
    out += "| table | what is asked for | measured | met |\n|---|---|---|---|\n";
    for demand in worst(&all) {
        let met = if demand.met { "yes" } else { "**no**" };
        let Demand { table, what, measured, .. } = demand;
        out += &format!("| `{table}` | {what} | {measured} | {met} |\n");
    }
    out
}

fn demands(text: &str) -> Vec<Demand<'_>> {
    let mut all = Vec::new();
    let (mut table, mut inside) = ("", false);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            table = title.split(':').next().unwrap_or(title);
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        match cells[..] {
            ["target", "measured", "met"] => inside = true,
            [what, measured, met] if inside && !what.starts_with('-') => {
                all.push(Demand { table, what, measured, met: met == "yes" });
            }
            _ => inside &= line.starts_with("|--"),
        }
    }
    all
}

/// All missed demands, and from each table without any, the one closest to its bound.
fn worst<'a, 'd>(all: &'d [Demand<'a>]) -> Vec<&'d Demand<'a>> {
    let mut chosen = Vec::new();
    let mut at = 0;
    while at < all.len() {
        let table = all[at].table;
        let len = all[at..].iter().take_while(|demand| demand.table == table).count();
        let of_table = &all[at..at + len];
        let missed: Vec<_> = of_table.iter().filter(|demand| !demand.met).collect();
        match missed.is_empty() {
            true => chosen.extend(of_table.iter().min_by(|a, b| room(a).total_cmp(&room(b)))),
            false => chosen.extend(missed),
        }
        at += len;
    }
    chosen
}

/// The distance, as a ratio, of the measured figure from the last number in the demand that could
/// be its bound.
fn room(demand: &Demand<'_>) -> f64 {
    let numbers = demand.what.split(|c: char| !c.is_ascii_digit() && c != '.');
    let bounds = numbers.filter_map(|number| number.trim_end_matches('.').parse::<f64>().ok());
    let measured: f64 = demand.measured.parse().unwrap_or(f64::NAN);
    let ratio = |bound: f64| (measured / bound).ln().abs();
    bounds.filter(|bound| *bound > 0.0).map(ratio).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_missed_is_shown_and_otherwise_the_closest() {
        let text = "# Measured on a day\n\nCPU: one\n\n## first: x\n\n| target | measured | met |\n|---|---|---|\n\
                    | at least 2x | 2.10 | yes |\n| at least 3x | 9.00 | yes |\n\n## second: y\n\n\
                    | figure | value |\n|---|---|\n| a | b |\n\n| target | measured | met |\n|---|---|---|\n\
                    | at least 2x | 1.90 | **no** |\n| at most 5 | 1.00 | yes |\n| at least 4x | 1.00 | **no** |\n";
        let wanted = "Measured on a day. CPU: one\n\nOf 5 demands 3 were met.\n\n| table | what is asked for | measured | met |\n|---|---|---|---|\n\
                      | `first` | at least 2x | 2.10 | yes |\n| `second` | at least 2x | 1.90 | **no** |\n\
                      | `second` | at least 4x | 1.00 | **no** |\n";
        assert_eq!(short(text), wanted);
    }
}
