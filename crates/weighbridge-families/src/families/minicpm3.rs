//! MiniCPM 3, with the attention of DeepSeek's whose keys and values stay one matrix.

use super::family::*;
use super::minicpm::FACTORS_BEHIND_CONTEXT;

pub(super) const MINICPM3: Family = Family {
    architecture: "minicpm3",
    classes: &["MiniCPM3ForCausalLM"],
    types: &["minicpm3"],
    rows: &[TRUNK, LATENT_TOGETHER, MLP, TWO_NORMS],
    gguf: &[],
    tied: true,
    keys: &[KEYS],
    computed: long_factors,
    rules: &[RULES, ROPE],
    scalings: &["longrope"],
    defaults: Some(Defaults {
        sizes: [73448, 2560, 6400, 62, 40, 32768],
        key_heads: KeyHeads::Of(40),
        head: Head::AlwaysAs("qk_rope_head_dim"),
        epsilon: ("rms_norm_eps", 1e-5),
        more: &[
            ("kv_lora_rank", 256.0),
            ("q_lora_rank", 768.0),
            ("qk_nope_head_dim", 64.0),
            ("qk_rope_head_dim", 32.0),
            ("scale_emb", 12.0),
            ("scale_depth", 1.4),
            ("dim_model_base", 256.0),
        ],
        ..DEFAULTS
    }),
    tokenizer: Tokenizer::PiecesWith(&[]),
    mlx: false,
    ..DECODER
};

const RULES: &[Rule] = &[
    SILU,
    FACTORS_BEHIND_CONTEXT,
    fails(&["attention_bias"], off, "it has no attention biases in this family"),
    fails(&["mlp_bias"], off, "it has no feed-forward biases in this family"),
    fails(&["q_lora_rank"], |_, rank| !rank.is_null(), "it makes queries of a shorter vector"),
    fails(
        &["v_head_dim"],
        |case, width| width.is_null() || width.as_u64() == case.settings.head_share(),
        "values of this family are hidden_size / num_attention_heads wide",
    ),
    differs(&["scale_emb"], |_, scale| is_number(scale, 12.0), "multiplies embeddings by 12"),
    differs(&["scale_depth"], |_, scale| is_number(scale, 1.4), "scales layers by 1.4"),
    differs(&["dim_model_base"], |_, base| is_number(base, 256.0), "scales the output by 256"),
    differs(
        &["rms_norm_eps"],
        |_, epsilon| is_number(epsilon, 1e-6),
        "uses it for the norms within attention, too, which have 1e-6",
    ),
    free(&["head_dim", "qk_head_dim"]),
];

/// DeepSeek's attention. Keys and values stay together.
pub(super) const LATENT_TOGETHER: &[Row] = &[
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], Plain),
    ("layers.#.self_attn.q_a_proj", &["blk.#.attn_q_a"], Plain),
    ("layers.#.self_attn.q_a_layernorm", &["blk.#.attn_q_a_norm"], Norm),
    ("layers.#.self_attn.q_b_proj", &["blk.#.attn_q_b"], Plain),
    ("layers.#.self_attn.kv_a_proj_with_mqa", &["blk.#.attn_kv_a_mqa"], Plain),
    ("layers.#.self_attn.kv_a_layernorm", &["blk.#.attn_kv_a_norm"], Norm),
    ("layers.#.self_attn.kv_b_proj", &["blk.#.attn_kv_b"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
];

const KEYS: &[KeyRow] = &[
    FILE_TYPE,
    ("context_length", Count, Needed(&["max_position_embeddings"])),
    ("embedding_length", Count, Needed(&["hidden_size"])),
    ("block_count", Count, Needed(LAYERS)),
    ("feed_forward_length", Count, Needed(&["intermediate_size"])),
    ("attention.head_count", Count, Needed(&["num_attention_heads"])),
    ("attention.head_count_kv", Count, Needed(&["num_key_value_heads"])),
    ("attention.layer_norm_rms_epsilon", Number, Needed(&["rms_norm_eps"])),
    VOCABULARY,
    ("attention.q_lora_rank", Count, Any(&["q_lora_rank"])),
    ("attention.kv_lora_rank", Count, Needed(&["kv_lora_rank"])),
    ("attention.key_length", Count, MadeOf("qk_nope_head_dim", made_key_length)),
    ("rope.dimension_count", Count, Needed(&["qk_rope_head_dim"])),
    // The converter leaves this out; llama.cpp reads it.
    ("rope.freq_base", Number, Made(unusual_base)),
];
