//! How the figures of a type are written into its line.

use super::Measured;
use super::peers::{GGML, GGUF_PY};
use super::targets::{class, peer_over_ours};
use crate::anamnesis::ANAMNESIS;
use crate::candle::CANDLE;
use crate::decoding::{LIMIT_HEAD, find, limit_cells};

/// How to read them.
pub const LEGEND: &str = "Times are in ms, median with the best in brackets; `x` is times the limit \
     (bold over its target), a peer's is times ours in the same contest, each by median with the \
     best in brackets. The limit reads the same bytes and writes the same number of bytes with \
     ordinary stores. `in cache` decodes 6 rows again and again, in ns per element by median; `baseline` is ours without instructions \
     beyond x86-64's baseline. \
     anamnesis decodes to bf16; warm is with malloc keeping its pages. ggml's C, gguf-py and candle \
     decode to f32.";

/// The columns.
pub fn head() -> Vec<String> {
    let mut head = vec!["type".to_owned()];
    head.extend(LIMIT_HEAD.map(str::to_owned));
    head.push("in cache: f32, bf16, f16".into());
    head.push("baseline: f32, bf16, f16".into());
    head.extend(ANAMNESIS.into_iter().chain([GGML, GGUF_PY, CANDLE]).map(str::to_owned));
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
    cells.extend(limit_cells(&one.own, class(one.block.name).map(|class| class.factors)));
    let tile: Vec<_> = one.tile.iter().map(|row| format!("{:.3}", row.median * 1e9)).collect();
    cells.push(tile.join(", "));
    let baseline: Vec<_> =
        one.baseline.iter().map(|row| format!("{:.1}", row.median * 1e3)).collect();
    cells.push(baseline.join(", "));
    for peer in ANAMNESIS.into_iter().chain([GGML, GGUF_PY, CANDLE]) {
        let cell = find(&one.peers, peer).zip(peer_over_ours(one, peer));
        cells.push(cell.map_or("-".into(), |(row, (median, best))| {
            format!("{:.1}, {median:.1}x ({best:.1}x)", row.median * 1e3)
        }));
    }
    cells
}
