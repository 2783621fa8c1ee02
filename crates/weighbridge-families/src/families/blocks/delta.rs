//! Kimi's delta attention: its rows, and the shapes that GGUF has its weights in.

use super::rows::How::{Own, Plain};
use super::rows::{How, Laid, Lay, Row};
use crate::change::Change;
use crate::families::settings::Settings;
use crate::view::View;

pub(crate) const DELTA_ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_conv1d", &["blk.#.ssm_conv1d_q"], CHANNELS),
    ("layers.#.self_attn.k_conv1d", &["blk.#.ssm_conv1d_k"], CHANNELS),
    ("layers.#.self_attn.v_conv1d", &["blk.#.ssm_conv1d_v"], CHANNELS),
    ("layers.#.self_attn.A_log", &["blk.#.ssm_a"], Own(Lay(rates))),
    ("layers.#.self_attn.dt_bias", &["blk.#.ssm_dt.bias"], Plain),
    ("layers.#.self_attn.f_a_proj", &["blk.#.ssm_f_a"], Plain),
    ("layers.#.self_attn.f_b_proj", &["blk.#.ssm_f_b"], Plain),
    ("layers.#.self_attn.b_proj", &["blk.#.ssm_beta"], Plain),
    ("layers.#.self_attn.g_a_proj", &["blk.#.ssm_g_a"], Plain),
    ("layers.#.self_attn.g_b_proj", &["blk.#.ssm_g_b"], Plain),
    ("layers.#.self_attn.o_norm", &["blk.#.ssm_norm"], Plain),
];

/// A convolution over one channel each, which GGUF has with four dimensions.
pub(crate) const CHANNELS: How = Own(Lay(channels));

fn channels(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let (&[channels, kernel] | &[channels, 1, kernel]) = shape else { return None };
    Some(Laid::whole(View::whole(&[1, channels, 1, kernel]), "four dimensions"))
}

/// Decay rates, stored as logarithms; GGUF has the negated rates in the same shape.
fn rates(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    Some(Laid::whole(View { change: Change::MinusExp, ..View::whole(shape) }, "-exp"))
}
