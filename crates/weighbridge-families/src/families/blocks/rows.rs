//! The names that most decoders have: which modules of Hugging Face's (and of the model makers' own)
//! checkpoints are which tensors of a GGUF file.
//!
//! A row is a module's name, the GGUF tensors that are in it, and how they lie there. `#` stands
//! for a number: of the layer, then of the expert. Any number may stand as it is, and the ending too:
//! the more a row says, the earlier it counts. Names stand without `.weight` or `.bias`, unless
//! GGUF's ending is another one, and Hugging Face's without what comes before `layers` (`model.`
//! mostly). A module outside of that begins with a slash. GGUF's names that lack an ending, though others
//! of that name have one, end with an exclamation mark.
//!
//! GGUF's names are the common ones: everything is translated into them.

use std::fmt;
use std::ptr::fn_addr_eq;

use crate::families::settings::Settings;
use crate::view::View;

use How::{Decay, Embedding, Expert, Experts, Key, Linear, Norm, Plain, Query};

/// How a GGUF tensor lies in a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// As it is; several of them one after the other, cut into equal parts.
    Plain,
    /// A matrix that is transposed; vectors as they are.
    Transposed,
    /// As it is, or its weight with a constant added (`norm_add`).
    Norm,
    /// As it is, or with the rows of each query head in another order.
    Query,
    /// As it is, or with the rows of each key head in another order.
    Key,
    /// Query, key and value rows one after the other.
    Qkv,
    /// The same group by group: the query rows of a group, then those of its key head and value head. A
    /// tensor of a GGUF file that is in such a weight together with others lies group by group, too.
    Grouped,
    /// One row a token.
    Embedding,
    /// The embedding under one of several names. The first one that is stored counts.
    EmbeddingCopy,
    /// One row a position; GGUF may leave out the first ones, which no token has.
    Positions,
    /// One of the matrices, or vectors, that GGUF stacks.
    Expert,
    /// The matrices of all experts, stacked.
    Experts,
    /// The matrices of all experts, stacked; each holds several, one after the other.
    Stacked,
    /// The transposed matrices of all experts, stacked; each holds several, side by side.
    Across,
    /// The transposed matrices of all experts, stacked; each holds several with interleaved
    /// columns, or vectors with interleaved numbers.
    InTurn,
    /// The matrices, or vectors, of all heads, stacked.
    Heads,
    /// Key rows and value rows, head by head; GGUF has the keys of each head transposed.
    KeyValue,
    /// Of linear attention, with value heads in another order.
    Linear(LinearPart),
    /// Decay rates of linear attention, one per value head, stored as logarithms; GGUF stores the
    /// negated rates.
    Decay,
    /// As it is, but halved once more every so many layers, by the config's `rescale_every`.
    Halved,
    /// In a way of the family's own.
    Own(Lay),
}

/// What of a weight goes by value heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinearPart {
    /// The rows after those of queries and keys.
    Mixed,
    /// The rows.
    Values,
    /// The rows, one a head.
    Heads,
    /// The columns.
    Columns,
}

/// A family's own layout: from the config and the shape of a weight, what of it is which part of which
/// tensor. None for a shape that the config does not make.
#[derive(Clone, Copy)]
pub(crate) struct Lay(pub fn(&Settings, &[u64]) -> Option<Vec<Laid>>);

/// A part of a weight in one of the tensors that its row names.
pub(crate) struct Laid {
    /// Which of them.
    pub tensor: usize,
    /// Its place there.
    pub place: Place,
    /// Which numbers it has, in the shape of the tensor, or of its part.
    pub view: View,
    /// How it differs from the weight, in words.
    pub words: String,
}

/// Where a part of a tensor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is all of it.
    Whole,
    /// It is one of several that are stacked.
    Stacked(u64),
    /// It is one of several that follow each other.
    Joined(u64),
}

impl Laid {
    /// All of a tensor.
    pub fn whole(view: View, words: impl Into<String>) -> Vec<Self> {
        vec![Self { tensor: 0, place: Place::Whole, view, words: words.into() }]
    }
}

impl PartialEq for Lay {
    fn eq(&self, other: &Self) -> bool {
        fn_addr_eq(self.0, other.0)
    }
}

impl Eq for Lay {}

impl fmt::Debug for Lay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lay")
    }
}

/// The name of a module with `#` in the places of its numbers, and these.
pub(crate) fn pattern(module: &str) -> (String, Vec<u64>) {
    let mut numbers = Vec::new();
    let parts: Vec<&str> = module
        .split('.')
        .map(|part| match part.parse::<u64>() {
            Ok(number) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
                numbers.push(number);
                "#"
            }
            _ => part,
        })
        .collect();
    (parts.join("."), numbers)
}

/// Whether GGUF's name in a row is a whole one: of a vector that is no weight, or has a row of its own.
pub(crate) fn has_ending(name: &str) -> bool {
    const ENDINGS: [&str; 7] =
        [".weight", ".bias", ".scale", ".ssm_a", ".ssm_d", ".exp_probs_b", "!"];
    ENDINGS.iter().any(|end| name.ends_with(end))
}

