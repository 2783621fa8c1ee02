//! RWKV 6 in place of Qwen 2's attention.

use super::family::*;

pub(super) const RWKV6_QWEN2: Family = Family {
    architecture: "rwkv6qwen2",
    classes: &["RWKV6Qwen2ForCausalLM"],
    types: &["rwkv6qwen2"],
    rows: &[TRUNK, ROWS, MLP, TWO_NORMS],
    gguf: &[GGUF_STACKS, GGUF_ROWS],
    keys: &[KEYS],
    rules: &[WITHOUT_POSITIONS],
    scalings: &[],
    tokenizer: Tokenizer::PiecesOrPairs,
    mlx: false,
    ..DECODER
};

const ROWS: &[Row] = &[
    ("layers.#.self_attn.time_maa_x", &["blk.#.time_mix_lerp_x"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_maa_w", FUSED, Own(Lay(blend::<0>))),
    ("layers.#.self_attn.time_maa_k", FUSED, Own(Lay(blend::<1>))),
    ("layers.#.self_attn.time_maa_v", FUSED, Own(Lay(blend::<2>))),
    ("layers.#.self_attn.time_maa_r", FUSED, Own(Lay(blend::<3>))),
    ("layers.#.self_attn.time_maa_g", FUSED, Own(Lay(blend::<4>))),
    ("layers.#.self_attn.time_maa_w1", &["blk.#.time_mix_w1"], Own(Lay(columns_in_order))),
    ("layers.#.self_attn.time_maa_w2", &["blk.#.time_mix_w2"], Own(Lay(stack_in_order))),
    ("layers.#.self_attn.time_decay", &["blk.#.time_mix_decay"], Own(Lay(squeezed))),
    ("layers.#.self_attn.time_decay_w1", &["blk.#.time_mix_decay_w1"], Transposed),
    ("layers.#.self_attn.time_decay_w2", &["blk.#.time_mix_decay_w2"], Transposed),
    ("layers.#.self_attn.q_proj", &["blk.#.time_mix_receptance"], Plain),
    ("layers.#.self_attn.k_proj", &["blk.#.time_mix_key"], Plain),
    ("layers.#.self_attn.v_proj", &["blk.#.time_mix_value"], Plain),
    ("layers.#.self_attn.gate", &["blk.#.time_mix_gate"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.time_mix_output"], Plain),
];

const KEYS: &[KeyRow] = &[
    UNLIMITED,
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("wkv.head_size", Count, MadeOf("num_attention_heads", |all| all.head_share().map(Json::from))),
    (
        "time_mix_extra_dim",
        Count,
        MadeOf("hidden_size", |all| extra(all, "lora_rank_tokenshift", 32)),
    ),
    ("time_decay_extra_dim", Count, MadeOf("hidden_size", |all| extra(all, "lora_rank_decay", 64))),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    FILE_TYPE,
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    ("token_shift_count", Count, Made(|_| Some(1.into()))),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads"])),
    NO_HEADS,
];

/// A size: what the config says, or what models of a width have; twice as much in wide ones.
fn extra(settings: &Settings, key: &str, narrow: u64) -> Option<Json> {
    let wide = settings.count("hidden_size")? >= 4096;
    let unsaid = || if wide { narrow * 2 } else { narrow };
    Some(settings.find(&[key]).cloned().unwrap_or_else(|| unsaid().into()))
}

/// Where the parts come from: GGUF has those of RWKV 6, in whose order they are w, k, v, r and g.
const ORDER: &[u64] = &[3, 1, 2, 0, 4];

fn stack_in_order(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    in_order(shape, Some(ORDER))
}

/// Columns of five parts, each a row of the tensor.
fn columns_in_order(_: &Settings, shape: &[u64]) -> Option<Vec<Laid>> {
    let &[rows, columns] = shape else { return None };
    let each = columns / 5;
    let laid = |number: u64| {
        let part = usize::try_from(number / each).ok()?;
        let from = ORDER.get(part)? * each + number % each;
        let view = View::across(Matrix { first: 0, columns }, [1, rows], Rows::From(from));
        let words = format!("column {from} of {columns}");
        Some(Laid { tensor: 0, place: Place::Joined(number), view, words })
    };
    let fits = each > 0 && each * 5 == columns && columns <= MOST_COLUMNS;
    fits.then(|| (0..columns).map(laid).collect())?
}

/// More columns than any model has there.
const MOST_COLUMNS: u64 = 1 << 12;

const GGUF_ROWS: &[Row] = &[("blk.#.time_mix_w1", &["blk.#.time_mix_w1"], Heads)];
