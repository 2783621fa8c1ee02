//! ruGPT-3 XL, which GGUF calls by the name of GPT-2.

use super::family::*;

pub(super) const RUGPT3XL: Family = Family {
    architecture: "gpt2",
    shown: Some("rugpt3xl"),
    classes: &["RuGPT3XLForCausalLM"],
    types: &["rugpt3xl"],
    rows: &[ROWS, TWO_NORMS],
    gguf: &[GGUF, GGUF_PARTS],
    rules: &[RULES],
    scalings: &[],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    GELU,
    // Half of the layers of the published model see blocks of the text only.
    differs(
        &["sparse_mode", "sparse_*"],
        |_, mode| mode.is_null() || mode == "none",
        "lets every layer see the whole text",
    ),
    free(&["embd_dropout", "output_dropout"]),
];

const FUSED: &[&str] = &["blk.#.attn_qkv"];

const ROWS: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("embed_positions", &["position_embd"], Positions),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
    ("layers.#.self_attn.q_proj", FUSED, Own(Lay(|_, shape| Some(part_of_fused(0, shape))))),
    ("layers.#.self_attn.k_proj", FUSED, Own(Lay(|_, shape| Some(part_of_fused(1, shape))))),
    ("layers.#.self_attn.v_proj", FUSED, Own(Lay(|_, shape| Some(part_of_fused(2, shape))))),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.mlp.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
];

const GGUF_PARTS: &[Row] = &[("blk.#.attn_qkv", FUSED, Own(Lay(|_, shape| parts_of_fused(shape))))];

/// The three parts of the tensor of a file.
fn parts_of_fused(shape: &[u64]) -> Option<Vec<Laid>> {
    let (&all, inner) = shape.split_first()?;
    let each = Some(all / 3).filter(|each| each * 3 == all)?;
    let part = |number| {
        let view = match *inner {
            [columns] => View::part(&[each, columns], number * each),
            _ => View::part(&[each], number),
        };
        Laid { tensor: 0, place: Place::Joined(number), view, words: String::new() }
    };
    Some((0..3).map(part).collect())
}

/// Queries, keys and values are one tensor there.
fn part_of_fused(number: u64, shape: &[u64]) -> Vec<Laid> {
    let place = Place::Joined(number);
    vec![Laid { tensor: 0, place, view: View::whole(shape), words: format!("part {number} of 3") }]
}
