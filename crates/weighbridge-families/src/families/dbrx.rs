//! DBRX.

use super::family::*;

pub(super) const DBRX: Family = Family {
    architecture: "dbrx",
    classes: &["DbrxForCausalLM"],
    types: &["dbrx"],
    prefix: "transformer.",
    rows: &[ROWS],
    gguf: &[GGUF],
    keeps: &[".ffn_gate_inp.weight"],
    keys: &[KEYS],
    rules: &[RULES, ROPE],
    scalings: &[],
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    NEEDS_HEAD,
    differs(&["ffn_config"], |case, _| is_usual(case), "uses silu, and weights that sum to one"),
    free(&["attn_config", "emb_pdrop", "n_heads", "d_model", "n_layers"]),
];

/// Whether experts are what llama.cpp makes of them.
fn is_usual(case: &Case<'_>) -> bool {
    let of = case.value("ffn_config");
    let function = of["ffn_act_fn"]["name"].as_str().unwrap_or("silu");
    function == "silu" && is_number(&of["moe_normalize_expert_weights"], 1.0)
}

const ROWS: &[Row] = &[
    ("wte", &["token_embd"], Embedding),
    ("blocks.#.norm_attn_norm.norm_1", &["blk.#.attn_norm"], Norm),
    ("blocks.#.norm_attn_norm.attn.Wqkv", &["blk.#.attn_qkv"], Plain),
    ("blocks.#.norm_attn_norm.attn.out_proj", &["blk.#.attn_output"], Plain),
    ("blocks.#.norm_attn_norm.norm_2", &["blk.#.attn_output_norm"], Norm),
    ("blocks.#.ffn.router.layer", &["blk.#.ffn_gate_inp"], Plain),
    ("blocks.#.ffn.experts.mlp.w1", &["blk.#.ffn_gate_exps"], Own(Lay(stacked))),
    ("blocks.#.ffn.experts.mlp.v1", &["blk.#.ffn_up_exps"], Own(Lay(stacked))),
    ("blocks.#.ffn.experts.mlp.w2", &["blk.#.ffn_down_exps"], Own(Lay(turned))),
    ("norm_f", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

const KEYS: &[KeyRow] = &[
    ("block_count", Count, Needed(&["n_layers"])),
    ("context_length", Count, Needed(&["max_seq_len"])),
    ("embedding_length", Count, Needed(&["d_model"])),
    ("feed_forward_length", Count, MadeOf("ffn_config", |s| inside(s, "ffn_hidden_size"))),
    ("attention.head_count", Count, Needed(&["n_heads"])),
    ("attention.head_count_kv", Count, MadeOf("attn_config", |s| attention(s, "kv_n_heads"))),
    ("rope.freq_base", Number, MadeOf("attn_config", |s| attention(s, "rope_theta"))),
    ("attention.clamp_kqv", Number, MadeOf("attn_config", |s| attention(s, "clip_qkv"))),
    ("expert_count", Count, MadeOf("ffn_config", |s| inside(s, "moe_num_experts"))),
    ("expert_used_count", Count, MadeOf("ffn_config", |s| inside(s, "moe_top_k"))),
    ("attention.layer_norm_epsilon", Number, Made(|_| Some(1e-5.into()))),
    FILE_TYPE,
];

fn attention(settings: &Settings, key: &str) -> Option<Json> {
    Some(settings.find(&["attn_config"])?[key].clone())
}

fn inside(settings: &Settings, key: &str) -> Option<Json> {
    Some(settings.find(&["ffn_config"])?[key].clone())
}

/// Experts, and the rows and columns of each, as the config has them.
fn sizes(settings: &Settings, shape: &[u64]) -> Option<[u64; 3]> {
    let count = |key: &str| inside(settings, key)?.as_u64().filter(|count| *count > 0);
    let (experts, rows) = (count("moe_num_experts")?, count("ffn_hidden_size")?);
    let &[all, columns] = shape else { return None };
    (experts.checked_mul(rows)? == all && experts <= 1 << 16).then_some([experts, rows, columns])
}

/// The rows of each expert.
fn stacked(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let [experts, rows, columns] = sizes(settings, shape)?;
    let part = |number: u64| View::part(&[rows, columns], number * rows);
    Some((0..experts).map(|number| expert([number, experts], part(number), "")).collect())
}

/// The same, transposed.
fn turned(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let [experts, rows, columns] = sizes(settings, shape)?;
    let part = |number: u64| {
        let matrix = Matrix { first: number * rows, columns };
        View::across(matrix, [columns, rows], Rows::From(0))
    };
    let one = |number: u64| expert([number, experts], part(number), ", transpose");
    Some((0..experts).map(one).collect())
}

fn expert([number, experts]: [u64; 2], view: View, more: &str) -> Laid {
    let words = format!("expert {number} of {experts}{more}");
    Laid { tensor: 0, place: Place::Stacked(number), view, words }
}
