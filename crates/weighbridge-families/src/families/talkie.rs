//! Talkie, with gains in the place of norms' weights.

use super::family::*;

pub(super) const TALKIE: Family = Family {
    architecture: "talkie",
    classes: &["TalkieForCausalLM"],
    types: &["talkie"],
    rows: &[ROWS],
    gguf: &[TURNED],
    measured: &[("lm_head_gain.w_g", "lm_head_gain")],
    early: &[("logit_scale", Number, MadeOf("lm_head_gain", gain))],
    keys: &[BASE, KEYS],
    rules: &[RULES, ROPE],
    tokenizer: Tokenizer::BytePairs(&[]),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    NEEDS_HEAD,
    fails(
        &["head_dim"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "heads of this family are hidden_size / num_attention_heads wide",
    ),
];

const ROWS: &[Row] = &[
    ("embed", &["token_embd"], Embedding),
    ("/lm_head", &["output"], Embedding),
    ("blocks.#.attn.attn_query", &["blk.#.attn_q"], Own(Lay(turned))),
    ("blocks.#.attn.attn_key", &["blk.#.attn_k"], Own(Lay(turned))),
    ("blocks.#.attn.attn_value", &["blk.#.attn_v"], Plain),
    ("blocks.#.attn.attn_resid", &["blk.#.attn_output"], Plain),
    ("blocks.#.attn.head_gain.head_g", &["blk.#.attn_q_norm"], Own(Lay(column))),
    ("blocks.#.attn_gain.a_g", &["blk.#.attn_output.scale"], Plain),
    ("blocks.#.mlp.mlp_gate", &["blk.#.ffn_gate"], Plain),
    ("blocks.#.mlp.mlp_linear", &["blk.#.ffn_up"], Plain),
    ("blocks.#.mlp.mlp_resid", &["blk.#.ffn_down"], Plain),
    ("blocks.#.mlp_gain.a_g", &["blk.#.ffn_down.scale"], Plain),
    ("blocks.#.embed_skip.a_g", &["blk.#.layer_output_scale"], Plain),
];

/// The same in GGUF's tensors, as they are.
const TURNED: &[Row] = &[
    ("blk.#.attn_q", &["blk.#.attn_q"], Own(Lay(halves))),
    ("blk.#.attn_k", &["blk.#.attn_k"], Own(Lay(halves))),
];

const KEYS: &[KeyRow] =
    &[("attention.layer_norm_rms_epsilon", Number, Made(|_| Some(f32::EPSILON.into())))];

fn gain(settings: &Settings) -> Option<Json> {
    settings.find(&["lm_head_gain"])?.get(0).cloned()
}

/// The halves of all heads.
fn halves(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, columns] = shape else { return None };
    let width = settings.head_width().filter(|width| width.is_multiple_of(2))?;
    let half = Some(width / 2).filter(|half| *half > 0 && rows.is_multiple_of(width))?;
    let laid = |number: u64| Laid {
        tensor: 0,
        place: Place::Joined(number),
        view: View::part(&[half, columns], number * half),
        words: String::new(),
    };
    (rows / half <= 1 << 16).then(|| (0..rows / half).map(laid).collect())
}

/// The original rotates the other way, which is the same with the second half of each head negated.
fn turned(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let mut all = halves(settings, shape)?;
    for laid in all.iter_mut().skip(1).step_by(2) {
        laid.view.change = Change::Times(-1.0);
        laid.words = "negated".to_owned();
    }
    Some(all)
}

/// A number a head, as a column.
fn column(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[heads] = shape else { return None };
    Some(Laid::whole(View::whole(&[heads, 1]), "column"))
}
