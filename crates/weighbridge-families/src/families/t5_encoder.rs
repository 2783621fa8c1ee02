//! The encoder of T5 alone, which image models read texts with.

use super::family::*;
use super::t5::{ENCODER_ROWS, ENCODER_RULES, KEYS, T5, TRUNK};

pub(super) const T5_ENCODER: Family = Family {
    architecture: "t5encoder",
    classes: &["T5EncoderModel"],
    types: &["t5"],
    rows: &[TRUNK, ENCODER_ROWS],
    keys: &[KEYS, &[FILE_TYPE]],
    refuse: |_, _| Ok(()),
    rules: &[ENCODER_RULES],
    back: Some(Back {
        // Positions are relative, and the first layer has the numbers for all.
        lacks: |name, layer| layer > 0 && name == "blk.#.attn_rel_b.weight",
        second: &[("enc.blk.#.ffn_up", GATE_WEIGHT)],
        flags: &[("", &["enc.blk.#.attn_rel_b.weight"])],
        made: &[("context_length", "n_positions")],
        fixed: &[
            ("feed_forward_proj", |told, _| Some(projection(told).into())),
            ("is_gated_act", |told, _| Some(is_gated(told).into())),
            ("dense_act_fn", |told, _| {
                Some(if is_gated(told) { "gelu_new" } else { "relu" }.into())
            }),
            ("is_encoder_decoder", |_, _| Some(false.into())),
        ],
        untold: &[("relative_attention_max_distance", "128"), ("is_decoder", "false")],
        activation: ("feed_forward_proj", "relu"),
        ..BACK
    }),
    ..T5
};

const GATE_WEIGHT: &str = "enc.blk.#.ffn_gate.weight";

/// What llama.cpp computes with a gate, and without one.
fn projection(told: &Told<'_>) -> &'static str {
    if is_gated(told) { "gated-gelu" } else { "relu" }
}

fn is_gated(told: &Told<'_>) -> bool {
    told.has("enc.blk.0.ffn_gate.weight")
}
