//! The data: which modules of Hugging Face's (and of the model makers' own) checkpoints are which
//! tensors of a GGUF file, family by family.
//!
//! A row is a module's name, the GGUF tensors that are in it, and how they lie there. `#` stands
//! for a number: of the layer, then of the expert. Names stand without `.weight` or `.bias`, and
//! Hugging Face's without what comes before `layers` (`model.` mostly).
//!
//! GGUF's names are the common ones: everything is translated into them.

use How::{Embedding, Expert, Experts, Key, Norm, Plain, Query, Stacked};

/// How a GGUF tensor lies in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// As it is; several of them one after the other, cut into equal parts.
    Plain,
    /// As it is, or with a constant added ([`Family::norm_add`]).
    Norm,
    /// As it is, or with the rows of each query head in another order.
    Query,
    /// As it is, or with the rows of each key head in another order.
    Key,
    /// Query, key and value rows one after the other.
    Qkv,
    /// One row a token.
    Embedding,
    /// One of the matrices that GGUF stacks.
    Expert,
    /// The matrices of all experts, stacked.
    Experts,
    /// The matrices of all experts, stacked; each holds several, one after the other.
    Stacked,
}

/// A module, what is in it, and how.
pub(super) type Row = (&'static str, &'static [&'static str], How);

/// Models that share names and changes of values.
#[derive(Debug)]
pub(super) struct Family {
    /// What configs and GGUF files call it; the first is how it is shown.
    pub names: &'static [&'static str],
    /// Its modules in Hugging Face's names.
    pub rows: &'static [&'static [Row]],
    /// Whether GGUF has the rows of query and key heads in pairs, where Hugging Face has halves.
    pub pairs: bool,
    /// What GGUF adds to Hugging Face's norms.
    pub norm_add: f32,
    /// Whether GGUF leaves out embedding rows that no token uses.
    pub cuts_embedding: bool,
    /// Whether the output head shares the embedding's numbers, unless a config says otherwise.
    pub tied: bool,
}

const LLAMA: Family = Family {
    names: &["llama", "mistral", "mixtral", "mistral3", "ministral3"],
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS, EXPERTS, MIXTRAL],
    pairs: true,
    norm_add: 0.0,
    cuts_embedding: false,
    tied: false,
};
const QWEN2: Family =
    Family { names: &["qwen2"], rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS], pairs: false, ..LLAMA };
const GEMMA: Family = Family {
    names: &["gemma"],
    pairs: false,
    norm_add: 1.0,
    tied: true,
    rows: &[TRUNK, ATTENTION, MLP, TWO_NORMS],
    ..LLAMA
};

/// Every family that is known.
pub(super) static FAMILIES: &[Family] = &[
    LLAMA,
    QWEN2,
    Family { names: &["qwen3"], rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS], ..QWEN2 },
    Family {
        names: &["qwen3moe", "qwen3_moe"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, TWO_NORMS, EXPERTS],
        ..QWEN2
    },
    GEMMA,
    Family { names: &["gemma2"], rows: &[TRUNK, ATTENTION, MLP, FOUR_NORMS], ..GEMMA },
    Family {
        names: &["gemma3", "gemma3_text"],
        rows: &[TRUNK, ATTENTION, HEAD_NORMS, MLP, FOUR_NORMS],
        cuts_embedding: true,
        ..GEMMA
    },
];

const TRUNK: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

const ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], Query),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Key),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.self_attn.qkv_proj", QKV, How::Qkv),
];

const QKV: &[&str] = &["blk.#.attn_q", "blk.#.attn_k", "blk.#.attn_v"];

const HEAD_NORMS: &[Row] = &[
    ("layers.#.self_attn.q_norm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.self_attn.k_norm", &["blk.#.attn_k_norm"], Norm),
];

const MLP: &[Row] = &[
    ("layers.#.mlp.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.mlp.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.mlp.gate_up_proj", &["blk.#.ffn_gate", "blk.#.ffn_up"], Plain),
];

const TWO_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
];

const FOUR_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.pre_feedforward_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_feedforward_layernorm", &["blk.#.post_ffw_norm"], Norm),
];

const GATE_UP_EXPERTS: &[&str] = &["blk.#.ffn_gate_exps", "blk.#.ffn_up_exps"];

