//! How the figures of a type are written into its line.

use super::peers::{ANAMNESIS, GGML, GGUF_PY};
use super::targets::{class, over_limit, peer_over_ours};
use super::{LIMIT_16, LIMIT_32, Measured, OURS, find};

/// How to read them.
pub const LEGEND: &str = "Times are in ms, median with the best in brackets; `x` is times the limit \
     (bold over its target), a peer's is times ours in the same contest, each by median with the \
     best in brackets. The limit reads the same bytes and writes the same number of bytes with \
     ordinary stores. `in cache` decodes 6 rows again and again, in ns per element by median; `baseline` is ours without instructions \
     beyond x86-64's baseline. \
     anamnesis decodes to bf16; warm is with malloc keeping its pages. ggml's C and gguf-py \
     decode to f32.";

/// The columns.
pub fn head() -> Vec<String> {
    let mut head = ["type", LIMIT_32, "f32", "x", LIMIT_16, "bf16", "x", "f16", "x"]
        .map(str::to_owned)
        .to_vec();
    head.push("in cache: f32, bf16, f16".into());
    head.push("baseline: f32, bf16, f16".into());
    head.extend(ANAMNESIS.into_iter().chain([GGML, GGUF_PY]).map(str::to_owned));
    head
}

/// The line of one type.
pub fn line(one: &Measured) -> Vec<String> {
    let mut cells = vec![one.block.name.to_owned()];
    if one.own.is_empty() {
        cells.push("not decoded yet".into());
        cells.resize(head().len(), String::new());
        return cells;
    }
    let time = |name: &str| {
        find(&one.own, name)
            .map_or("-".into(), |row| format!("{:.1} ({:.1})", row.median * 1e3, row.best * 1e3))
    };
    let factors = class(one.block.name).map(|class| class.factors);
    for (index, pair) in OURS.into_iter().enumerate() {
        if index < 2 {
            cells.push(time(pair.1));
        }
        cells.push(time(pair.0));
        let bound = factors.map_or(f64::INFINITY, |factors| factors[index]);
        cells.push(over_limit(one, pair).map_or("-".into(), |(median, best)| {
            let mark = if median > bound { "**" } else { "" };
            format!("{mark}{median:.2}{mark} ({best:.2})")
        }));
    }
    let tile: Vec<_> = one.tile.iter().map(|row| format!("{:.3}", row.median * 1e9)).collect();
    cells.push(tile.join(", "));
    let baseline: Vec<_> =
        one.baseline.iter().map(|row| format!("{:.1}", row.median * 1e3)).collect();
    cells.push(baseline.join(", "));
    for peer in ANAMNESIS.into_iter().chain([GGML, GGUF_PY]) {
        let cell = find(&one.peers, peer).zip(peer_over_ours(one, peer));
        cells.push(cell.map_or("-".into(), |(row, (median, best))| {
            format!("{:.1}, {median:.1}x ({best:.1}x)", row.median * 1e3)
        }));
    }
    cells
}
