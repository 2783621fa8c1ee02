//! The targets, judged by median.

use super::Measured;
use super::peers::{GGML, GGUF_PY};
use crate::anamnesis::ANAMNESIS;
use crate::decoding::{OURS, find, over_limit};
use crate::table::Table;
use crate::verdict::{self, Ratios, at_least, at_most};

/// How close to the limit a type must come.
pub struct Class {
    /// What it is called.
    name: &'static str,
    /// The types.
    types: &'static [&'static str],
    /// Times the limit at f32, bf16 and f16.
    pub factors: [f64; 3],
}

/// The types that have a target, by what their decoding takes.
const CLASSES: &[Class] = &[
    Class {
        name: "group 1",
        types: &[
            "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K", "TQ1_0", "TQ2_0",
            "MXFP4", "NVFP4", "IQ4_NL", "IQ4_XS",
        ],
        factors: [1.3, 1.5, 1.3],
    },
    Class {
        name: "group 2",
        types: &["Q2_K", "Q3_K", "Q1_0", "Q2_0", "IQ1_S", "IQ1_M"],
        factors: [1.8, 1.8, 1.8],
    },
    Class {
        name: "group 3",
        types: &["IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S"],
        factors: [2.2, 2.2, 2.2],
    },
];

/// The class of a type, if it is in one.
pub fn class(name: &str) -> Option<&'static Class> {
    CLASSES.iter().find(|class| class.types.contains(&name))
}

/// A peer as a multiple of ours, by median and by best.
pub fn peer_over_ours(one: &Measured, peer: &str) -> Option<(f64, f64)> {
    let ours = if ANAMNESIS.contains(&peer) { "bf16" } else { "f32" };
    let (ours, peer) = (find(&one.peers, ours)?, find(&one.peers, peer)?);
    Some((peer.median / ours.median, peer.best / ours.best))
}

/// Says of each target whether it was met.
pub fn judge(table: &mut Table, all: &[Measured]) {
    for class in CLASSES {
        table.notes.push(format!("{}: {}", class.name, class.types.join(" ")));
        for (output, factor) in OURS.into_iter().zip(class.factors) {
            let of_class = all.iter().filter(|one| class.types.contains(&one.block.name));
            let ratios = ratios(of_class, |one| over_limit(&one.own, output));
            let (count, of) = (ratios.len(), class.types.len());
            let part = if count < of { format!(" ({count} of {of} types)") } else { "".into() };
            let what = format!("{}{part} at {}: at most {factor}x the limit", class.name, output.0);
            at_most(table, what, &ratios, factor);
        }
    }
    let best = |one: &Measured| {
        let four = ANAMNESIS.iter().filter_map(|peer| peer_over_ours(one, peer));
        four.map(|(median, _)| (1.0 / median, 0.0)).max_by(|a, b| a.0.total_cmp(&b.0))
    };
    at_most(table, "no type over 1.05x of anamnesis' best".into(), &ratios(all, best), 1.05);
    for peer in &ANAMNESIS[..2] {
        let grids = all
            .iter()
            .filter(|one| one.block.name.starts_with("IQ2") || one.block.name.starts_with("IQ3"));
        let what = format!("{peer}, on IQ2 and IQ3: at least 10x ours");
        at_least(table, what, &ratios(grids, |one| peer_over_ours(one, peer)), 10.0);
        mean(table, peer, &ratios(all, |one| peer_over_ours(one, peer)), 3.0);
    }
    let ggml = ratios(all, |one| peer_over_ours(one, GGML));
    mean(table, GGML, &ggml, 1.5);
    let inverse: Vec<_> = ggml.iter().map(|&(name, ratio)| (name, 1.0 / ratio)).collect();
    at_most(table, format!("no type over 1.05x of {GGML}"), &inverse, 1.05);
    let python = ratios(all, |one| peer_over_ours(one, GGUF_PY));
    at_least(table, format!("{GGUF_PY}: at least 20x ours"), &python, 20.0);
}

fn ratios<'a>(
    all: impl IntoIterator<Item = &'a Measured>,
    ratio: impl Fn(&Measured) -> Option<(f64, f64)>,
) -> Ratios {
    all.into_iter().filter_map(|one| Some((one.block.name, ratio(one)?.0))).collect()
}

fn mean(table: &mut Table, peer: &str, ratios: &Ratios, factor: f64) {
    let types = ratios.len();
    let what = format!("{peer}: at least {factor}x ours in the geometric mean of {types} types");
    verdict::mean(table, what, ratios, factor);
}