/// One by one as checkpoints have them, fused as transformers 5 has them, stacked as MLX does.
const EXPERTS: &[Row] = &[
    ("layers.#.mlp.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.mlp.experts.#.gate_proj", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.mlp.experts.#.up_proj", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.mlp.experts.#.down_proj", &["blk.#.ffn_down_exps"], Expert),
    ("layers.#.mlp.experts.gate_up_proj", GATE_UP_EXPERTS, Stacked),
    ("layers.#.mlp.experts.down_proj", &["blk.#.ffn_down_exps"], Experts),
    ("layers.#.mlp.switch_mlp.gate_proj", &["blk.#.ffn_gate_exps"], Experts),
    ("layers.#.mlp.switch_mlp.up_proj", &["blk.#.ffn_up_exps"], Experts),
    ("layers.#.mlp.switch_mlp.down_proj", &["blk.#.ffn_down_exps"], Experts),
];

const MIXTRAL: &[Row] = &[
    ("layers.#.block_sparse_moe.gate", &["blk.#.ffn_gate_inp"], Plain),
    ("layers.#.block_sparse_moe.experts.#.w1", &["blk.#.ffn_gate_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w3", &["blk.#.ffn_up_exps"], Expert),
    ("layers.#.block_sparse_moe.experts.#.w2", &["blk.#.ffn_down_exps"], Expert),
    ("layers.#.block_sparse_moe.switch_mlp.gate_proj", &["blk.#.ffn_gate_exps"], Experts),
    ("layers.#.block_sparse_moe.switch_mlp.up_proj", &["blk.#.ffn_up_exps"], Experts),
    ("layers.#.block_sparse_moe.switch_mlp.down_proj", &["blk.#.ffn_down_exps"], Experts),
];

/// GGUF's tensors that are several of the common ones; all others are common names already.
pub(super) const GGUF: &[Row] = &[
    ("blk.#.attn_qkv", QKV, How::Qkv),
    ("blk.#.ffn_gate_exps", &["blk.#.ffn_gate_exps"], Experts),
    ("blk.#.ffn_up_exps", &["blk.#.ffn_up_exps"], Experts),
    ("blk.#.ffn_down_exps", &["blk.#.ffn_down_exps"], Experts),
    ("blk.#.ffn_gate.#", &["blk.#.ffn_gate_exps"], Expert),
    ("blk.#.ffn_up.#", &["blk.#.ffn_up_exps"], Expert),
    ("blk.#.ffn_down.#", &["blk.#.ffn_down_exps"], Expert),
];

/// What Meta and Mistral call them in the checkpoints they publish themselves (`consolidated`).
/// GGUF's order of rows is theirs.
pub(super) const CONSOLIDATED: &[Row] = &[
    ("tok_embeddings", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("output", &["output"], Embedding),
    ("layers.#.attention.wq", &["blk.#.attn_q"], Plain),
    ("layers.#.attention.wk", &["blk.#.attn_k"], Plain),
    ("layers.#.attention.wv", &["blk.#.attn_v"], Plain),
    ("layers.#.attention.wo", &["blk.#.attn_output"], Plain),
    ("layers.#.attention_norm", &["blk.#.attn_norm"], Norm),
    ("layers.#.ffn_norm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.feed_forward.w1", &["blk.#.ffn_gate"], Plain),
    ("layers.#.feed_forward.w3", &["blk.#.ffn_up"], Plain),
    ("layers.#.feed_forward.w2", &["blk.#.ffn_down"], Plain),
];

/// Endings of names that not every library stores, because they can be computed from the config,
/// and what they are.
pub(super) const COMPUTED: &[(&str, &str)] = &[
    ("rope_freqs.weight", "rotary scaling factors, computed from the config"),
    ("rope_factors_long.weight", "rotary scaling factors, which are in the config"),
    ("rope_factors_short.weight", "rotary scaling factors, which are in the config"),
    (".attn_rot_embd.weight", "rotary frequencies, computed from the config"),
    ("rotary_emb.inv_freq", "rotary frequencies, computed from the config"),
    ("rope.freqs", "rotary frequencies, computed from the config"),
    (".attention.masked_bias", "a constant of the attention mask"),
];

/// How names of the vision model begin, at any dot: GGUF keeps it in a separate file.
pub(super) const VISION: &[&str] = &[
    "vision_tower.",
    "vision_model.",
    "vision_encoder.",
    "vision_language_adapter.",
    "visual.",
    "multi_modal_projector.",
    "multimodal_projector.",
    "patch_merger.",
    "pre_mm_projector_norm.",
];
