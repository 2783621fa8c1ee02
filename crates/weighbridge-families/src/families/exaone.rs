//! EXAONE 3 and 3.5.

use super::family::*;

pub(super) const EXAONE: Family = Family {
    architecture: "exaone",
    classes: &["ExaoneForCausalLM"],
    types: &["exaone"],
    prefix: "transformer.",
    rows: &[ROWS],
    keys: &[BASE, KEYS],
    computed: llama3_factors,
    rules: &[RULES, ROPE],
    scalings: &["linear", "yarn", "llama3"],
    ..DECODER
};

const RULES: &[Rule] =
    &[differs(&["activation_function"], silu, "uses silu"), NO_ATTENTION_BIAS, NO_MLP_BIAS];

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("h.#.ln_1", &["blk.#.attn_norm"], Norm),
    ("h.#.attn.attention.q_proj", &["blk.#.attn_q"], Query),
    ("h.#.attn.attention.k_proj", &["blk.#.attn_k"], Key),
    ("h.#.attn.attention.v_proj", &["blk.#.attn_v"], Plain),
    ("h.#.attn.attention.out_proj", &["blk.#.attn_output"], Plain),
    ("h.#.ln_2", &["blk.#.ffn_norm"], Norm),
    ("h.#.mlp.c_fc_0", &["blk.#.ffn_gate"], Plain),
    ("h.#.mlp.c_fc_1", &["blk.#.ffn_up"], Plain),
    ("h.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
    ("ln_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    ("rope.dimension_count", Count, Made(rotated_hidden)),
    // The converter leaves it out, and such a file does not load.
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["layer_norm_epsilon", "rms_norm_eps"])),
];
