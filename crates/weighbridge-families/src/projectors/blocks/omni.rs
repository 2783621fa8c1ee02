//! What Qwen's models of both images and sound have in common.

use crate::error::Result;
use crate::projectors::facts::{Facts, needed, odd};
use crate::projectors::projector::{Computed, Forced};

/// How names begin in these models.
pub(crate) const OMNI_STARTS: &[(&str, &str)] = &[
    ("visual.", "visual."),
    ("model.visual.", "visual."),
    ("thinker.visual.", "visual."),
    ("audio_tower.", "audio."),
    ("thinker.audio_tower.", "audio."),
];

/// Convolutions, which are of F16 in any file.
pub(crate) const OMNI_FORCED: &[(&str, Forced)] = &[
    ("a.conv1d.#.weight", Forced::Half),
    ("a.conv2d.#.weight", Forced::Half),
    ("a.conv_out.weight", Forced::Half),
];

/// How many positions sound has.
const POSITIONS: u16 = 1500;

/// Sines and cosines of positions, which are no weights. Each is rounded once; the converter has them from a library
/// that rounds some in another way, which differs from machine to machine.
#[allow(clippy::cast_possible_truncation)] // Rounding is the point.
pub(crate) fn sinusoids(facts: &Facts<'_>) -> Result<Vec<Computed>> {
    let width = needed(&facts.audio, "hidden_size")?;
    let half = u16::try_from(width / 2).ok().filter(|half| *half > 1);
    let half = half.ok_or_else(|| odd("d_model", facts.audio.get("hidden_size")))?;
    let step = -((10000.0_f64.ln() / f64::from(half - 1)) as f32);
    let frequency = |at: u16| f64::from(step * f32::from(at)).exp() as f32;
    let frequencies: Vec<f32> = (0..half).map(frequency).collect();
    let mut numbers = Vec::with_capacity(usize::from(POSITIONS) * usize::from(half) * 2);
    for position in 0..POSITIONS {
        let angles = || frequencies.iter().map(|own| f64::from(f32::from(position) * own));
        numbers.extend(angles().map(|angle| angle.sin() as f32));
        numbers.extend(angles().map(|angle| angle.cos() as f32));
    }
    let shape = vec![u64::from(POSITIONS), u64::from(half) * 2];
    Ok(vec![Computed { name: "a.position_embd.weight", shape, numbers }])
}
