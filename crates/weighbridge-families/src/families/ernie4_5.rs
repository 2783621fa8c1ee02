//! ERNIE 4.5.

use super::family::*;

pub(super) const ERNIE4_5: Family = Family {
    architecture: "ernie4_5",
    classes: &["Ernie4_5ForCausalLM"],
    types: &["ernie4_5"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, FUSED],
    tied: true,
    rules: &[RULES, ROPE],
    defaults: Some(Defaults {
        sizes: [103424, 1024, 3072, 18, 16, 131072],
        key_heads: KeyHeads::Of(2),
        head: Head::OfOrShare(128),
        epsilon: ("rms_norm_eps", 1e-5),
        theta: 500000.0,
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesAsStated,
    back: Some(Back { flags: BIAS, ..BACK }),
    ..DECODER
};

pub(super) const RULES: &[Rule] = &[SILU, NO_BIAS];

pub(super) const NO_BIAS: Rule = fails(
    &["use_bias"],
    |case, _| !case.has(".attn_q.bias") && !case.has(".ffn_up.bias"),
    "it has no biases in this family",
);

pub(super) const BIAS: Flags = &[("use_bias", &[Q, K, V, O, GATE, UP, DOWN])];

/// As checkpoints of Paddle have them.
const FUSED: &[Row] = &[
    ("layers.#.self_attn.qkv_proj", QKV, Own(Lay(apart))),
    ("layers.#.mlp.up_gate_proj", &["blk.#.ffn_gate", "blk.#.ffn_up"], Plain),
];

/// Queries, keys and values one after the other. The file has them apart.
fn apart(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, columns] = shape else { return None };
    let count = |key: &str| settings.count(key)?.checked_mul(settings.head_width()?);
    let (queries, keys) = (count("num_attention_heads")?, count("num_key_value_heads")?);
    let sizes = [queries, keys, keys];
    (queries.checked_add(keys.checked_mul(2)?)? == rows).then_some(())?;
    let starts = [0, queries, queries + keys];
    let part = |tensor: usize| Laid {
        tensor,
        place: Place::Whole,
        view: View::part(&[sizes[tensor], columns], starts[tensor]),
        words: format!("rows {}..{} of {rows}", starts[tensor], starts[tensor] + sizes[tensor]),
    };
    (keys > 0 && queries > 0).then(|| (0..3).map(part).collect())
}