/// A module, what is in it, and how.
pub(crate) type Row = (&'static str, &'static [&'static str], How);

pub(crate) const TRUNK: &[Row] = &[
    ("embed_tokens", &["token_embd"], Embedding),
    ("norm", &["output_norm"], Norm),
    ("lm_head", &["output"], Embedding),
];

pub(crate) const ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_proj", &["blk.#.attn_q"], Query),
    ("layers.#.self_attn.k_proj", &["blk.#.attn_k"], Key),
    ("layers.#.self_attn.v_proj", &["blk.#.attn_v"], Plain),
    ("layers.#.self_attn.o_proj", &["blk.#.attn_output"], Plain),
    ("layers.#.self_attn.qkv_proj", QKV, How::Qkv),
];

pub(crate) const QKV: &[&str] = &["blk.#.attn_q", "blk.#.attn_k", "blk.#.attn_v"];

pub(crate) const HEAD_NORMS: &[Row] = &[
    ("layers.#.self_attn.q_norm", &["blk.#.attn_q_norm"], Norm),
    ("layers.#.self_attn.k_norm", &["blk.#.attn_k_norm"], Norm),
];

pub(crate) const MLP: &[Row] = &[
    ("layers.#.mlp.gate_proj", &["blk.#.ffn_gate"], Plain),
    ("layers.#.mlp.up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
    ("layers.#.mlp.gate_up_proj", &["blk.#.ffn_gate", "blk.#.ffn_up"], Plain),
];

/// Gate and up stay in one matrix, which GGUF calls up.
pub(crate) const FUSED_MLP: &[Row] = &[
    ("layers.#.mlp.gate_up_proj", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.down_proj", &["blk.#.ffn_down"], Plain),
];

/// Without a gate.
pub(crate) const UNGATED_MLP: &[Row] = &[
    ("layers.#.mlp.c_fc", &["blk.#.ffn_up"], Plain),
    ("layers.#.mlp.c_proj", &["blk.#.ffn_down"], Plain),
];

/// Attention and feed-forward side by side, behind one norm.
pub(crate) const ONE_NORM: &[Row] = &[("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm)];

pub(crate) const TWO_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.ffn_norm"], Norm),
];

/// Norms behind attention and feed-forward, none before.
pub(crate) const NORMS_AFTER: &[Row] = &[
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.post_feedforward_layernorm", &["blk.#.post_ffw_norm"], Norm),
];

/// Norms before and behind attention.
pub(crate) const NORMS_BETWEEN: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
];

pub(crate) const FOUR_NORMS: &[Row] = &[
    ("layers.#.input_layernorm", &["blk.#.attn_norm"], Norm),
    ("layers.#.post_attention_layernorm", &["blk.#.post_attention_norm"], Norm),
    ("layers.#.pre_feedforward_layernorm", &["blk.#.ffn_norm"], Norm),
    ("layers.#.post_feedforward_layernorm", &["blk.#.post_ffw_norm"], Norm),
];

/// What a layer that predicts one more token has beside the rest.
pub(crate) const NEXTN: &[Row] = &[
    ("layers.#.embed_tokens", &["blk.#.nextn.embed_tokens"], Embedding),
    ("layers.#.enorm", &["blk.#.nextn.enorm"], Norm),
    ("layers.#.hnorm", &["blk.#.nextn.hnorm"], Norm),
    ("layers.#.eh_proj", &["blk.#.nextn.eh_proj"], Plain),
    ("layers.#.shared_head.norm", &["blk.#.nextn.shared_head_norm"], Norm),
    ("layers.#.shared_head.head", &["blk.#.nextn.shared_head_head"], Embedding),
];

pub(crate) const KEY_VALUE: &[&str] = &["blk.#.attn_k_b", "blk.#.attn_v_b"];

/// DeepSeek's attention, whose keys and values are made from a shorter vector.
pub(crate) const LATENT_ATTENTION: &[Row] = &[
    ("layers.#.self_attn.q_a_proj", &["blk.#.attn_q_a"], Plain),
    ("layers.#.self_attn.q_a_layernorm", &["blk.#.attn_q_a_norm"], Norm),
    ("layers.#.self_attn.q_b_proj", &["blk.#.attn_q_b"], Plain),
    ("layers.#.self_attn.kv_a_proj_with_mqa", &["blk.#.attn_kv_a_mqa"], Plain),
    ("layers.#.self_attn.kv_a_layernorm", &["blk.#.attn_kv_a_norm"], Norm),
    ("layers.#.self_attn.kv_b_proj", KEY_VALUE, How::KeyValue),
];

/// Qwen's attention without a cache of keys and values. Nothing is added to its norm.
pub(crate) const LINEAR_ATTENTION: &[Row] = &[
    ("layers.#.linear_attn.in_proj_qkv", &["blk.#.attn_qkv"], Linear(LinearPart::Mixed)),
    ("layers.#.linear_attn.in_proj_z", &["blk.#.attn_gate"], Linear(LinearPart::Values)),
    ("layers.#.linear_attn.in_proj_a", &["blk.#.ssm_alpha"], Linear(LinearPart::Heads)),
    ("layers.#.linear_attn.in_proj_b", &["blk.#.ssm_beta"], Linear(LinearPart::Heads)),
    ("layers.#.linear_attn.conv1d", &["blk.#.ssm_conv1d"], Linear(LinearPart::Mixed)),
    ("layers.#.linear_attn.dt_bias", &["blk.#.ssm_dt.bias"], Linear(LinearPart::Heads)),
    ("layers.#.linear_attn.A_log", &["blk.#.ssm_a"], Decay),
    ("layers.#.linear_attn.norm", &["blk.#.ssm_norm"], Plain),
    ("layers.#.linear_attn.out_proj", &["blk.#.ssm_out"], Linear(LinearPart::Columns)),
];

/// Its columns go by value heads, which Hugging Face has in another order.
pub(crate) const GGUF_LINEAR: &[Row] =
    &[("blk.#.ssm_out", &["blk.#.ssm_out"], Linear(LinearPart::Columns))];

/// GGUF's tensors that are several of the common ones; all others are common names already.
pub(crate) const GGUF: &[Row] = &[
    ("blk.#.attn_k_b", &["blk.#.attn_k_b"], How::Heads),
    // Before keys and values were told apart.
    ("blk.#.attn_kv_b", KEY_VALUE, How::KeyValue),
    ("blk.#.ffn_gate_exps", &["blk.#.ffn_gate_exps"], Experts),
    ("blk.#.ffn_up_exps", &["blk.#.ffn_up_exps"], Experts),
    ("blk.#.ffn_down_exps", &["blk.#.ffn_down_exps"], Experts),
    ("blk.#.ffn_gate.#", &["blk.#.ffn_gate_exps"], Expert),
    ("blk.#.ffn_up.#", &["blk.#.ffn_up_exps"], Expert),
    ("blk.#.ffn_down.#", &["blk.#.ffn_down_exps"], Expert),
];

/// Queries, keys and values as one matrix.
pub(crate) const GGUF_FUSED: &[Row] = &[("blk.#.attn_qkv", QKV, How::Qkv)];

/// A norm for each query head, and for each key head.
pub(crate) const GGUF_HEAD_VECTORS: &[Row] = &[
    ("blk.#.attn_q_norm", &["blk.#.attn_q_norm"], How::Heads),
    ("blk.#.attn_k_norm", &["blk.#.attn_k_norm"], How::Heads),
];

/// What layers that predict further tokens are called where they stand beside the model, and what
/// in one of its layers.
pub(crate) const BESIDE: &[(&str, &str)] = &[
    ("fc", "eh_proj"),
    ("embed_tokens", "embed_tokens"),
    ("pre_fc_norm_embedding", "enorm"),
    ("pre_fc_norm_hidden", "hnorm"),
    ("norm", "shared_head.norm"),
];

/// What Meta and Mistral call them in the checkpoints they publish themselves (`consolidated`).
/// GGUF's order of rows is theirs.
pub(crate) const CONSOLIDATED: &[Row] = &[
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
const COMPUTED: &[(&str, &str)] = &[
    ("rope_freqs.weight", "rotary scaling factors, computed from the config"),
    ("rope_factors_long.weight", "rotary scaling factors, stored in the config"),
    ("rope_factors_short.weight", "rotary scaling factors, stored in the config"),
    (".attn_rot_embd.weight", "rotary frequencies, computed from the config"),
    ("rotary_emb.inv_freq", "rotary frequencies, computed from the config"),
    ("rope.freqs", "rotary frequencies, computed from the config"),
    (".attention.masked_bias", "attention mask constant"),
    ("embeddings.position_ids", "position IDs, counted from 0"),
];

/// What a weight is that not every library stores.
pub(crate) fn computed(name: &str) -> Option<&'static str> {
    COMPUTED.iter().find(|(end, _)| name.ends_with(end)).map(|(_, what)| *what)
}

/// Whether a tensor of a GGUF file has rotary factors, which the config of the original tells.
pub(crate) fn is_factors(name: &str) -> bool {
    const FACTORS: [&str; 3] =
        ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"];
    FACTORS.contains(&name)
}

/// How names of encoders begin, at any dot, and what they belong to: GGUF keeps these in a separate file.
pub(crate) const ENCODERS: &[(&[&str], &str)] = &[
    (VISION, "part of the vision model, which GGUF stores in a separate file"),
    (AUDIO, "part of the audio encoder, which GGUF stores in a separate file"),
];

const AUDIO: &[&str] = &["audio_tower.", "audio_encoder.", "embed_audio.", "audio_projector."];

#[rustfmt::skip]
const VISION: &[&str] = &[
    "vision_tower.", "vision_model.", "vision_encoder.", "vision_language_adapter.", "visual.",
    "multi_modal_projector.", "multimodal_projector.", "mm_projector.", "patch_merger.",
    "pre_mm_projector_norm.", "merger.", "embed_vision.",
    "vision_embedder.", "connector.",
];
