//! Verdicts over many lines: the largest ratio, the least, the mean.

use crate::table::Table;

/// A figure of each line, by the line's name.
pub type Ratios = Vec<(&'static str, f64)>;

/// The geometric mean must reach the bound.
pub fn mean(table: &mut Table, what: String, ratios: &Ratios, bound: f64) {
    if !ratios.is_empty() {
        let sum: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
        table.reaches(what, (sum / ratios.len() as f64).exp(), bound);
    }
}

/// The largest ratio must not exceed the bound; lines that exceed it are named.
pub fn at_most(table: &mut Table, what: String, ratios: &Ratios, bound: f64) {
    if let Some(worst) = ratios.iter().map(|(_, ratio)| *ratio).max_by(f64::total_cmp) {
        let what = what + &missed(ratios, |ratio| ratio > bound);
        table.bounded(what, worst, bound);
    }
}

/// The least ratio must reach the bound; lines that do not reach it are named.
pub fn at_least(table: &mut Table, what: String, ratios: &Ratios, bound: f64) {
    if let Some(least) = ratios.iter().map(|(_, ratio)| *ratio).min_by(f64::total_cmp) {
        let what = what + &missed(ratios, |ratio| ratio < bound);
        table.reaches(what, least, bound);
    }
}

fn missed(ratios: &Ratios, misses: impl Fn(f64) -> bool) -> String {
    let names: Vec<String> = ratios
        .iter()
        .filter(|(_, ratio)| misses(*ratio))
        .map(|(name, ratio)| format!("{name} {ratio:.2}"))
        .collect();
    if names.is_empty() { String::new() } else { format!("; missed by {}", names.join(", ")) }
}
