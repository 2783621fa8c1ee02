//! Nomic's encoders with experts in some layers.

use super::family::*;
use super::nomic_bert::{CONTEXT_KEYS, NOMIC_BERT, RULES, check_all};

pub(super) const NOMIC_BERT_MOE: Family = Family {
    architecture: "nomic-bert-moe",
    unlike: &[],
    fits: has_experts,
    rows: &[ROWS],
    left_out: &[("encoder.layers.#.mlp.experts.bias", "bias of experts, not used by llama.cpp")],
    keys: &[BASE, CONTEXT_KEYS, ENCODER, KEYS],
    refuse: |settings, _| check_all(settings, "gelu", true),
    rules: &[RULES, MORE],
    tokenizer: Tokenizer::Encoder(EncoderTokens::WordPiecesOrMasked),
    ..NOMIC_BERT
};

/// Whether some layers have experts.
pub(super) fn has_experts(config: &Json) -> bool {
    config["moe_every_n_layers"].as_u64().is_some_and(|every| every > 0)
}

const KEYS: &[KeyRow] = &[
    ("moe_every_n_layers", Count, Needed(&["moe_every_n_layers"])),
    ("expert_used_count", Count, Needed(&["moe_top_k"])),
];

const MORE: &[Rule] = &[
    differs(&["moe_normalize_expert_weights"], off, "does not normalize the weights of experts"),
    differs(&["expert_choice_router"], off, "has tokens choose experts"),
    differs(&["num_shared_experts"], off, "has no experts that see every token"),
    free(&["moe_impl", "moe_resid_pdrop", "ffn_div"]),
];

const ROWS: &[Row] = &[
    ("embeddings.word_embeddings", &["token_embd"], Embedding),
    ("embeddings.token_type_embeddings", &["token_types"], Plain),
    ("emb_ln", &["token_embd_norm"], Norm),
    ("encoder.layers.#.attn.Wqkv", QKV, Qkv),
    ("encoder.layers.#.attn.out_proj", &["blk.#.attn_output"], Plain),
    ("encoder.layers.#.norm1", &["blk.#.attn_output_norm"], Norm),
    ("encoder.layers.#.mlp.fc1", &["blk.#.ffn_up"], Plain),
    ("encoder.layers.#.mlp.fc2", &["blk.#.ffn_down"], Plain),
    ("encoder.layers.#.mlp.router.layer", &["blk.#.ffn_gate_inp"], Plain),
    ("encoder.layers.#.mlp.experts.mlp.w1", &["blk.#.ffn_up_exps"], Own(Lay(stacked))),
    ("encoder.layers.#.mlp.experts.mlp.w2", &["blk.#.ffn_down_exps"], Own(Lay(transposed))),
    ("encoder.layers.#.norm2", &["blk.#.layer_output_norm"], Norm),
];

/// More experts than any model has.
const MOST_EXPERTS: u64 = 1 << 12;

/// The rows of one expert, and how many experts there are.
fn sizes(settings: &Settings, shape: &[u64]) -> Option<[u64; 3]> {
    let (&[rows, columns], count) = (shape, settings.count("num_experts")?) else { return None };
    let each = rows.checked_div(count)?;
    let fits = each > 0 && columns > 0 && count <= MOST_EXPERTS && each * count == rows;
    fits.then_some([count, each, columns])
}

/// The matrices of all experts, one after the other.
fn stacked(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let [count, each, columns] = sizes(settings, shape)?;
    let laid = |number: u64| {
        let view = View::part(&[each, columns], number * each);
        let words = format!("expert {number} of {count}");
        Laid { tensor: 0, place: Place::Stacked(number), view, words }
    };
    Some((0..count).map(laid).collect())
}

/// The same, each transposed.
fn transposed(settings: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let [count, each, columns] = sizes(settings, shape)?;
    let laid = |number: u64| {
        let matrix = Matrix { first: number * each, columns };
        let view = View::across(matrix, [columns, each], Rows::From(0));
        let words = format!("expert {number} of {count}, transpose");
        Laid { tensor: 0, place: Place::Stacked(number), view, words }
    };
    Some((0..count).map(laid).collect())
}
