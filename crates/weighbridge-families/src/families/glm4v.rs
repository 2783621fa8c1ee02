//! The language models of GLM 4.1V and GLM-OCR.

use super::family::*;
use super::glm4::{GLM4, NORMS};

pub(super) const GLM4V: Family = Family {
    classes: &["Glm4vForConditionalGeneration"],
    types: &["glm4v_text", "glm4v"],
    prefix: "model.language_model.",
    rows: &[ROWS, TRUNK, FUSED_MLP, NORMS],
    gguf: &[GGUF, GGUF_ROWS],
    has_sections: true,
    rules: &[RULES, TOKENS, ROPE],
    defaults: Some(Defaults {
        sizes: [151552, 4096, 13696, 40, 32, 32768],
        key_heads: KeyHeads::Of(2),
        epsilon: ("rms_norm_eps", 1e-5),
        ..DEFAULTS
    }),
    back: None,
    mlx: false,
    ..GLM4
};

const RULES: &[Rule] = &[SILU, free(&["attention_bias", "rope_scaling.mrope_section"])];

/// Tokens around pictures, which matter to who writes the prompt.
pub(super) const TOKENS: &[Rule] = &[
    free(&["image_start_token_id", "image_end_token_id"]),
    free(&["video_start_token_id", "video_end_token_id"]),
];

pub(super) const ROWS: &[Row] = &[
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], How::Own(Lay(halves))),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], How::Own(Lay(halves))),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
];

/// The same rows in a file.
const GGUF_ROWS: &[Row] = &[
    ("blk.#.attn_q", &["blk.#.attn_q"], How::Own(Lay(apart))),
    ("blk.#.attn_k", &["blk.#.attn_k"], How::Own(Lay(apart))),
];

/// Rotary pairs lie side by side; with sections, files have them half of the rotated part apart.
fn halves(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    by_heads(settings, shape, |start, head_rows| Rows::Heads {
        start,
        heads: 1,
        head_rows,
        to_halves: true,
    })
}

/// The parts of a file's heads.
fn apart(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    by_heads(settings, shape, |start, _| Rows::From(start))
}

/// The rotated part of each head, in an order, and the rest of it.
fn by_heads(
    settings: &Settings,
    shape: &[u64],
    order: impl Fn(u64, u64) -> Rows,
) -> Option<Vec<Laid>> {
    let (rows, columns) = match *shape {
        [rows] => (rows, 1),
        [rows, columns] => (rows, columns),
        _ => return None,
    };
    let width = settings.head_width().filter(|width| *width > 0 && rows.is_multiple_of(*width))?;
    if !settings.has_sections() {
        return Some(Laid::whole(View::whole(shape), ""));
    }
    let rotated = rotated_width(settings)?.as_u64().filter(|rotated| *rotated <= width)?;
    let of = |start: u64| {
        let rest = Rows::From(start + rotated);
        [(order(start, rotated), rotated), (rest, width - rotated)]
    };
    let parts = (0..rows / width).flat_map(|head| of(head * width)).filter(|(_, rows)| *rows > 0);
    let laid = |(number, (rows, count))| Laid {
        tensor: 0,
        place: Place::Joined(number),
        view: View { rows, ..View::whole(&[count, columns]) },
        words: "halves of rotary pairs apart".to_owned(),
    };
    Some((0..).zip(parts).map(laid).collect())
}
