//! The cost of a change of storage: bits and noise by kind of storage.

use std::io::{self, Write};

use weighbridge::ops::{DiffReport, DiffTensor, Status};

use super::render::kind;
use crate::render::units::plural;

/// Weights that changed from one kind of storage to another.
struct Group {
    kinds: [String; 2],
    weights: u64,
    elements: f64,
    bits: [f64; 2],
    signal: f64,
    noise: f64,
    lowest: f64,
}

/// Writes a line for each lossy change of storage, most noise first.
pub(super) fn write(out: &mut dyn Write, report: &DiffReport) -> io::Result<()> {
    let mut groups: Vec<Group> = Vec::new();
    // Changed values are not a cost of storage.
    for tensor in report.tensors.iter().filter(|tensor| tensor.status != Status::Changed) {
        add(&mut groups, tensor);
    }
    groups.sort_by(|a, b| a.snr().total_cmp(&b.snr()));
    for group in groups {
        let [a, b] = &group.kinds;
        let [bits_a, bits_b] = group.bits.map(|bits| format!("{:.2}", bits / group.elements));
        writeln!(
            out,
            "  cost: {a} to {b}, {bits_a} to {bits_b} bits per weight: SNR {:.1} dB over {}, lowest {:.1} dB",
            group.snr(),
            plural(group.weights, "weight"),
            group.lowest,
        )?;
    }
    Ok(())
}

impl Group {
    fn snr(&self) -> f64 {
        10.0 * (self.signal / self.noise).log10()
    }
}

/// Adds a weight whose sides differ in storage and in values.
#[allow(clippy::cast_precision_loss)] // Sizes for people.
fn add(groups: &mut Vec<Group>, tensor: &DiffTensor) {
    let kinds =
        [kind(tensor.scheme_a, &tensor.variant_a), kind(tensor.scheme_b, &tensor.variant_b)];
    let figures = tensor.rmse.zip(tensor.relative).zip(tensor.snr_db);
    let Some(((rmse, relative), snr)) = figures.filter(|_| kinds[0] != kinds[1]) else { return };
    let elements = tensor.elements as f64;
    let noise = rmse * rmse * elements;
    let position = groups.iter().position(|group| group.kinds == kinds);
    let index = position.unwrap_or_else(|| {
        let (bits, lowest) = ([0.0; 2], f64::INFINITY);
        groups.push(Group {
            kinds,
            weights: 0,
            elements: 0.0,
            bits,
            signal: 0.0,
            noise: 0.0,
            lowest,
        });
        groups.len() - 1
    });
    let group = &mut groups[index];
    group.weights += 1;
    group.elements += elements;
    for (sum, bits) in group.bits.iter_mut().zip([tensor.bits_a, tensor.bits_b]) {
        *sum += bits.unwrap_or(0.0) * elements;
    }
    group.noise += noise;
    group.signal += noise / (relative * relative);
    group.lowest = group.lowest.min(snr);
}
